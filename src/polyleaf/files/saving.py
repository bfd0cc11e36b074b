"""Save an estimator to one file, and load it without running code from it."""

from __future__ import annotations

import os
import re
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS, LazyClasses
from polyleaf._version import __version__
from polyleaf.files.card import card_of, check_card, with_scores
from polyleaf.files.described import UnregisteredError
from polyleaf.files.pipelines import pipeline_from_file, pipeline_to_file
from polyleaf.files.storage import ModelFileError, read_model, write_model

_NAMES = ", ".join([*ESTIMATORS, *META_ESTIMATORS])


def save(model: Any, path: str | os.PathLike[str], *, scores: Any = None) -> None:
    """Write a fitted estimator to a file, whole or not at all.

    The file holds the parameters, too, and a model card that :func:`read_card` gives. A
    `random_state` that is no integer is stored as None.

    Parameters
    ----------
    model : estimator
        A fitted estimator of polyleaf, a fitted `TunedDecoder` around one, or a scikit-learn
        `Pipeline` whose other steps are scikit-learn's (which needs skops).
    path : path-like
        An existing file is replaced and keeps its permissions. A symbolic link is followed: the
        file that it names is replaced. What a killed `save` to the same path left is removed.
    scores : mapping of str to float, or Evaluation, optional
        How good the model is, for the card: what `polyleaf.evaluate` gave, or your own numbers.
        Without it, scores of a loaded model are kept.

    Examples
    --------
    >>> import tempfile, pathlib, polyleaf
    >>> tree = polyleaf.TreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tree.polyleaf"
    ...     polyleaf.save(tree, path)
    ...     loaded = polyleaf.load(path)
    >>> loaded.predict([[0.0], [2.0]])
    array([1., 3.])
    """
    name = type(model).__name__
    if type(model) is Pipeline:
        arrays, metadata = pipeline_to_file(model)
    elif _known(name).get(name) is type(model):
        check_is_fitted(model)
        arrays, metadata = model._to_file()
    else:
        raise TypeError(
            f"save takes a fitted estimator of polyleaf ({_NAMES}), or a Pipeline with one; got "
            f"{name}. Use joblib.dump, whose files run code when they are loaded."
        )
    card = with_scores(_card_of(model), scores)
    if card is not None:
        metadata = metadata | {"card": card}
    write_model(path, arrays, metadata | {"polyleaf": __version__})


def load(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Read an estimator that `save` wrote.

    Loading runs no code from the file, and checks everything that the compiled core relies on.

    Parameters
    ----------
    path : path-like
    mmap : bool, default=False
        Whether large arrays stay in the file and are mapped into memory, which all processes
        that load it share. The file must not be changed in place meanwhile; `save` replaces it,
        which is fine.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, of another kind or of a newer version, or needs a loss,
        projection, graph or decoder of your own that is not registered. A ValueError.

    Examples
    --------
    >>> import tempfile, pathlib, polyleaf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "notes.txt"
    ...     _ = path.write_text("no model")
    ...     polyleaf.load(path)
    Traceback (most recent call last):
        ...
    polyleaf.files.storage.ModelFileError: ... is not a model file, or is damaged: ...
    """
    arrays, metadata = read_model(path, bool(mmap))
    where = repr(os.fspath(path))
    # Nothing but what is listed is ever constructed.
    name = str(metadata.get("estimator"))
    try:
        card = check_card(metadata.get("card"))
        if name == "Pipeline":
            model: Any = pipeline_from_file(arrays, metadata)
        elif name in _known(name):
            model = _known(name)[name]._from_file(arrays, metadata)
        else:
            raise ValueError(
                f"it holds a {metadata.get('estimator')!r:.60}; this release knows {_NAMES}."
            )
        if card is not None:
            model._card = card
        return model
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        written_by = str(metadata.get("polyleaf"))[:40]
        if _is_newer(written_by):
            raise ModelFileError(
                f"{where} was written by polyleaf {written_by}, which is newer than this release "
                f"({__version__}), and holds what this release does not know: {error} "
                "Install a newer release."
            ) from error
        if isinstance(error, UnregisteredError):
            raise ModelFileError(f"{where} cannot be loaded yet: {error}") from error
        raise ModelFileError(f"{where} is damaged: {error}") from error
    except MemoryError as error:
        raise ModelFileError(
            f"{where} asks for more memory than there is: its model is larger than this machine, "
            "or a number in it is damaged."
        ) from error


def read_card(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the model card of a file, without building the model.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        "estimator" and "parameters"; "fitted", the time of the fit; "rows", "features" and
        "outputs", the shape of its data; "versions" of the libraries; and "scores", if `save`
        was given some. Files of releases before there were cards have only the first two.

    Raises
    ------
    ModelFileError
        If the file is damaged, of another kind or of a newer version. A ValueError.

    Examples
    --------
    >>> import tempfile, pathlib, polyleaf
    >>> tree = polyleaf.TreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tree.polyleaf"
    ...     polyleaf.save(tree, path, scores={"r2": 0.9})
    ...     card = polyleaf.read_card(path)
    >>> card["estimator"], card["rows"], card["scores"], card["parameters"]["max_depth"]
    ('TreeRegressor', 3, {'r2': 0.9}, 2)
    """
    _, metadata = read_model(path)
    try:
        name, own = metadata["estimator"], metadata
        if name == "Pipeline":  # its parameters are those of its last step of polyleaf
            contents = [step["content"] for step in metadata["steps"] if "content" in step]
            own = contents[-1]
            name = f"Pipeline with {own['estimator']}"
        known = {"estimator": name, "parameters": own["parameters"]}
        return known | (check_card(metadata.get("card")) or {})
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ModelFileError(f"{os.fspath(path)!r} is damaged: {error}") from error


def _card_of(model: Any) -> dict[str, Any] | None:
    if type(model) is Pipeline and not hasattr(model, "_card"):
        cards = [card_of(step) for _, step in model.steps]
        return next((card for card in reversed(cards) if card is not None), None)
    return card_of(model)


def _known(name: str) -> LazyClasses:
    return ESTIMATORS if name in ESTIMATORS else META_ESTIMATORS


def _is_newer(written_by: str) -> bool:
    """Tell whether a version is newer than this release, by its numbers."""
    theirs, ours = (
        [int(number) for number in re.findall(r"\d{1,9}", release)[:3]]
        for release in (written_by, __version__)
    )
    return theirs > ours
