import numpy as np
import pytest
from scipy import sparse

from polyleaf import TreeClassifier
from polyleaf.hierarchy import Hierarchy, as_hierarchy
from polyleaf.inspection import plot_hierarchy

plt = pytest.importorskip("matplotlib.pyplot")

HIERARCHY = Hierarchy([(0, 1), (0, 2), (1, 3), (2, 3)], 5, names=list("abcde"))


@pytest.fixture(autouse=True)
def closed_pictures():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_label_has_a_line_with_its_score_the_likeliest_first():
    ax = plot_hierarchy(HIERARCHY, [0.9, 0.3, 0.5, 0.2, 0.95])
    assert texts(ax) == ["e  0.95", "a  0.90", "c  0.50", "b  0.30", "d  0.20"]


def test_a_second_parent_has_a_dashed_line():
    styles = [line.get_linestyle() for line in plot_hierarchy(HIERARCHY).lines]
    assert sorted(styles) == ["-", "-", "-", "--"]


def test_of_many_labels_the_likeliest_are_drawn_with_their_ancestors():
    d = 2000
    chain = as_hierarchy([-1, *range(9), *[-1] * (d - 10)])
    scores = np.zeros(d)
    scores[9] = 1.0  # at the end of a chain of ten
    ax = plot_hierarchy(chain, sparse.csr_array(scores[None]), max_labels=12)
    shown = texts(ax)
    assert shown[:10] == [f"label {j}  {scores[j]:.2f}" for j in range(10)]
    assert shown[-1] == "and 1,988 labels with lower scores"


def test_true_labels_have_a_ring_and_a_model_gives_its_hierarchy():
    X, Y = np.arange(8.0)[:, None], HIERARCHY.close(np.eye(8, 5, dtype=int))
    model = TreeClassifier(hierarchy=HIERARCHY).fit(X, Y)
    ax = plot_hierarchy(model, model.predict_proba(X)[3], labels=Y[3])
    assert ax.get_legend() is not None
    widths = ax.collections[0].get_linewidths()
    assert np.sum(np.asarray(widths) == 2.0) == Y[3].sum()


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([-1, 0], {}, "takes a Hierarchy"),
        (HIERARCHY, {"scores": [0.5, 0.5]}, "each of the 5 labels"),
        (HIERARCHY, {"labels": ["a"] * 5}, "labels must hold numbers"),
        (HIERARCHY, {"max_labels": 0}, "max_labels must be"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        plot_hierarchy(given, **options)
