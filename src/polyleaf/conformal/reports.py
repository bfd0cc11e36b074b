"""How often regions and label sets keep their promise, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.conformal.region import Region

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegionReport:
    """Coverage and size of regions on some rows; prints as a table.

    Attributes
    ----------
    alpha : float
        The share that may be missed.
    n_rows : int
        Rows with all outputs observed, which joint coverage is counted on.
    coverage : float
        Share of them that lies in its region.
    log_volume : float
        Median logarithm of the regions' volume.
    bonferroni_coverage, bonferroni_log_volume : float
        The same of boxes made of an interval for each output at alpha / d.
    interval_coverage : ndarray of shape (d,)
        Share of the observed entries that lies in the interval of its output.
    interval_width : ndarray of shape (d,)
        Median width of these intervals.
    output_names : tuple of str

    See Also
    --------
    polyleaf.ConformalRegressor.evaluate : makes them.
    """

    alpha: float
    n_rows: int
    coverage: float
    log_volume: float
    bonferroni_coverage: float
    bonferroni_log_volume: float
    interval_coverage: Floats
    interval_width: Floats
    output_names: tuple[str, ...]

    def __str__(self) -> str:
        ratio = np.exp(np.clip(self.log_volume - self.bonferroni_log_volume, -700, 700))
        lines = [
            f"promised {1 - self.alpha:.3f}, {self.n_rows} rows",
            f"all outputs together: {self.coverage:.3f} inside, median log volume "
            f"{self.log_volume:.2f}",
            f"Bonferroni's boxes:   {self.bonferroni_coverage:.3f} inside, median log volume "
            f"{self.bonferroni_log_volume:.2f} (regions have {ratio:.2g} of it)",
            "each output alone:",
        ]
        width = max(map(len, self.output_names))
        rows = zip(self.output_names, self.interval_coverage, self.interval_width, strict=True)
        lines += [
            f"  {name:{width}}  {share:.3f} inside, width {w:.4g}" for name, share, w in rows
        ]
        return "\n".join(lines)


def region_report(
    region: Region, intervals: Floats, bonferroni: Floats, values: Floats
) -> RegionReport:
    """Compare regions with what came.

    Parameters
    ----------
    region : Region
    intervals, bonferroni : ndarray of shape (n, d, 2)
        At alpha, and at alpha / d.
    values : ndarray of shape (n, d)
        NaN is not observed.
    """
    whole = ~np.isnan(values).any(axis=1)
    seen = ~np.isnan(values)
    inside = (intervals[:, :, 0] <= values) & (values <= intervals[:, :, 1])
    in_box = np.asarray(
        ((bonferroni[:, :, 0] <= values) & (values <= bonferroni[:, :, 1])).all(axis=1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        box_volume = np.log(bonferroni[:, :, 1] - bonferroni[:, :, 0]).sum(axis=1)
        shares = (inside & seen).sum(axis=0) / seen.sum(axis=0)
    return RegionReport(
        alpha=region.alpha,
        n_rows=int(whole.sum()),
        coverage=_mean(region.contains(values)[whole]),
        log_volume=float(np.median(region.log_volume())),
        bonferroni_coverage=_mean(in_box[whole]),
        bonferroni_log_volume=float(np.median(box_volume)),
        interval_coverage=shares,
        interval_width=np.median(intervals[:, :, 1] - intervals[:, :, 0], axis=0),
        output_names=region.output_names,
    )


def _mean(shares: NDArray[Any]) -> float:
    return float(shares.mean()) if shares.size else float("nan")


@dataclass(frozen=True, eq=False)
class SetReport:
    """Risk and size of label sets on some rows; prints as a table.

    Attributes
    ----------
    risk_name : str
    alpha : float
        The promised risk.
    risk : float
        Its mean over the rows.
    set_size : float
        Mean number of labels in a set.
    n_labels : float
        Mean number of labels that rows have.
    recall_by_label : ndarray of shape (d,)
        Share of each label's rows whose set has it; NaN for a label without rows.
    risk_by_level : ndarray of shape (n_levels,), or None
        The risk over the labels of each level of the hierarchy, from the roots down; None
        without a hierarchy.
    label_names : tuple of str
    is_by_level : bool
        Whether the risk is promised of each level, not of all labels together.

    See Also
    --------
    polyleaf.ConformalClassifier.evaluate : makes them.
    """

    risk_name: str
    alpha: float
    risk: float
    set_size: float
    n_labels: float
    recall_by_label: Floats
    risk_by_level: Floats | None
    label_names: tuple[str, ...]
    is_by_level: bool = False

    def __str__(self) -> str:
        of = " on each level" if self.is_by_level else ""
        lines = [
            f"{self.risk_name}: {self.risk:.3f}, promised at most {self.alpha:.3f}{of}",
            f"labels per set: {self.set_size:.2f}; rows have {self.n_labels:.2f}",
        ]
        if self.risk_by_level is not None:
            lines += [f"  level {k}: {risk:.3f}" for k, risk in enumerate(self.risk_by_level)]
        return "\n".join(lines)
