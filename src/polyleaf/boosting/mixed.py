"""Gradient boosting for a Y of numbers, counts, classes and labels, by a loss per output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from polyleaf import losses
from polyleaf.boosting.base import Boosting
from polyleaf.boosting.checks import Callback
from polyleaf.boosting.leaves import Units
from polyleaf.boosting.parameters import BOOSTING_PARAMETERS
from polyleaf.checks.numbers import shown
from polyleaf.checks.spelling import did_you_mean
from polyleaf.data import TargetSchema, names_of
from polyleaf.estimator.mixed import Mixed, as_frame, targets_as_frame
from polyleaf.estimator.parameters import documented, is_loss
from polyleaf.estimator.shared_parameters import loss_from_json
from polyleaf.files.parameters import Stored
from polyleaf.losses import Loss, LossPerOutput, Softmax
from polyleaf.metrics import Metric
from polyleaf.trees.channels import kind_factors
from polyleaf.trees.moments import channel_moments

if TYPE_CHECKING:
    from polyleaf.boosting.fitted import FittedBoosting, RawReader
    from polyleaf.data import Targets, TrainingData
    from polyleaf.estimator.parameters import Parameter

#: The loss of a kind; that of classes depends on their number.
_AUTO = {"number": "squared_error", "count": "poisson", "label": "logistic"}


def _is_loss_per_output(value: Any) -> bool:
    given = value.values() if isinstance(value, Mapping) else [value]
    return all(is_loss(loss) for loss in given)


def _is_metric_of_frames(value: Any) -> bool:
    if isinstance(value, str):
        return value == "score"
    return value is None or (callable(value) and not isinstance(value, Metric))


def _loss_to_json(name: str, loss: Any) -> Any:
    if isinstance(loss, Mapping):
        return {"outputs": [[str(key), _loss_to_json(name, part)] for key, part in loss.items()]}
    return losses.to_json(loss) if isinstance(loss, Loss) else loss


def _loss_from_json(stored: Any) -> Any:
    if isinstance(stored, dict) and set(stored) == {"outputs"}:
        pairs = stored["outputs"]
        if not isinstance(pairs, list) or any(
            not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str)
            for pair in pairs
        ):
            raise ValueError(f"Expected a loss per output; got {shown(pairs, 80)}.")
        return {name: loss_from_json(part) for name, part in pairs}
    return loss_from_json(stored)


_DECLARED: dict[str, Parameter] = BOOSTING_PARAMETERS | {
    "loss": replace(
        BOOSTING_PARAMETERS["loss"],
        type="'auto', dict, str or Loss",
        doc="What boosting minimises: a dict from names of outputs to names of losses or\n"
        "instances, such as ``{'price': 'huber', 'sold': 'logistic'}``, or one for all outputs.\n"
        "``'auto'``, and for outputs that the dict does not name: the squared error for numbers,\n"
        "Poisson's for counts, softmax for classes (logistic for two), logistic for labels.",
        accepts=_is_loss_per_output,
        expected="'auto', a name, a Loss, or a dict from names of outputs to those",
        stored=Stored(_loss_to_json, _loss_from_json),
    ),
    "eval_metric": replace(
        BOOSTING_PARAMETERS["eval_metric"],
        type="None, 'score' or callable",
        doc="What early stopping looks at, and what ``history_`` keeps beside the loss: None for\n"
        "the loss itself, ``'score'`` for what the method `score` gives, or a callable\n"
        "``(y_true, y_pred) -> float`` of two frames, as `predict` gives them, for which larger\n"
        "is better.",
        accepts=_is_metric_of_frames,
        expected="None, 'score' or a callable of two frames",
        names=("score",),
    ),
}


@documented
class BoostingMixed(Boosting, Mixed):
    """Gradient boosting for numbers, counts, classes and labels in one Y.

    Every output has a loss of its own. A round grows one tree on the gradients of all outputs,
    scaled so that all kinds count alike, or on a few random combinations of them, and gives its
    leaves values in all outputs. For a Y of one kind it is the model of `BoostingRegressor` or
    `BoostingClassifier` with that loss.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    target_types_ : dict of str to {'number', 'count', 'class', 'label'}
    classes_ : dict of str to ndarray
        Of the outputs that are classes or labels.
    losses_ : dict of str to Loss
        That of every output.
    n_features_in_, n_outputs_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had column names.
    output_names_ : ndarray of shape (n_outputs_,)
    n_estimators_, best_iteration_ : int
        Number of rounds that are kept.
    projection_ : Projection or None
        The view of the outputs that was used; None: all of them.
    history_ : dict of str to ndarray of shape (n_rounds,) or (n_rounds, n_outputs_)
        Mean loss after every round: "train_loss", and what was measured on validation rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
    output_map_ : ndarray of shape (n_outputs_, n_outputs_)
        Which outputs share structure.

    See Also
    --------
    RandomForestMixed : trees that do not build on each other.
    BoostingRegressor, BoostingClassifier : for outputs of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from polyleaf import BoostingMixed
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> Y = pd.DataFrame(dict(price=X[:, 0] + X[:, 1], sold=X[:, 0] > 0))
    >>> Y["visits"] = rng.poisson(np.exp(X[:, 1]))
    >>> model = BoostingMixed(n_estimators=30, loss={"price": "huber"}, random_state=0)
    >>> model.fit(X, Y).losses_
    {'price': Huber(), 'sold': Logistic(), 'visits': Poisson()}
    >>> model.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]).sold.tolist()
    [True, False]
    >>> bool(model.score(X, Y) > 0.5)
    True
    """

    _declared: ClassVar[dict[str, Parameter]] = _DECLARED

    def __init__(
        self,
        *,
        n_estimators: int = 400,
        loss: Any = "auto",
        learning_rate: float = 0.1,
        projection: Any = "auto",
        leaf_fit: str = "relabel",
        leaf_values: str = "auto",
        max_depth: int | str | None = "auto",
        max_leaf_nodes: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_impurity_decrease: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = 255,
        categorical_features: Any = None,
        category_penalty: float = 1.25,
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        row_sampling: str = "uniform",
        monotonic_cst: Any = None,
        estimator: Any = None,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        eval_metric: str | Callable[..., float] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        sums: str = "auto",
        verbose: int = 0,
    ) -> None:
        self._keep_parameters(locals())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        target_types: Any = None,
        eval_set: tuple[Any, ...] | list[tuple[Any, ...]] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        output_names: Any = None,
    ) -> Self:
        """Boost the model.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like or frame of shape (n,) or (n, d)
            Numbers, counts, classes and labels, a column each; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        target_types : dict of str to {'number', 'count', 'class', 'label'}, optional
            Kinds of outputs by name; those that are not named are found by their types: floats
            are numbers, booleans labels, strings and categories classes; integers are labels if
            they are 0 and 1, counts if none is negative, else numbers.
        eval_set : tuple (X, y) or (X, y, sample_weight), or list of such tuples, optional
            Validation rows, for `history_` and early stopping; the last ones of a list stop.
        callbacks : callable or sequence of callable
            Called after every round with a progress that has `n_estimators`, `train_loss`,
            `validation_loss` and `validation_score`; one that returns True ends the fit.
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array.

        Returns
        -------
        self
        """
        return self._fit(
            X,
            y,
            sample_weight,
            output_names,
            target_types=target_types,
            eval_set=eval_set,
            callbacks=callbacks,
        )

    # The loss ----------------------------------------------------------------------------------

    @property
    def losses_(self) -> dict[str, Loss]:
        """The loss of every output, by its name."""
        names = self.output_names_.tolist()
        loss = self._fitted.reader.loss
        parts = loss.parts if isinstance(loss, LossPerOutput) else [loss] * len(names)
        return dict(zip(names, parts))

    def _resolved_loss(self, data: TrainingData, old: FittedBoosting | None) -> Loss:
        schema = data.targets.schema
        if self.monotonic_cst is not None and (np.diff(schema.channel_offsets) > 1).any():
            raise ValueError(
                "monotonic_cst cannot be kept for more than two classes, whose probabilities "
                "cannot all rise; y has such an output. Use no constraint, or leave it out."
            )
        parts = _losses_of(self.loss, schema)
        if schema.kind != "mixed" and all(part == parts[0] for part in parts):
            return parts[0]
        loss = LossPerOutput(parts)
        if old is not None and isinstance(old.reader.loss, LossPerOutput):
            return LossPerOutput(parts, old.reader.loss.scales)
        return LossPerOutput(parts, _scales(loss, data))

    # Predictions -------------------------------------------------------------------------------

    def _channel_means(self, X: Any) -> NDArray[np.float64]:
        raw = self._raw(X)
        return self._fitted.reader.mixed(raw)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predict by the first round, the first two rounds, and so on.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Yields
        ------
        DataFrame of shape (n, d)
            As `predict` gives it.
        """
        for raw in self._staged_raw(X):
            yield as_frame(self._targets, self._fitted.reader.mixed(raw))

    def _truth(self, targets: Targets) -> Any:
        return targets_as_frame(targets)

    def _shown(self, reader: RawReader, raw: NDArray[np.float32], needs: str) -> Any:
        return as_frame(reader.schema, reader.mixed(raw))


def _losses_of(given: Any, schema: TargetSchema) -> list[Loss]:
    """Give a loss for every output."""
    assert schema.frame is not None
    names = names_of(schema)
    by_name: Mapping[Any, Any] = given if isinstance(given, Mapping) else {}
    for name in by_name:
        if name not in names:
            raise ValueError(
                f"loss names the output {name!r:.80}, but y has {list(names)[:10]}."
                f"{did_you_mean(name, names)}"
            )
    found = []
    for j, (name, column) in enumerate(zip(names, schema.frame.columns)):
        asked = by_name.get(name, "auto") if isinstance(given, Mapping) else given
        width = int(schema.channel_offsets[j + 1] - schema.channel_offsets[j])
        is_one_hot = (
            column.classes is not None
            and schema.kind != "multilabel"
            and (width != 1 or column.classes.size != 2)
        )
        if isinstance(asked, str) and asked == "auto":
            asked = "softmax" if is_one_hot else _AUTO.get(column.kind, "logistic")
        loss = losses.resolve(asked)
        if type(loss) is losses.Logistic and is_one_hot and width == 2:
            loss = Softmax()  # the same for two classes that have a channel each
        _check_part(loss, name, column.kind, column.classes is None, is_one_hot)
        found.append(loss)
    if schema.kind == "mixed" or any(loss != found[0] for loss in found):
        _check_apart(found, names)
    return found


def _check_part(loss: Loss, name: str, kind: str, is_number: bool, is_one_hot: bool) -> None:
    task = "regression" if is_number else ("multiclass" if is_one_hot else "multilabel")
    if task not in loss.tasks or "boosting" not in loss.learners:
        raise ValueError(
            f"loss={loss!r} is for {', '.join(sorted(loss.tasks))} targets; the output {name!r} "
            f"is a {kind}. Use another loss, or other target_types."
        )


def _check_apart(found: list[Loss], names: Sequence[str]) -> None:
    """Refuse what cannot be one of several losses."""
    for loss, name in zip(found, names):
        if loss.is_joint_over_outputs or loss.n_values_per_output > 1:
            raise ValueError(
                f"loss={loss!r} of the output {name!r} cannot be combined with others: it takes "
                "all outputs of a row together, or gives several predictions. Use another loss."
            )


def _scales(loss: LossPerOutput, data: TrainingData) -> list[float]:
    """Give the scales by which the gradients of all kinds count alike at the start."""
    targets = data.targets
    units = Units.of(data, channel_moments(targets), loss, 1, True)
    told = units.loss_targets(targets)
    loss.check_targets(told)
    gradient = loss.gradient(told, np.tile(loss.baseline(told), (targets.n_rows, 1)))
    totals = told.total_weights
    squares = told.weighted_sums(gradient**2)
    variances = np.divide(squares, totals, out=np.zeros_like(squares), where=totals > 0)
    factors = kind_factors(targets.schema, variances)
    return [float(factor) for factor in factors[targets.schema.channel_offsets[:-1]]]
