"""Write a fitted model as an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from polyleaf._version import __version__
from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.numbers import expect_list, shown
from polyleaf.estimator.classifier import Classifier
from polyleaf.export._links import Decision, Reading, read_decision, read_decoder, read_links
from polyleaf.export._onnx_blend import (
    add_blend,
    add_results,
    blend_decision,
    check_model,
    is_blend,
)
from polyleaf.export._onnx_decoding import calibrated
from polyleaf.export._onnx_graph import ML_DOMAIN, Graph
from polyleaf.export._onnx_inputs import OUTPUTS, add_inputs, feature_names
from polyleaf.export._onnx_outputs import Results

#: Versions of the operators that are used, and the oldest that have them all.
_OPSET, _ML_OPSET = 18, 5
#: Enough for numeric features.
_OLDEST_ML_OPSET = 3
#: A message of protocol buffers must be smaller.
_MOST_BYTES = 2**31 - 2**20


def to_onnx(
    model: Any,
    path: str | PathLike[str] | None = None,
    *,
    exact: bool = False,
    outputs: str | Sequence[str] | None = None,
    target_opset: int | Mapping[str, int] | None = None,
) -> Any:
    """Write a fitted model as an ONNX graph, which onnxruntime runs without Python.

    Trees, forests, boosting, rules, linear graphs, blends of them, and a `TunedDecoder` around one
    of them can be exported. Graph classifiers need the kernel ``'linear'`` or ``'cosine'``, and
    graphs without cycles or with at most 2^14 labellings.
    Numeric features are one input ``X`` of shape (n, p). If some feature is categorical, every
    feature is an input of shape (n, 1) with its own name: strings for text, numbers for all else.
    NaN is missing; so is a category that was not seen in training, such as an empty string.

    A batch of n rows takes n x trees x channels numbers at a time: give large batches in parts.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest, boosted, rule or linear graph model, or a TunedDecoder of one.
    path : str or path, optional
        A file to write, such as ``model.onnx``.
    exact : bool, default=False
        Whether to take float64, and to add trees in the model's order and precision: scores are
        equal to the last bit, but slower. Otherwise numbers are float32. Not for boosting with
        ``leaf_fit='linear'``, forests fitted to a sparse Y, and graph classifiers.
    outputs : str or sequence of str, optional
        Which of ``'prediction'``, ``'probability'`` (classifiers) and ``'score'`` to compute; by
        default all. ``prediction`` and ``probability`` are what `predict` and `predict_proba`
        give, dense, with the classes of several outputs side by side. ``score`` is what
        `decision_function` gives; of a regressor its prediction, before an exponential of the
        loss.
    target_opset : int or mapping of str to int, optional
        Version of the operators, at least 18; as a mapping also of ``'ai.onnx.ml'``, 5 by
        default, and at least 3 for numeric features.

    Returns
    -------
    onnx.ModelProto
        Its ``metadata_props`` hold ``output_names``, ``feature_names``, ``classes``,
        ``channel_offsets``, ``estimator`` and ``polyleaf_version``; all but the last two as JSON.

    Raises
    ------
    ValueError
        If the model, or its way to choose labels, cannot be written as a graph.

    Examples
    --------
    >>> import numpy as np
    >>> from polyleaf import BoostingRegressor
    >>> from polyleaf.export import to_onnx
    >>> X = np.arange(40.0).reshape(-1, 2)
    >>> model = BoostingRegressor(n_estimators=5).fit(X, np.column_stack([X[:, 0], -X[:, 1]]))
    >>> graph = to_onnx(model)
    >>> [output.name for output in graph.graph.output]
    ['prediction', 'score']
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> found, = session.run(["prediction"], {"X": X.astype(np.float32)})
    >>> np.allclose(found, model.predict(X), rtol=1e-5)
    True
    """
    if path is not None and not isinstance(path, str | PathLike):
        raise TypeError(
            f"path must be a str or a path, or None to write no file; got {shown(path)}."
        )
    own = model
    is_tuned = hasattr(model, "calibration") and hasattr(model, "cv")
    if is_tuned:
        expect_fitted(own)
        model = own.estimator_
    check_model(model, exact)
    chosen = _chosen_outputs(own, outputs, is_blend(model))
    features = model._features
    opsets = _opsets(target_opset, features.has_categories or bool(features.levels))
    graph = Graph(exact, opsets[ML_DOMAIN])
    decision, results, n_channels = _read(graph, own, model, chosen, exact)
    if decision is not None:
        results.add_decision(decision)
    elif "prediction" in chosen:
        results.add_numbers(n_channels)
    if "probability" in chosen:
        results.add_probability(n_channels)
    if "score" in chosen:
        results.add_score(n_channels)
    built = _build(graph, model, type(own).__name__, opsets)
    if path is not None:
        too_large = built.ByteSize() > _MOST_BYTES
        graph.onnx.save(built, str(path), save_as_external_data=too_large)
    return built


def _read(
    graph: Graph, own: Any, model: Any, chosen: list[str], exact: bool
) -> tuple[Decision | None, Results, int]:
    """Add inputs and scores; give how labels are chosen, what adds results, and the channels."""
    is_tuned, wants_labels = own is not model, "prediction" in chosen
    decision = None
    calibrate = partial(_calibrate, graph, own) if is_tuned else None
    if is_tuned and wants_labels:
        decision = read_decoder(own.decoder_, model._targets.n_outputs)
    if is_blend(model):
        if wants_labels and isinstance(model, Classifier) and not is_tuned:
            decision = blend_decision(model)
        X = add_inputs(graph, model._features)
        blended = add_blend(graph, X, model, exact)
        if calibrate is not None:
            blended = Results(graph, Reading(model._targets), blended.channels(), calibrate)
        return decision, blended, int(model._targets.channel_offsets[-1])
    reading = read_links(model, needs_link=chosen != ["score"])
    if wants_labels and isinstance(model, Classifier) and not is_tuned:
        decision = read_decision(model, reading)
    X = add_inputs(graph, model._features)
    return decision, *add_results(graph, X, model, reading, exact, calibrate)


def _chosen_outputs(
    model: Any, outputs: str | Sequence[str] | None, blends: bool = False
) -> list[str]:
    possible = [name for name in OUTPUTS if name != "probability" or _has_probabilities(model)]
    if hasattr(model, "decoder_"):  # a TunedDecoder has no scores of its own
        possible = ["prediction", "probability"]
    if blends:  # members have scores of different kinds
        possible = [name for name in possible if name != "score"]
    if outputs is None:
        return possible
    given = [outputs] if isinstance(outputs, str) else expect_list("outputs", outputs, "names")
    if not given or any(not isinstance(name, str) or name not in possible for name in given):
        listed = ", ".join(map(repr, possible))
        raise ValueError(
            f"outputs of a {type(model).__name__} must be some of {listed}; got "
            f"{shown(outputs, 80)}."
        )
    return [name for name in possible if name in given]


def _has_probabilities(model: Any) -> bool:
    return isinstance(model, Classifier) and hasattr(model, "predict_proba")


def _opsets(target_opset: int | Mapping[str, int] | None, has_categories: bool) -> dict[str, int]:
    opsets = {"": _OPSET, ML_DOMAIN: _ML_OPSET}
    least = {"": _OPSET, ML_DOMAIN: _ML_OPSET if has_categories else _OLDEST_ML_OPSET}
    if isinstance(target_opset, Mapping):
        given = {name: version for name, version in target_opset.items() if name in opsets}
    else:
        given = {} if target_opset is None else {"": target_opset}
    for name, version in given.items():
        if isinstance(version, bool) or not isinstance(version, int) or version < least[name]:
            raise ValueError(
                f"target_opset must be at least {least[name]} for the domain {name!r}, which has "
                f"the operators that trees need; got {shown(version)}."
            )
    return {**opsets, **given}


def _calibrate(graph: Graph, tuned: Any, p: str) -> str:
    """Add what a TunedDecoder does to the probabilities of its estimator."""
    if tuned.calibrator_ is None:
        return p
    return calibrated(graph, p, tuned.calibrator_, bool(tuned.estimator_._targets.is_sparse))


def _build(graph: Graph, model: Any, name: str, opsets: dict[str, int]) -> Any:
    helper = graph.onnx.helper
    body = helper.make_graph(
        graph.nodes, name, graph.inputs, graph.outputs, initializer=graph.constants
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    built = helper.make_model(body, opset_imports=imports, producer_name="polyleaf")
    built.ir_version = max(10, int(helper.find_min_ir_version_for(imports)))
    targets = model._targets
    described = {
        "output_names": json.dumps(list(map(str, model.output_names_))),
        "feature_names": json.dumps(feature_names(model._features)),
        "channel_offsets": json.dumps(targets.channel_offsets.tolist()),
        "estimator": name,
        "polyleaf_version": __version__,
    }
    if isinstance(model, Classifier):
        described["classes"] = json.dumps([c.tolist() for c in targets.classes], default=str)
    helper.set_model_props(built, described)
    return built
