"""scikit-learn's checks, files, and pictures of conformal estimators."""

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import polyleaf
from polyleaf.conformal import plot_outputs, plot_region
from polyleaf.datasets import make_correlated_targets, make_multilabel
from polyleaf.files.storage import ModelFileError, read_model, write_model

matplotlib.use("Agg")

X, Y = make_correlated_targets(120, n_features=4, n_targets=3, random_state=0)
LABELS = (np.median(Y, axis=0) < Y).astype(int)
NUMBERS = polyleaf.RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0)
FOREST = polyleaf.RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0)


#: Of conformal classifiers, which are for label matrices.
EXPECTED_FAILURES = dict.fromkeys(
    [
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_complex_data",
        "check_dtype_object",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_f_contiguous_array_estimator",
        "check_classifier_data_not_an_array",
        "check_classifiers_one_label",
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_classifiers_regression_target",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ],
    "gives a y of one dimension",
) | {
    "check_classifier_multioutput": "asks for sets of the labels with probability above 0.5",
    "check_classifiers_multilabel_output_format_predict_proba": "those of pure leaves are 0 or 1",
}


@parametrize_with_checks(
    [
        polyleaf.ConformalRegressor(LinearRegression(), cv=2, random_state=0),
        polyleaf.ConformalRegressor(NUMBERS, method="cross", score="local", cv=2, random_state=0),
        polyleaf.ConformalClassifier(FOREST, cv=2, random_state=0),
    ],
    expected_failed_checks=lambda estimator: (
        EXPECTED_FAILURES if isinstance(estimator, polyleaf.ConformalClassifier) else {}
    ),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def regressors():
    for method in ("split", "cross", "oob", "prefit"):
        for score in ("max", "mahalanobis", "local", "quantile"):
            inner = NUMBERS.fit(X, Y) if method == "prefit" else NUMBERS
            yield polyleaf.ConformalRegressor(
                inner, method=method, score=score, cv=2, random_state=0
            )
    boosting = polyleaf.BoostingRegressor(n_estimators=3, max_depth=2, random_state=0)
    yield polyleaf.ConformalRegressor(boosting, score="quantile", cv=2, random_state=0)


@pytest.mark.parametrize("model", list(regressors()), ids=lambda m: f"{m.method}-{m.score}")
def test_a_regressor_comes_back_as_it_was(model, tmp_path):
    path, again = tmp_path / "model.polyleaf", tmp_path / "again.polyleaf"
    polyleaf.save(model.fit(X, Y), path)
    loaded = polyleaf.load(path)
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    given = np.where(np.arange(3) == 0, Y, np.nan)
    for known in (None, given):
        ours, theirs = (m.predict_region(X, given=known) for m in (model, loaded))
        np.testing.assert_array_equal(ours.log_volume(), theirs.log_volume())
    assert loaded.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert repr(loaded) == repr(model)
    polyleaf.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()
    assert polyleaf.read_card(path)["rows"] == 120
    if model.method != "prefit":
        np.testing.assert_array_equal(loaded.fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"method": "cross"},
        {"method": "oob"},
        {"risk": "fdr"},
        {"by_level": True, "estimator__hierarchy": [(0, 1)]},
    ],
)
def test_a_classifier_comes_back_as_it_was(parameters, tmp_path):
    labels = LABELS.copy()
    labels[:, 0] |= labels[:, 1]
    model = polyleaf.ConformalClassifier(FOREST, cv=2, random_state=0, alpha=0.3)
    model = polyleaf.ConformalClassifier(**model.get_params(deep=False)).set_params(**parameters)
    path = tmp_path / "model.polyleaf"
    polyleaf.save(model.fit(X, labels), path)
    loaded = polyleaf.load(path)
    FOREST.set_params(hierarchy=None)
    for alpha in (0.1, 0.3):
        np.testing.assert_array_equal(loaded.predict_set(X, alpha), model.predict_set(X, alpha))
    polyleaf.save(loaded, tmp_path / "again.polyleaf")
    assert (tmp_path / "again.polyleaf").read_bytes() == path.read_bytes()


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    model = polyleaf.ConformalRegressor(LinearRegression(), cv=2).fit(X, Y)
    with pytest.raises(TypeError, match="around an estimator of polyleaf"):
        polyleaf.save(model, tmp_path / "model.polyleaf")
    model = polyleaf.ConformalClassifier(FOREST, risk=np.equal, cv=2)
    model.risk = lambda labels, sets: (labels != sets).any(axis=1)
    with pytest.raises(TypeError, match="whose risk has a name"):
        polyleaf.save(model.fit(X, LABELS), tmp_path / "model.polyleaf")


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "model.polyleaf"
    model = polyleaf.ConformalRegressor(NUMBERS, method="cross", score="local", cv=2)
    polyleaf.save(model.fit(X, Y), path)
    arrays, metadata = read_model(path)
    damages = [
        {"residuals": arrays["residuals"][:, :2]},
        {"residuals": arrays["residuals"] * np.inf},
        {"folds": arrays["folds"] + 1},
        {"folds": arrays["folds"][:-1]},
        {"correlations": arrays["correlations"] * 0.0},
        {"correlations": arrays["correlations"][:, :2]},
    ]
    changes = [
        {"inner": []},
        {"inner": metadata["inner"] + [{"estimator": "os.system"}]},
        {"wrapped": {"estimator": "ConformalRegressor", "parameters": {}}},
        {"parameters": metadata["parameters"] | {"alpha": 3}},
        {"parameters": metadata["parameters"] | {"cv": "x"}},
        {"fitted": metadata["fitted"] | {"score": "other"}},
    ]
    for damage in damages:
        write_model(path, arrays | damage, metadata)
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(path)
    for change in changes:
        write_model(path, arrays, metadata | change)
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(path)


def test_damage_of_label_sets_is_noticed(tmp_path):
    path = tmp_path / "model.polyleaf"
    for risk in ("fnr", "fdr"):
        model = polyleaf.ConformalClassifier(FOREST, risk=risk, cv=2).fit(X, LABELS)
        polyleaf.save(model, path)
        arrays, metadata = read_model(path)
        damages = [
            {"entry_probabilities": arrays["entry_probabilities"][::-1] + np.nan},
            {"entry_offsets": arrays["entry_offsets"] - 1},
            {"level_rows": np.append(arrays["level_rows"], 3)},
        ]
        if risk == "fdr":
            damages += [{"mean_losses": arrays["mean_losses"] + 1.0}]
        else:
            damages += [{"entry_probabilities": arrays["entry_probabilities"][::-1]}]
        for damage in damages[1 if risk == "fdr" else 0 :]:
            write_model(path, arrays | damage, metadata)
            with pytest.raises(ModelFileError, match="damaged"):
                polyleaf.load(path)
        write_model(path, arrays, metadata | {"parameters": {}})
        with pytest.raises(ModelFileError, match="damaged"):
            polyleaf.load(path)


# Pictures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["max", "mahalanobis"])
def test_two_outputs_are_drawn_as_areas(score):
    model = polyleaf.ConformalRegressor(NUMBERS, score=score, method="oob").fit(X, Y)
    region = model.predict_region(X)
    ax = plot_region(region, Y, rows=[3, 7], outputs=("y2", 0))
    lower, upper = region.bounds()
    box = ax.patches[1].get_path().transformed(ax.patches[1].get_patch_transform()).get_extents()
    np.testing.assert_allclose([box.x0, box.y0], lower[7, [2, 0]], rtol=1e-3)
    np.testing.assert_allclose([box.x1, box.y1], upper[7, [2, 0]], rtol=1e-3)
    assert ax.get_xlabel() == "y2"
    with pytest.raises(ValueError, match="two different outputs"):
        plot_region(region, outputs=(1, 1))
    with pytest.raises(ValueError, match="rows must be at most 12 numbers from 0 to 119"):
        plot_region(region, rows=120)


@pytest.mark.parametrize("n_outputs", [2, 14, 120])
def test_many_outputs_are_drawn_as_bars(n_outputs):
    X, Y = make_correlated_targets(80, n_features=4, n_targets=n_outputs, random_state=0)
    model = polyleaf.ConformalRegressor(NUMBERS, method="oob").fit(X, Y)
    ax = plot_outputs(model.predict_region(X), Y, row=5)
    assert len(ax.collections[0].get_segments()) == n_outputs
    assert (len(ax.get_yticklabels()) == n_outputs) == (n_outputs <= 100)


def test_label_sets_are_found_in_large_problems():
    X, labels = make_multilabel(300, 10, 200, random_state=0)
    model = polyleaf.ConformalClassifier(FOREST, method="oob").fit(X, labels)
    assert model.predict_set(X).shape == (300, 200)
