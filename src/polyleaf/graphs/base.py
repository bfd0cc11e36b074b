"""What the single graph classifier and the ensemble have in common."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from polyleaf import graphs
from polyleaf.data import (
    BinnedData,
    FeatureSchema,
    Targets,
    as_numbers,
    class_weights,
    combine_weights,
    decode_classes,
    read_classes,
    split_probabilities,
)
from polyleaf.estimator.base import MultiOutputEstimator
from polyleaf.estimator.classifier import LabelDecoding
from polyleaf.estimator.parameters import Parameter, check_parameters
from polyleaf.estimator.scores import ScoresClasses
from polyleaf.files.arrays import expect_array
from polyleaf.graphs.aggregation import Consensus
from polyleaf.graphs.calibration import channel_scores, probabilities
from polyleaf.graphs.checks import check_calibrated, check_gram, check_observed
from polyleaf.graphs.consensus import ConsensusCompletion
from polyleaf.graphs.kernels import EXPLICIT, KernelMap
from polyleaf.graphs.label_graph import LabelGraph
from polyleaf.graphs.labels import LabelData
from polyleaf.graphs.members import GraphMembers
from polyleaf.graphs.model import GraphModel
from polyleaf.graphs.operators import operator_of
from polyleaf.graphs.parameters import GRAPH_PARAMETERS
from polyleaf.graphs.solver import MarginProblem
from polyleaf.graphs.training import Combination, GraphTask, calibrate, fit_members

if TYPE_CHECKING:
    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Rows: TypeAlias = NDArray[np.float64] | CSR


@dataclass(frozen=True, eq=False)
class _Fit:
    """What `fit` has read and prepared."""

    features: FeatureSchema
    targets: Targets
    kernel_map: KernelMap
    design: Rows
    task: GraphTask


def _can_give_probabilities(estimator: Any) -> bool:
    if estimator.calibration_folds is None:
        raise AttributeError(
            f"predict_proba of {type(estimator).__name__} needs calibration_folds; got None. Set "
            "it to the number of folds, for example 3, and fit again."
        )
    return True


class GraphEstimator(ScoresClasses, LabelDecoding, MultiOutputEstimator):
    """A classifier that scores labellings by sums over the edges of graphs."""

    _declared: ClassVar[dict[str, Parameter]] = GRAPH_PARAMETERS

    _model: GraphModel
    _slopes: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        tags.input_tags.sparse = isinstance(self.kernel, str) and self.kernel in EXPLICIT
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.classifier_tags.multi_label = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # Fitting -----------------------------------------------------------------------------------

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> _Fit:
        check_parameters(self)
        self._check_decoding()
        name = type(self).__name__
        if isinstance(X, BinnedData):
            raise TypeError(f"{name} needs the numbers of X; got a BinnedData. Pass X as it is.")
        schema, encoded = FeatureSchema.fit(X, estimator_name=name)
        rows = as_numbers(schema, encoded, estimator_name=name)
        targets = read_classes(y, rows.shape[0], estimator_name=name)
        if targets.schema.kind == "multilabel" and not _is_auto(self.decoding):
            check_calibrated(self)
        self._warn_unobserved(targets, "They are predicted as 0.")
        weights = combine_weights(
            self._read_weights(sample_weight, targets), class_weights(self.class_weight, targets)
        )
        kernel_map = self._kernel_map(rows)
        design = kernel_map.design(rows)
        if callable(self.kernel):
            check_gram(np.asarray(design), is_given=False)
        data = LabelData.of(targets, weights)
        example_weight, cost = data.costs(weights, targets.schema.channel_offsets)
        problem = MarginProblem(
            data.labels,
            float(self.C) * example_weight,
            cost,
            self.margin_loss,
            float(self.tol),
            int(self.max_iter),
        )
        task = GraphTask(
            operator_of(design, kernel_map.is_explicit),
            data,
            problem,
            graphs.resolve(self.graph),
            targets.schema.output_names,
            int(self._rng().integers(2**63)),
            self._n_threads(),
        )
        return _Fit(schema, targets, kernel_map, design, task)

    def _kernel_map(self, rows: Rows) -> KernelMap:
        self._check_sparse(rows)
        anchors, gamma = None, 1.0
        if self.kernel == "precomputed":
            check_gram(np.asarray(rows), is_given=True)
        elif self.kernel not in EXPLICIT:
            anchors = np.ascontiguousarray(rows)
            gamma = self._gamma(anchors)
        return KernelMap(
            self.kernel,
            int(self.degree),
            gamma,
            float(self.coef0),
            float(self.intercept_scaling),
            rows.shape[1],
            anchors,
        )

    def _gamma(self, rows: NDArray[np.float64]) -> float:
        if self.gamma != "scale":
            return float(self.gamma)
        variance = float(rows.var())
        return 1.0 / (rows.shape[1] * variance) if variance > 0.0 else 1.0

    def _check_sparse(self, rows: Rows) -> None:
        if sparse.issparse(rows) and self.kernel not in EXPLICIT:
            raise ValueError(
                f"A sparse X needs the kernel 'linear' or 'cosine'; got {self.kernel!r:.60}. Pass "
                "X.toarray(), or use one of those kernels."
            )

    def _train(
        self, fit: _Fit, member_graphs: list[LabelGraph], first: int, combination: Combination
    ) -> tuple[GraphMembers, NDArray[np.float64] | None]:
        """Train members; give them, and completed parameters if the combination asks for them."""
        task = fit.task
        completion = None
        if combination.is_completed:
            check_observed(task)
            consensus = Consensus(tuple(member_graphs))
            completion = ConsensusCompletion(consensus, task.problem, task.data.one_hot())
        kept: list[tuple[NDArray[np.float64], float, float, int]] = []
        n_unfinished = 0
        for solution in fit_members(task, member_graphs, first, int(self.verbose)):
            graph = member_graphs[len(kept)]
            parameters = task.operator.parameters(solution.coefficients)
            kept.append((parameters, solution.gap, solution.primal, solution.n_iter))
            n_unfinished += not solution.is_converged
            if completion is not None:
                completion.add(graph, solution.coefficients)
        if n_unfinished:
            left = max(gap / max(primal - gap, 1e-12 * primal) for _, gap, primal, _ in kept)
            warnings.warn(
                f"{n_unfinished} of {len(kept)} graphs did not reach a relative duality gap of "
                f"{self.tol} in {self.max_iter} passes; the largest gap left is {left:.3g}. Raise "
                "max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        members = GraphMembers.collect(member_graphs, *zip(*kept))
        if completion is None:
            return members, None
        return members, completion.potential_parameters(task.operator)

    def _finish(self, fit: _Fit, model: GraphModel, combination: Combination) -> None:
        """Calibrate a model, and keep it once nothing can fail any more."""
        slopes = None
        if self.calibration_folds is not None:
            slopes = calibrate(
                fit.task,
                model.members.graphs,
                combination,
                int(self.calibration_folds),
                one_hot=_is_one_hot(fit.targets.schema.kind),
            )
        self._remember(fit.features, fit.targets.schema)
        self._model, self._slopes = model, slopes

    # Predicting --------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        name = type(self).__name__
        if isinstance(X, BinnedData):
            raise TypeError(f"{name} needs the numbers of X; got a BinnedData. Pass X as it is.")
        encoded = self._features.encode(X, estimator_name=name)
        rows = as_numbers(self._features, encoded, estimator_name=name)
        self._check_sparse(rows)
        return rows

    @property
    def classes_(self) -> Any:
        """Classes of the output, or a list of the classes of each output."""
        check_is_fitted(self)
        return self._targets.classes_

    def predict(self, X: Any) -> Any:
        """Predict classes or labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)
            With a precomputed kernel, kernel values with the training rows.

        Returns
        -------
        ndarray of shape (n,) or (n, d), or csr_array of shape (n, d)
            0 or 1 for labels, sparse if Y was; else classes.
        """
        rows = self._rows(X)
        if self._targets.kind == "multilabel" and not _is_auto(self.decoding):
            return self._decode_channels(self.predict_proba(X))
        labels, _ = self._model.outcome(rows, self._n_threads())
        return self._decode(labels)

    def _decode(self, labels: NDArray[np.int32]) -> Any:
        if not _is_one_hot(self._targets.kind):
            return decode_classes(self._targets, labels.astype(np.float64))
        n_states = self._model.members.n_states
        classes = np.concatenate([np.arange(n) for n in n_states])
        hot = np.repeat(labels, n_states, axis=1) == classes
        return decode_classes(self._targets, hot.astype(np.float64))

    def decision_function(self, X: Any) -> Any:
        """Score labels by their max-marginals.

        The score of a label is the best score of a labelling that has it, less the best of one
        that has it not; that of a class of several is relative to the best of the others. An
        ensemble of majority votes gives shares of votes instead.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n,), (n, c) or (n, d), or list of ndarray of shape (n, c_j)
            For a binary, multi-class, multi-label or multi-class multi-output problem.
        """
        rows = self._rows(X)
        _, relative = self._model.outcome(rows, self._n_threads())
        return self._arrange(relative)

    def _arrange(self, relative: NDArray[np.float64]) -> Any:
        kind, n_states = self._targets.kind, self._model.members.n_states
        scores = channel_scores(relative, n_states, one_hot=_is_one_hot(kind))
        if kind == "binary":
            return scores[:, 0]
        if kind == "multiclass-multioutput":
            return np.split(scores, np.cumsum(n_states)[:-1], axis=1)
        return scores

    @available_if(_can_give_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities, by sigmoids of the scores of `decision_function`.

        The sigmoids were fitted on scores of rows that the scoring model had not seen; see
        `calibration_folds`. They have a slope for scores above 0 and one below, so that a
        probability exceeds 1/2 where `predict` says 1.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n, p)

        Returns
        -------
        ndarray of shape (n, 2), (n, c) or (n, d), or list
            Of the two classes (binary), of each class (multi-class), of label = 1 (multi-label),
            or one array of shape (n, c_j) per output.
        """
        rows = self._rows(X)
        if self._slopes is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted with calibration_folds=None. Fit it again "
                "to get probabilities."
            )
        _, relative = self._model.outcome(rows, self._n_threads())
        chances = probabilities(
            relative,
            self._model.members.n_states,
            *self._slopes,
            one_hot=_is_one_hot(self._targets.kind),
        )
        return split_probabilities(self._targets, chances)

    # Model files -------------------------------------------------------------------------------

    def _to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        metadata = self._metadata()
        metadata["model"] = self._model.settings()
        metadata["is_calibrated"] = self._slopes is not None
        arrays = self._model.to_arrays()
        if self._slopes is not None:
            arrays["above"], arrays["below"] = self._slopes
        return arrays, metadata

    @classmethod
    def _from_file(cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> Any:
        settings = metadata["model"]
        model = GraphModel.from_arrays(arrays, metadata["parameters"]["kernel"], settings)
        n_states = model.members.n_states
        kind = metadata["targets"]["kind"]
        n_channels = int(n_states.sum()) if _is_one_hot(kind) else n_states.size
        estimator = cls._from_metadata(metadata, model.kernel_map.n_features, n_channels)
        expected = LabelData.n_states_of(estimator._targets)
        if not np.array_equal(expected, n_states):
            raise ValueError("the graphs and the outputs disagree about classes.")
        estimator._model, estimator._slopes = model, None
        if metadata["is_calibrated"]:
            slopes = [expect_array(arrays, at, np.float64, 1) for at in ("above", "below")]
            for slope in slopes:
                if slope.size != n_channels or not np.isfinite(slope).all() or slope.min() < 0:
                    raise ValueError("Expected a slope of 0 or more per channel.")
            estimator._slopes = slopes[0], slopes[1]
        return estimator


def _is_auto(decoding: Any) -> bool:
    """Tell whether the labels of the best labelling are wanted."""
    return isinstance(decoding, str) and decoding == "auto"


def _is_one_hot(kind: str) -> bool:
    """Tell whether every class is a channel of the target schema."""
    return kind in ("multiclass", "multiclass-multioutput")
