"""An ecologist with few sites, missing features, species that nobody looked for, and regions."""

import numpy as np
import pandas as pd
import pytest

import polyleaf
from polyleaf.inspection import rules_text, tree_text
from polyleaf.metrics import METRICS

SPECIES = ["heron", "dipper", "crossbill", "jay"]


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    height, forest, water = (
        rng.uniform(0, 2500, 180),
        rng.uniform(0, 1, 180),
        rng.exponential(2, 180),
    )
    sites = pd.DataFrame(
        {
            "height": np.where(rng.random(180) < 0.1, np.nan, height.round()),
            "forest": forest.round(2),
            "water": water.round(1),
            "soil": pd.Categorical(rng.choice(["clay", "sand", "rock"], 180)),
        }
    )
    seen = np.column_stack(
        [
            (water < 1) & (height < 1200),
            (water < 1) & (height > 600),
            (forest > 0.6) & (height > 900),
            (forest > 0.4) & (height < 1600),
        ]
    ).astype(float)
    seen[rng.random(seen.shape) < 0.25] = np.nan  # nobody looked for this species here
    return sites, pd.DataFrame(seen, columns=SPECIES), np.repeat(np.arange(9), 20)


def test_gaps_are_learnt_around_and_judged_around(survey):
    sites, birds, regions = survey
    forest = polyleaf.RandomForestClassifier(n_estimators=40, random_state=0)
    held_out = polyleaf.cross_val_proba(forest, sites, birds, cv=3, groups=regions)
    assert held_out.shape == (180, 4)
    assert METRICS["macro_auc"].function(birds.to_numpy(), held_out) > 0.75
    forest.fit(sites[:120], birds[:120])
    judged = polyleaf.evaluate(forest, sites[120:], birds[120:])
    assert {"macro_auc", "log_loss", "brier_score"} <= set(judged.scores)
    assert set(judged.by_output()) == set(SPECIES)


def test_the_model_says_why(survey, tmp_path):
    sites, birds, _ = survey
    tree = polyleaf.TreeClassifier(max_depth=3, min_samples_leaf=8, random_state=0)
    assert "height" in tree_text(tree.fit(sites, birds))
    rules = polyleaf.RuleClassifier(n_rules=25, random_state=0).fit(sites, birds)
    assert "heron" in rules_text(rules, max_rules=5)
    why = rules.explain(sites[:1])
    assert set(SPECIES) <= set(why.columns)
    likely = rules.predict_topk(sites[:3], k=2, names=True)
    assert {name for row in likely for name, _ in row} <= set(SPECIES)
    polyleaf.save(rules, tmp_path / "birds.polyleaf")
    kept = polyleaf.load(tmp_path / "birds.polyleaf")
    assert kept.predict_topk(sites[:3], k=2, names=True) == likely


def test_a_species_that_nobody_looked_for_is_named(survey):
    sites, birds, _ = survey
    with pytest.warns(UserWarning, match="without a single observed value: 'owl'"):
        polyleaf.TreeClassifier(max_depth=2).fit(sites, birds.assign(owl=np.nan))
