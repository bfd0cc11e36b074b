"""What holds for every registered projection."""

import json
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from polyleaf.projections import (
    PROJECTIONS,
    Hadamard,
    Rademacher,
    Subsample,
    View,
    from_json,
    resolve,
    to_json,
)

every_projection = pytest.mark.parametrize("projection", [cls() for cls in PROJECTIONS.values()])
#: Their size is not chosen by a parameter.
NO_SIZE = ("identity", "adaptive", "round_robin")
every_reduction = pytest.mark.parametrize(
    "projection", [cls() for name, cls in PROJECTIONS.items() if name not in NO_SIZE]
)


def labels(n_rows=60, n_channels=13, seed=1):
    """Random 0/1 labels in which every channel varies."""
    values = (np.random.default_rng(seed).random((n_rows, n_channels)) < 0.3).astype(float)
    values[0], values[1] = 0.0, 1.0
    return values


def coefficients(view):
    """The view as a dense matrix of shape (n_source_channels, n_channels)."""
    n_channels = len(view.seen)
    if view.kind == "mixing":
        return view.matrix.toarray() if sparse.issparse(view.matrix) else view.matrix
    selected = np.arange(n_channels) if view.selected is None else view.selected
    return view.scale * np.eye(n_channels)[:, selected]


@every_projection
def test_apply_gives_float32_rows_of_the_announced_width(projection, make_context):
    values = labels()
    view = projection.draw(make_context(values))
    shown = view.apply(values)
    assert shown.shape == (60, view.n_channels)
    assert shown.dtype == np.float32
    assert shown.flags.c_contiguous


@every_projection
def test_seen_marks_the_channels_with_a_coefficient(projection, make_context):
    view = projection.draw(make_context(labels()))
    assert view.seen.dtype == np.bool_
    np.testing.assert_array_equal(view.seen, np.any(coefficients(view) != 0, axis=1))


@every_projection
def test_same_generator_gives_the_same_view(projection, make_context):
    first, second = (projection.draw(make_context(labels(), seed=7)) for _ in range(2))
    np.testing.assert_array_equal(coefficients(first), coefficients(second))


@pytest.mark.parametrize(
    "name", [n for n in PROJECTIONS if n not in ("pca", "top_outputs", *NO_SIZE)]
)
def test_another_generator_gives_another_view(name, make_context):
    values = labels(n_channels=40)
    first, second = (resolve(name).draw(make_context(values, seed=seed)) for seed in (1, 2))
    assert not np.array_equal(coefficients(first), coefficients(second))


@every_projection
@pytest.mark.parametrize("weighted", [None, "rows", "entries"])
def test_sparse_values_give_the_view_and_the_rows_of_dense_values(
    projection, weighted, make_context
):
    values = labels()
    shape = {None: None, "rows": 60, "entries": (60, 13)}[weighted]
    weights = None if shape is None else np.random.default_rng(3).random(shape)
    as_sparse = sparse.csr_array(values)
    dense_view = projection.draw(make_context(values, weights=weights))
    sparse_view = projection.draw(make_context(as_sparse, weights=weights))
    np.testing.assert_allclose(coefficients(dense_view), coefficients(sparse_view), atol=1e-9)
    np.testing.assert_allclose(
        dense_view.apply(values, weights=weights),
        dense_view.apply(as_sparse, weights=weights),
        atol=1e-6,
    )


@every_reduction
def test_sparse_values_are_never_expanded(projection, make_context):
    n_rows, n_channels = 4_000, 8_000
    values = sparse.random_array(
        (n_rows, n_channels), density=0.001, format="csr", rng=np.random.default_rng(0)
    )
    projection = clone(projection).set_params(n_components=4)
    tracemalloc.start()
    projection.draw(make_context(values)).apply(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_rows * n_channels / 4  # a mask of single bytes would be four times as much


@every_reduction
def test_constant_and_unobserved_channels_are_never_seen(projection, make_context):
    values = labels()
    observed = np.ones(values.shape, dtype=bool)
    values[:, 2] = 0.1
    values[:, 5], observed[:, 5] = 0.0, False
    values[10:, 7], observed[10:, 7] = 0.0, False
    values[:10, 7] = 3.0  # constant where it is observed
    for seed in range(5):
        view = projection.draw(make_context(values, seed=seed, observed=observed))
        assert not view.seen[[2, 5, 7]].any()
        assert view.seen.any()


@every_reduction
def test_a_channel_that_is_constant_over_rows_with_weight_is_never_seen(projection, make_context):
    values = labels()
    values[:30, 4] = 1.0
    weights = np.repeat([2.0, 0.0], 30)
    for each in (weights, np.repeat(weights[:, np.newaxis], 13, axis=1)):
        for kind in (values, sparse.csr_array(values)):
            assert not projection.draw(make_context(kind, weights=each)).seen[4]


@every_projection
def test_view_shows_everything_if_no_channel_varies(projection, make_context):
    values = np.tile([0.0, 2.0, -1.0], (5, 1))
    for kind in (values, sparse.csr_array(values)):
        view = projection.draw(make_context(kind))
        assert view.kind == "all"
        assert view.seen.all()
        np.testing.assert_array_equal(view.apply(kind), values)


@pytest.mark.parametrize(
    "projection",
    [
        *(cls() for cls in PROJECTIONS.values()),
        Rademacher(n_components=6, density=0.01),
        Rademacher(n_components=6, density=1e-12),
    ],
)
@pytest.mark.parametrize("n_channels", [1, 2, 5])
def test_no_column_is_all_zero(projection, n_channels, make_context):
    values = labels(n_channels=n_channels)
    for seed in range(30):
        matrix = coefficients(projection.draw(make_context(values, seed=seed)))
        assert np.any(matrix != 0, axis=0).all()


@every_projection
def test_one_output_is_seen_whole(projection, make_context):
    values = np.random.default_rng(0).normal(size=(30, 1))
    view = projection.draw(make_context(values))
    assert view.seen.tolist() == [True]
    shown = view.apply(values)
    assert shown.shape == (30, 1)
    assert abs(np.corrcoef(shown[:, 0], values[:, 0])[0, 1]) > 1 - 1e-6


@every_reduction
@pytest.mark.parametrize(
    ("size", "expected"), [(3, 3), (0.5, 5), (1.0, 10), ("log", 2), ("sqrt", 4)]
)
def test_size_is_relative_to_the_channels_that_vary(projection, size, expected, make_context):
    values = labels()
    values[:, [0, 6, 12]] = 1.0
    view = clone(projection).set_params(n_components=size).draw(make_context(values))
    assert view.n_channels == expected


@every_reduction
@pytest.mark.parametrize("size", [0, -1, 0.0, 1.5, float("nan"), True, "cube", None, [3]])
def test_bad_size_is_refused_with_the_choices(projection, size, make_context):
    bad = clone(projection).set_params(n_components=size)
    with pytest.raises(ValueError, match=r"an int of at least 1, a fraction .* 'log' or 'sqrt'"):
        bad.draw(make_context(labels()))


@every_projection
def test_clone_pickle_and_json_give_an_equal_projection(projection):
    copies = [
        clone(projection),
        pickle.loads(pickle.dumps(projection)),
        from_json(json.loads(json.dumps(to_json(projection)))),
    ]
    for copy in copies:
        assert copy == projection
        assert copy is not projection
        assert repr(copy) == repr(projection) == f"{type(projection).__name__}()"


@every_projection
def test_name_stands_for_the_defaults(projection):
    name = to_json(projection)["name"]
    assert resolve(name) == projection


@every_reduction
def test_projections_with_other_parameters_are_not_equal(projection):
    other = clone(projection).set_params(n_components=3)
    assert other != projection
    assert repr(other) == f"{type(projection).__name__}(n_components=3)"
    assert projection != "gaussian"


def test_selection_draws_all_channels_of_an_output_together(make_context):
    one_hot = np.eye(3)[np.random.default_rng(0).integers(0, 3, size=50)]
    values = np.hstack([labels(50, 2), one_hot, labels(50, 1)])
    offsets = np.array([0, 1, 2, 5, 6], dtype=np.int32)
    drawn = set()
    for seed in range(40):
        context = make_context(values, seed=seed, channel_offsets=offsets)
        view = Subsample(n_components=1).draw(context)
        drawn.add(tuple(view.selected))
        assert view.scale == 2.0  # sqrt(4 outputs / 1), however many channels it has
        assert np.count_nonzero(view.seen_outputs(offsets)) == 1
    assert drawn == {(0,), (1,), (2, 3, 4), (5,)}


def test_selection_keeps_the_empty_class_of_an_output_that_varies(make_context):
    values = np.hstack([np.eye(2)[[0, 1, 0, 1]], np.zeros((4, 1)), np.ones((4, 1))])
    context = make_context(values, channel_offsets=np.array([0, 3, 4], dtype=np.int32))
    assert Subsample(n_components=1.0).draw(context).selected.tolist() == [0, 1, 2]


def test_subsample_without_replacement_draws_distinct_outputs(make_context):
    values = labels()
    for seed in range(20):
        view = Subsample(n_components=9).draw(make_context(values, seed=seed))
        assert len(set(view.selected)) == 9


def test_subsample_with_replacement_repeats_outputs(make_context):
    view = Subsample(n_components=30, replace=True).draw(make_context(labels()))
    assert view.n_channels == 30
    assert view.scale == np.sqrt(13 / 30)


def test_subsample_refuses_more_distinct_outputs_than_there_are(make_context):
    with pytest.raises(ValueError, match=r"at most the number of outputs, 13; got 14"):
        Subsample(n_components=14).draw(make_context(labels()))


def test_constant_outputs_do_not_make_a_subsample_too_large(make_context):
    values = labels()
    values[:, :4] = 0.0
    view = Subsample(n_components=13).draw(make_context(values))
    assert view.selected.tolist() == list(range(4, 13))
    assert view.scale == 1.0  # relative to the nine that vary


def test_hadamard_refuses_more_components_than_its_order(make_context):
    assert Hadamard(n_components=16).draw(make_context(labels())).n_channels == 16
    with pytest.raises(ValueError, match=r"must be at most 16; got 17"):
        Hadamard(n_components=17).draw(make_context(labels()))


@pytest.mark.parametrize("density", [0, -0.5, 1.5, float("nan"), True, "auto", None])
def test_bad_density_is_refused(density, make_context):
    with pytest.raises(ValueError, match=r"density must be a number in \(0, 1\]; got"):
        Rademacher(density=density).draw(make_context(labels()))


@pytest.mark.parametrize("replace", [None, 1, "yes"])
def test_bad_replace_is_refused(replace, make_context):
    with pytest.raises(ValueError, match=r"replace must be True or False; got"):
        Subsample(replace=replace).draw(make_context(labels()))


def test_identity_shows_what_no_projection_shows(make_context):
    values = labels()
    view = resolve("identity").draw(make_context(values))
    assert isinstance(view, View)
    assert view.kind == "all"
    np.testing.assert_array_equal(view.apply(values), values)
