from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor

from polyleaf import TreeClassifier, TreeRegressor
from polyleaf.datasets import make_multilabel
from polyleaf.trees.reader import TreeReader


def _rows_of_node(tree, X, node):
    return np.flatnonzero(tree.decision_path(X)[:, [node]].toarray()[:, 0])


def _obeys(sentence: str, column: pd.Series) -> np.ndarray:
    """Evaluate a sentence such as 'depth <= 3' on a column; missing values give False."""
    name = str(column.name)
    rest = sentence.removeprefix(name).strip()
    if rest.startswith("in {"):
        return column.isin(rest[4:-1].split(", ")).to_numpy()
    if rest == "is missing":
        return column.isna().to_numpy()
    if rest == "is known":
        return column.notna().to_numpy()
    operator, threshold = rest.split()
    values = column.to_numpy(float)
    return values <= float(threshold) if operator == "<=" else values > float(threshold)


def test_node_values_are_means_of_the_rows_that_reach_the_node(soil, soil_tree):
    X, Y = soil
    reader = TreeReader(soil_tree)
    for node in range(reader.structure.n_nodes):
        rows = _rows_of_node(soil_tree, X, node)
        np.testing.assert_allclose(reader.values(node), Y.iloc[rows].mean(), rtol=1e-9)


def test_node_values_of_sparse_labels_are_their_shares():
    X, Y = make_multilabel(120, 5, 40, sparse_output=True, random_state=0)
    tree = TreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    reader = TreeReader(tree)
    assert sparse.issparse(tree.predict(X))
    for node in range(reader.structure.n_nodes):
        rows = _rows_of_node(tree, X, node)
        np.testing.assert_allclose(reader.values(node), Y.toarray()[rows].mean(axis=0), atol=1e-12)


def test_node_values_count_weights_and_leave_out_unobserved_targets(soil):
    X, Y = soil
    Y = Y.copy()
    Y.iloc[::3, 0] = np.nan
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    tree = TreeRegressor(max_depth=2, random_state=0).fit(X, Y, sample_weight=weights)
    seen = Y["carbon"].notna().to_numpy()
    expected = [
        np.average(Y["carbon"][seen], weights=weights[seen]),
        np.average(Y["nitrogen"], weights=weights),
    ]
    np.testing.assert_allclose(TreeReader(tree).root_values, expected, rtol=1e-9)


def test_conditions_describe_the_way_that_rows_take(soil, soil_tree):
    X, _ = soil
    # Thresholds with all digits, so that no value falls between one and its rounding.
    reader = TreeReader(soil_tree, decimals=15)
    kinds = set()
    for node in np.flatnonzero(~reader.structure.is_leaf).tolist():
        rows = X.iloc[_rows_of_node(soil_tree, X, node)]
        column = rows[reader.feature_names[reader.structure.feature[node]]]
        missing = column.isna().to_numpy()
        for side, child in enumerate(reader.children(node)):
            sentence = reader.conditions(node)[side]
            kinds.add(sentence.split()[1])
            takes_missing = reader.missing_left(node) == (side == 0)
            went = _obeys(sentence, column) | (missing & takes_missing)
            expected = _rows_of_node(soil_tree, X, child)
            np.testing.assert_array_equal(rows.index[went], expected)
    assert {"in", "<="} <= kinds


def test_a_split_on_missing_values_alone_says_so():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = TreeRegressor(max_depth=1).fit(X, [0.0, 0.0, 1.0, 1.0])
    reader = TreeReader(tree)
    assert reader.asks_whether_missing(0)
    assert set(reader.conditions(0)) == {"x0 is known", "x0 is missing"}


def test_categories_that_cannot_reach_a_node_are_left_out():
    X = pd.DataFrame({"letter": list("aabbccdd") * 5})
    y = X["letter"].map({"a": 0.0, "b": 1.0, "c": 10.0, "d": 13.0}).to_numpy()
    reader = TreeReader(TreeRegressor(random_state=0).fit(X, y))
    assert {"letter in {a}", "letter in {b}"} in [set(reader.conditions(n)) for n in (1, 4)]


def test_many_categories_are_counted_rather_than_listed():
    names = [f"c{j:02d}" for j in range(40)]
    X = pd.DataFrame({"code": names * 3})
    y = np.tile(np.arange(40) < 10, 3).astype(float)
    yes, no = TreeReader(TreeRegressor(random_state=0).fit(X, y)).conditions(0)
    few = "{c00, c01, c02, c03, c04, c05, ... 4 more}"
    assert {yes, no} == {f"code in {few}", f"code not in {few}"}


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (np.array([0.0, 1.5, 2.5]), ["y"]),
        (np.array([0, 1, 1]), ["y=1"]),
        (np.array(["a", "b", "c"]), ["y=a", "y=b", "y=c"]),
        (np.array([[0, 1], [1, 1], [1, 0]]), ["y0", "y1"]),
        (np.array([[0, 5], [1, 6], [2, 6]]), ["y0=0", "y0=1", "y0=2", "y1=5", "y1=6"]),
    ],
)
def test_values_are_named_by_output_and_class(y, names):
    estimator = TreeRegressor() if y.dtype.kind == "f" else TreeClassifier()
    assert TreeReader(estimator.fit(np.arange(3.0)[:, None], y)).value_names == names


def test_a_constant_output_does_not_deviate():
    Y = np.column_stack([np.arange(9.0), np.full(9, 0.1)])
    reader = TreeReader(TreeRegressor().fit(np.arange(9.0)[:, None], Y))
    assert reader.scale[1] == 0.0
    assert all(reader.deviations(node)[1] == 0.0 for node in range(reader.structure.n_nodes))


def test_outputs_are_found_by_name_and_position(soil_tree):
    reader = TreeReader(soil_tree)
    np.testing.assert_array_equal(reader.positions(["nitrogen", 0]), [1, 0])
    with pytest.raises(ValueError, match=r"among 'carbon', 'nitrogen'; got 'iron'"):
        reader.positions(["iron"])
    with pytest.raises(ValueError, match=r"from 0 to 1; got 2"):
        reader.positions([2])
    with pytest.raises(ValueError, match="non-empty list"):
        reader.positions("carbon")


def test_other_models_and_wrong_names_are_refused(soil_tree):
    with pytest.raises(TypeError, match="got DecisionTreeRegressor"):
        TreeReader(DecisionTreeRegressor())
    with pytest.raises(NotFittedError):
        TreeReader(TreeRegressor())
    with pytest.raises(ValueError, match="feature_names must have 3 names; got 1"):
        TreeReader(soil_tree, ["a"])
