"""Compare methods honestly: the same folds, tuning inside them, the right statistics, a report."""

from ramify.experiments._adaboost import AdaBoostMH
from ramify.experiments._baseline_methods import METHODS
from ramify.experiments._baselines import (
    AllTargets,
    BestChain,
    LabelPowerset,
    LabelsByRegression,
    OneModelPerLabel,
    OneModelPerTarget,
    RandomLinearCombinations,
)
from ramify.experiments._bootstrap import CorrectedScore
from ramify.experiments._compare import DEFAULT_METRICS, compare
from ramify.experiments._comparison import Comparison, Standing
from ramify.experiments._methods import Method
from ramify.experiments._results_file import ResultsFileError
from ramify.experiments._significance import Verdict
from ramify.experiments._statistics import (
    FriedmanResult,
    average_ranks,
    bootstrap_corrected_score,
    friedman_test,
    pairwise_tests,
    saturation_size,
)

__all__ = [
    "DEFAULT_METRICS",
    "METHODS",
    "AdaBoostMH",
    "AllTargets",
    "BestChain",
    "Comparison",
    "CorrectedScore",
    "FriedmanResult",
    "LabelPowerset",
    "LabelsByRegression",
    "Method",
    "OneModelPerLabel",
    "OneModelPerTarget",
    "RandomLinearCombinations",
    "ResultsFileError",
    "Standing",
    "Verdict",
    "average_ranks",
    "bootstrap_corrected_score",
    "compare",
    "friedman_test",
    "pairwise_tests",
    "saturation_size",
]
