import numpy as np
import pytest
from scipy import sparse

from polyleaf.datasets import DataFormatError, DataFormatWarning, read_clus

HEADER = "@RELATION 'c'\n@ATTRIBUTE a numeric\n@ATTRIBUTE class  hierarchical {}\n@DATA\n"


def read(write, classes, rows, **options):
    return read_clus(write("toy.arff", HEADER.format(classes) + rows), **options)


def test_a_row_has_its_classes_and_all_their_ancestors(write):
    data = read(write, "01,01/02,01/02/03,01/04,05", "1,01/02/03@05\n2,01\n3,01/04@01/02\n")
    assert isinstance(data.Y, sparse.csr_array)
    assert data.Y.dtype == np.int8
    np.testing.assert_array_equal(
        data.Y.toarray(), [[1, 1, 1, 0, 1], [1, 0, 0, 0, 0], [1, 1, 0, 1, 0]]
    )
    assert data.output_names == ["01", "01/02", "01/02/03", "01/04", "05"]


def test_undeclared_ancestors_become_labels_before_their_descendants(write):
    data = read(write, "x/y/z,x/w", "1,x/w\n2,x/y/z\n")
    assert data.output_names == ["x", "x/y", "x/y/z", "x/w"]
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 0, 1], [1, 1, 1, 0]])


def test_repeated_paths_count_once(write):
    data = read(write, "x,x/y,x,", "1,x/y@x@x/y\n2,x\n")
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 1], [1, 0]])


def test_rows_of_unknown_class_are_nan_in_dense_y(write):
    data = read(write, "x,x/y", "1,?\n2,x/y\n?,x\n")
    np.testing.assert_array_equal(data.Y, [[np.nan, np.nan], [1, 1], [1, 0]])
    assert data.n_missing_features == 1


def test_sparse_row_without_class_has_no_label(write):
    data = read(write, "x,x/y", "{0 1}\n{0 2,1 x/y}\n")
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 0], [1, 1]])


@pytest.mark.parametrize("value", ["z", "x/z", "x@", "@", "x/", "/x", "x//y", "x/y/"])
def test_undeclared_class_is_an_error_with_line(write, value):
    with pytest.raises(DataFormatError, match="line 6: expected declared classes joined by '@'"):
        read(write, "x,x/y", f"1,x\n2,{value}\n")
    with pytest.warns(DataFormatWarning):
        assert read(write, "x,x/y", f"1,x\n2,{value}\n", on_error="skip").n_samples == 1


def test_absurdly_deep_hierarchy_is_refused(write):
    with pytest.raises(DataFormatError, match="at most 64 names"):
        read(write, "/".join("x" * 100_000), "1,x\n")


def test_plain_targets_are_chosen_by_number_or_name(write):
    text = "@relation t\n@attribute a {p,q}\n@attribute b real\n@attribute c real\n@data\nq,1,2\n"
    path = write("toy.arff", text)
    assert read_clus(path, n_targets=2).output_names == ["b", "c"]
    assert read_clus(path, targets=["b"]).output_names == ["b"]
    with pytest.raises(DataFormatError, match="found 0; pass n_targets="):
        read_clus(path)
    with pytest.raises(ValueError, match="got both"):
        read_clus(path, n_targets=1, targets=["b"])


def test_hierarchical_attribute_cannot_be_a_plain_target(write):
    with pytest.raises(DataFormatError, match="'class' is a hierarchical attribute"):
        read(write, "x", "1,x\n", n_targets=1)


GRAPH = """@relation genes
@attribute size numeric
@attribute class hierarchical root/a,root/b,a/c,b/c,c/d,a/e
@data
1.0,d
2.0,e@b
3.0,a
"""


def test_a_class_graph_gives_a_row_all_ancestors_of_its_classes(tmp_path):
    path = tmp_path / "graph.arff"
    path.write_text(GRAPH)
    data = read_clus(path)
    assert data.output_names == ["a", "b", "c", "d", "e"]
    assert data.Y.toarray().tolist() == [[1, 1, 1, 1, 0], [1, 1, 0, 0, 1], [1, 0, 0, 0, 0]]


def test_a_class_graph_with_a_cycle_is_refused(tmp_path):
    path = tmp_path / "graph.arff"
    path.write_text(GRAPH.replace("a/c,b/c", "a/c,d/c"))
    with pytest.raises(DataFormatError, match="without cycles"):
        read_clus(path)


def test_paths_of_two_names_without_a_root_are_a_tree(tmp_path):
    path = tmp_path / "tree.arff"
    path.write_text(
        GRAPH.replace("root/a,root/b,a/c,b/c,c/d,a/e", "d,e/x,b,a").replace("e@b", "e/x")
    )
    assert read_clus(path).output_names == ["d", "e", "e/x", "b", "a"]
