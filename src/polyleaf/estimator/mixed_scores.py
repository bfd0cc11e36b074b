"""How good predictions of several kinds are: each output as suits its kind, and all together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from polyleaf.data import Targets, TargetSchema, names_of
from polyleaf.metrics import macro_r2_score

#: Probabilities and means are taken for no less, where logarithms are asked for.
_LEAST = 1e-15


def combined_score(scores: dict[str, dict[str, float]]) -> float:
    """Average the scores of the outputs that have one; NaN if none has."""
    known = [found["score"] for found in scores.values() if not np.isnan(found["score"])]
    return float(np.mean(known)) if known else float("nan")


def output_scores(
    schema: TargetSchema,
    channels: NDArray[np.float64],
    truth: list[tuple[NDArray[np.float64], NDArray[np.bool_]]],
    weights: NDArray[np.float64] | None = None,
) -> dict[str, dict[str, float]]:
    """Measure every output as suits its kind.

    Parameters
    ----------
    schema : TargetSchema
        With a frame.
    channels : ndarray of shape (n_rows, n_channels)
        Predicted numbers and probabilities.
    truth : list of tuple (values, observed)
        As `read_like` gives it.
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), optional
    """
    assert schema.frame is not None
    found, offsets = {}, schema.channel_offsets
    for j, (name, column) in enumerate(zip(names_of(schema), schema.frame.columns)):
        values, rows = truth[j]
        part = channels[rows, offsets[j] : offsets[j + 1]]
        w = np.ones(values.size) if weights is None else weights
        w = (w if w.ndim == 1 else w[:, offsets[j]])[rows]
        if not w.sum() > 0:
            found[name] = {"score": float("nan")}
        elif column.classes is None:
            found[name] = _number_scores(values[rows], part[:, 0], w, column.kind == "count")
        else:
            if part.shape[1] == 1 and column.classes.size == 2:
                part = np.column_stack([1.0 - part, part])
            found[name] = _class_scores(values[rows].astype(np.int64), part, w)
    return found


def _number_scores(
    truth: NDArray[np.float64], guess: NDArray[np.float64], w: NDArray[np.float64], is_count: bool
) -> dict[str, float]:
    rest = truth - guess
    score = float("nan")
    if np.count_nonzero(w) > 1 and not np.isnan(guess).any():
        score = float(macro_r2_score(truth[:, None], guess[:, None], sample_weight=w))
    found = {
        "score": score,
        "rmse": float(np.sqrt(np.average(rest**2, weights=w))),
        "mae": float(np.average(np.abs(rest), weights=w)),
    }
    if is_count:
        mean = np.maximum(guess, _LEAST)
        deviance = 2.0 * (xlogy(truth, truth / mean) - truth + mean)
        found["poisson_deviance"] = float(np.average(deviance, weights=w))
    return found


def _class_scores(
    truth: NDArray[np.int64], guess: NDArray[np.float64], w: NDArray[np.float64]
) -> dict[str, float]:
    n_classes = guess.shape[1]
    # A last class for what training never saw; nobody gives it a probability.
    guess = np.column_stack([guess, np.zeros(len(guess))])
    truth = np.where(truth < 0, n_classes, truth)
    one_hot = truth[:, None] == np.arange(n_classes + 1)
    shares = np.average(one_hot, axis=0, weights=w)
    error = float(w @ ((one_hot - guess) ** 2).sum(axis=1))
    trivial = float(w @ ((one_hot - shares) ** 2).sum(axis=1))
    score = float("nan")
    if np.count_nonzero(w) > 1:
        score = 1.0 - error / trivial if trivial > 1e-12 * w.sum() else float(error == 0.0)
    chances = np.maximum(guess[np.arange(truth.size), truth], _LEAST)
    return {
        "score": score,
        "accuracy": float(np.average(np.argmax(guess, axis=1) == truth, weights=w)),
        "log_loss": float(np.average(-np.log(chances), weights=w)),
    }


def score_of_targets(
    schema: TargetSchema,
    channels: NDArray[np.float64],
    truth: Targets,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Give the combined score by targets that were read already.

    Parameters
    ----------
    schema : TargetSchema
    channels : ndarray of shape (n_rows, n_channels)
    truth : Targets
    weights : ndarray of shape (n_rows,) or (n_rows, n_channels), optional
    """
    assert schema.frame is not None
    values, observed = truth.dense_values(), truth.observed
    columns = []
    for j, column in enumerate(schema.frame.columns):
        start, stop = schema.channel_offsets[j], schema.channel_offsets[j + 1]
        known = np.ones(truth.n_rows, np.bool_) if observed is None else observed[:, start]
        is_one_hot = column.classes is not None and stop - start == column.classes.size
        part = values[:, start:stop]
        columns.append(
            (np.argmax(part, axis=1).astype(float) if is_one_hot else part[:, 0], known)
        )
    return combined_score(output_scores(schema, channels, columns, weights))
