"""scikit-learn's forests: on dense targets, on dense label matrices, on projected labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.versus.methods import Method
from benchmarks.versus.tasks import Case


def make_regressor(case: Case) -> Any:
    """Make a forest of multi-output trees."""
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    kinds = {"rf": RandomForestRegressor, "et": ExtraTreesRegressor}
    return kinds[case.options["kind"]](
        n_estimators=case.options["n_estimators"],
        max_features=case.options["max_features"],
        random_state=0,
        n_jobs=case.threads,
    )


class DenseLabels:
    """A forest that needs the labels as a dense array."""

    def __init__(self, forest: Any) -> None:
        self.forest = forest

    def fit(self, X: Any, Y: Any) -> DenseLabels:
        """Fit on all labels."""
        self.forest.fit(X, Y.toarray())
        return self

    def predict(self, X: Any) -> Any:
        """Predict the probability of every label."""
        return self.forest.predict(X)


class ProjectedLabels:
    """A forest on Gaussian combinations of the labels, its leaves relabelled for prediction.

    The relabelling belongs to `predict`, so that `fit` is scikit-learn's own work on the
    projected targets and nothing else.
    """

    def __init__(self, forest: Any, n_components: Any) -> None:
        self.forest = forest
        self.n_components = n_components

    def fit(self, X: Any, Y: Any) -> ProjectedLabels:
        """Fit on the projected labels."""
        n_labels = Y.shape[1]
        size = round(np.log(n_labels)) if self.n_components == "log" else self.n_components
        matrix = np.random.default_rng(0).normal(size=(n_labels, size)) / np.sqrt(size)
        self.X, self.Y = X, Y
        self.forest.fit(X, Y @ matrix)
        return self

    def predict(self, X: Any) -> Any:
        """Average the labels of the training rows that share a leaf, over all trees."""
        train, test = self.forest.apply(self.X), self.forest.apply(X)
        n_train = len(train)
        weights: Any = 0
        for t, drawn in enumerate(self.forest.estimators_samples_):
            counts = np.bincount(drawn, minlength=n_train)
            n_nodes = int(max(train[:, t].max(), test[:, t].max())) + 1
            member = sparse.csr_array(
                (counts, (train[:, t], np.arange(n_train))), shape=(n_nodes, n_train)
            )
            sizes = np.maximum(member.sum(axis=1), 1)
            weights = weights + (sparse.diags_array(1 / sizes) @ member)[test[:, t]]
        return (weights @ self.Y) / len(self.forest.estimators_samples_)


def make_labels(case: Case) -> Any:
    """Make a forest on all labels, as a regressor: quicker than the classifier, the same trees."""
    from sklearn.ensemble import RandomForestRegressor

    return DenseLabels(
        RandomForestRegressor(
            n_estimators=case.options["n_estimators"],
            max_features="sqrt",
            random_state=0,
            n_jobs=case.threads,
        )
    )


def make_projected(case: Case) -> Any:
    """Make a forest on projected labels."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=case.options["n_estimators"],
        max_features="sqrt",
        random_state=0,
        n_jobs=case.threads,
    )
    return ProjectedLabels(forest, case.options["n_components"])


def is_projected(case: Case) -> bool:
    """Tell whether the setting asks for combinations of the labels."""
    return case.options["n_components"] is not None


METHODS = (
    Method(
        "sklearn-forest",
        "forest",
        module="sklearn",
        distribution="scikit-learn",
        make=make_regressor,
    ),
    Method(
        "sklearn-label-forest",
        "labels",
        module="sklearn",
        distribution="scikit-learn",
        make=make_labels,
        applies=lambda case: not is_projected(case),  # a hundred trees take 10 GB
    ),
    Method(
        "sklearn-projected-forest",
        "labels",
        module="sklearn",
        distribution="scikit-learn",
        make=make_projected,
        applies=is_projected,
    ),
)
