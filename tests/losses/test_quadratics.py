"""What rules ask of losses: quadratics that stand for them, and losses of whole rows."""

import numpy as np
import pytest

from polyleaf.losses import LOSSES, LossTargets, SquaredError, resolve_margin_loss

FOR_RULES = {name: cls() for name, cls in LOSSES.items() if "rules" in cls.learners}
#: Losses of labels, in the form that rules of labels minimise.
OF_LABELS = {
    f"labels {name}": resolve_margin_loss(loss)
    for name, loss in FOR_RULES.items()
    if "multilabel" in loss.tasks
}
OF_NUMBERS = {name: loss for name, loss in FOR_RULES.items() if "regression" in loss.tasks}
EACH = OF_LABELS | OF_NUMBERS
#: Their diagonal bounds the loss; it is no second derivative.
MAJORISED = {"absolute_error", "huber", "labels examplewise_squared_error"}
#: Neither; but it is finite.
BOUNDED = {"labels examplewise_squared_hinge"}


def problem(name, rng, n=12, k=4):
    """Draw targets and scores."""
    values = rng.normal(size=(n, k))
    if name.startswith("labels"):
        values = (values > 0).astype(float)
    return values, rng.normal(size=(n, k)) * 0.7


def test_there_are_losses_of_each_kind():
    assert len(OF_LABELS) >= 6
    assert len(OF_NUMBERS) >= 3
    assert set(FOR_RULES) == {name.removeprefix("labels ") for name in EACH}


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("is_masked", [False, True])
def test_gradient_and_hessian_are_the_differences_of_the_loss(name, is_masked):
    rng = np.random.default_rng(0)
    values, scores = problem(name, rng)
    observed = rng.random(values.shape) < 0.7 if is_masked else None
    targets = LossTargets.of(values, observed)
    loss = EACH[name]
    is_coupled = loss.hessian == "diagonal minus rank one"
    gradient, diagonal, coupling = loss.quadratic(targets, scores)
    gradient, diagonal = targets.weighted(gradient), targets.weighted(diagonal)
    assert (coupling is None) != is_coupled
    assert not (loss.decomposable and is_coupled)
    step = 1e-5
    n_channels = values.shape[1]
    shifts = step * np.eye(n_channels)

    def slope_at(shift):
        return targets.weighted(loss.quadratic(targets, scores + shift).gradient)

    for k in range(n_channels):
        up, down = (loss.row_losses(targets, scores + s * shifts[k]) for s in (1, -1))
        assert np.allclose((up - down) / (2 * step), gradient[:, k], atol=1e-6)
        hessian = (slope_at(shifts[k]) - slope_at(-shifts[k])) / (2 * step)
        expected = np.zeros_like(hessian)
        expected[:, k] = diagonal[:, k]
        if coupling is not None:
            expected -= coupling[:, None] * gradient[:, [k]] * gradient
        if name not in MAJORISED | BOUNDED:
            assert np.allclose(hessian, expected, atol=1e-5)


@pytest.mark.parametrize("name", EACH)
def test_quadratics_have_the_gradient_and_rows_add_up_to_the_value(name):
    rng = np.random.default_rng(4)
    values, scores = problem(name, rng)
    targets = LossTargets.of(values, rng.random(values.shape) < 0.7)
    loss = EACH[name]
    found, plain = loss.quadratic(targets, scores).gradient, loss.gradient(targets, scores)
    assert np.allclose(targets.weighted(found), targets.weighted(plain), atol=1e-12)
    assert loss.row_losses(targets, scores).sum() == pytest.approx(loss.value(targets, scores))


@pytest.mark.parametrize("name", sorted(MAJORISED))
def test_the_parabola_of_a_bounded_loss_lies_above_it(name):
    rng = np.random.default_rng(1)
    is_norm = name.startswith("labels")
    values, scores = problem(name, rng, n=200, k=4 if is_norm else 1)
    targets = LossTargets.of(values)
    loss = EACH[name]
    gradient, diagonal, _ = loss.quadratic(targets, scores)
    for size in np.linspace(-3, 3, 25):
        step = size * (rng.normal(size=scores.shape) if is_norm else np.ones(scores.shape))
        rise = (gradient * step + diagonal * step**2 / 2).sum(axis=1)
        bound = loss.row_losses(targets, scores) + rise
        assert np.all(loss.row_losses(targets, scores + step) <= bound + 1e-3)


@pytest.mark.parametrize("name", ["examplewise_squared_error", "examplewise_squared_hinge"])
def test_the_step_of_one_row_takes_the_length_of_its_errors_to_zero(name):
    targets = LossTargets.of([[1.0, 0.0, 1.0]])
    scores = np.array([[0.2, 0.7, -3.0]])
    loss = FOR_RULES[name]
    gradient, diagonal, _ = loss.quadratic(targets, scores)
    assert np.isclose(loss.value(targets, scores - gradient / diagonal), 0.0, atol=1e-12)


def test_the_squared_error_of_margins_is_that_of_labels_minus_one_and_one():
    rng = np.random.default_rng(6)
    labels, scores = rng.integers(2, size=(9, 3)), rng.normal(size=(9, 3))
    signs = LossTargets.of(2.0 * labels - 1)
    loss, squared = resolve_margin_loss("squared_error"), SquaredError()
    targets = LossTargets.of(labels)
    assert np.allclose(loss.losses(targets, scores), squared.losses(signs, scores))
    assert np.allclose(loss.gradient(targets, scores), squared.gradient(signs, scores))
    assert np.allclose(loss.baseline(targets), squared.baseline(signs))
    shown = loss.predictions(loss.baseline(targets)[None], targets.channel_offsets)
    assert np.allclose(shown[0], labels.mean(axis=0))


# Label sets ------------------------------------------------------------------------------------


def test_label_sets_are_distinguished_at_any_size_of_scores():
    loss = OF_LABELS["labels examplewise_logistic"]
    scores = np.array([[400.0, 350.0], [-5000.0, 4000.0], [1.0, -2.0]])
    sets = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=bool)
    found = loss.set_losses(scores, sets)
    exact = np.log1p(np.exp([1.0, -1.0, -1.0, 1.0]) + np.exp([2.0, -2.0, 2.0, -2.0]))
    assert np.allclose(found, [[400, 350, 0, 400], [0, 5000, 5000, 4000], exact])
    assert loss.set_losses(scores, ~sets)[0, 3] > 0  # right, not certain


@pytest.mark.parametrize("name", OF_LABELS)
def test_losses_of_label_sets_are_those_of_rows_with_these_labels(name):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(7, 4)) * 3
    sets = rng.random((9, 4)) < 0.5
    loss = OF_LABELS[name]
    found = loss.set_losses(scores, sets)
    for j, labels in enumerate(sets):
        targets = LossTargets.of(np.broadcast_to(labels, scores.shape))
        assert np.allclose(found[:, j], loss.row_losses(targets, scores))


@pytest.mark.parametrize("name", OF_LABELS)
def test_large_scores_stay_finite(name):
    scores = np.array([[1000.0, -1000.0], [-1000.0, 1000.0], [0.0, 1e5]])
    loss = OF_LABELS[name]
    targets = LossTargets.of(np.ones_like(scores))
    for part in loss.quadratic(targets, scores):
        assert part is None or np.isfinite(part).all()
    assert np.isfinite(loss.row_losses(targets, scores)).all()
    assert np.isfinite(loss.set_losses(scores, np.array([[True, False], [True, True]]))).all()


@pytest.mark.parametrize("name", OF_LABELS)
def test_unobserved_labels_do_not_matter(name):
    rng = np.random.default_rng(3)
    values, scores = problem(name, rng)
    observed = rng.random(values.shape) < 0.6
    flipped = np.where(observed, values, 1 - values)
    loss = OF_LABELS[name]
    one, other = (LossTargets.of(v, observed) for v in (values, flipped))
    for a, b in zip(loss.quadratic(one, scores), loss.quadratic(other, scores), strict=True):
        if a is not None and a.ndim == 2:
            assert np.array_equal(one.weighted(a), other.weighted(b))
    assert np.array_equal(loss.row_losses(one, scores), loss.row_losses(other, scores))
    if not loss.decomposable:
        assert np.all(loss.quadratic(one, scores).gradient[~observed] == 0)


@pytest.mark.parametrize("name", [n for n, loss in FOR_RULES.items() if loss.native_kernel])
def test_a_subclass_has_no_native_kernel_unless_it_declares_one(name):
    changed = type("Changed", (LOSSES[name],), {})
    assert changed().native_kernel is None
    assert not changed().is_squared_error
    if name == "squared_error":
        assert changed().margin_form is None  # whose formulas would be those of squared errors
    kept = type("Kept", (LOSSES[name],), {"native_kernel": name})
    assert kept().native_kernel == name
