"""Probabilities of rows that the model has not been trained on, by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import _safe_indexing

from polyleaf.checks.matrices import is_sparse, read_sparse
from polyleaf.checks.numbers import shown
from polyleaf.checks.randomness import read_random_state
from polyleaf.data import read_classes
from polyleaf.data.wrapped_inputs import read_rows
from polyleaf.datasets import MultiLabelKFold
from polyleaf.estimator.label_scores import label_scores

if TYPE_CHECKING:
    from polyleaf.data import Targets, TargetSchema

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def cross_val_proba(
    model: Any,
    X: Any,
    Y: Any,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Any:
    """Predict the probabilities of every row by a model that was trained on other rows.

    scikit-learn's ``cross_val_predict(method="predict_proba")`` does not know label matrices:
    this function takes them, sparse ones and ones with unobserved entries included.

    Parameters
    ----------
    model : classifier
        With `predict_proba`; copies of it are fitted. Of polyleaf, or any with scikit-learn's
        methods.
    X : array-like, frame or sparse matrix of shape (n, p)
    Y : array-like, frame or sparse matrix of shape (n,) or (n, d)
        Classes or labels.
    cv : int, splitter, or iterable of (train, test), default=5
        The folds: their number, an object with `split`, or the rows of each. Every row must be
        tested once. A number means folds in which all classes and labels are about equally
        frequent, or, with `groups`, scikit-learn's `GroupKFold`.
    groups : array-like of shape (n,), optional
        Rows of a group stay together. A splitter is given them.
    sample_weight : array-like of shape (n,) or (n, d), optional
        For training.
    random_state : int, RandomState or None, default=None
        Draws the folds.
    n_jobs : int or None, default=None
        Number of folds that are trained at a time.

    Returns
    -------
    ndarray of shape (n, 2), (n, c) or (n, d), csr_array of shape (n, d), or list
        As `predict_proba` gives them: of the two classes (binary), of each class (multi-class),
        of label = 1 (multi-label; sparse if the model's are), or one array of shape (n, c_j) per
        output. A class that some training rows lack has probability 0 in their fold.

    See Also
    --------
    TunedDecoder : chooses by such probabilities how they become label sets.

    Examples
    --------
    >>> from polyleaf import RandomForestClassifier, cross_val_proba
    >>> from polyleaf.datasets import make_multilabel
    >>> from polyleaf.metrics import roc_auc_score
    >>> X, Y = make_multilabel(300, 5, 4, random_state=0)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0)
    >>> probabilities = cross_val_proba(forest, X, Y, cv=3, random_state=0)
    >>> probabilities.shape
    (300, 4)
    >>> bool(roc_auc_score(Y, probabilities) > 0.7)
    True
    """
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"cross_val_proba needs a classifier with predict_proba; {type(model).__name__} has "
            "none. For numbers use sklearn.model_selection.cross_val_predict."
        )
    Y = read_sparse(Y, "Y") if is_sparse(Y) else Y
    X = read_rows(X)
    n_rows = len(X) if isinstance(X, (list, tuple)) else int(X.shape[0])
    targets = read_classes(Y, n_rows, estimator_name="cross_val_proba")
    folds = make_folds(cv, X, Y, targets, groups, random_state)
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fold_probabilities)(
            clone(model), X, Y, sample_weight, train, test, targets.schema
        )
        for train, test in folds
    )
    order = np.argsort(np.concatenate([test for _, test in folds]))
    joined = [_stacked(channel)[order] for channel in zip(*parts)]
    return joined if targets.schema.kind == "multiclass-multioutput" else joined[0]


def make_folds(cv: Any, X: Any, Y: Any, targets: Targets, groups: Any, random_state: Any) -> Folds:
    """Find the rows of each fold, and check that every row is tested once."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and cv >= 2:
        if groups is None:
            splitter: Any = MultiLabelKFold(int(cv), random_state=random_state)
            if targets.schema.kind == "regression":
                rng = read_random_state(random_state)
                splitter = KFold(int(cv), shuffle=True, random_state=rng)
            pairs: Iterable[Any] = splitter.split(X, targets.values)
        else:
            pairs = GroupKFold(int(cv)).split(np.zeros(targets.n_rows), groups=groups)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, Y, groups)
    elif isinstance(cv, Iterable) and not isinstance(cv, str) and not is_sparse(cv):
        pairs = cv
    else:
        raise ValueError(
            "cv must be an integer >= 2, an object with split, or pairs of rows (train, test); "
            f"got {shown(cv, 80)}."
        )
    folds = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    tested = np.concatenate([np.empty(0, np.intp), *(test for _, test in folds)])
    if not np.array_equal(np.sort(tested), np.arange(targets.n_rows)):
        raise ValueError(
            f"cv must test each of the {targets.n_rows} rows once; got {len(folds)} folds that "
            f"test {np.unique(tested).size} rows in {tested.size} places. Use KFold or another "
            "partition of the rows."
        )
    return folds


def _fold_probabilities(
    model: Any,
    X: Any,
    Y: Any,
    sample_weight: Any,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    schema: TargetSchema,
) -> list[Any]:
    """Train on some rows and predict others: a matrix for each output, or one for all labels."""
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[train]}
    model.fit(_safe_indexing(X, train), _safe_indexing(Y, train), **weights)
    rows = _safe_indexing(X, test)
    if schema.kind == "multilabel":
        return [label_scores(model, rows, schema.n_outputs)]
    found = _by_output(model.predict_proba(rows), model.classes_, schema.n_outputs)
    return [
        _aligned(probabilities, classes, known)
        for (probabilities, classes), known in zip(found, schema.classes, strict=True)
    ]


def _by_output(probabilities: Any, classes: Any, n_outputs: int) -> list[tuple[Any, Any]]:
    """Give probabilities and classes of each output."""
    if isinstance(probabilities, list):
        return list(zip(probabilities, classes, strict=True))
    if n_outputs == 1 and probabilities.shape[1] == len(classes):
        return [(probabilities, classes)]
    # Where the training rows of a fold hold 0 and 1 alone, outputs are taken for labels.
    dense = probabilities.toarray() if is_sparse(probabilities) else probabilities
    return [(np.column_stack([1.0 - share, share]), (0, 1)) for share in dense.T]


def _aligned(probabilities: Any, classes: Any, known: NDArray[Any]) -> NDArray[np.float64]:
    """Give the probabilities of all classes: 0 for those that the model has not seen."""
    labels: list[Any] = known.tolist()
    aligned = np.zeros((probabilities.shape[0], len(labels)))
    for at, label in enumerate(np.asarray(classes).tolist()):
        if label in labels:
            aligned[:, labels.index(label)] = np.asarray(probabilities)[:, at]
    return aligned


def _stacked(parts: tuple[Any, ...]) -> Any:
    if is_sparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)
