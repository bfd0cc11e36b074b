"""Views for boosting: by the size of gradients, and by what earlier rounds brought."""

import numpy as np
import pytest
from scipy import sparse

from polyleaf import BoostingRegressor
from polyleaf.projections import (
    Adaptive,
    Feedback,
    Gaussian,
    GradientSampling,
    Identity,
    ProjectionContext,
    TopOutputs,
    from_json,
    to_json,
)

SIZES = np.array([1.0, 7.0, 3.0, 0.1, 5.0])


def context_of(values, feedback=(), round=0, offsets=None, weights=None, seed=0):
    offsets = np.arange(values.shape[1] + 1) if offsets is None else offsets
    return ProjectionContext(
        round=round,
        rng=np.random.default_rng(seed),
        values=values,
        channel_offsets=np.asarray(offsets, dtype=np.int32),
        weights=weights,
        feedback=feedback,
    )


def gradients(n_rows=40):
    return np.random.default_rng(0).normal(size=(n_rows, 5)) * SIZES


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_top_outputs_have_the_largest_gradients(kind):
    view = TopOutputs(n_components=3).draw(context_of(kind(gradients())))
    assert view.selected.tolist() == [1, 2, 4]


def test_rows_without_weight_do_not_make_an_output_large():
    values = gradients()
    values[0, 0] = 1e6
    weights = np.ones(40)
    weights[0] = 0.0
    for given in (weights, np.tile(weights[:, None], (1, 5))):
        view = TopOutputs(n_components=1).draw(context_of(values, weights=given))
        assert view.selected.tolist() == [1]


def test_top_outputs_take_all_channels_of_a_class_output():
    view = TopOutputs(n_components=1).draw(context_of(gradients(), offsets=[0, 1, 3, 5]))
    assert view.selected.tolist() == [1, 2]


def test_gradient_sampling_draws_in_proportion_to_squares():
    values = gradients()
    squares = (values**2).sum(axis=0)
    counts = np.zeros(5)
    for seed in range(2000):
        view = GradientSampling(n_components=2).draw(context_of(values, seed=seed))
        counts += np.asarray((view.matrix != 0).sum(axis=1)).ravel()
    np.testing.assert_allclose(counts / 4000, squares / squares.sum(), atol=0.03)


def test_gradient_sampling_keeps_squared_distances_on_average():
    values = gradients()
    gap = values[0] - values[1]
    seen = [
        np.sum((gap @ GradientSampling(3).draw(context_of(values, seed=seed)).matrix) ** 2)
        for seed in range(3000)
    ]
    assert np.mean(seen) == pytest.approx(np.sum(gap**2), rel=0.1)


def rewards(*decreases, n_channels=8):
    return [Feedback(i, value, 100 * n_channels, n_channels) for i, value in enumerate(decreases)]


def test_adaptive_tries_every_candidate_once_and_then_takes_the_best():
    candidates = Adaptive([Identity(), Gaussian(2), Gaussian(1)])
    choices = []
    feedback = []
    brought = [1.0, 5.0, 2.0]
    for round in range(6):
        view = candidates.draw(context_of(gradients(), feedback, round))
        choices.append(view.choice)
        feedback.append(Feedback(view.choice, brought[view.choice], 800, 8))
    assert choices == [0, 1, 2, 1, 1, 1]


def test_adaptive_comes_back_to_what_looked_worse_when_the_best_fades():
    feedback = rewards(1.0, 5.0) + [Feedback(1, 0.1, 800, 8)] * 3
    view = Adaptive([Identity(), Gaussian(2)]).draw(context_of(gradients(), feedback, 5))
    assert view.choice == 0


def test_adaptive_counts_additions_and_not_rounds():
    # The first brings more, but at twenty times the cost.
    feedback = [Feedback(0, 2.0, 16_000, 160), Feedback(1, 1.0, 800, 8)]
    view = Adaptive([Identity(), Gaussian(2)]).draw(context_of(gradients(), feedback, 2))
    assert view.choice == 1


def test_one_component_costs_as_much_as_eight():
    feedback = [Feedback(0, 2.0, 800, 8), Feedback(1, 1.5, 100, 1)]
    view = Adaptive([Identity(), Gaussian(1)]).draw(context_of(gradients(), feedback, 2))
    assert view.choice == 0


def test_boosting_reports_what_every_round_brought():
    seen = []

    class Watching(Adaptive):
        def draw(self, context):
            seen.append(list(context.feedback))
            return super().draw(context)

    X = np.random.default_rng(0).normal(size=(80, 3))
    Y = X @ np.ones((3, 12)) + np.random.default_rng(1).normal(size=(80, 12))
    model = BoostingRegressor(n_estimators=6, projection=Watching(), random_state=0).fit(X, Y)
    feedback = seen[-1]
    assert [len(given) for given in seen] == list(range(6))
    losses = model.history_["train_loss"] * Y.size
    decreases = [entry.decrease for entry in feedback]
    np.testing.assert_allclose(decreases[1:], -np.diff(losses)[:4], rtol=1e-3)
    assert all(entry.work > 0 for entry in feedback)
    assert {entry.n_channels for entry in feedback} == {12, 8, 1}


def test_candidates_survive_json_and_are_checked():
    adaptive = Adaptive([Identity(), Gaussian(n_components=2)])
    assert from_json(to_json(adaptive)) == adaptive
    for wrong in ([], ["gaussian"], 3):
        with pytest.raises(ValueError, match="candidates must be"):
            Adaptive(wrong).check_params()
    with pytest.raises(ValueError, match="must be a list"):
        from_json({"name": "adaptive", "params": {"candidates": 3}})
