"""Pipelines in model files: estimators of polyleaf as ever, steps of scikit-learn through skops.

skops writes plain data and the names of types. We read nothing but types of scikit-learn, NumPy
and SciPy that are known to run no code of the file; everything else is refused, when saving and
again when loading.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.checks.optional import require
from polyleaf.files.arrays import StoredArray, StoredArrays

Arrays = dict[str, NDArray[Any]]
_PURPOSE = "pipelines in model files"
#: What skops does not trust of its own, and runs no code of the file either.
_TRUSTED = (
    "numpy.dtype",
    "sklearn.compose._column_transformer.make_column_selector",
    *(
        f"sklearn.feature_selection._univariate_selection.{name}"
        for name in ("chi2", "f_classif", "f_regression", "f_oneway", "r_regression")
    ),
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._mutual_info.mutual_info_regression",
)
#: The packages whose types a file may name.
_PACKAGES = ("builtins", "collections", "numpy", "scipy", "sklearn")

_ARRAYS = StoredArrays(
    "Pipelines (arrays of a step of polyleaf begin with step. and its number)",
    {
        "pipeline_steps": StoredArray(
            np.uint8, "n_bytes", "The steps of scikit-learn by their names, as skops writes them."
        )
    },
)


def pipeline_to_file(pipeline: Pipeline) -> tuple[Arrays, dict[str, Any]]:
    """Give what a model file holds of a fitted pipeline.

    Raises
    ------
    TypeError
        If a step is neither of polyleaf nor of scikit-learn, or holds a function of your own.
    """
    check_is_fitted(pipeline)
    skops_io = require("skops.io", _PURPOSE)
    arrays: Arrays = {}
    others: dict[str, Any] = {}
    steps: list[dict[str, Any]] = []
    for number, (name, step) in enumerate(pipeline.steps):
        if step is None or isinstance(step, str):
            steps.append({"name": name, "kind": "passthrough"})
        elif _own_class(type(step).__name__) is type(step):
            own, metadata = step._to_file()
            arrays |= {f"step.{number}.{key}": array for key, array in own.items()}
            steps.append({"name": name, "kind": "polyleaf", "content": metadata})
        elif type(step).__module__.split(".")[0] == "sklearn":
            others[name] = step
            steps.append({"name": name, "kind": "scikit-learn"})
        else:
            raise _foreign(f"step {name!r} is a {type(step).__name__}")
    if not any(step["kind"] == "polyleaf" for step in steps):
        raise TypeError(
            "save takes pipelines with an estimator of polyleaf; got one without. Use "
            "skops.io.dump."
        )
    content = skops_io.dumps(others)
    if unknown := _unknown_types(content, skops_io):
        raise _foreign(f"they hold {', '.join(unknown)}")
    arrays["pipeline_steps"] = np.frombuffer(content, dtype=np.uint8)
    return arrays, {"estimator": "Pipeline", "steps": steps}


def pipeline_from_file(arrays: Arrays, metadata: dict[str, Any]) -> Pipeline:
    """Undo `pipeline_to_file`.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the file is damaged, or names a type that is not trusted.
    """
    content = _ARRAYS.read(arrays, "pipeline_steps").tobytes()
    others = _read_others(content)
    steps = []
    for number, stored in enumerate(metadata["steps"]):
        name, kind = stored["name"], stored["kind"]
        if not isinstance(name, str):
            raise ValueError(f"Expected a step with a name; got {name!r:.60}.")
        if kind == "passthrough":
            step: Any = "passthrough"
        elif kind == "scikit-learn":
            step = others[name]
        else:
            step = _own_step(arrays, stored["content"], f"step.{number}.")
        steps.append((name, step))
    pipeline = Pipeline(steps)
    pipeline._validate_steps()
    return pipeline


def _own_step(arrays: Arrays, content: dict[str, Any], prefix: str) -> Any:
    cls = _own_class(str(content["estimator"]))
    if cls is None:
        raise ValueError(f"Expected an estimator of polyleaf; got {content['estimator']!r:.60}.")
    own = {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    return cls._from_file(own, content)


def _own_class(name: str) -> Any:
    return ESTIMATORS.get(name) or META_ESTIMATORS.get(name)


def _read_others(content: bytes) -> dict[str, Any]:
    """Read the steps of scikit-learn, after a look at every type that the file names."""
    skops_io = require("skops.io", _PURPOSE)
    try:
        unknown = _unknown_types(content, skops_io)
    except Exception as error:  # readers of damaged archives raise many kinds
        raise ValueError(f"its pipeline cannot be read: {error}") from error
    if unknown:
        raise ValueError(
            f"its pipeline names types that are not trusted: {', '.join(unknown)[:200]}. Nothing "
            "of them was loaded."
        )
    try:
        others: dict[str, Any] = skops_io.loads(content, trusted=list(_TRUSTED))
    except Exception as error:
        raise ValueError(f"its pipeline cannot be read: {error}") from error
    is_fine = type(others) is dict and all(
        type(step).__module__.split(".")[0] == "sklearn" for step in others.values()
    )
    if not is_fine:
        raise ValueError("its pipeline holds what is no step of scikit-learn.")
    return others


def _unknown_types(content: bytes, skops_io: Any) -> list[str]:
    """Give the types that skops or we do not trust, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise ValueError("expected an archive that is not compressed.")  # else a small bomb
        named = _named_types(json.loads(archive.read("schema.json")))
    others = [name for name in named if name.split(".")[0] not in _PACKAGES]
    found = {*skops_io.get_untrusted_types(data=content), *others} - {*_TRUSTED}
    return sorted(found)


def _named_types(schema: Any) -> set[str]:
    """Collect all types and functions that a file of skops names."""
    found: set[str] = set()
    rest = [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            if "__module__" in part:
                found.add(f"{part['__module__']}.{part.get('__class__')}")
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return found


def _foreign(told: str) -> TypeError:
    return TypeError(
        "A model file holds pipelines whose steps are of polyleaf and scikit-learn, without "
        f"functions of your own; {told}. Use joblib.dump, whose files run code when they are "
        "loaded."
    )
