"""Targets made from the registries of metrics, decoders, projections, losses and graphs."""

import inspect
from functools import partial

import numpy as np
from hostile_estimators import LABELS, NUMBERS, PROBABILITIES, WEIGHTS
from hostile_outcomes import Target

from polyleaf import decoding, graphs, losses, metrics, projections
from polyleaf.decoding import DECODERS
from polyleaf.graphs import GRAPHS, GraphContext
from polyleaf.losses import LOSSES, LossTargets
from polyleaf.metrics import METRICS
from polyleaf.projections import PROJECTIONS, ProjectionContext

OFFSETS = np.arange(LABELS.shape[1] + 1, dtype=np.int32)


def defaults_of(function):
    """Return the arguments of a function that have defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def metric_targets():
    for name, metric in METRICS.items():
        truth = NUMBERS if metric.task == "regression" else LABELS
        guess = {"values": NUMBERS[::-1].copy(), "labels": LABELS[::-1].copy()}
        arguments = {
            "y_true": truth,
            "y_pred": guess.get(metric.needs, PROBABILITIES),
            "y_train": truth,
            "sample_weight": WEIGHTS,
        }
        options = defaults_of(metric.function)
        options = {
            k: v for k, v in options.items() if k not in (*arguments, *metric.from_training)
        }

        def call(y_true, y_pred, y_train, sample_weight, metric=metric, **options):
            score = metric.prepare(y_train)
            return score(y_true, y_pred, sample_weight=sample_weight, **options)

        yield Target(
            f"metrics.METRICS.{name}", "metrics", partial(dict, arguments, **options), call
        )
        if metric.per_output is not None:

            def call_each(y_true, y_pred, y_train, sample_weight, metric=metric):
                score = metric.prepare(y_train, per_output=True)
                return score(y_true, y_pred, sample_weight=sample_weight)

            target = f"metrics.METRICS.{name}.per_output"
            yield Target(target, "metrics", partial(dict, arguments), call_each)
    yield from metric_function_targets()


def metric_function_targets():
    """Yield the public functions, with what each one takes besides the predictions."""
    by_function = {getattr(m.function, "func", m.function): m for m in METRICS.values()}
    known = {
        "y_train": LABELS,
        "y": NUMBERS,
        "propensities": np.array([0.5, 0.2, 0.9]),
        "train_mean": NUMBERS.mean(axis=0),
        "train_error": 1.0,
        "test_error": 2.0,
        "metric": "arrmse",
        "task": None,
        "sample_weight": WEIGHTS,
    }
    for name in metrics.__all__:
        function = getattr(metrics, name)
        if not inspect.isfunction(function):
            continue
        metric = by_function.get(function)
        is_of_labels = metric is not None and metric.task == "multilabel"
        is_of_chances = metric is not None and metric.needs_scores
        truth = LABELS if is_of_labels else NUMBERS
        guess = PROBABILITIES if is_of_chances else truth[::-1].copy()
        data = known | {"y_true": truth, "y_pred": guess, "y_score": guess, "y_prob": guess}
        defaults = defaults_of(function)
        arguments = {
            p: data.get(p, defaults.get(p)) for p in inspect.signature(function).parameters
        }
        yield Target(f"metrics.{name}", "metrics", partial(dict, arguments), function)


def decode(cls, Y, P, new_P, weights, label_sets, **settings):
    decoder = cls(**settings).fit(Y, P)
    return decoder.decode(new_P), decoder.decode_joint(weights, label_sets)


def calibrate(P, Y, new_P, **settings):
    return decoding.LabelCalibrator(**settings).fit(P, Y).transform(new_P)


def decoder_targets():
    data = {"Y": LABELS, "P": PROBABILITIES, "new_P": PROBABILITIES[:7]}
    joint = {"weights": PROBABILITIES[:5] + 0.1, "label_sets": LABELS[:3]}
    for cls in DECODERS.values():
        arguments = data | joint | defaults_of(cls)
        name = f"decoding.{cls.__name__}"
        yield Target(name, "decoders", partial(dict, arguments), partial(decode, cls))
    settings = defaults_of(decoding.LabelCalibrator) | {"min_positives": 2}
    for method in ("sigmoid", "isotonic"):
        arguments = data | settings | {"method": method}
        name = f"decoding.LabelCalibrator.{method}"
        yield Target(name, "decoders", partial(dict, arguments), calibrate)
    draws = np.stack([LABELS, 1 - LABELS], axis=1)
    yield Target(
        "decoding.draws_to_joint", "decoders", lambda: {"draws": draws}, decoding.draws_to_joint
    )
    yield Target("decoding.resolve", "decoders", lambda: {"decoding": "f1"}, decoding.resolve)


def draw(cls, values, observed, weights, channel_offsets, round, **settings):
    context = ProjectionContext(
        round=round,
        rng=np.random.default_rng(0),
        values=values,
        observed=observed,
        weights=weights,
        channel_offsets=channel_offsets,
    )
    view = cls(**settings).checked_draw(context)
    return view.apply(values, observed, weights, context.channel_means)


def view_again(matrix, selected, n_source_channels, scale, channels, values):
    view = projections.View
    selection = view.of_selection(selected, n_source_channels, scale=scale)
    return (
        view.of_mixing(matrix).apply(values),
        selection.apply(values),
        view.of_given(channels, n_source_channels).apply(values),
        view.of_all(n_source_channels).apply(values),
    )


def projection_targets():
    data = {
        "values": NUMBERS,
        "observed": np.ones(NUMBERS.shape, dtype=bool),
        "weights": WEIGHTS,
        "channel_offsets": OFFSETS,
        "round": 1,
    }
    for cls in PROJECTIONS.values():
        arguments = data | defaults_of(cls)
        name = f"projections.{cls.__name__}"
        yield Target(
            name,
            "projections",
            partial(dict, arguments),
            partial(draw, cls),
            typed=tuple(data),
            tolerance=1e-5,
        )
    views = {
        "matrix": np.eye(3, dtype=np.float32),
        "selected": np.array([0, 2]),
        "n_source_channels": 3,
        "scale": 1.0,
        "channels": NUMBERS.astype(np.float32),
        "values": NUMBERS,
    }
    yield Target(
        "projections.View", "projections", partial(dict, views), view_again, typed=tuple(views)
    )
    yield from described("projections", projections, "projection", "gaussian")


def described(layer, module, argument, name):
    """Yield what turns names and JSON into parts, and back."""
    part = module.resolve(name)
    data = {"resolve": {argument: name}, "from_json": {"description": module.to_json(part)}}
    for function, arguments in data.items():
        yield Target(
            f"{layer}.{function}", layer, partial(dict, arguments), getattr(module, function)
        )
    only = next(iter(inspect.signature(module.to_json).parameters))
    yield Target(f"{layer}.to_json", layer, partial(dict, {only: part}), module.to_json)


def ask_loss(cls, values, weights, raw, direction, **settings):
    """Ask a loss everything, in the order in which boosting does."""
    loss = cls(**settings)
    loss.check_params()
    targets = LossTargets.of(values, weights)
    losses.check_shapes(loss, targets)
    loss.check_targets(targets)
    baseline = loss.baseline(targets)
    losses.check_finite(loss, targets, baseline)
    return (
        baseline,
        loss.value(targets, raw),
        loss.gradient(targets, raw),
        loss.step(targets, raw, direction) if loss.n_values_per_output == 1 else None,
        loss.predictions(raw, targets.channel_offsets),
    )


def loss_targets():
    raw = 0.5 * NUMBERS
    for name, cls in LOSSES.items():
        values = NUMBERS
        if "regression" not in cls.tasks or name == "poisson":
            values = LABELS.astype(float)
        if "multilabel" not in cls.tasks and "regression" not in cls.tasks:
            values = np.eye(3)[LABELS.argmax(axis=1)]
        arguments = {"values": values, "weights": WEIGHTS, "raw": raw, "direction": -raw}
        yield Target(
            f"losses.{cls.__name__}",
            "losses",
            partial(dict, arguments, **defaults_of(cls)),
            partial(ask_loss, cls),
            typed=tuple(arguments),
        )
    arguments = {"values": NUMBERS, "weights": WEIGHTS, "raw": raw, "direction": -raw}
    parts = [losses.SquaredError(), losses.Huber(), losses.SquaredError()]
    yield Target(
        "losses.LossPerOutput",
        "losses",
        partial(dict, arguments, scales=[1.0, 2.0, 0.5]),
        partial(ask_loss, losses.LossPerOutput, parts=parts),
        typed=tuple(arguments),
    )
    yield from described("losses", losses, "loss", "huber")
    yield Target(
        "losses.resolve_margin_loss",
        "losses",
        lambda: {"loss": "logistic"},
        losses.resolve_margin_loss,
    )
    yield Target(
        "losses.is_for",
        "losses",
        lambda: {"loss": "huber", "learner": "boosting", "task": "regression"},
        losses.is_for,
    )


def draw_graph(cls, labels, n_states, observed, output_names, **settings):
    context = GraphContext(
        n_states=n_states,
        labels=labels,
        observed=observed,
        output_names=output_names,
        round=0,
        rng=np.random.default_rng(0),
    )
    return graphs.draw_edges(cls(**settings), context)


def graph_targets():
    data = {
        "labels": LABELS.astype(np.int32),
        "n_states": np.full(3, 2, dtype=np.int32),
        "observed": np.ones(LABELS.shape, dtype=bool),
        "output_names": ("a", "b", "c"),
    }
    for cls in GRAPHS.values():
        arguments = data | defaults_of(cls)
        if "edges" in arguments:
            arguments["edges"] = [("a", "b"), (1, 2)]
        name = f"graphs.{cls.__name__}"
        yield Target(
            name,
            "graphs",
            partial(dict, arguments),
            partial(draw_graph, cls),
            typed=tuple(data),
        )
    yield from described("graphs", graphs, "graph", "chow_liu")
    stored = graphs.parameter_to_json("chow_liu")
    yield Target(
        "graphs.parameter_from_json",
        "graphs",
        lambda: {"stored": stored},
        graphs.parameter_from_json,
    )
    yield Target(
        "graphs.parameter_to_json",
        "graphs",
        lambda: {"graph": graphs.resolve("chow_liu")},
        graphs.parameter_to_json,
    )


def targets():
    yield from metric_targets()
    yield from decoder_targets()
    yield from projection_targets()
    yield from loss_targets()
    yield from graph_targets()
