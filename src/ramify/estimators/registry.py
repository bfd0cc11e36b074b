"""The estimators by name: all that a model file may hold and the contract tests run over."""

from __future__ import annotations

from typing import Any

from ramify.estimators.tree import TreeClassifier, TreeRegressor

ESTIMATORS: dict[str, Any] = {cls.__name__: cls for cls in (TreeRegressor, TreeClassifier)}
