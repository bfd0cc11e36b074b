"""What cannot be trained on a cluster, each refused by its name before any work is done."""

from __future__ import annotations

from typing import Any

from polyleaf import losses, projections
from polyleaf.boosting.base import Boosting
from polyleaf.data import TrainingData
from polyleaf.forests.base import ForestEstimator
from polyleaf.graphs.base import GraphEstimator
from polyleaf.losses import Loss, LossPerOutput
from polyleaf.projections import PCA, FromTransformer
from polyleaf.rules import RuleClassifier, RuleRegressor
from polyleaf.trees.single_tree import SingleTree

#: What a loss makes of all rows; ours ask for sums and quantiles, which workers agree on.
_ABOUT_ALL_ROWS = ("baseline", "step", "leaf_minimisers", "total_weight", "value")
#: Views that look at the rows themselves.
_OF_ROWS = (PCA, FromTransformer)


def check_estimator(estimator: Any) -> None:
    """Raise a TypeError or ValueError if an estimator cannot be trained on a cluster.

    Parameters
    ----------
    estimator : object

    Examples
    --------
    >>> from polyleaf import BoostingRegressor
    >>> check_estimator(BoostingRegressor(max_bins=None))
    Traceback (most recent call last):
        ...
    ValueError: max_bins=None of BoostingRegressor cannot be used on a cluster: ...
    """
    name = type(estimator).__name__
    if not isinstance(estimator, Boosting | ForestEstimator | SingleTree | GraphEstimator):
        raise TypeError(
            "polyleaf.distributed.fit trains boosting, single trees, forests, extra trees, bagged "
            f"trees and graphs; got {name}. {_instead_of(estimator)}"
        )
    if estimator._task == "mixed":
        raise _refused(
            estimator, name, "outputs of several kinds are read by one machine", "its own fit"
        )
    given = estimator.get_params(deep=False)
    if given.get("warm_start"):
        raise _refused(estimator, "warm_start=True", "fits start from nothing", "warm_start=False")
    if given.get("max_bins", 0) is None:
        raise _refused(estimator, "max_bins=None", "workers share sums over bins", "max_bins=255")
    if given.get("sums") == "float" and isinstance(estimator, Boosting):
        raise _refused(
            estimator,
            "sums='float'",
            "sums in floating point depend on how rows are divided",
            "sums='auto' or 'fixed'",
        )
    if given.get("hierarchy") is not None:
        raise _refused(estimator, "hierarchy", "it is read by one machine", "hierarchy=None")
    if isinstance(estimator, Boosting):
        _check_boosting(estimator, given)
    elif given.get("projection_scope") == "node":
        raise _refused(
            estimator,
            "projection_scope='node'",
            "it draws a view for each node, one split at a time",
            "projection_scope='tree'",
        )


def _instead_of(estimator: Any) -> str:
    if isinstance(estimator, RuleClassifier | RuleRegressor):
        return (
            "A rule is chosen by gains of all rows, rule after rule, so rules are learnt on one "
            "machine: call its own fit, on a sample of the rows if they do not fit; or use "
            "boosting with max_depth=1, whose trees are pairs of rules."
        )
    return "Call its own fit, on a sample of the rows if they do not fit one machine."


def _check_boosting(estimator: Any, given: dict[str, Any]) -> None:
    if given["estimator"] is not None:
        raise _refused(
            estimator,
            f"estimator={given['estimator']!r}",
            "workers grow trees together, and no other model",
            "estimator=None",
        )
    if given["eval_metric"] is not None:
        raise _refused(
            estimator,
            f"eval_metric={given['eval_metric']!r}",
            "a metric needs all validation rows in one place",
            "eval_metric=None: the loss of the validation rows decides",
        )
    view = given["projection"]
    if not (isinstance(view, str) and view == "auto"):
        view = projections.resolve(view)
    if isinstance(view, _OF_ROWS) or (
        view is not None
        and not isinstance(view, str)
        and type(view) not in projections.PROJECTIONS.values()
    ):
        raise _refused(
            estimator,
            f"projection={view!r}",
            "its views depend on all rows, not on sums of them",
            "projection='gaussian'",
        )
    if given["loss"] != "auto":
        _check_loss(estimator, losses.resolve(given["loss"]))


def _check_loss(estimator: Any, loss: Loss) -> None:
    own = [name for name in _ABOUT_ALL_ROWS if not _is_known(getattr(type(loss), name))]
    if isinstance(loss, LossPerOutput) or own:
        reason = "outputs with losses of their own are trained by one machine"
        if own:
            reason = f"its own {own[0]}() sees the rows of one worker only"
        raise _refused(
            estimator,
            f"loss={loss!r}",
            reason,
            f"one of {', '.join(map(repr, losses.LOSSES))}, or a loss without that method",
        )


def _is_known(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).startswith("polyleaf.losses.")


def check_problem(estimator: Any, data: TrainingData) -> None:
    """Raise a ValueError if an estimator cannot be trained on these data, once they are known.

    Parameters
    ----------
    estimator : Estimator
    data : TrainingData
    """
    if isinstance(estimator, Boosting):
        _check_loss(estimator, estimator._resolved_loss(data, None))


def _refused(estimator: Any, what: str, reason: str, use: str) -> ValueError:
    return ValueError(
        f"{what} of {type(estimator).__name__} cannot be used on a cluster: {reason}. Use {use}."
    )
