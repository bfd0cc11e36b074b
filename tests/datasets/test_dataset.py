import numpy as np
import pytest
from scipy import sparse

from polyleaf.datasets import Dataset, concatenate
from polyleaf.datasets._dataset import NumberedNames

pd = pytest.importorskip("pandas")


def dataset(X, Y=None, **options):
    Y = np.zeros((X.shape[0], 1)) if Y is None else Y
    names = [f"f{i}" for i in range(X.shape[1])]
    return Dataset(X, Y, names, [f"o{i}" for i in range(Y.shape[1])], "toy", **options)


def test_repr_tells_sizes_layout_and_missing_values():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    Y = np.array([["a"], [np.nan]], dtype=object)
    assert repr(dataset(X, Y)) == (
        "Dataset('toy': n=2, p=2, d=1; X dense, Y dense; 1 missing in X, 1 missing in Y)"
    )
    assert "X sparse, Y sparse; nothing" in repr(
        dataset(sparse.csr_array((2, 2)), sparse.csr_array((2, 3), dtype=np.int8))
    )
    assert "X frame" in repr(dataset(pd.DataFrame({"a": ["x", None]})))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="same number of rows; got 2 and 3"):
        dataset(np.zeros((2, 1)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="feature_names must have 1 names; got 2"):
        Dataset(np.zeros((2, 1)), np.zeros((2, 1)), ["a", "b"], ["t"], "toy")


@pytest.mark.parametrize("as_sparse", [[True, True], [True, False], [False, False]])
def test_concatenate_stacks_rows_in_order(as_sparse):
    parts = [
        dataset(sparse.csr_array(np.full((2, 2), i * 1.0)) if flag else np.full((2, 2), i * 1.0))
        for i, flag in enumerate(as_sparse, start=1)
    ]
    joined = concatenate(parts, name="both")
    assert sparse.issparse(joined.X) == all(as_sparse)
    values = joined.X.toarray() if sparse.issparse(joined.X) else joined.X
    np.testing.assert_array_equal(values, [[1, 1], [1, 1], [2, 2], [2, 2]])
    assert joined.name == "both"


def test_concatenate_keeps_categories_and_adds_skipped_lines():
    frame = pd.DataFrame({"a": pd.Categorical(["x"], categories=["x", "y"])})
    joined = concatenate([dataset(frame, n_skipped=1), dataset(frame, n_skipped=2)])
    assert joined.X["a"].cat.categories.tolist() == ["x", "y"]
    assert joined.X.index.tolist() == [0, 1]
    assert joined.n_skipped == 3


def test_concatenate_refuses_what_does_not_fit():
    frame = pd.DataFrame({"a": pd.Categorical(["x"], categories=["x", "y"])})
    other = pd.DataFrame({"a": pd.Categorical(["x"], categories=["x", "z"])})
    with pytest.raises(ValueError, match="same types"):
        concatenate([dataset(frame), dataset(other)])
    with pytest.raises(ValueError, match="same types"):
        concatenate([dataset(frame), dataset(np.zeros((1, 1)))])
    with pytest.raises(ValueError, match="same feature_names"):
        concatenate([dataset(np.zeros((1, 1))), dataset(np.zeros((1, 2)))])
    with pytest.raises(ValueError, match="at least one"):
        concatenate([])


def test_numbered_names_behave_as_a_list():
    names = NumberedNames("x", 4)
    assert list(names) == ["x0", "x1", "x2", "x3"] == names
    assert (names[-1], names[1:3]) == ("x3", ["x1", "x2"])
    assert names == NumberedNames("x", 4)
    assert names != ["x0"]
    with pytest.raises(IndexError):
        names[4]
