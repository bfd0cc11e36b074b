"""Tables 4 to 7 of Joly et al. 2019: three problems whose structure is known.

Macro-r2 of single-target boosting (st-gbrt), Algorithms 2 (gbmort), 4 (gbrt-relabel-rpo) and 3
(gbrt-rpo) with one sub-sampled output per round, and an oracle that knows the structure
(artificial-gbrt), on the three friedman1 problems; in Table 6 with 16 further targets that tell
nothing (the oracle predicts their mean), and the macro-r2 over the 16 real ones ("half").

The text says that there are five standard normal features, but the published figures can only
come from ones that are uniform in [0, 1], as Friedman's are: with normal ones the signal is so
strong that every method has an r2 above 0.9. Friedman's problem also has five features that tell
nothing: the rows with ten features have them. Methods on the group then score what was published,
and 0.02 to 0.03 more without.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_ind_from_stats, ttest_rel
from sklearn.datasets import make_friedman1

from benchmarks.papers import boosting_published as published
from benchmarks.papers.records import repeats_of
from benchmarks.papers.tables import (
    Claim,
    Figure,
    Labels,
    Made,
    Measure,
    Outcome,
    Row,
    Table,
    deviation_of,
    mean_of,
    paper,
)
from polyleaf import BoostingRegressor
from polyleaf.metrics import macro_r2_score

PAPER = "Joly et al. 2019"
PROBLEMS = ("chain", "group", "ind")
#: The published settings of each method; the oracle has its own by problem.
METHODS = {
    "artificial-gbrt": "",
    "st-gbrt": "st-gbrt",
    "gbmort": "gbmort",
    "gbrt-relabel-rpo": "gbrt-relabel-rpo-subsampled",
    "gbrt-rpo": "gbrt-rpo-subsampled",
}
N_TRAIN, N_FIT, N_TEST = 300, 240, 4000
#: Features of every task that tell something.
N_FEATURES = 5
#: Leaves, and the learning rate with the share of the features that a node sees.
GRID = tuple(product((2, 3, 4, 8), ((0.1, 1.0), (0.02, 0.5))))
#: The most rounds of one tree for all outputs. Rounds of one tree per output and the rounds to
#: wait for a better score, of both kinds, are for a learning rate of one: others take more.
ROUNDS, ROUNDS_EACH, PATIENCE, PATIENCE_EACH = 10_000, 50, 30, 3


def oracle_targets(structure: str, Y: NDArray[Any]) -> NDArray[Any]:
    """Give the one target that tells most: the first or the mean one; all if they are apart."""
    real = Y[:, :16]
    one = {"chain": real[:, :1], "group": real.mean(axis=1, keepdims=True), "ind": real}
    return one[structure]


def make(method: str, structure: str, n_leaves: int, rate: float, share: float, seed: int) -> Made:
    """Make one of the methods with trees of a given size that see a share of the features."""
    variant = METHODS[method]
    if method == "artificial-gbrt":
        variant = "st-gbrt" if structure == "ind" else "gbmort"
    is_single = variant == "st-gbrt"
    return paper(
        BoostingRegressor,
        variant,
        n_estimators=round(ROUNDS_EACH / rate) if is_single else ROUNDS,
        n_iter_no_change=round((PATIENCE_EACH if is_single else PATIENCE) / rate),
        early_stopping=True,
        eval_metric="r2",
        learning_rate=rate,
        max_features=share,
        max_leaf_nodes=n_leaves,
        random_state=seed,
        n_jobs=1,
    )


def problem(structure: str, n_noise: int, n_features: int, seed: int) -> tuple[Any, Any]:
    """Generate training rows and, behind them, test rows; so many features for each task."""
    rng = np.random.RandomState(seed)
    n_rows, n_tasks = N_TRAIN + N_TEST, 16 if structure == "ind" else 1
    tasks = range(n_tasks)
    parts = [make_friedman1(n_rows, n_features, noise=0.0, random_state=rng) for _ in tasks]
    X = np.hstack([features for features, _ in parts])
    noise = rng.normal(size=(n_rows, 16))
    if structure == "chain":
        noise = np.cumsum(noise, axis=1)
    Y = np.column_stack([signal for _, signal in parts]) + noise
    shuffled = [rng.permutation(Y[:, j % 16]) for j in range(n_noise)]
    return X, np.column_stack([Y, *shuffled])


def measure(labels: Labels, n_noise: int, seed: int) -> Outcome:
    """Choose settings and rounds on validation rows, and score that model on test rows."""
    method, structure = labels["method"], labels["problem"]
    X, Y = problem(structure, n_noise, labels["features"], seed)
    targets = oracle_targets(structure, Y) if method == "artificial-gbrt" else Y
    aside = X[N_FIT:N_TRAIN], targets[N_FIT:N_TRAIN]
    best = None
    for n_leaves, (rate, share) in GRID:
        made = make(method, structure, n_leaves, rate, share, seed)
        made.estimator.fit(X[:N_FIT], targets[:N_FIT], eval_set=aside)
        score = made.estimator.history_["validation_score"].max()
        if best is None or score > best[0]:
            best = score, made
    assert best is not None
    made = best[1]
    Y_test = Y[N_TRAIN:]
    predicted = made.estimator.predict(X[N_TRAIN:])
    if method == "artificial-gbrt":
        predicted = np.broadcast_to(predicted, (N_TEST, 16))
        means = Y[:N_FIT, 16:].mean(axis=0)
        predicted = np.hstack([predicted, np.broadcast_to(means, (N_TEST, n_noise))])
    values = {"macro-r2": macro_r2_score(Y_test, predicted)}
    if n_noise:
        values["half-macro-r2"] = macro_r2_score(Y_test[:, :16], predicted[:, :16])
    return Outcome(values, made.settings)


def _rows(figures: Any, halves: Any = None) -> tuple[Row, ...]:
    rows = []
    for structure, n_features in [(p, 5) for p in PROBLEMS] + [("chain", 10), ("group", 10)]:
        if halves is not None and n_features == 10:
            continue
        for method in METHODS:
            found: dict[str, Figure] = {}
            place = PROBLEMS.index(structure)
            if method in figures:
                found["macro-r2"] = Figure(*figures[method][place])
            if halves is not None and method in halves:
                found["half-macro-r2"] = Figure(halves[method][place])
            rows.append(
                Row({"problem": structure, "features": n_features, "method": method}, found)
            )
    return tuple(rows)


def _pairs(pairs: Any) -> tuple[Claim, ...]:
    """Make a claim of every published test: a difference, or none from p = 5 % on."""
    claims = []
    for structure in PROBLEMS:
        for better, worse, p in pairs[structure]:
            known = "p < 0.05" if p is None else f"p = {p:g}"
            differ = p is None or p < LEVEL
            said = f"{better} > {worse}" if differ else f"{better} and {worse} do not differ"
            check = _pair_check(structure, better, worse, differ)
            claims.append(Claim(f"{structure}: {said} ({known})", check))
    return tuple(claims)


LEVEL = 0.05


def _pair_check(structure: str, better: str, worse: str, differ: bool) -> Any:
    def check(records: list[dict[str, Any]]) -> tuple[bool | None, str]:
        own = {
            line["row"]["method"]: line
            for line in records
            if line["row"]["problem"] == structure and line["row"]["features"] == 5
        }
        if better not in own or worse not in own:
            return None, "not measured"
        lines = own[better], own[worse]
        if not all("values" in line for line in lines):
            return _unpaired(*lines, differ)
        a, b = (np.array(line["values"]["macro-r2"]) for line in lines)
        n_repeats = min(len(a), len(b))
        difference = a[:n_repeats] - b[:n_repeats]
        if n_repeats < 2:
            return None, f"{difference.mean():+.4f}, one repeat"
        p = float(ttest_rel(a[:n_repeats], b[:n_repeats]).pvalue)
        shown = f"{difference.mean():+.4f}, p = {p:.2g}, {n_repeats} repeats"
        holds = difference.mean() > 0 and p < LEVEL if differ else p >= LEVEL
        return bool(holds), shown

    return check


def _unpaired(a: dict[str, Any], b: dict[str, Any], differ: bool) -> tuple[bool | None, str]:
    """Compare means and deviations by Welch's test, where pairs were not kept.

    It finds less than a paired test: what it does not find cannot be told.
    """
    name = "macro-r2"
    stats = [
        (mean_of(line, name), deviation_of(line, name) or 0.0, repeats_of(line)) for line in (a, b)
    ]
    gap = stats[0][0] - stats[1][0]
    if not any(deviation for _, deviation, _ in stats) or min(n for *_, n in stats) < 2:
        return None, f"{gap:+.4f} †"
    p = float(ttest_ind_from_stats(*stats[0], *stats[1], equal_var=False).pvalue)
    shown = f"{gap:+.4f}, p = {p:.2g} (Welch's test, † without pairs)"
    if p >= LEVEL:
        return None, shown
    return differ and gap > 0, shown


_PROTOCOL = (
    "300 training rows, of which a fifth chooses the settings and the rounds, 4,000 test rows, 16 "
    "targets; Student's paired t-test compares two methods over the repeats."
)
_DIFFERS = (
    "Features are uniform, not normal as in the text ({doc}`/decisions/0032-friedman1-features`); "
    "rows with ten features have Friedman's five that tell nothing. The grid has 8 settings "
    "instead "
    "of 490: learning rate 0.1 with all features at every node or 0.02 with half of them, 2, 3, 4 "
    "or 8 leaves, the squared loss; st-gbrt has 500 or 2,500 trees per output instead of 10,000."
)
_GROUP = "with five features the group is easier; with Friedman's ten it is as published"
_WHY: tuple[tuple[Labels, str], ...] = (
    ({"problem": "group", "features": 5}, _GROUP),
    ({"problem": "chain", "features": 5}, "with five features the chain is easier, too"),
    (
        {"problem": "chain", "method": "artificial-gbrt"},
        "not explained (record 32)",
    ),
    ({"problem": "ind"}, "a difference of 0.005 or less, and small deviations"),
)

TABLES = (
    Table(
        name="joly2019-table4",
        paper=PAPER,
        title="Tables 4 and 5: problems of known structure",
        protocol=_PROTOCOL,
        differs=_DIFFERS,
        measures=(Measure("macro-r2"),),
        rows=_rows(published.TABLE_4),
        work=lambda labels, seed: measure(labels, 0, seed),
        repeats=5,
        across="method",
        quick=(
            {"problem": "group", "features": 10, "method": "gbmort"},
            {"problem": "group", "features": 10, "method": "gbrt-relabel-rpo"},
        ),
        quick_repeats=1,
        why=_WHY,
        claims=_pairs(published.TABLE_5),
        needs=(),
    ),
    Table(
        name="joly2019-table6",
        paper=PAPER,
        title="Tables 6 and 7: with 16 targets of noise",
        protocol=_PROTOCOL + " half-macro-r2 is over the 16 targets that are no noise.",
        differs=_DIFFERS + " The oracle predicts the mean of the noise; the paper has none here.",
        measures=(Measure("macro-r2"), Measure("half-macro-r2")),
        rows=_rows(published.TABLE_6, published.TABLE_6_HALF),
        work=lambda labels, seed: measure(labels, 16, seed),
        repeats=5,
        across="method",
        quick=({"problem": "chain", "method": "gbrt-rpo"},),
        quick_repeats=1,
        why=_WHY,
        claims=_pairs(published.TABLE_7),
        needs=(),
    ),
)
