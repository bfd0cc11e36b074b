"""AutoRegressor and AutoClassifier as estimators."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

import polyleaf
from polyleaf import AutoClassifier, AutoRegressor
from polyleaf.auto import training
from polyleaf.datasets import make_multilabel
from polyleaf.files.storage import ModelFileError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.column_stack([X[:, 0] + X[:, 1], np.sin(2 * X[:, 2])]) + 0.1 * RNG.normal(size=(90, 2))
LABELS = (Y > 0).astype(int)
NAMES = np.array(["u", "v", "w"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "p", "q")})
FRAME.loc[::7, "a"] = np.nan
GAPS = np.where(RNG.random(Y.shape) < 0.1, np.nan, Y)
LABEL_GAPS = np.where(np.isnan(GAPS), np.nan, LABELS)


def test_a_small_budget_learns_and_tells_what_was_tried():
    model = AutoRegressor(budget="small", cv=3, random_state=0).fit(X, Y)
    board = model.leaderboard_
    assert list(board) == ["name", "score", "score_std", "work", "seconds", "weight"]
    assert set(board["name"]) == {
        "extra_trees", "random_forest", "boosting", "ridge", "rules"
    }  # fmt: skip
    assert board["score"].is_monotonic_decreasing
    assert board["weight"].sum() == pytest.approx(1.0)
    weighted = dict(zip(board["name"], board["weight"]))
    assert all(weighted[name] > 0 for name, _ in model.members_)
    assert model.score(X, Y) > 0.9
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0)


def test_a_regression_is_the_weighted_sum_of_its_members(quick):
    model = AutoRegressor(random_state=0).fit(X, Y)
    parts = [member.predict(X) for _, member in model.members_]
    expected = sum(w * part for w, part in zip(model.weights_.T, parts))
    np.testing.assert_allclose(model.predict(X), expected)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, Y),
        (X, Y[:, 0]),
        (X, GAPS),
        (FRAME, pd.DataFrame(Y, columns=["s", "t"])),
        (sparse.csr_array(X), Y),
        (sparse.csr_array(X), sparse.csr_array(np.maximum(Y, 0.0))),
        (X[:12], Y[:12]),
        (X[:3], Y[:3]),
    ],
)
def test_regressors_take_what_polyleaf_takes(quick, x, y):
    model = AutoRegressor(random_state=0).fit(x, y)
    found = model.predict(x)
    assert found.shape == y.shape
    assert sparse.issparse(found) == sparse.issparse(y)
    found = found.toarray() if sparse.issparse(found) else np.asarray(found)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, LABELS),
        (X, LABELS[:, 0]),
        (X, NAMES),
        (X, np.column_stack([NAMES, np.where(LABELS[:, 1] > 0, "yes", "no")])),
        (X, LABEL_GAPS),
        (FRAME, pd.DataFrame(LABELS, columns=["s", "t"])),
        (sparse.csr_array(X), sparse.csr_array(LABELS)),
        (X[:12], LABELS[:12]),
        (X[:3], LABELS[:3]),
        (X, np.column_stack([LABELS, np.zeros(90, int), np.eye(90, 1, dtype=int)[:, 0]])),
    ],
)
def test_classifiers_take_what_polyleaf_takes(quick, x, y):
    model = AutoClassifier(random_state=0).fit(x, y)
    assert model.predict(x).shape == y.shape
    found = model.predict_proba(x)
    for part in found if isinstance(found, list) else [found]:
        assert np.isfinite(part).all()
        assert part.min() >= 0.0
        assert part.max() <= 1.0
        if model._targets.kind != "multilabel":
            np.testing.assert_allclose(part.sum(axis=1), 1.0)


def test_a_thousand_labels_and_two_hundred_rows(quick):
    rows, labels = make_multilabel(200, 6, 1000, random_state=0)
    model = AutoClassifier(random_state=0).fit(rows, sparse.csr_array(labels))
    assert model.predict_proba(rows).shape == (200, 1000)
    assert sparse.issparse(model.predict(rows))


def test_rows_without_weight_do_not_count(quick):
    weights = np.ones(90)
    weights[60:] = 0.0
    spoiled = Y.copy()
    spoiled[60:] = 1e6
    model = AutoRegressor(random_state=0).fit(X, spoiled, weights)
    alone = AutoRegressor(random_state=0).fit(X[:60], Y[:60])
    assert np.abs(model.predict(X)).max() < 10.0
    assert [n for n, _ in model.members_] == [n for n, _ in alone.members_]


def test_weights_of_entries_are_taken(quick):
    weights = RNG.random(Y.shape)
    assert AutoRegressor(random_state=0).fit(X, Y, weights).predict(X).shape == Y.shape
    assert AutoClassifier(random_state=0).fit(X, LABELS, weights).predict(X).shape == Y.shape


def test_the_same_seed_gives_the_same_model_for_any_number_of_threads(quick):
    first = AutoClassifier(random_state=3, n_jobs=1).fit(X, LABELS)
    second = AutoClassifier(random_state=3, n_jobs=2).fit(X, LABELS)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    np.testing.assert_array_equal(first.weights_, second.weights_)


def test_groups_stay_in_one_fold(quick, monkeypatch):
    seen = []

    def spy(problem, metric, **given):
        seen.extend(problem.folds)
        return train(problem, metric, **given)

    train = training.train_blend
    monkeypatch.setattr("polyleaf.auto.base.train_blend", spy)
    groups = np.arange(90) // 10
    AutoRegressor(random_state=0).fit(X, Y, groups=groups)
    assert len(seen) == 5
    for rows, tested in seen:
        assert not set(groups[rows]) & set(groups[tested])


def test_folds_may_be_given(quick):
    for cv in (2, KFold(3), list(KFold(3).split(X))):
        assert AutoRegressor(cv=cv, random_state=0).fit(X, Y).predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="must test each of the 90 rows once"):
        AutoRegressor(cv=[(np.arange(45), np.arange(45, 80))]).fit(X, Y)
    with pytest.raises(ValueError, match="groups must have one entry"):
        AutoRegressor().fit(X, Y, groups=[1, 2])


@pytest.mark.parametrize("metric", ["example_f1", "subset_zero_one_loss", "macro_f1"])
def test_a_metric_of_label_sets_chooses_a_decoder(quick, metric):
    model = AutoClassifier(metric=metric, random_state=0).fit(X, LABELS)
    assert model.decoder_ is not None
    assert set(np.unique(model.predict(X))) <= {0, 1}
    assert AutoClassifier(random_state=0).fit(X, LABELS).decoder_ is None


def test_a_metric_of_another_task_is_refused():
    with pytest.raises(ValueError, match="metric of regression"):
        AutoClassifier(metric="r2").fit(X, LABELS)
    with pytest.raises(ValueError, match="metric of multilabel"):
        AutoRegressor(metric="lrap").fit(X, Y)


def test_what_has_finished_in_time_is_blended(quick):
    model = AutoRegressor(time_limit=1e-9, random_state=0).fit(X, Y)
    assert [name for name, _ in model.members_] == ["extra_trees"]
    assert model.leaderboard_["score"].isna().sum() == 1


def test_a_race_beyond_its_budget_is_halved(quick, monkeypatch):
    monkeypatch.setattr("polyleaf.auto.race.budget_of", lambda problem, budget: 1e-9)
    model = AutoRegressor(random_state=0).fit(X, Y)
    done = model.leaderboard_["score_std"].notna()
    assert done.any()
    assert len(model.members_) >= 1


@pytest.mark.parametrize("step", [1, 4, 8])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(quick, monkeypatch, step):
    model = AutoRegressor(random_state=0).fit(X, Y)
    before = dict(vars(model))
    calls = []

    def interrupted(estimator, problem, rows=None, judging=None):
        calls.append(estimator)
        if len(calls) == step:
            raise KeyboardInterrupt
        return train(estimator, problem, rows, judging)

    train = training.trained
    monkeypatch.setattr("polyleaf.auto.race.trained", interrupted)
    monkeypatch.setattr("polyleaf.auto.training.trained", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:50], Y[:50])
    assert vars(model) == before


@pytest.mark.parametrize("metric", [None, "example_f1"])
def test_a_blend_is_saved_as_one_file(quick, tmp_path, metric):
    path = tmp_path / "blend.polyleaf"
    for x, y in ((X, LABELS), (sparse.csr_array(X), sparse.csr_array(LABELS))):
        model = AutoClassifier(metric=metric, random_state=0).fit(x, y)
        polyleaf.save(model, path)
        loaded = polyleaf.load(path)
        np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
        pd.testing.assert_frame_equal(loaded.leaderboard_, model.leaderboard_)
        assert loaded.get_params() == model.get_params()
        assert polyleaf.read_card(path)["estimator"] == "AutoClassifier"


def test_frames_with_categories_come_back_from_a_file(quick, tmp_path):
    model = AutoRegressor(random_state=0).fit(FRAME, Y)
    polyleaf.save(model, tmp_path / "blend.polyleaf")
    loaded = polyleaf.load(tmp_path / "blend.polyleaf")
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))


def test_damaged_files_are_refused(quick, tmp_path, monkeypatch):
    model = AutoRegressor(random_state=0).fit(X, Y)
    path = tmp_path / "blend.polyleaf"
    to_file = type(model)._to_file

    def damaged(change):
        def write(self):
            arrays, metadata = to_file(self)
            change(arrays, metadata)
            return arrays, metadata

        monkeypatch.setattr(AutoRegressor, "_to_file", write)
        polyleaf.save(model, path)
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(path)

    damaged(lambda a, m: a.update(blend_weights=a["blend_weights"][:, :0]))
    damaged(lambda a, m: a.update(blend_weights=-a["blend_weights"] - 1.0))
    damaged(lambda a, m: m["members"][0].update(estimator="os.system"))
    damaged(lambda a, m: m.update(losses=""))
    damaged(lambda a, m: m.update(losses=[0.1]))
    damaged(lambda a, m: m["members"][0].update(estimator="AutoRegressor"))
    damaged(lambda a, m: m.update(members=[]))
    damaged(lambda a, m: m.update(sharpness=0.0))
    for name, array in to_file(model)[0].items():
        if array.size and ("baseline" in name or "design" in name):
            damaged(lambda a, m, name=name: a.pop(name))
            damaged(lambda a, m, name=name: a.update({name: a[name][:-1]}))
