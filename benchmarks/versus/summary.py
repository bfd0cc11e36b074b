"""From measurements to rows that can be compared.

A ratio to the reference method is the median of the ratios draw by draw, because two methods
that ran on the same draw ran within the same minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median, stdev

from benchmarks.versus.methods import Method
from benchmarks.versus.runner import Measurement
from benchmarks.versus.scores import EQUAL_SCORE
from benchmarks.versus.tasks import TASKS, Case
from benchmarks.versus.worker import Cost


@dataclass(frozen=True)
class Row:
    """One method on one case.

    Attributes
    ----------
    task, problem, setting, dtype, method : str
    threads : int
    is_ours : bool
    n_draws : int
        Draws on which it finished.
    failure : str
        Why it did not finish on one; the figures below are then None.
    reference : str or None
        The method that the ratios refer to: the quickest rival, unless another was asked for.
    fit_seconds, fit_seconds_min, predict_seconds : float
        Medians and least over the draws.
    fit_cpu_seconds, predict_cpu_seconds : float
        Medians of the processor time of all threads.
    fit_speedup, fit_cpu_speedup, predict_speedup, predict_cpu_speedup : float
        Time of the reference divided by that of this method. The ratio of processor times does
        not suffer from other programs that run meanwhile.
    fit_peak_bytes, predict_peak_bytes, model_bytes : int
        Medians over the draws.
    memory_ratio : float
        Peak of this method's fit divided by that of the reference.
    n_rules : float
        Mean number of rules of the models; None if they have none.
    rule_speedup : float
        Like fit_cpu_speedup, of the processor time per rule.
    scores : dict of str to float
        Means over the draws.
    score_difference : float
        First score minus that of the reference, a mean over the draws.
    score_difference_error : float
        Standard error of that mean; None for one draw.
    """

    task: str
    problem: str
    setting: str
    dtype: str
    threads: int
    method: str
    is_ours: bool
    n_draws: int
    failure: str = ""
    reference: str | None = None
    fit_seconds: float | None = None
    fit_seconds_min: float | None = None
    fit_cpu_seconds: float | None = None
    fit_speedup: float | None = None
    fit_cpu_speedup: float | None = None
    predict_seconds: float | None = None
    predict_speedup: float | None = None
    predict_cpu_seconds: float | None = None
    predict_cpu_speedup: float | None = None
    fit_peak_bytes: int | None = None
    memory_ratio: float | None = None
    predict_peak_bytes: int | None = None
    model_bytes: int | None = None
    n_rules: float | None = None
    rule_speedup: float | None = None
    scores: dict[str, float] | None = None
    score_difference: float | None = None
    score_difference_error: float | None = None

    @property
    def verdict(self) -> str:
        """How the first score compares with the reference's."""
        if self.score_difference is None:
            return ""
        if abs(self.score_difference) <= EQUAL_SCORE:
            return "equal"
        return "better" if self.score_difference > 0 else "worse"


def summarise(
    measurements: Sequence[Measurement], methods: Sequence[Method], reference: str | None = None
) -> list[Row]:
    """Sum up the draws of each method on each case.

    Parameters
    ----------
    measurements : sequence of Measurement
    methods : sequence of Method
        Those that were measured.
    reference : str, optional
        Name of the method that ratios refer to; by default the quickest rival on each case.

    Returns
    -------
    list of Row
        In the order of the measurements.
    """
    by_case: dict[Case, dict[str, list[Measurement]]] = {}
    for measurement in measurements:
        runs = by_case.setdefault(measurement.case, {})
        runs.setdefault(measurement.method, []).append(measurement)
    rivals = {method.name for method in methods if not method.is_ours}
    rows = []
    for case, runs in by_case.items():
        finished = {name: _costs(of_method) for name, of_method in runs.items()}
        beside = reference if reference is not None else _quickest(finished, rivals)
        reference_costs = finished.get(beside, {}) if beside is not None else {}
        for name, of_method in runs.items():
            row = Row(
                **asdict(case),
                method=name,
                is_ours=name not in rivals,
                n_draws=sum(run.cost is not None for run in of_method),
                failure=next((run.failure for run in of_method if run.failure), ""),
                reference=beside if reference_costs else None,
            )
            rows.append(_with_figures(row, finished[name], reference_costs))
    return rows


def _costs(runs: Sequence[Measurement]) -> dict[int, Cost]:
    """Return the cost of each draw, or nothing if one of them failed."""
    costs = {run.draw: run.cost for run in runs if run.cost is not None}
    return costs if len(costs) == len(runs) else {}


def _quickest(finished: dict[str, dict[int, Cost]], rivals: set[str]) -> str | None:
    times = {
        name: median(cost.fit_seconds for cost in costs.values())
        for name, costs in finished.items()
        if costs and name in rivals
    }
    return min(times, key=times.__getitem__, default=None)


def _with_figures(row: Row, costs: dict[int, Cost], reference_costs: dict[int, Cost]) -> Row:
    if not costs:
        return row
    runs = list(costs.values())
    pairs = [(costs[draw], reference_costs[draw]) for draw in costs if draw in reference_costs]
    metrics = TASKS[row.task].metrics
    differences = [mine.scores[metrics[0]] - its.scores[metrics[0]] for mine, its in pairs]
    return replace(
        row,
        fit_seconds=median(run.fit_seconds for run in runs),
        fit_seconds_min=min(run.fit_seconds for run in runs),
        fit_speedup=_median_ratio((its.fit_seconds, mine.fit_seconds) for mine, its in pairs),
        fit_cpu_seconds=median(run.fit_cpu_seconds for run in runs),
        fit_cpu_speedup=_median_ratio(
            (its.fit_cpu_seconds, mine.fit_cpu_seconds) for mine, its in pairs
        ),
        predict_seconds=median(run.predict_seconds for run in runs),
        predict_speedup=_median_ratio(
            (its.predict_seconds, mine.predict_seconds) for mine, its in pairs
        ),
        predict_cpu_seconds=median(run.predict_cpu_seconds for run in runs),
        predict_cpu_speedup=_median_ratio(
            (its.predict_cpu_seconds, mine.predict_cpu_seconds) for mine, its in pairs
        ),
        fit_peak_bytes=int(median(run.fit_peak_bytes for run in runs)),
        memory_ratio=_median_ratio(
            (mine.fit_peak_bytes, its.fit_peak_bytes) for mine, its in pairs
        ),
        predict_peak_bytes=int(median(run.predict_peak_bytes for run in runs)),
        model_bytes=int(median(run.model_bytes for run in runs)),
        n_rules=fmean(run.n_rules or 0 for run in runs) or None,
        rule_speedup=_median_ratio(
            (its.fit_cpu_seconds * mine.n_rules, mine.fit_cpu_seconds * its.n_rules)
            for mine, its in pairs
            if mine.n_rules and its.n_rules
        ),
        scores={metric: fmean(run.scores[metric] for run in runs) for metric in metrics},
        score_difference=fmean(differences) if differences else None,
        score_difference_error=_standard_error(differences),
    )


def _median_ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the median of a / b over pairs with b > 0; None if there are none."""
    ratios = [a / b for a, b in pairs if b > 0]
    return median(ratios) if ratios else None


def _standard_error(values: Sequence[float]) -> float | None:
    return float(stdev(values) / len(values) ** 0.5) if len(values) > 1 else None
