"""A naive rule inducer: dense Hessians, one linear system per candidate."""

from dataclasses import dataclass, field

import numpy as np

OPERATORS = ("<=", ">", "=", "!=", "missing", "known")


@dataclass
class NaiveRule:
    conditions: list = field(default_factory=list)  # (feature, operator, value)
    outputs: np.ndarray | None = None
    objectives: list = field(default_factory=list)


def dense_hessians(gradient, diagonal, coupling):
    """Hessian of every row, of shape (n, K, K)."""
    hessians = diagonal[:, :, None] * np.eye(gradient.shape[1])
    if coupling is not None:
        hessians = hessians - coupling[:, None, None] * gradient[:, :, None] * gradient[:, None]
    return hessians


def soft(gradient, l1):
    return np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)


def head_of(gradient, hessians, weights, outputs, l2, l1):
    """Solve (16) for the given outputs; also give twice the fall of the objective."""
    g = soft(weights @ gradient[:, outputs], l1)
    h = np.einsum("n,nij->ij", weights, hessians)[np.ix_(outputs, outputs)]
    head = -np.linalg.solve(h + l2 * np.eye(len(outputs)), g)
    return head, -g @ head


def covers(X, condition):
    feature, op, value = condition
    x = X[:, feature]
    with np.errstate(invalid="ignore"):
        return {
            "<=": x <= value,
            ">": x > value,
            "=": x == value,
            "!=": (x != value) & ~np.isnan(x),
            "missing": np.isnan(x),
            "known": ~np.isnan(x),
        }[op]


def candidates(X, is_categorical):
    for feature in range(X.shape[1]):
        x = X[:, feature]
        values = np.unique(x[~np.isnan(x)])
        if np.isnan(x).any() and values.size:
            yield from ((feature, op, 0.0) for op in ("missing", "known"))
        if values.size < 2:
            continue
        if is_categorical[feature]:
            for value in values:
                yield from ((feature, op, value) for op in ("=", "!="))
        else:
            for value in (values[1:] + values[:-1]) / 2:
                yield from ((feature, op, value) for op in ("<=", ">"))


def best_head_outputs(gradient, hessians, weights, l2, l1, size, share):
    """The outputs with the largest gains of their own, and the sum of those gains."""
    g = soft(weights @ gradient, l1)
    gains = g**2 / (np.einsum("n,nkk->k", weights, hessians) + l2)
    if share > 0:
        chosen = np.flatnonzero(gains >= share * gains.max())
    else:
        chosen = np.sort(np.argsort(-gains)[:size])
    return chosen, gains[chosen].sum()


def induce(
    X,
    statistics,
    counts,
    *,
    is_categorical=None,
    l2=0.0,
    l1=0.0,
    head_size=0,
    head_share=0.0,
    min_coverage=1,
    max_conditions=None,
):
    gradient, diagonal, coupling = statistics
    hessians = dense_hessians(gradient, diagonal, coupling)
    if is_categorical is None:
        is_categorical = np.zeros(X.shape[1], dtype=bool)
    rule = NaiveRule()
    covered = counts > 0
    while max_conditions is None or len(rule.conditions) < max_conditions:
        chooses = not rule.conditions and (head_size > 0 or head_share > 0)
        outputs = np.arange(gradient.shape[1]) if rule.outputs is None else rule.outputs
        best = 0.0
        if rule.conditions:
            best = head_of(gradient, hessians, counts * covered, outputs, l2, l1)[1]
        found = None
        for condition in candidates(X[covered], is_categorical):
            weights = counts * covered * covers(X, condition)
            if (weights > 0).sum() < min_coverage:
                continue
            if chooses:
                chosen, gain = best_head_outputs(
                    gradient, hessians, weights, l2, l1, head_size, head_share
                )
            else:
                chosen = outputs
                gain = head_of(gradient, hessians, weights, outputs, l2, l1)[1]
            if gain > best * (1 + 1e-9):
                best, found, found_outputs = gain, condition, chosen
        if found is None:
            break
        rule.conditions.append(found)
        rule.objectives.append(-best / 2)
        if chooses:
            rule.outputs = found_outputs
        covered &= covers(X, found)
    return rule
