"""Model files of `TunedDecoder`: that of its estimator, and what was tuned beside it.

Arrays of the estimator have their names behind "estimator.".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from polyleaf import decoding, metrics
from polyleaf._registry import ESTIMATORS
from polyleaf.decoding import Decoder, LabelCalibrator
from polyleaf.estimator.classifier import decoding_from_json, decoding_to_json
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below, expect_offsets
from polyleaf.files.parameters import parameter_to_json
from polyleaf.tuning.tuned_decoder import TunedDecoder, is_of_metric

Arrays = dict[str, NDArray[Any]]
_PREFIX = "estimator."
#: What parameters that are younger than format 1 were like before there were any.
_BEFORE: dict[str, Any] = {}
_PARAMETERS = ("metric", "decoding", "calibration", "cv", "random_state", "n_jobs")


_ARRAYS = StoredArrays(
    "Tuned decoders (arrays of the estimator inside begin with estimator.)",
    {
        "decoder_thresholds": StoredArray(np.float64, "1 or n_labels", "Tuned thresholds."),
        "decoder_indptr": StoredArray(np.int64, "n_sets + 1", "Known label sets, by rows."),
        "decoder_indices": StoredArray(np.int64, "n_entries", "Labels of these sets."),
        "calibrator_slopes": StoredArray(np.float64, "n_labels", "Slopes of sigmoids."),
        "calibrator_intercepts": StoredArray(np.float64, "n_labels", "Intercepts of sigmoids."),
        "calibrator_labels": StoredArray(np.int64, "n_isotonic", "Labels with a step function."),
        "calibrator_offsets": StoredArray(np.int64, "n_isotonic + 1", "First step of each."),
        "calibrator_x": StoredArray(np.float64, "n_steps", "Where steps begin."),
        "calibrator_y": StoredArray(np.float64, "n_steps", "Their heights."),
    },
)


def tuned_to_file(tuned: TunedDecoder) -> tuple[Arrays, dict[str, Any]]:
    """Give what a model file holds of a fitted `TunedDecoder` around an estimator of polyleaf."""
    name = type(tuned.estimator_).__name__
    if ESTIMATORS.get(name) is not type(tuned.estimator_):
        raise TypeError(
            f"A model file holds a TunedDecoder around an estimator of polyleaf "
            f"({', '.join(ESTIMATORS)}); got one around {name}. Use joblib.dump, whose files run "
            "code when they are loaded."
        )
    arrays, estimator = tuned.estimator_._to_file()
    arrays = {_PREFIX + name: array for name, array in arrays.items()}
    decoder, decoder_arrays = decoder_to_file(tuned.decoder_)
    calibrator, calibrator_arrays = calibrator_to_file(tuned.calibrator_)
    metadata = {
        "estimator": type(tuned).__name__,
        "inner": estimator,
        "parameters": _parameters_to_json(tuned),
        "decoder": decoder,
        "calibrator": calibrator,
        "results_": [_result_to_json(result) for result in tuned.results_],
    }
    return arrays | decoder_arrays | calibrator_arrays, metadata


def tuned_from_file(arrays: Arrays, metadata: dict[str, Any]) -> TunedDecoder:
    """Undo `tuned_to_file`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the file is damaged.
    """
    inner = metadata["inner"]
    cls = ESTIMATORS.get(str(inner["estimator"]))
    if cls is None:
        raise ValueError(f"Expected an estimator of polyleaf; got {inner['estimator']!r:.60}.")
    own = {
        name.removeprefix(_PREFIX): array
        for name, array in arrays.items()
        if name.startswith(_PREFIX)
    }
    estimator = cls._from_file(own, inner)
    if estimator._targets.kind != "multilabel":
        raise ValueError(f"Expected labels; got {estimator._targets.kind} outputs.")
    n_labels = len(estimator.output_names_)
    tuned = TunedDecoder(clone(estimator), **_parameters_from_json(metadata["parameters"]))
    tuned.estimator_ = estimator
    tuned.decoder_ = decoder_from_file(arrays, metadata["decoder"], n_labels)
    tuned.calibrator_ = calibrator_from_file(arrays, metadata["calibrator"], n_labels)
    tuned.results_ = [_result_from_json(result) for result in metadata["results_"]]
    tuned._take_shape(n_labels)
    return tuned


def _parameters_to_json(tuned: TunedDecoder) -> dict[str, Any]:
    values = {name: getattr(tuned, name) for name in _PARAMETERS}
    metric, rules = values["metric"], values["decoding"]
    if isinstance(metric, metrics.Metric) and metrics.METRICS.get(metric.name) is metric:
        values["metric"] = metric.name
    if isinstance(rules, (list, tuple)):
        values["decoding"] = [decoding_to_json(rule) for rule in rules]
    else:
        values["decoding"] = decoding_to_json(rules)
    if not isinstance(values["random_state"], (int, np.integer)):
        values["random_state"] = None
    return {
        name: value if name == "decoding" else parameter_to_json(name, value)
        for name, value in values.items()
    }


def _parameters_from_json(stored: Any) -> dict[str, Any]:
    if not isinstance(stored, dict) or not (
        set(stored) <= set(_PARAMETERS) <= {*stored, *_BEFORE}
    ):
        raise ValueError(f"Expected the parameters {', '.join(_PARAMETERS)}; got {stored!r:.80}.")
    stored = {**_BEFORE, **stored}
    rules = stored["decoding"]
    restored = [decoding_from_json(r) for r in (rules if isinstance(rules, list) else [rules])]
    for rule in restored:
        if rule != "auto":
            decoding.resolve(rule).check_params()
    if metrics.resolve(stored["metric"]).needs != "labels":
        raise ValueError(f"Expected a metric of label sets; got {stored['metric']!r:.60}.")
    if stored["calibration"] not in ("auto", "sigmoid", "isotonic", None):
        raise ValueError(f"Expected a way to calibrate; got {stored['calibration']!r:.60}.")
    for name in ("cv", "random_state", "n_jobs"):
        is_none = stored[name] is None and name != "cv"
        if not is_none and type(stored[name]) is not int:
            raise ValueError(f"Expected an integer as {name}; got {stored[name]!r:.60}.")
    return {**stored, "decoding": restored if isinstance(rules, list) else restored[0]}


def _without_score(decoder: Decoder) -> Decoder:
    """Leave out the score by which a threshold was tuned if the metric stands for it."""
    is_tuned = isinstance(decoder, decoding.TunedThreshold) and is_of_metric(decoder.score)
    return decoding.TunedThreshold() if is_tuned else decoder


def _result_to_json(result: dict[str, Any]) -> dict[str, Any]:
    score = float(result["score"])
    return {
        "decoder": decoding_to_json(_without_score(result["decoder"])),
        "calibration": result["calibration"],
        "score": score if np.isfinite(score) else None,  # JSON has no NaN
    }


def _result_from_json(stored: Any) -> dict[str, Any]:
    score = stored["score"]
    return {
        "decoder": decoding.resolve(decoding_from_json(stored["decoder"])),
        "calibration": stored["calibration"],
        "score": float("nan") if score is None else float(score),
    }


def decoder_to_file(decoder: Decoder) -> tuple[dict[str, Any], Arrays]:
    """Give what a model file holds of a fitted decoder."""
    stored = decoding_to_json(_without_score(decoder))
    if isinstance(decoder, decoding.TunedThreshold):
        return stored, {"decoder_thresholds": np.array([decoder.threshold_])}
    if isinstance(decoder, decoding.LabelThresholds):
        return stored, {"decoder_thresholds": np.asarray(decoder.thresholds_, np.float64)}
    if isinstance(decoder, decoding.KnownLabelSet):
        sets = sparse.csr_array(decoder.label_sets_)
        return stored, {
            "decoder_indptr": sets.indptr.astype(np.int64),
            "decoder_indices": sets.indices.astype(np.int64),
        }
    return stored, {}


def decoder_from_file(arrays: Arrays, stored: Any, n_labels: int) -> Decoder:
    """Undo `decoder_to_file`, and check everything."""
    decoder = decoding.resolve(decoding_from_json(stored))
    decoder.check_params()
    if isinstance(decoder, decoding.TunedThreshold):
        decoder.threshold_ = float(_numbers(arrays, "decoder_thresholds", 1)[0])
    elif isinstance(decoder, decoding.LabelThresholds):
        decoder.thresholds_ = _numbers(arrays, "decoder_thresholds", n_labels)
    elif isinstance(decoder, decoding.KnownLabelSet):
        indptr = _ARRAYS.read(arrays, "decoder_indptr")
        indices = _ARRAYS.read(arrays, "decoder_indices")
        present = np.ones(indices.size, np.bool_)
        shape = (max(indptr.size - 1, 1), n_labels)
        sets = sparse.csr_array((present, indices, indptr), shape=shape)
        sets.check_format(full_check=True)
        decoder.fit(sets)
    return decoder


def calibrator_to_file(calibrator: LabelCalibrator | None) -> tuple[Any, Arrays]:
    """Give what a model file holds of a fitted calibrator, if there is one."""
    if calibrator is None:
        return None, {}
    steps = calibrator.isotonic_
    xs = [step.X_thresholds_ for step in steps.values()]
    ys = [step.y_thresholds_ for step in steps.values()]
    arrays = {
        "calibrator_slopes": calibrator.slopes_,
        "calibrator_intercepts": calibrator.intercepts_,
        "calibrator_labels": np.array(list(steps), np.int64),
        "calibrator_offsets": np.cumsum([0, *map(len, xs)]).astype(np.int64),
        "calibrator_x": np.concatenate([*xs, np.empty(0)]),
        "calibrator_y": np.concatenate([*ys, np.empty(0)]),
    }
    return calibrator.get_params(deep=False), arrays


def calibrator_from_file(arrays: Arrays, stored: Any, n_labels: int) -> LabelCalibrator | None:
    """Undo `calibrator_to_file`, and check everything."""
    if stored is None:
        return None
    calibrator = LabelCalibrator(**stored)
    calibrator._check_params()
    calibrator.slopes_ = _numbers(arrays, "calibrator_slopes", n_labels)
    calibrator.intercepts_ = _numbers(arrays, "calibrator_intercepts", n_labels)
    labels = _ARRAYS.read(arrays, "calibrator_labels")
    offsets = _ARRAYS.read(arrays, "calibrator_offsets")
    expect_below(labels, n_labels, "calibrator_labels")
    n_steps = arrays["calibrator_x"].size
    expect_offsets(offsets, labels.size, n_steps, "calibrator_offsets", least=1)
    x, y = (_numbers(arrays, f"calibrator_{name}", n_steps) for name in "xy")
    calibrator.isotonic_ = {}
    for label, start, end in zip(labels.tolist(), offsets[:-1], offsets[1:]):
        steps = slice(start, end)
        is_step = (np.diff(x[steps]) > 0).all() and (np.diff(y[steps]) >= 0).all()
        if not is_step or y[start] < 0.0 or y[end - 1] > 1.0:
            raise ValueError("Expected step functions that rise from 0 to 1.")
        # What rises already is its own fit.
        step = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        calibrator.isotonic_[label] = step.fit(x[steps], y[steps])
    return calibrator


def _numbers(arrays: Arrays, name: str, size: int) -> NDArray[np.float64]:
    array = _ARRAYS.read(arrays, name)
    if array.size != size or not np.isfinite(array).all():
        raise ValueError(f"Expected {size} finite numbers as {name}; got {array.size} numbers.")
    return array
