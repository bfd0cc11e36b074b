"""What a fit of boosting has learnt: trees (or other models), and what their sum means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyleaf import losses, projections
from polyleaf.boosting.model import BoostedTrees
from polyleaf.estimator.base import schemas_from_file
from polyleaf.files.arrays import StoredArray, StoredArrays
from polyleaf.files.parameters import stored_entropy
from polyleaf.losses import Loss, LossPerOutput

if TYPE_CHECKING:
    from polyleaf.boosting.weak_models import BoostedModels
    from polyleaf.data import FeatureSchema, TargetSchema, TrainingData
    from polyleaf.projections import Projection
    from polyleaf.trees.shards import Shard

#: Rows, at most, on which what a model adds to outputs is kept for `output_map_`.
_MAP_ROWS = 512
#: Raw predictions that become numbers at a time. Fresh memory for millions of rows costs more than
#: the arithmetic; a block stays in the cache.
_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class RawReader:
    """Turns raw predictions of shape (n_rows, n_channels) into answers.

    Attributes
    ----------
    loss : Loss
        That was minimised.
    schema : TargetSchema
    shift, scale : ndarray of shape (n_channels,), float64
        A number is shift + scale * raw.
    """

    loss: Loss
    schema: TargetSchema
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    def numbers(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Give numbers in the units of Y, of shape (n, d); with quantiles (n, d, n_quantiles)."""
        values: NDArray[np.float64] = np.empty(raw.shape)
        n_rows = max(1, _BLOCK // max(1, raw.shape[1]))
        for start in range(0, len(raw), n_rows):
            block = slice(start, start + n_rows)
            means = self.loss.predictions(raw[block], self.schema.channel_offsets)
            np.multiply(means, self.scale, out=values[block])
            values[block] += self.shift
        if self.loss.value_shape:
            values = values.reshape(len(values), self.schema.n_outputs, -1)
        return values[:, 0] if self.schema.is_1d else values

    def probabilities(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Give probabilities of all channels; 0 for a label that was never observed."""
        offsets = self.schema.channel_offsets
        shares = np.nan_to_num(self.loss.predictions(raw, offsets), copy=False)
        if "regression" not in self.loss.tasks:
            return shares
        np.clip(shares, 0.0, 1.0, out=shares)
        if self.schema.kind in ("multiclass", "multiclass-multioutput"):
            totals = np.repeat(np.add.reduceat(shares, offsets[:-1], axis=1), np.diff(offsets), 1)
            shares /= np.where(totals > 0, totals, 1.0)
        return shares

    def mixed(self, raw: NDArray[np.float32]) -> NDArray[np.float64]:
        """Give numbers and probabilities of all channels; 0 for a label never observed."""
        if self.schema.kind == "regression":
            return self.numbers(raw).reshape(len(raw), -1)
        if self.schema.kind != "mixed":
            return self.probabilities(raw)
        values = self.loss.predictions(raw, self.schema.channel_offsets) * self.scale
        values += self.shift
        assert self.schema.frame is not None
        offsets = self.schema.channel_offsets
        for j, column in enumerate(self.schema.frame.columns):
            if column.classes is None:
                continue
            shares = np.nan_to_num(values[:, offsets[j] : offsets[j + 1]], copy=False)
            np.clip(shares, 0.0, 1.0, out=shares)
            if shares.shape[1] > 1:  # those of the squared error need not add up to 1
                totals = shares.sum(axis=1, keepdims=True)
                shares /= np.where(totals > 0, totals, 1.0)
        return values


_ARRAYS = StoredArrays(
    "Boosting",
    {
        "output_shift": StoredArray(np.float64, "n_channels", "A number is shift + scale * raw."),
        "output_scale": StoredArray(np.float64, "n_channels", "See output_shift."),
        "history_train_loss": StoredArray(np.float64, "n_rounds", "Mean loss after each round."),
        "history_validation_loss": StoredArray(
            np.float64, "n_rounds", "That of validation rows, if there were some."
        ),
        "history_validation_score": StoredArray(
            np.float64, "n_rounds", "Their score, if there was an eval_metric."
        ),
        "history_validation_loss_per_output": StoredArray(
            np.float64, "n_rounds, n_outputs", "The loss of every output."
        ),
        "history_validation_score_per_output": StoredArray(
            np.float64, "n_rounds, n_outputs", "The score of every output."
        ),
        "history_validation_0_loss": StoredArray(
            np.float64,
            "n_rounds",
            "If eval_set was a list: of its first rows, likewise of others and their scores.",
        ),
        "output_moves": StoredArray(
            np.float32,
            "n_channels, n_some_rows",
            "What is added on some training rows, for output_map_.",
        ),
    },
)


@dataclass(frozen=True, eq=False)
class FittedBoosting:
    """A fitted boosted model.

    Attributes
    ----------
    features : FeatureSchema
    targets : TargetSchema
    model : BoostedTrees or BoostedModels
    reader : RawReader
        What its raw predictions mean: the loss, and the units of the outputs.
    is_normalized : bool
        Whether outputs were scaled to standard deviation 1.
    projection : Projection or None
        The view that was used.
    history : dict of str to ndarray of shape (n_rounds,) or (n_rounds, n_outputs)
    trees_per_stage : int
        Trees of a round.
    entropy : list of int
        The seed; a warm start goes on with it.
    moves : ndarray of shape (n_channels, n_rows), float32, or None
        What is added to every channel on some training rows, if no tree serves two outputs.
    max_depth : int or None
        Largest depth of a leaf that was allowed; None: no limit, or a model from a file.
    """

    features: FeatureSchema
    targets: TargetSchema
    model: BoostedTrees | BoostedModels
    reader: RawReader
    is_normalized: bool
    projection: Projection | None
    history: dict[str, NDArray[np.float64]]
    trees_per_stage: int
    entropy: list[int]
    moves: NDArray[np.float32] | None
    max_depth: int | None = None

    @property
    def n_rounds(self) -> int:
        """Number of rounds that are kept."""
        return self.model.n_trees // self.trees_per_stage

    def channel_offsets(self) -> NDArray[Any]:
        """First channel of every output, and the number of all; of shape (n_outputs + 1,)."""
        n_outputs, n_channels = self.targets.n_outputs, self.model.n_channels
        offsets: NDArray[Any] = self.targets.channel_offsets
        if offsets[-1] != n_channels:  # several quantiles per output
            offsets = np.arange(n_outputs + 1) * (n_channels // n_outputs)
        return offsets

    def output_map(self) -> NDArray[np.float64]:
        """Cosines between what is added to the outputs, of shape (n_outputs, n_outputs)."""
        offsets = self.channel_offsets()
        if self.moves is not None:
            return output_cosines(self.moves, offsets)
        assert isinstance(self.model, BoostedTrees)
        return output_cosines(self.model.channel_vectors(), offsets)

    def to_file(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Give the arrays of the trees, units and learning curves, and the rest."""
        view = self.projection
        metadata = {
            "entropy": self.entropy,
            "trees_per_stage": self.trees_per_stage,
            "is_normalized": self.is_normalized,
            "fitted_loss": losses.to_json(self.reader.loss),
            "fitted_projection": None if view is None else projections.to_json(view),
        }
        arrays: dict[str, NDArray[Any]] = {}
        if isinstance(self.model, BoostedTrees):  # else the parameter `estimator` is refused
            arrays = self.model.to_arrays()
        arrays |= {"output_shift": self.reader.shift, "output_scale": self.reader.scale}
        if self.moves is not None:
            arrays["output_moves"] = self.moves
        return arrays | {
            f"history_{name}": curve for name, curve in self.history.items()
        }, metadata

    @classmethod
    def from_file(
        cls, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], estimator: Any
    ) -> FittedBoosting:
        """Rebuild and check a boosted model from a model file."""
        model = BoostedTrees.from_arrays(arrays)
        loss = losses.from_json(metadata["fitted_loss"])
        n_values = loss.n_values_per_output
        if model.n_channels % n_values:
            raise ValueError(f"Expected {n_values} raw channels per target.")
        features, targets = schemas_from_file(
            metadata, model.structure.n_features, model.n_channels // n_values
        )
        if not np.array_equal(model.structure.n_categories, features.n_categories):
            raise ValueError("the trees and the features disagree about categories.")
        if isinstance(loss, LossPerOutput):
            loss.blocks(targets.channel_offsets)  # a ValueError if there are more or fewer
        elif targets.kind not in loss.tasks:
            raise ValueError("the loss does not fit the outputs.")
        per_stage = int(metadata["trees_per_stage"])
        if per_stage < 1 or model.n_trees % per_stage:
            raise ValueError(f"Expected {model.n_trees} trees to be a multiple of those per one.")
        shift, scale = (
            _channel_numbers(arrays, name, model.n_channels) for name in ("shift", "scale")
        )
        moves = None
        if "output_moves" in arrays:
            moves = _ARRAYS.read(arrays, "output_moves")
            if moves.shape[0] != model.n_channels or not np.all(np.isfinite(moves)):
                raise ValueError("Expected finite output_moves with a row per channel.")
        view = metadata["fitted_projection"]
        return cls(
            features=features,
            targets=targets,
            model=model,
            reader=RawReader(loss, targets, shift, scale),
            is_normalized=bool(metadata["is_normalized"]),
            projection=None if view is None else projections.from_json(view),
            history={
                name.removeprefix("history_"): np.asarray(values, dtype=np.float64)
                for name, values in arrays.items()
                if name.startswith("history_")
            },
            trees_per_stage=per_stage,
            entropy=stored_entropy(metadata["entropy"]),
            moves=moves,
        )


def _channel_numbers(
    arrays: dict[str, NDArray[Any]], name: str, n_channels: int
) -> NDArray[np.float64]:
    stored = arrays.get(f"output_{name}")
    if stored is None or stored.shape != (n_channels,) or stored.dtype != np.float64:
        raise ValueError(f"Expected output_{name} with a number per channel.")
    if not np.all(np.isfinite(stored)):
        raise ValueError(f"Expected output_{name} to be finite.")
    return stored


def output_cosines(vectors: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.float64]:
    """Compute cosines of the angles between outputs, of shape (n_outputs, n_outputs).

    For outputs of several channels: the root of Escoufier's RV coefficient of their directions,
    which is 1 for the same directions and 0 for orthogonal ones.

    Parameters
    ----------
    vectors : ndarray of shape (n_channels, n)
    offsets : ndarray of shape (n_outputs + 1,), int
        Output j has the channels offsets[j] up to offsets[j + 1].
    """
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    vectors = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    cosines = vectors @ vectors.T
    sizes = np.diff(offsets)
    if np.any(sizes > 1):
        sums = np.add.reduceat(np.add.reduceat(cosines**2, offsets[:-1], 0), offsets[:-1], 1)
        own = np.where(sums.diagonal() > 0, sums.diagonal(), 1.0)
        cosines = np.sqrt(sums / np.sqrt(np.outer(own, own)))
    cosines = np.clip(cosines, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def sampled_moves(
    model: BoostedTrees | BoostedModels, data: TrainingData, n_threads: int, shard: Shard | None
) -> NDArray[np.float32]:
    """Sample what is added to every channel on some training rows.

    Parameters
    ----------
    model : BoostedTrees or BoostedModels
    data : TrainingData
    n_threads : int
    shard : Shard or None
        If sums do not depend on how rows are divided: rows are then chosen by their numbers.
    """
    rows = data.weighted_rows
    if shard is not None:
        return _divided_moves(model, data, n_threads, shard)
    rows = rows[:: -(-rows.size // _MAP_ROWS)]
    return _moves_of(model, data, rows, n_threads)


def _moves_of(
    model: BoostedTrees | BoostedModels,
    data: TrainingData,
    rows: NDArray[np.int32],
    n_threads: int,
) -> NDArray[np.float32]:
    raw = model.predict(data.encoded[rows], n_threads)
    moves = np.nan_to_num(raw - model.baseline.astype(np.float32))
    return np.ascontiguousarray(moves.T)


def _divided_moves(
    model: BoostedTrees | BoostedModels, data: TrainingData, n_threads: int, shard: Shard
) -> NDArray[np.float32]:
    """Sample rows by their numbers; each is filled in by the worker that holds it."""
    rows = data.weighted_rows
    numbers = shard.numbers[rows]
    last = shard.max(np.array([numbers.max(initial=0)], np.int64))[0]
    step = int(last) // _MAP_ROWS + 1
    own = rows[numbers % step == 0]
    places = shard.numbers[own] // step
    moves = np.zeros((model.n_channels, int(last) // step + 1))
    is_there = np.zeros(moves.shape[1])
    if own.size:
        moves[:, places] = _moves_of(model, data, own, n_threads)
        is_there[places] = 1.0
    counted = shard.sum(is_there) > 0
    return np.ascontiguousarray(shard.sum(moves)[:, counted].astype(np.float32))
