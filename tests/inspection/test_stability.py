"""Rankings per output: stable where features matter, by their definitions."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import polyleaf
from polyleaf.inspection import RankingStability, plot_ranking_stability, ranking_stability

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6))
# The first target depends on two features, the second on noise alone.
Y = np.column_stack([3 * X[:, 0] + 2 * X[:, 4], RNG.normal(size=240)])
FOREST = polyleaf.ExtraTreesRegressor(
    n_estimators=10, max_depth=6, max_features=None, random_state=0
)


@pytest.mark.parametrize("importances", ["splits", "shap", "permutation"])
def test_rankings_of_noise_are_unstable_and_others_stable(importances):
    found = ranking_stability(
        FOREST, X, Y, importances=importances, n_resamples=8, n_top=2, random_state=0
    )
    assert found.mean_ranks[0].argsort()[:2].tolist() == [0, 4]
    assert found.top_stability[0] == 1.0
    assert found.top_stability[1] < 0.7
    assert found.correlations[0] > found.correlations[1]
    np.testing.assert_allclose(found.top_shares.sum(axis=1), 2.0)


def test_measures_are_their_definitions():
    sizes = np.random.default_rng(1).random((7, 2, 5)).round(1)  # with ties
    found = RankingStability(sizes, 2, list("abcde"), ["y", "z"])
    for j in range(2):
        pairs = [stats.spearmanr(a[j], b[j]).statistic for a, b in combinations(sizes, 2)]
        assert found.correlations[j] == pytest.approx(np.mean(pairs))
    distinct = np.random.default_rng(2).random((7, 1, 5))
    found = RankingStability(distinct, 2, list("abcde"), ["y"])
    chosen = np.zeros((7, 5))
    for i, row in enumerate(distinct[:, 0]):
        chosen[i, np.argsort(-row)[:2]] = 1
    expected = 1 - chosen.var(axis=0, ddof=1).mean() / (2 / 5 * 3 / 5)
    assert found.top_stability[0] == pytest.approx(expected)
    np.testing.assert_allclose(found.top_shares[0], chosen.mean(axis=0))


def test_random_sets_have_a_stability_of_nothing():
    sizes = np.random.default_rng(0).random((200, 3, 30))
    found = RankingStability(sizes, 6, [f"x{j}" for j in range(30)], list("abc"))
    assert np.abs(found.top_stability).max() < 0.02
    assert np.abs(found.correlations).max() < 0.02


def test_the_estimator_stays_unfitted_and_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    targets = pd.DataFrame(Y > 0, columns=["one", "two"]).astype(int)
    rules = polyleaf.RuleClassifier(n_rules=10, random_state=0)
    found = ranking_stability(rules, frame, targets, n_resamples=3, random_state=0)
    assert not hasattr(rules, "_fitted")
    table = found.to_frame()
    assert table.columns.tolist() == [
        "output", "feature", "importance", "rank", "low", "high", "in_top"
    ]  # fmt: skip
    assert table["output"].unique().tolist() == ["one", "two"]
    assert table[table.output == "one"]["feature"].iloc[0] == "a"
    assert (table["low"] <= table["high"]).all()


def test_classes_count_as_one_output():
    classes = np.digitize(Y, [-1.0, 1.0]).astype(object)
    model = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0)
    found = ranking_stability(model, X, classes, importances="shap", n_resamples=2)
    assert found.importances.shape == (2, 2, 6)


@pytest.mark.parametrize("n_outputs", [2, 14, 100])
def test_pictures_name_every_output(n_outputs):
    sizes = np.random.default_rng(0).random((5, n_outputs, 25))
    names = [f"target {j}" for j in range(n_outputs)]
    found = RankingStability(sizes, 5, [f"x{j}" for j in range(25)], names)
    ax = plot_ranking_stability(found, max_features=10)
    assert len(ax.get_yticklabels()) == 1 + n_outputs
    assert ax.get_yticklabels()[1].get_text().startswith("target 0 (")
    plt.close("all")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"importances": "split"}, "Did you mean 'splits'"),
        ({"n_resamples": 1}, "2 or more"),
        ({"fraction": 1.0}, "both sides"),
        ({"n_top": 7}, "at most 6"),
        ({"importances": lambda *_: np.zeros(3)}, r"shape \(2, 6\)"),
    ],
)
def test_wrong_arguments_are_explained(given, message):
    with pytest.raises(ValueError, match=message):
        ranking_stability(FOREST, X, Y, **{"n_resamples": 2, **given})
