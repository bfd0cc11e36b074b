"""Cases of inputs, of split finders and of larger data, for all that grow trees."""

from __future__ import annotations

import numpy as np
from cases import CLASSIFIERS, REGRESSORS, Table
from problems import (
    CODED,
    Problem,
    as_frame,
    labels,
    numbers,
    with_categories,
    with_gaps,
    with_odd_columns,
    words,
)
from scipy import sparse


def add_inputs(table: Table) -> None:
    """Add every tree, forest, boosting and rule estimator on every kind of X, y and weights."""
    rng = np.random.default_rng(7)
    by_row, by_entry = rng.exponential(size=240), rng.exponential(size=(240, 7))
    by_row[::10] = 0.0
    names = zip(REGRESSORS, CLASSIFIERS)
    for name, plain in ((n, p) for pair in names for n, p in zip(pair, (numbers(), labels()))):
        thin = plain.X * (rng.random(plain.X.shape) < 0.5)
        problems = [
            with_gaps(plain),
            with_gaps(plain, in_X=False, in_y=True),
            with_gaps(plain, in_X=True, in_y=True),
            plain.but("float32", X=plain.X.astype(np.float32), X_new=np.float32(plain.X_new)),
            plain.but("columns first", X=np.asfortranarray(plain.X)),
            plain.but("sparse X", X=sparse.csr_matrix(thin), X_new=sparse.csc_array(plain.X_new)),
            plain.but("sparse y", y=sparse.csr_array(np.maximum(plain.y, 0))),
            as_frame(plain),
            as_frame(plain, "polars"),
            plain.but("binned once", X=table.library.BinnedData(plain.X)),
        ]
        for problem in problems:
            table.add(name, problem)
        coded = with_categories(plain)
        table.add(name, coded, categorical_features=CODED)
        table.add(name, with_gaps(coded), categorical_features=CODED, max_bins=16)
        table.add(name, with_gaps(coded, in_X=False, in_y=True), categorical_features=CODED)
        for more in ({}, {"max_bins": 8}, {"max_bins": None}):
            table.add(name, with_odd_columns(plain), **more)
        table.add(name, with_gaps(with_odd_columns(plain), in_y=True))
        table.add(name, plain, "weighted rows", fit={"sample_weight": by_row})
        entries = by_entry[:, : plain.y.shape[1]]
        table.add(name, plain, "weighted entries", fit={"sample_weight": entries})
        table.add(name, plain, n_jobs=2)
        if "Rule" not in name:
            table.add(name, with_gaps(plain, in_y=True), max_leaf_nodes=6)
            table.add(
                name,
                with_gaps(plain, in_y=True),
                "weighted",
                fit={"sample_weight": by_row},
                projection="gaussian",
            )


def add_finders(table: Table) -> None:
    """Add wide sparse features and many labels, for which the core has searches of its own."""
    of = table.library.projections
    dense_y = words().but("dense y", y=words().y.toarray())
    few = words(d=5).but("dense y", y=words(d=5).y.toarray())
    dense_X = words().but("dense X", X=words().X.toarray(), X_new=words().X_new.toarray())
    mixed_X = sparse.csr_array(sparse.hstack([words().X, numbers(n=500).X]))
    mixed_new = sparse.csr_array(sparse.hstack([words().X_new, numbers(n=500).X_new]))
    mixed = words().but("and numbers", X=mixed_X, X_new=mixed_new)
    mostly = words().X.toarray()
    mostly[:, :3] = 1 - mostly[:, :3]
    inverted = words().but("some mostly 1", X=sparse.csr_array(mostly))
    frequencies = words(binary=False)
    counted = frequencies.but("dense y", y=frequencies.y.toarray())
    for problem in (words(), dense_y, few, dense_X, mixed, inverted, frequencies, counted):
        table.add("TreeClassifier", problem)
        table.add("RandomForestClassifier", problem, n_jobs=2)
        table.add("ExtraTreesClassifier", problem, max_features=None)
    for problem in (words(), dense_y, few, counted):
        table.add("RandomForestClassifier", problem, max_features=None, max_bins=None)
        table.add("TreeClassifier", problem, max_leaf_nodes=20)
        table.add("BoostingClassifier", problem, projection=of.Gaussian(2))
        table.add("RandomForestClassifier", problem, projection="gaussian", max_features=None)
        table.add(
            "RandomForestClassifier",
            problem,
            "weighted",
            fit={"sample_weight": np.linspace(0.5, 2, 500)},
        )
    half = np.random.default_rng(10).integers(2, size=(560, 30))
    halves = words().but("half of X 1", X=half[:500], X_new=half[500:])
    flags = with_odd_columns(labels(n=500)).but("sparse y", y=sparse.csr_array(labels(n=500).y))
    coded = with_categories(labels(n=900), n_codes=(4, 400))
    thin = coded.but("sparse y", y=sparse.csr_array(coded.y))
    for name in ("TreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"):
        table.add(name, halves)
        table.add(name, halves.but("sparse", X=sparse.csr_array(halves.X)))
        table.add(name, flags)
        table.add(name, coded, categorical_features=CODED)
        table.add(name, thin, categorical_features=CODED)
        table.add(name, dense_X, categorical_features=[0, 1, 2, 3])
    table.add("BoostingRegressor", few, projection=None, n_jobs=2)
    table.add("RuleClassifier", frequencies, n_rules=8)
    table.add("RuleClassifier", few)
    table.add("RuleClassifier", few, loss="examplewise_logistic")
    wide = numbers(n=400, p=60, d=30)
    for name in ("RandomForestRegressor", "ExtraTreesRegressor", "BaggedTreesRegressor"):
        table.add(name, wide, max_features="sqrt")
    wide_labels = labels(n=400, p=60, d=30)
    for name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        table.add(name, wide_labels, max_features="sqrt", min_samples_leaf=2)
        table.add(name, wide_labels, max_features=5, bootstrap=False)
    wide_X = words(36_000, 60, 6)
    for problem in (wide_X, wide_X.but("dense y", y=wide_X.y.toarray())):
        table.add("TreeClassifier", problem, max_depth=5, n_jobs=2)
        table.add("TreeClassifier", problem, max_depth=4, max_features=20, n_jobs=2)
    table.add("BoostingClassifier", wide_X, n_estimators=2, projection=of.Gaussian(1), n_jobs=2)
    extreme = table.library.datasets.make_extreme_labels(700, 500, 800, random_state=0)
    tagged = Problem("extreme", extreme[0][:640], extreme[1][:640], extreme[0][640:])
    for name in ("RandomForestClassifier", "ExtraTreesClassifier", "TreeClassifier"):
        table.add(name, tagged, projection=of.Gaussian("log"))
        table.add(name, tagged, projection=of.SparseRademacher("log"))


def add_large(table: Table) -> None:
    """Add 20000 rows, which all threads search together, by histograms and by sorted lists."""
    of = table.library.projections
    for d in (1, 4, 16):
        problem = numbers(20_000, 20, d)
        table.add("BoostingRegressor", problem, n_estimators=5, max_depth=6, n_jobs=1)
        table.add_each(
            "BoostingRegressor",
            problem,
            *(
                {"n_estimators": 4, "max_depth": 6, "n_jobs": 2, **more}
                for more in ({}, {"subsample": 0.6}, {"max_leaf_nodes": 31}, {"max_features": 6})
            ),
        )
        single = problem.but("float32", X=problem.X.astype(np.float32))
        table.add("BoostingRegressor", single, n_estimators=3, n_jobs=2)
        table.add("RandomForestRegressor", problem, n_estimators=2, max_depth=9, n_jobs=2)
        table.add("TreeRegressor", problem, max_depth=10, n_jobs=2)
        table.add("TreeRegressor", problem, max_leaf_nodes=60, n_jobs=2)
        table.add("ExtraTreesRegressor", problem, n_estimators=2, max_depth=12, n_jobs=2)
        table.add("TreeRegressor", problem, splitter="random", max_depth=12, n_jobs=2)
        table.add("TreeRegressor", with_gaps(problem), max_depth=7, n_jobs=2)
        table.add("TreeRegressor", with_gaps(problem), max_depth=7, max_bins=None, n_jobs=2)
    four, many = numbers(20_000, 20, 4), numbers(20_000, 20, 16)
    table.add("TreeRegressor", with_gaps(four, in_y=True), max_depth=7, n_jobs=2)
    coded = with_categories(four)
    for name in ("TreeRegressor", "BoostingRegressor", "ExtraTreesRegressor"):
        table.add(name, coded, categorical_features=CODED, max_depth=6, n_jobs=2)
        table.add(name, with_odd_columns(four), max_depth=6, n_jobs=2)
    table.add("BoostingRegressor", numbers(40_000, 8, 1), n_estimators=3, n_jobs=2)
    table.add("BoostingRegressor", many, projection=of.Gaussian(2), n_jobs=2)
    table.add("BoostingRegressor", many, n_estimators=3, loss="absolute_error", n_jobs=2)
    table.add("RandomForestRegressor", many, projection="gaussian", n_estimators=2, n_jobs=2)
    crowd = labels(20_000, 20, 40)
    table.add("BoostingClassifier", crowd, n_estimators=2, n_jobs=2)
    table.add("BoostingClassifier", crowd, n_estimators=2, loss="examplewise_logistic", n_jobs=2)
    table.add("TreeClassifier", crowd, max_depth=8, n_jobs=2)
    table.add("RandomForestClassifier", crowd, max_depth=8, n_estimators=2, n_jobs=2)
    table.add("RuleClassifier", labels(20_000, 20, 6), n_rules=4, n_jobs=2)
    table.add(
        "RuleClassifier", labels(20_000, 20, 6), n_rules=4, n_jobs=2, loss="examplewise_logistic"
    )
