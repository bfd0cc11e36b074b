"""Published settings: every variant works, and stays what it is when defaults change."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import polyleaf
from polyleaf import projections
from polyleaf._registry import ESTIMATORS
from polyleaf.estimator.parameters import declaration_of, parameter_names

#: All settings of all variants, as model files hold them, checked against the papers when they
#: were written. A change here changes what "as published" means, and needs a reason.
GOLDEN = json.loads((Path(__file__).parent / "published_settings.json").read_text())
#: What belongs to the data or the machine, not to a paper.
FREE = {"categorical_features", "hierarchy", "n_jobs", "random_state", "verbose"}
#: What has no effect with the settings of rules (only with partial heads, early stopping or a
#: hierarchy).
IDLE = {"RuleClassifier": {"head_size", "n_iter_no_change", "on_violation", "validation_fraction"}}
VARIANTS = [
    (name, variant) for name in ESTIMATORS for variant in ESTIMATORS[name].paper_variants()
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
NUMBERS = X @ RNG.normal(size=(4, 5)) + 0.3 * RNG.normal(size=(80, 5))
LABELS = (NUMBERS > 0).astype(int)


def targets(name):
    return NUMBERS if name.endswith("Regressor") else LABELS


def small(name, variant, **changed):
    cls = ESTIMATORS[name]
    sizes = {"n_estimators": 4, "n_rules": 8}
    known = {key: value for key, value in sizes.items() if key in parameter_names(cls)}
    return cls.paper(variant, random_state=0, **known, **changed)


def stored(estimator, names):
    cls = type(estimator)
    return {
        name: declaration_of(cls, name).stored.write(name, getattr(estimator, name))
        for name in names
    }


def test_every_family_of_the_papers_has_variants():
    for name in ESTIMATORS:
        has_some = bool(ESTIMATORS[name].paper_variants())
        assert has_some != (name.endswith("Mixed") or name == "RuleRegressor"), name


@pytest.mark.parametrize(
    ("cls", "main", "others"),
    [
        ("BoostingRegressor", "gbrt-relabel-rpo", {"gbmort", "gbrt-rpo", "st-gbrt"}),
        ("BoostingClassifier", "gbrt-relabel-rpo", {"gbmort", "gbrt-rpo", "st-gbrt"}),
        ("RandomForestRegressor", "ros", {"rp"}),
        ("RandomForestClassifier", "rp", {"ros"}),
        ("ExtraTreesRegressor", "ros", {"rp"}),
        ("ExtraTreesClassifier", "rp", {"ros"}),
        ("BaggedTreesRegressor", "ros", {"rp"}),
        ("BaggedTreesClassifier", "rp", {"ros"}),
        ("TreeRegressor", "pct", {"rp"}),
        ("TreeClassifier", "rp", {"pct"}),
        ("GraphEnsembleClassifier", "mam", {"amm", "mve"}),
        ("GraphClassifier", "mmcrf", set()),
        ("RuleClassifier", "ew-multi", {"ew-single", "lw-multi", "lw-single"}),
    ],
)
def test_the_main_variant_is_first_and_stands_for_none(cls, main, others):
    estimator = getattr(polyleaf, cls)
    names = estimator.paper_variants()
    assert names[0] == main
    assert others <= set(names)
    assert repr(estimator.paper()) == repr(estimator.paper(main))


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_settings_are_those_that_were_published(name, variant):
    estimator = ESTIMATORS[name].paper(variant)
    found = stored(estimator, sorted(GOLDEN[name][variant]))
    assert json.loads(json.dumps(found)) == GOLDEN[name][variant]


def test_the_table_of_settings_has_every_variant_and_no_other():
    listed = [(name, variant) for name, variants in GOLDEN.items() for variant in variants]
    assert sorted(listed) == sorted(VARIANTS)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_no_setting_depends_on_a_default(name, variant, monkeypatch):
    cls = ESTIMATORS[name]
    before = cls.paper(variant).get_params(deep=False)
    others = {
        key: f"another default of {key}"
        for key, argument in inspect.signature(cls).parameters.items()
        if argument.default is not inspect.Parameter.empty
    }
    monkeypatch.setattr(cls.__init__, "__kwdefaults__", others)
    after = cls.paper(variant).get_params(deep=False)
    moved = {key for key in after if repr(after[key]) != repr(before[key])}
    assert moved <= FREE | IDLE.get(name, set())


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_variant_learns_is_cloned_and_saved(name, variant, tmp_path):
    y = targets(name)
    model = small(name, variant)
    assert repr(clone(model)) == repr(model)
    assert type(model)(**model.get_params(deep=False)).get_params(deep=False).keys()
    predicted = model.fit(X, y).predict(X)
    assert predicted.shape == y.shape
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    np.testing.assert_array_equal(loaded.predict(X), predicted)
    names = sorted(GOLDEN[name][variant])
    assert stored(loaded, names) == stored(model, names)


@pytest.mark.parametrize("name", ["BoostingClassifier", "RandomForestClassifier"])
def test_variants_take_sparse_labels(name):
    cls = ESTIMATORS[name]
    for variant in cls.paper_variants():
        predicted = small(name, variant).fit(X, sparse.csr_array(LABELS)).predict(X)
        assert predicted.shape == LABELS.shape


def test_variants_of_boosting_differ_where_their_algorithms_do():
    changed = {"n_estimators": 20, "random_state": 0}
    shown = {
        variant: polyleaf.BoostingRegressor.paper(variant, **changed).fit(X, NUMBERS).predict(X)
        for variant in ("gbmort", "gbrt-rpo", "gbrt-relabel-rpo", "st-gbrt")
    }
    values = list(shown.values())
    for i, one in enumerate(values):
        for other in values[i + 1 :]:
            assert not np.allclose(one, other)


def test_aggregations_of_graphs_share_everything_else():
    settings = [
        polyleaf.GraphEnsembleClassifier.paper(name).get_params() for name in ("mam", "amm", "mve")
    ]
    assert [given.pop("aggregation") for given in settings] == ["mam", "amm", "mve"]
    assert settings[0] == settings[1] == settings[2]


def test_what_is_changed_wins_over_what_was_published():
    model = polyleaf.RandomForestRegressor.paper(
        "ros", projection=projections.Subsample(0.25), n_estimators=10, n_jobs=2
    )
    assert model.projection.n_components == 0.25
    assert (model.n_estimators, model.n_jobs) == (10, 2)
    assert model.aggregation == "subspace"


def test_an_estimator_does_not_share_its_projection_with_the_table():
    first = polyleaf.RandomForestRegressor.paper("ros")
    first.set_params(projection__n_components=1)
    assert polyleaf.RandomForestRegressor.paper("ros").projection.n_components == 0.75


def test_rules_keep_loss_and_head():
    changed = polyleaf.RuleClassifier.paper(loss="logistic", head="single")
    assert repr(changed) == repr(polyleaf.RuleClassifier.paper("lw-single"))
    assert polyleaf.RuleClassifier.paper("lw-multi", head="single").loss == "logistic"


@pytest.mark.parametrize("name", [name for name, variants in GOLDEN.items() if variants])
def test_an_unknown_variant_names_the_choices(name):
    cls = ESTIMATORS[name]
    nearly = cls.paper_variants()[0] + "x"
    with pytest.raises(ValueError, match="Did you mean") as caught:
        cls.paper(nearly)
    for variant in cls.paper_variants():
        assert repr(variant) in str(caught.value)
    assert f"{name}.paper" in str(caught.value)
    with pytest.raises(ValueError, match="got 3"):
        cls.paper(3)


@pytest.mark.parametrize("name", list(GOLDEN))
def test_an_unknown_parameter_is_named(name):
    with pytest.raises(TypeError, match=rf"{name} has no parameter 'random_stat'.*Did you mean"):
        ESTIMATORS[name].paper(random_stat=0)


def test_an_estimator_without_a_paper_says_so():
    assert polyleaf.RuleRegressor.paper_variants() == ()
    with pytest.raises(ValueError, match="No paper has settings for RuleRegressor"):
        polyleaf.RuleRegressor.paper()


def test_the_guide_describes_every_variant():
    guide = Path(polyleaf.__file__).parents[2] / "docs" / "guide" / "papers.md"
    text = guide.read_text(encoding="utf-8")
    for _, variant in VARIANTS:
        assert f"`{variant}`" in text or f'"{variant}"' in text, variant
