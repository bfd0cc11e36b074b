"""Rules in the user's terms: names of features, categories and outputs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyleaf.checks.fitted import expect_fitted
from polyleaf.checks.optional import require
from polyleaf.data import level_text, time_text
from polyleaf.rules.model import OPERATORS, RuleSet


class RuleReader:
    """Names, bodies and heads of the rules of one fitted model.

    Parameters
    ----------
    model : RuleClassifier or RuleRegressor
        Fitted.
    digits : int, default=4
        Fewest significant digits of thresholds in sentences; there are more where fewer would
        move a training value to the other side.

    Attributes
    ----------
    rules : RuleSet
    feature_names : list of str
    value_names : list of str
        One per channel: the output's name, with ``=class`` if the output has classes.
    """

    def __init__(self, model: Any, digits: int = 4) -> None:
        expect_fitted(model)
        self.rules: RuleSet = model._rules
        self._categories = model._features.categories
        self._times = model._features.times
        self._levels = model._features.levels
        self._digits = digits
        names = model._features.names
        n_features = int(model.n_features_in_)
        self.feature_names = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        self.value_names = value_names(model)

    @property
    def dates(self) -> set[str]:
        """Names of the features that are dates."""
        return {self.feature_names[j] for j, kind in self._times.items() if kind == "date"}

    def condition_value(self, feature: int, operator: int, value: float) -> Any:
        """Give the threshold, or the category as the user gave it."""
        if OPERATORS[operator] not in ("=", "!="):
            return float(value)
        category = self._categories[feature][int(value)]
        return category.item() if isinstance(category, np.generic) else category

    def conditions(self, t: int) -> list[tuple[str, str, Any]]:
        """List (feature, operator, value) of rule t; value is None for missing and known.

        Of an ordered category, the operator is "in" and the value a list of its levels.
        """
        found = []
        for j, (feature, operator, value) in zip(
            self.rules.rule(t).feature.tolist(), self._plain_conditions(t)
        ):
            if j in self._levels and operator in ("<=", ">"):
                levels = self._levels[j].tolist()
                n_below = int(np.clip(np.floor(value) + 1, 0, len(levels)))
                value = levels[:n_below] if operator == "<=" else levels[n_below:]
                operator = "in"
            found.append((feature, operator, value))
        return found

    def _plain_conditions(self, t: int) -> list[tuple[str, str, Any]]:
        rule = self.rules.rule(t)
        found = []
        for feature, operator, value in zip(
            rule.feature.tolist(), rule.operator.tolist(), rule.value.tolist()
        ):
            name = OPERATORS[operator]
            given = (
                None if name.startswith("is") else (self.condition_value(feature, operator, value))
            )
            found.append((self.feature_names[feature], name, given))
        return found

    def used_features(self) -> list[str]:
        """List the features that occur in a body, in the order of X."""
        return [self.feature_names[j] for j in np.unique(self.rules.feature).tolist()]

    def used_categories(self) -> dict[str, list[Any]]:
        """List the categories of each feature that some condition other than "=" reads.

        Categories that fit has not seen are missing: they fulfil no such condition.
        """
        is_wide = self.rules.operator != OPERATORS.index("=")
        used = np.unique(self.rules.feature[is_wide]).tolist()
        return {
            self.feature_names[j]: self._categories[j].tolist()
            for j in used
            if self._categories[j] is not None
        }

    def body(self, t: int) -> str:
        """Write the body of rule t; bounds on one feature are put together."""
        return " and ".join(self._merged(t)) or "always"

    def _merged(self, t: int) -> list[str]:
        low: dict[str, tuple[float, str]] = {}
        high: dict[str, tuple[float, str]] = {}
        parts: dict[str, None] = {}  # an ordered set
        for (feature, operator, value), threshold in zip(
            self._plain_conditions(t), self._thresholds(t)
        ):
            if operator == ">":
                known = low.get(feature, (-np.inf, "-inf"))
                low[feature] = max((value, threshold), known)
            elif operator == "<=":
                known = high.get(feature, (np.inf, "inf"))
                high[feature] = min((value, threshold), known)
            elif value is None:
                parts[f"{one_line(feature)} {operator}"] = None
            else:
                parts[f"{one_line(feature)} {operator} {one_line(str(value))}"] = None
        for feature in dict.fromkeys([*low, *high]):
            name = one_line(feature)
            if feature in low and feature in high:
                text = f"{low[feature][1]} < {name} <= {high[feature][1]}"
            elif feature in low:
                text = f"{name} > {low[feature][1]}"
            else:
                text = f"{name} <= {high[feature][1]}"
            parts[text] = None
        return list(parts)

    def _thresholds(self, t: int) -> list[str]:
        """Write the threshold of each condition with as many digits as it takes."""
        rule = self.rules.rule(t)
        body = slice(int(self.rules.body_offsets[t]), int(self.rules.body_offsets[t + 1]))
        texts = []
        for feature, value, n in zip(
            rule.feature.tolist(), rule.value.tolist(), self.rules.digits[body].tolist()
        ):
            kind, digits = self._times.get(feature), max(self._digits, n)
            if feature in self._levels and np.isfinite(value):
                texts.append(level_text(self._levels[feature], value))
            elif kind is not None:
                texts.append(time_text(value, kind, digits))
            else:
                texts.append(_shortest(value, digits))
        return texts

    def head(self, t: int) -> dict[str, float]:
        """Give the scores of rule t by the names of outputs."""
        rule = self.rules.rule(t)
        return {self.value_names[k]: s for k, s in zip(rule.output.tolist(), rule.score.tolist())}

    def head_text(self, t: int, max_outputs: int = 5) -> str:
        """Write the head of rule t, largest scores first."""
        scores = sorted(self.head(t).items(), key=lambda item: -abs(item[1]))
        shown = [f"{one_line(name)} {score:+.3g}" for name, score in scores[:max_outputs]]
        if len(scores) > max_outputs:
            shown.append(f"and {len(scores) - max_outputs} more")
        return ", ".join(shown) or "nothing"

    def support(self) -> NDArray[np.float64]:
        """Share of the training rows that each rule covers, of shape (n_rules,)."""
        return np.asarray(self.rules.coverage / self.rules.n_train)

    def frame(self, lines: list[tuple[Any, ...]], columns: list[str]) -> Any:
        """Make a DataFrame.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return require("pandas", "tables of rules").DataFrame(lines, columns=columns)


def _shortest(value: float, digits: int) -> str:
    """Write a number with at most so many digits, and no more than it needs to be exact.

    >>> _shortest(2.55, 17), _shortest(2.55, 2), _shortest(1e22, 17)
    ('2.55', '2.5', '1e+22')
    """
    if not np.isfinite(value):
        return str(value)
    needed = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return f"{value:.{min(digits, needed)}g}"


def one_line(text: str) -> str:
    """Escape line breaks and other characters that do not print."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def rule_table(reader: RuleReader) -> Any:
    """Make the table of all rules: a DataFrame of body, head, coverage, support, gain.

    Parameters
    ----------
    reader : RuleReader
    """
    support = reader.support().tolist()
    lines = [
        (
            reader.body(t),
            reader.head_text(t),
            int(reader.rules.coverage[t]),
            support[t],
            float(reader.rules.gain[t]),
        )
        for t in range(reader.rules.n_rules)
    ]
    frame = reader.frame(lines, ["body", "head", "coverage", "support", "gain"])
    frame.index.name = "rule"
    return frame


def value_names(model: Any) -> list[str]:
    """Name the channels of a fitted model: outputs, or classes of outputs."""
    targets = model._targets
    names = [str(name) for name in model.output_names_]
    if targets.is_1d and targets.output_names is None:
        names = ["y"]
    if targets.kind in ("regression", "multilabel"):
        return names
    if targets.kind == "binary":
        return [f"{names[0]}={targets.classes[0][1]}"]
    pairs = [
        (name, label)
        for name, classes in zip(names, targets.classes)
        for label in classes.tolist()
    ]
    plain = [f"{name}={label}" for name, label in pairs]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{name!r}={label!r}" for name, label in pairs]  # names with signs of equality
