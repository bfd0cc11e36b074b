"""What every estimator is: one way to fit, what was fitted as one value, and its file.

The life of a fit is the same in every family: the constructor keeps its parameters as they are;
`fit` checks them, reads X, Y and weights (`_read`), trains (`_train`), and assigns what it has
learnt, a frozen `Fitted`, once at the end. Whatever ends a fit early leaves the estimator as it
was. Public attributes are read off that value.

Callbacks are those of scikit-learn 1.9 and later, which `set_callbacks` takes. They see a task of
two levels, "fit" and its steps: trees, rounds, rules or graphs. All loops show their steps by
`progress_bar`, which tells the callbacks. A step is told of once it is over, in the thread that
called `fit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, cast

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyleaf.data import (
    BinnedData,
    FeatureSchema,
    GivenHierarchy,
    TargetSchema,
    read_training,
    whole_rows,
)
from polyleaf.estimator.parameters import (
    Parameter,
    check_parameters,
    parameters_from_json,
    parameters_to_json,
)
from polyleaf.estimator.published import Published

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for scikit-learn's, which this version does not have."""

    def _with_callbacks(method: Any) -> Any:
        return method


if TYPE_CHECKING:
    from polyleaf.data import EncodedX
    from polyleaf.data.training import Task

#: The core takes no more.
_MOST_THREADS = 1024

Arrays = dict[str, NDArray[Any]]
Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """Have callbacks closed after a method, however it ends."""
    return cast("Method", _with_callbacks(method))


#: Tells the callbacks of the fit that runs in this thread of steps; None if it has none.
_STEPS: ContextVar[Callable[[int], None] | None] = ContextVar("polyleaf_steps", default=None)


def current_steps() -> Callable[[int], None] | None:
    """Give the function that reports a number of steps to callbacks, if there are any."""
    return _STEPS.get()


@contextmanager
def followed(estimator: Any, X: Any, y: Any) -> Iterator[Callable[[Any], None]]:
    """Tell the callbacks of an estimator of a fit, from beginning to end.

    Parameters
    ----------
    estimator : Estimator
        With callbacks or without.
    X, y
        What `fit` was given, for callbacks that ask for it.

    Yields
    ------
    callable (fitted)
        To be called with what was learnt, before the estimator has it.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        with _listening(None):
            yield lambda fitted: None
        return
    most = _most_steps(estimator)
    context = estimator._init_callback_context(max_subtasks=most)
    told = 0

    def tell_steps(n_steps: int) -> None:
        nonlocal told
        for _ in range(min(n_steps, most - told)):
            step = context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=estimator)
            step.call_on_fit_task_end(estimator=estimator)
            told += 1

    def tell_end(fitted: Any) -> None:
        context.call_on_fit_task_end(
            estimator=estimator, X=X, y=y, reconstruction_attributes={"_fitted": fitted}
        )

    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    with _listening(tell_steps):
        yield tell_end


@contextmanager
def _listening(steps: Callable[[int], None] | None) -> Iterator[None]:
    token = _STEPS.set(steps)
    try:
        yield
    finally:
        _STEPS.reset(token)


def _most_steps(estimator: Any) -> int:
    given = vars(estimator)
    most = given.get("n_estimators", given.get("n_rules", 0))
    return int(most) if isinstance(most, int) else 0


class Fitted(Protocol):
    """What a fit has learnt: a frozen value.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    """

    @property
    def features(self) -> FeatureSchema:
        """What was learnt about the columns of X."""

    @property
    def targets(self) -> TargetSchema:
        """What was learnt about Y."""

    def to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give named arrays, and everything else but the schemas as JSON's types."""

    @classmethod
    def from_file(cls, arrays: Arrays, metadata: dict[str, Any], estimator: Any) -> Self:
        """Rebuild and check what `to_file` gave, for an estimator with the stored parameters."""


class OneState:
    """Methods that read a fitted estimator read one state of it, even if other threads change it.

    Public methods but those that write run on a view of the estimator that shares what was learnt;
    a fit that ends meanwhile changes the estimator, not the view.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith(_WRITERS):
                setattr(cls, name, _on_one_state(method))


#: How the names of methods begin that change an estimator, or are not meant for users.
_WRITERS = ("_", "fit", "partial_fit", "set_", "get_")


def _on_one_state(method: Any) -> Any:
    @wraps(method)
    def read(self: Any, *args: Any, **given: Any) -> Any:
        state = vars(self)
        if "_is_view" not in state:
            view = object.__new__(type(self))
            vars(view).update(state)  # at once, as far as other threads can see
            vars(view)["_is_view"] = True
            self = view
        return method(self, *args, **given)

    return read


class Estimator(Published, OneState, CallbackSupportMixin, BaseEstimator):
    """Base of all estimators."""

    #: What each parameter of the constructor may be, means, and how files hold it.
    _declared: ClassVar[dict[str, Parameter]]
    #: The class of `_fitted`.
    _fitted_type: ClassVar[type[Fitted]]
    _task: ClassVar[Task]
    #: What a warning says of outputs without an observed value; None: what is usual for the task.
    _unobserved: ClassVar[str | None] = None
    #: What the last fit has learnt; absent before the first.
    _fitted: Any
    #: When that ended, in seconds since 1970, and the number of rows: for the card of its file.
    _fit_facts: tuple[float, int]
    #: The card of the file that the model was loaded from.
    _card: dict[str, Any] | None

    def _keep_parameters(self, given: dict[str, Any]) -> None:
        """Keep what a constructor was given, as it is: `given` are its locals."""
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    # Fitting -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, output_names: Any = None) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like, frame, sparse matrix or BinnedData of shape (n, p)
            NaN and None are missing values.
        y : array-like, frame or sparse matrix of shape (n,) or (n, d)
            Numbers, or classes and labels; NaN and None are not observed.
        sample_weight : array-like of shape (n,) or (n, d), optional
        output_names : sequence of str, of length d, optional
            Names of the outputs, if y has none: an array or a sparse matrix.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, output_names)

    @with_callbacks
    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        output_names: Any,
        *,
        target_types: Any = None,
        **given: Any,
    ) -> Self:
        """Fit, as all estimators do; `given` is what else `_train` takes."""
        check_parameters(self)
        with followed(self, X, y) as tell_end:
            told = {} if target_types is None else {"target_types": target_types}
            data = self._read(X, y, sample_weight, output_names, **told)
            fitted = self._train(data, **given)
            tell_end(fitted)
        self._fitted = fitted
        self._fit_facts = time.time(), data.targets.n_rows
        self._card = None
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, output_names: Any, **told: Any) -> Any:
        """Read what `fit` was given; `told` is what else `read_training` takes."""
        given = vars(self)
        return read_training(
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=given.get("class_weight"),
            categorical_features=given.get("categorical_features"),
            max_bins=given["max_bins"],
            n_threads=self._n_threads(),
            unobserved=self._unobserved,
            output_names=output_names,
            hierarchy=self._given_hierarchy(),
            estimator_name=type(self).__name__,
            **told,
        )

    def _train(self, data: Any) -> Fitted:
        """Learn from what `_read` gave; leaves the estimator as it is."""
        raise NotImplementedError

    def _given_hierarchy(self) -> GivenHierarchy | None:
        given = vars(self).get("hierarchy")
        return None if given is None else GivenHierarchy(given, vars(self)["on_violation"])

    def _n_threads(self) -> int:
        n_jobs = int(joblib.effective_n_jobs(getattr(self, "n_jobs", None)))
        return min(n_jobs, _MOST_THREADS)

    def _rng(self, state: Any = None) -> np.random.Generator:
        state = self.random_state if state is None else state
        if isinstance(state, np.random.Generator):
            return state
        if type(state) is int:
            return np.random.default_rng(_words_of(state))
        return np.random.default_rng(check_random_state(state).randint(2**31, size=4))

    # What was learnt about X and Y -------------------------------------------------------------

    @property
    def _features(self) -> FeatureSchema:
        features: FeatureSchema = self._fitted.features
        return features

    @property
    def _targets(self) -> TargetSchema:
        targets: TargetSchema = self._fitted.targets
        return targets

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._features.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of X's columns, of shape (n_features_in_,); only if it had some."""
        if self._features.names is None:
            raise AttributeError(f"The X of this {type(self).__name__} had no column names.")
        return np.array(self._features.names, dtype=object)

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return self._targets.n_outputs

    @property
    def output_names_(self) -> NDArray[Any]:
        """Names of Y's columns or those given to `fit`, else y0, y1, ...; of shape (d,)."""
        check_is_fitted(self)
        names = self._targets.output_names
        if names is None:
            names = tuple(f"y{j}" for j in range(self._targets.n_outputs))
        return np.array(names, dtype=object)

    def _encode(self, X: Any) -> EncodedX:
        """Read the X of a prediction."""
        check_is_fitted(self)
        features = self._features
        if not isinstance(X, BinnedData):
            return features.encode(X, estimator_name=type(self).__name__)
        if X.schema is not features and X.schema.to_json() != features.to_json():
            raise ValueError(
                "A BinnedData must have the features and categories of the one that "
                f"{type(self).__name__} was fitted with; got {X!r} with others. Pass X as it is."
            )
        encoded: EncodedX = whole_rows(X.encoded)
        return encoded

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[Arrays, dict[str, Any]]:
        """Give named arrays, and everything else as JSON's types."""
        arrays, metadata = self._fitted.to_file()
        return arrays, {
            "estimator": type(self).__name__,
            "parameters": parameters_to_json(self),
            "features": self._features.to_json(),
            "targets": self._targets.to_json(),
            **metadata,
        }

    @classmethod
    def _from_file(cls, arrays: Arrays, metadata: dict[str, Any]) -> Self:
        """Undo `_to_file`.

        Raises
        ------
        ValueError, TypeError, KeyError
            If the file is damaged.
        """
        estimator = cls(**parameters_from_json(cls, metadata["parameters"]))
        check_parameters(estimator)
        estimator._fitted = cls._fitted_type.from_file(arrays, metadata, estimator)
        return estimator


def schemas_from_file(
    metadata: dict[str, Any], n_features: int, n_channels: int
) -> tuple[FeatureSchema, TargetSchema]:
    """Read what was learnt about X and Y.

    Parameters
    ----------
    metadata : dict
        What `Estimator._to_file` gave, or anything else.
    n_features, n_channels : int
        As the arrays of the model have it; a description of others is not built.
    """
    features, targets = metadata["features"], metadata["targets"]
    if not isinstance(features, dict) or features.get("n_features") != n_features:
        raise ValueError(f"Expected a description of {n_features} features.")
    if not isinstance(targets, dict) or not 1 <= int(targets["n_outputs"]) <= n_channels:
        raise ValueError(f"Expected a description of at most {n_channels} outputs.")
    schemas = FeatureSchema.from_json(features), TargetSchema.from_json(targets)
    if schemas[1].n_channels != n_channels:
        raise ValueError(f"Expected a description of outputs with {n_channels} channels.")
    return schemas


@lru_cache(maxsize=256)
def _words_of(seed: int) -> tuple[int, ...]:
    """Draw from the legacy generator of a seed, which takes longer to set up than to use."""
    return tuple(np.random.RandomState(seed).randint(2**31, size=4).tolist())
