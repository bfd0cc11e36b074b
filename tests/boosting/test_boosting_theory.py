"""What Joly et al. 2019 proves or implies: appendix A, and equalities between its algorithms."""

import numpy as np
import pytest

from polyleaf import BoostingClassifier, BoostingRegressor, projections
from polyleaf.data import read_classes, read_numbers
from polyleaf.losses import LOSSES, LossTargets
from polyleaf.projections import PROJECTIONS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
SIGNAL = np.column_stack([X[:, 0], X[:, 1] * X[:, 0], X[:, 2] > 0, X[:, 3] ** 2])
NUMBERS = SIGNAL + 0.3 * RNG.normal(size=SIGNAL.shape)
COUNTS = RNG.poisson(np.exp(0.5 * np.clip(SIGNAL, -2, 2)))
LABELS = (np.median(NUMBERS, axis=0) < NUMBERS).astype(int)
CLASSES = np.digitize(NUMBERS[:, 0], [-0.5, 0.5])
#: Projections that show outputs as they are.
SELECTING = ("subsample", "top_outputs", "gradient_sampling")
PROBLEMS = [(BoostingRegressor, NUMBERS), (BoostingClassifier, LABELS)]


def problem_for(loss):
    """An estimator's class and a Y that the loss is for."""
    if loss == "poisson":
        return BoostingRegressor, COUNTS
    if "regression" in LOSSES[loss].tasks:
        return BoostingRegressor, NUMBERS
    return BoostingClassifier, CLASSES if loss == "softmax" else LABELS


def measured_losses(fitted, Y):
    """Mean training loss before the first round and after each, from what the model predicts."""
    read = read_numbers if isinstance(fitted, BoostingRegressor) else read_classes
    targets = read(Y, len(X), estimator_name="")
    reader = fitted._fitted.reader
    scaled = (targets.values - reader.shift) / reader.scale
    given = LossTargets(scaled, None, targets.schema.channel_offsets)
    baseline = np.tile(fitted._fitted.model.baseline, (len(X), 1))
    stages = [baseline, *fitted._staged_raw(X)]
    total = reader.loss.total_weight(given)
    return np.array([reader.loss.value(given, raw.astype(float)) for raw in stages]) / total


def views(leaf_fit, loss):
    """All projections, or those that show one component."""
    if leaf_fit == "relabel":
        return [None, *(cls() for cls in PROJECTIONS.values())]
    mixing = [
        cls(n_components=1)
        for name, cls in PROJECTIONS.items()
        if "n_components" in cls().get_params() and name not in SELECTING
    ]
    if loss == "softmax":  # its one output has three channels
        return mixing
    selecting = [PROJECTIONS[name](n_components=1) for name in SELECTING]
    adaptive = projections.Adaptive([projections.Gaussian(1), projections.Subsample(1)])
    return [*mixing, *selecting, projections.RoundRobin(), adaptive]


@pytest.mark.parametrize("learning_rate", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("leaf_fit", ["relabel", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_training_loss_never_rises(loss, leaf_fit, learning_rate):
    # Appendix A: for means of gradients with optimal factors, without regularisation.
    cls, Y = problem_for(loss)
    for projection in views(leaf_fit, loss):
        fitted = cls(
            loss=loss,
            projection=projection,
            leaf_fit=leaf_fit,
            learning_rate=learning_rate,
            n_estimators=4,
            max_depth=2,
            leaf_values="gradient",
            l2_regularization=0.0,
            random_state=0,
        ).fit(X, Y)
        losses = measured_losses(fitted, Y)
        assert len(losses) == 5
        slack = 1e-6 * abs(losses[0])
        assert np.all(np.diff(losses) <= slack), (projection, losses)
        assert losses[-1] < losses[0], (projection, losses)
        followed = fitted.history_["train_loss"]
        np.testing.assert_allclose(followed, losses[1:], rtol=1e-4, atol=slack)


def test_the_loss_of_a_perfect_fit_is_measured():
    # Taking falls off the first loss would leave rounding, of either sign.
    Y = (NUMBERS > 0) * np.array([1.3, 7.7, 0.1, 3e5])
    fitted = BoostingRegressor(
        max_depth=None, learning_rate=1.0, l2_regularization=0.0, projection=None, n_estimators=9
    ).fit(X, Y)
    losses = fitted.history_["train_loss"]
    assert np.all(losses >= 0)
    assert losses[-1] < 1e-12


def model(Y, cls=BoostingRegressor, **parameters):
    given = {"n_estimators": 12, "max_depth": 3, "random_state": 0}
    return cls(**(given | parameters)).fit(X, Y)


@pytest.mark.parametrize("leaf_values", ["gradient", "newton"])
@pytest.mark.parametrize(
    ("cls", "Y"), [(BoostingRegressor, NUMBERS), (BoostingClassifier, LABELS)]
)
def test_identity_projection_equals_no_projection(cls, Y, leaf_values):
    # Alg. 4 with all outputs is Alg. 2.
    alike = [
        model(Y, cls, projection=projection, leaf_values=leaf_values)
        for projection in (None, "identity")
    ]
    np.testing.assert_array_equal(*(m._raw(X) for m in alike))


@pytest.mark.parametrize(
    ("projection", "leaf_fit"),
    [(None, "relabel"), ("gaussian", "relabel"), (projections.Gaussian(1), "linear")],
)
@pytest.mark.parametrize(
    ("cls", "y"), [(BoostingRegressor, NUMBERS), (BoostingClassifier, LABELS)]
)
def test_identical_outputs_get_identical_predictions(cls, y, projection, leaf_fit):
    # Algorithms 2, 4 and 3: every column of Y is the same, so is every column predicted.
    Y = np.repeat(y[:, :1], 6, axis=1)
    raw = model(Y, cls, projection=projection, leaf_fit=leaf_fit)._raw(X)
    np.testing.assert_array_equal(raw, np.repeat(raw[:, :1], 6, axis=1))


def test_identical_outputs_are_predicted_alike_by_algorithms_2_3_and_4():
    Y = np.repeat(NUMBERS[:, :1], 6, axis=1)
    one = projections.Gaussian(n_components=1)
    given = {"l2_regularization": 0.0}
    second = model(Y, projection=None, **given)._raw(X)
    third = model(Y, projection=one, leaf_fit="linear", **given)._raw(X)
    fourth = model(Y, projection=one, **given)._raw(X)
    np.testing.assert_allclose(third, second, atol=1e-4)
    np.testing.assert_allclose(fourth, second, atol=1e-4)


def test_algorithms_3_and_4_are_one_with_stumps():
    # Residuals have a mean of 0, so that one factor per output gives both leaves their means.
    given = {"projection": projections.Gaussian(n_components=1), "l2_regularization": 0.0}
    for depth, is_one in ((1, True), (2, False)):
        third, fourth = (
            model(NUMBERS, leaf_fit=leaf_fit, max_depth=depth, **given)._raw(X)
            for leaf_fit in ("linear", "relabel")
        )
        assert np.allclose(third, fourth, atol=1e-4) == is_one


def test_many_components_tend_to_all_outputs():
    # As q grows, Alg. 4 becomes Alg. 2: so does what its first trees leave of the loss.
    def loss_after(projection, seed=0):
        fitted = model(NUMBERS, n_estimators=3, projection=projection, random_state=seed)
        return fitted.history_["train_loss"][-1]

    target = loss_after(None)
    gaps = [
        np.mean([abs(loss_after(projections.Gaussian(q), s) - target) for s in range(8)])
        for q in (1, 30, 3000)
    ]
    assert gaps[0] > 3 * gaps[1] > 0
    assert gaps[2] < 0.02 * target


def test_round_robin_equals_one_model_per_output():
    together = model(NUMBERS, projection="round_robin", n_estimators=5)
    assert together._fitted.model.kind == "single"
    for j in range(NUMBERS.shape[1]):
        alone = model(NUMBERS[:, j], n_estimators=5, random_state=3)
        np.testing.assert_allclose(together.predict(X)[:, j], alone.predict(X), rtol=1e-4)


def test_linear_factors_are_the_least_squares_fit():
    one = projections.Gaussian(n_components=1)
    fitted = model(NUMBERS, n_estimators=1, projection=one, leaf_fit="linear", learning_rate=1.0)
    boosted = fitted._fitted.model
    assert boosted.leaf_values.shape == (boosted.structure.n_leaves, 1)
    assert boosted.tree_factors.shape == (1, 4)
    numbers = boosted.leaf_values[boosted.leaves_of(X)[:, 0], 0].astype(float)
    residual = (NUMBERS - NUMBERS.mean(axis=0)) / NUMBERS.std(axis=0)
    expected = residual.T @ numbers / (numbers @ numbers)
    np.testing.assert_allclose(boosted.tree_factors[0], expected, rtol=1e-4)


def test_leaves_of_a_relabelled_tree_are_mean_residuals():
    fitted = model(
        NUMBERS, n_estimators=1, projection="subsample", learning_rate=1.0, l2_regularization=0.0
    )
    leaves = fitted.apply(X)[:, 0]
    predicted = fitted.predict(X)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        np.testing.assert_allclose(
            predicted[inside][0], NUMBERS[inside].mean(axis=0), rtol=1e-4, atol=1e-5
        )
