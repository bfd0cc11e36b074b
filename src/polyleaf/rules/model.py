"""A list of rules: bodies, heads, and what is known about each (Rapp et al. 2020, eq. 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyleaf import _core
from polyleaf.checks.warning import warn_user
from polyleaf.files.arrays import StoredArray, StoredArrays, expect_below, expect_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyleaf.data import BinnedFeatures

    CSR: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
    Encoded: TypeAlias = NDArray[Any] | CSR

#: Operators of conditions, by their number in the arrays. No comparison with a missing value
#: holds.
OPERATORS = ("<=", ">", "=", "!=", "is missing", "is known")
#: Significant digits that tell any two numbers apart.
MOST_DIGITS = 17
#: A head below this share of the targets' size adds nothing.
_LEAST_SHARE = 1e-9
#: Entries of a dense block of X.
_BLOCK_ENTRIES = 2**22
#: Bytes that say which rules cover which rows, at a time.
_COVER_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule, as it is learnt.

    Attributes
    ----------
    feature : ndarray of shape (n_conditions,), int32
    operator : ndarray of shape (n_conditions,), uint8
    value : ndarray of shape (n_conditions,), float64
    output : ndarray of shape (n_head,), int32
        Channels that the head has scores for, ascending.
    score : ndarray of shape (n_head,), float64
    coverage : int
        Training rows that it covers.
    gain : float
        What its head takes off the quadratic objective (14) on them, before shrinkage.
    digits : ndarray of shape (n_conditions,), uint8, or None
        Significant digits that keep a threshold between its neighbours among the training
        values; None if they are not known.
    body_coverage : ndarray of shape (n_conditions,), int64, or None
        Training rows that satisfy the first conditions, up to this one; None if not known.
    """

    feature: NDArray[np.int32]
    operator: NDArray[np.uint8]
    value: NDArray[np.float64]
    output: NDArray[np.int32]
    score: NDArray[np.float64]
    coverage: int
    gain: float
    digits: NDArray[np.uint8] | None = None
    body_coverage: NDArray[np.int64] | None = None


_ARRAYS = StoredArrays(
    "Rules",
    {
        "shape": StoredArray(np.int64, "3", "Numbers of features, channels and training rows."),
        "body_offsets": StoredArray(np.int64, "n_rules + 1", "First condition of each rule."),
        "feature": StoredArray(np.int32, "n_conditions", "What a condition is about."),
        "operator": StoredArray(np.uint8, "n_conditions", "How it compares."),
        "value": StoredArray(np.float64, "n_conditions", "With what: a threshold or a category."),
        "digits": StoredArray(np.uint8, "n_conditions", "Digits with which people read it."),
        "head_offsets": StoredArray(np.int64, "n_rules + 1", "First score of each rule."),
        "output": StoredArray(np.int32, "n_scores", "The channel that a score is added to."),
        "score": StoredArray(np.float64, "n_scores", "What is added."),
        "coverage": StoredArray(np.int64, "n_rules", "Training rows that a rule covers."),
        "gain": StoredArray(np.float64, "n_rules", "What it took off the loss."),
        "body_coverage": StoredArray(
            np.int64, "n_conditions", "Training rows after each condition; absent in older files."
        ),
    },
)


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules one after the other, the default rule first.

    Attributes
    ----------
    n_features, n_channels : int
    n_train : int
        Rows that rules were learnt from: what the default rule covers.
    body_offsets : ndarray of shape (n_rules + 1,), int64
    feature : ndarray of shape (n_conditions,), int32
    operator : ndarray of shape (n_conditions,), uint8
        Positions in `OPERATORS`.
    value : ndarray of shape (n_conditions,), float64
        Thresholds; codes of categories.
    digits : ndarray of shape (n_conditions,), uint8
        Significant digits with which a threshold is to be written.
    head_offsets : ndarray of shape (n_rules + 1,), int64
    output : ndarray of shape (n_scores,), int32
    score : ndarray of shape (n_scores,), float64
    coverage : ndarray of shape (n_rules,), int64
    gain : ndarray of shape (n_rules,), float64
    body_coverage : ndarray of shape (n_conditions,), int64, or None
        Training rows that satisfy the conditions of a body up to this one; None if not known.
    """

    n_features: int
    n_channels: int
    n_train: int
    body_offsets: NDArray[np.int64]
    feature: NDArray[np.int32]
    operator: NDArray[np.uint8]
    value: NDArray[np.float64]
    digits: NDArray[np.uint8]
    head_offsets: NDArray[np.int64]
    output: NDArray[np.int32]
    score: NDArray[np.float64]
    coverage: NDArray[np.int64]
    gain: NDArray[np.float64]
    body_coverage: NDArray[np.int64] | None = None

    @classmethod
    def build(
        cls, rules: Sequence[Rule], n_features: int, n_channels: int, n_train: int
    ) -> RuleSet:
        """Put rules together.

        Parameters
        ----------
        rules : sequence of Rule
        n_features, n_channels, n_train : int
        """

        def joined(name: str, dtype: Any) -> Any:
            parts = [getattr(rule, name) for rule in rules]
            return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype)

        def offsets(name: str) -> NDArray[np.int64]:
            sizes = [getattr(rule, name).size for rule in rules]
            return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

        digits = [
            np.full(rule.feature.size, MOST_DIGITS) if rule.digits is None else rule.digits
            for rule in rules
        ]
        return cls(
            n_features=n_features,
            n_channels=n_channels,
            n_train=n_train,
            body_offsets=offsets("feature"),
            feature=joined("feature", np.int32),
            operator=joined("operator", np.uint8),
            value=joined("value", np.float64),
            digits=np.concatenate([np.zeros(0), *digits]).astype(np.uint8),
            head_offsets=offsets("output"),
            output=joined("output", np.int32),
            score=joined("score", np.float64),
            coverage=np.array([rule.coverage for rule in rules], dtype=np.int64),
            gain=np.array([rule.gain for rule in rules], dtype=np.float64),
            body_coverage=(
                joined("body_coverage", np.int64)
                if all(rule.body_coverage is not None for rule in rules)
                else None
            ),
        )

    @classmethod
    def learnt(
        cls,
        rules: _core.LearntRules,
        n_features: int,
        n_channels: int,
        n_train: int,
        default: Rule | None = None,
    ) -> RuleSet:
        """Take rules from the core, after a default rule (without conditions) unless None."""
        n_first, n_scores = (0, 0) if default is None else (1, default.output.size)
        n_rules = n_first + rules.n_rules
        body_offsets = np.zeros(n_rules + 1, np.int64)
        head_offsets = np.zeros(n_rules + 1, np.int64)
        feature = np.empty(rules.n_conditions, np.int32)
        operator = np.empty(feature.size, np.uint8)
        value = np.empty(feature.size)
        coverage, gain = np.empty(n_rules, np.int64), np.empty(n_rules)
        output = np.empty(n_scores + rules.n_scores, np.int32)
        score = np.empty(output.size)
        rules.write_bodies(body_offsets[n_first:], feature, operator, value, coverage[n_first:])
        rules.write_heads(
            head_offsets[n_first:], output[n_scores:], score[n_scores:], gain[n_first:]
        )
        if default is not None:
            head_offsets[1:] += n_scores
            output[:n_scores], score[:n_scores] = default.output, default.score
            coverage[0], gain[0] = default.coverage, default.gain
        return cls(
            n_features=n_features,
            n_channels=n_channels,
            n_train=n_train,
            body_offsets=body_offsets,
            feature=feature,
            operator=operator,
            value=value,
            digits=np.full(feature.size, MOST_DIGITS, np.uint8),
            head_offsets=head_offsets,
            output=output,
            score=score,
            coverage=coverage,
            gain=gain,
        )

    @classmethod
    def join(cls, parts: Sequence[RuleSet]) -> RuleSet:
        """Put sets of rules one after the other; at least one."""
        if len(parts) == 1:
            return parts[0]
        arrays = [part.to_arrays() for part in parts]
        joined = {
            name: np.concatenate([part[name] for part in arrays])
            for name in arrays[0]
            if name not in ("shape", "body_offsets", "head_offsets")
            and all(name in part for part in arrays)
        }
        for name in ("body_offsets", "head_offsets"):
            sizes = np.concatenate([np.diff(part[name]) for part in arrays])
            joined[name] = np.concatenate([[0], np.cumsum(sizes)])
        first = parts[0]
        return cls(first.n_features, first.n_channels, first.n_train, **joined)

    @property
    def n_rules(self) -> int:
        """Number of rules, the default rule included."""
        return self.body_offsets.size - 1

    def rule(self, t: int) -> Rule:
        """Give rule t."""
        body = slice(int(self.body_offsets[t]), int(self.body_offsets[t + 1]))
        head = slice(int(self.head_offsets[t]), int(self.head_offsets[t + 1]))
        return Rule(
            self.feature[body],
            self.operator[body],
            self.value[body],
            self.output[head],
            self.score[head],
            int(self.coverage[t]),
            float(self.gain[t]),
            self.digits[body],
            None if self.body_coverage is None else self.body_coverage[body],
        )

    def take(self, rules: Sequence[int] | NDArray[Any]) -> RuleSet:
        """Keep the given rules, in the given order."""
        chosen = [self.rule(int(t)) for t in rules]
        return RuleSet.build(chosen, self.n_features, self.n_channels, self.n_train)

    def heads(self) -> NDArray[np.float64]:
        """All heads as a dense array, of shape (n_rules, n_channels)."""
        heads = np.zeros((self.n_rules, self.n_channels))
        rows = np.repeat(np.arange(self.n_rules), np.diff(self.head_offsets))
        heads[rows, self.output] = self.score
        return heads

    # Prediction --------------------------------------------------------------------------------

    def scores(self, X: Encoded, n_threads: int = 1) -> NDArray[np.float64]:
        """Sum the heads of the rules that cover each row (2), of shape (n_rows, n_channels)."""
        scores = np.zeros((int(X.shape[0]), self.n_channels))
        for rows, block, feature in self._blocks(X):
            part = scores[rows]
            _core.add_rule_scores(
                self.body_offsets,
                feature,
                self.operator,
                self.value,
                self.head_offsets,
                self.output,
                self.score,
                block,
                part,
                n_threads,
            )
        return scores

    def covers(self, X: Encoded, n_threads: int = 1) -> NDArray[np.bool_]:
        """Tell which rules cover each row, of shape (n_rows, n_rules)."""
        covers = np.zeros((int(X.shape[0]), self.n_rules), dtype=np.uint8)
        for rows, block, feature in self._blocks(X):
            _core.rule_coverage(
                self.body_offsets,
                feature,
                self.operator,
                self.value,
                block,
                covers[rows],
                n_threads,
            )
        return covers.view(np.bool_)

    def staged_scores(self, X: Encoded, n_threads: int = 1) -> Iterator[NDArray[np.float64]]:
        """Give the scores of the first rule, the first two, and so on; one array, updated."""
        n_rows = int(X.shape[0])
        scores = np.zeros((n_rows, self.n_channels))
        step = max(1, _COVER_BYTES // max(1, n_rows))
        for first in range(0, self.n_rules, step):
            block = self.take(np.arange(first, min(first + step, self.n_rules)))
            covers = block.covers(X, n_threads)
            for t in range(block.n_rules):
                rule = block.rule(t)
                rows = np.flatnonzero(covers[:, t])
                scores[rows[:, None], rule.output] += rule.score
                yield scores

    def _blocks(
        self, X: Encoded
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.int32]]]:
        """Cut X into dense blocks of the features that occur in bodies."""
        used, place = np.unique(self.feature, return_inverse=True)
        feature: NDArray[np.int32] = place.astype(np.int32).reshape(-1)
        n_rows = int(X.shape[0])
        columns = X[:, used]
        step = max(1, _BLOCK_ENTRIES // max(1, used.size))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            block = columns[rows]
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            yield rows, np.ascontiguousarray(dense, dtype=np.float64), feature

    # Model files -------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Give all that the rules are, as named arrays."""
        arrays: dict[str, NDArray[Any]] = {
            "shape": np.array([self.n_features, self.n_channels, self.n_train], dtype=np.int64),
            "body_offsets": self.body_offsets,
            "feature": self.feature,
            "operator": self.operator,
            "value": self.value,
            "digits": self.digits,
            "head_offsets": self.head_offsets,
            "output": self.output,
            "score": self.score,
            "coverage": self.coverage,
            "gain": self.gain,
        }
        if self.body_coverage is not None:
            arrays["body_coverage"] = self.body_coverage
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> RuleSet:
        """Rebuild the rules from what `to_arrays` gave.

        Raises
        ------
        ValueError
            If the arrays do not fit together.
        """
        shape = _ARRAYS.read(arrays, "shape")
        if shape.size != 3 or not all(1 <= size < 2**31 for size in shape.tolist()):
            raise ValueError("Expected three positive sizes.")
        n_features, n_channels, n_train = shape.tolist()
        names = [name for name in _ARRAYS.arrays if name not in ("shape", "body_coverage")]
        if "body_coverage" in arrays:
            names.append("body_coverage")
        found = {name: _ARRAYS.read(arrays, name) for name in names}
        rules = cls(n_features=n_features, n_channels=n_channels, n_train=n_train, **found)
        rules._check()
        return rules

    def check_categories(
        self, n_categories: NDArray[np.int32], is_categorical: NDArray[np.bool_]
    ) -> None:
        """Raise a ValueError unless conditions fit the kind and the categories of their feature.

        Parameters
        ----------
        n_categories : ndarray of shape (n_features,), int32
        is_categorical : ndarray of shape (n_features,), bool
        """
        by_size = self.operator < OPERATORS.index("=")
        by_category = ~by_size & (self.operator <= OPERATORS.index("!="))
        if is_categorical[self.feature[by_size]].any():
            raise ValueError("Expected no thresholds of categorical features.")
        if not is_categorical[self.feature[by_category]].all():
            raise ValueError("Expected no categories of numeric features.")
        codes = self.value[by_category]
        bounds = n_categories[self.feature[by_category]]
        if np.any((codes != np.floor(codes)) | (codes < 0) | (codes >= bounds)):
            raise ValueError("Expected categories that the features have.")

    def _check_body_coverage(self) -> None:
        counts = self.body_coverage
        if counts is None:
            return
        if counts.size != self.feature.size:
            raise ValueError("Expected the training rows that satisfy each condition.")
        starts = self.body_offsets[:-1][np.diff(self.body_offsets) > 0]
        before = np.concatenate([[self.n_train], counts[:-1]])[: counts.size]
        before[starts] = self.n_train
        if np.any((counts < 1) | (counts > before)):
            raise ValueError("Expected every condition to leave some of the rows before it.")

    def _check(self) -> None:
        n_rules = self.n_rules
        expect_offsets(self.body_offsets, n_rules, self.feature.size, "body_offsets", least=0)
        expect_offsets(self.head_offsets, n_rules, self.output.size, "head_offsets", least=0)
        if n_rules < 1 or self.coverage.size != n_rules or self.gain.size != n_rules:
            raise ValueError("Expected the coverage and gain of at least one rule.")
        for name in ("operator", "value", "digits"):
            if getattr(self, name).size != self.feature.size:
                raise ValueError(f"Expected one {name} per condition.")
        if self.score.size != self.output.size:
            raise ValueError("Expected one score per output of a head.")
        expect_below(self.feature, self.n_features, "feature")
        expect_below(self.operator.astype(np.int32), len(OPERATORS), "operator")
        expect_below(self.output, self.n_channels, "output")
        if not np.isfinite(self.score).all() or np.isnan(self.value).any():
            raise ValueError("Expected finite scores and thresholds that are numbers.")
        if self.digits.size and (self.digits.min() < 1 or self.digits.max() > MOST_DIGITS):
            raise ValueError(f"Expected digits from 1 to {MOST_DIGITS}.")
        if not np.isfinite(self.gain).all():
            raise ValueError("Expected finite gains.")
        self._check_body_coverage()
        if self.coverage.min() < 0 or self.coverage.max() > self.n_train:
            raise ValueError(f"Expected coverages from 0 to {self.n_train} training rows.")


def count_body_rows(rules: RuleSet, columns: _core.RuleColumns) -> RuleSet:
    """Count the training rows that satisfy the first conditions of every body."""
    counts = np.empty(rules.feature.size, np.int64)
    _core.count_prefixes(
        columns, rules.body_offsets, rules.feature, rules.operator, rules.value, counts
    )
    return replace(rules, body_coverage=counts)


def finish_rules(
    rules: RuleSet, features: BinnedFeatures, values: NDArray[Any], size: float
) -> RuleSet:
    """Leave out rules with neither a condition nor an effect, and find digits of thresholds.

    Parameters
    ----------
    rules : RuleSet
        As they were learnt.
    features : BinnedFeatures
        What they were learnt from.
    values : ndarray of shape (n_rows, n_channels)
        The targets.
    size : float
        How large the targets are, in the unit of the scores.
    """
    n_conditions = np.diff(rules.body_offsets)
    kept = n_conditions > 0
    kept[0] = True
    if not kept.all():
        # Heads are never empty.
        most = np.maximum.reduceat(np.abs(rules.score), rules.head_offsets[:-1])
        kept |= most > _LEAST_SHARE * size
    if rules.n_rules > 1 and not n_conditions.any() and (values != values[0]).any():
        warn_user(
            f"None of {rules.n_rules} rules found a condition, so that all rows get the same "
            "scores. Check whether X is constant, or min_coverage or l1_regularization too large.",
        )
    if not kept.all():
        rules = rules.take(np.flatnonzero(kept))
    score = rules.score + 0.0  # no negative zeros, which people would read
    return replace(rules, score=score, digits=threshold_digits(rules, features))


def threshold_digits(rules: RuleSet, features: BinnedFeatures) -> NDArray[np.uint8]:
    """Count the digits with which each threshold stays between its neighbours among the values."""
    digits = np.empty(rules.feature.size, np.uint8)
    _core.count_threshold_digits(
        features.bin_offsets,
        features.bin_low,
        features.bin_high,
        rules.feature,
        rules.operator,
        rules.value,
        MOST_DIGITS,
        digits,
    )
    return digits
