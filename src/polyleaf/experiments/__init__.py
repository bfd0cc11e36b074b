"""Compare methods honestly: the same folds, tuning inside them, the right statistics, a report."""

from polyleaf.experiments._adaboost import AdaBoostMH
from polyleaf.experiments._baseline_methods import METHODS
from polyleaf.experiments._baselines import (
    AllTargets,
    BestChain,
    LabelPowerset,
    LabelsByRegression,
    OneModelPerLabel,
    OneModelPerTarget,
    RandomLinearCombinations,
)
from polyleaf.experiments._bootstrap import CorrectedScore
from polyleaf.experiments._compare import DEFAULT_METRICS, compare
from polyleaf.experiments._comparison import Comparison, Standing
from polyleaf.experiments._evaluate import Evaluation, evaluate
from polyleaf.experiments._methods import Method
from polyleaf.experiments._results_file import ResultsFileError
from polyleaf.experiments._significance import Verdict
from polyleaf.experiments._statistics import (
    FriedmanResult,
    average_ranks,
    bootstrap_corrected_score,
    friedman_test,
    pairwise_tests,
    saturation_size,
)
from polyleaf.experiments._variance import BiasVariance, bias_variance

__all__ = [
    "DEFAULT_METRICS",
    "METHODS",
    "AdaBoostMH",
    "AllTargets",
    "BestChain",
    "BiasVariance",
    "Comparison",
    "CorrectedScore",
    "Evaluation",
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
    "bias_variance",
    "bootstrap_corrected_score",
    "compare",
    "evaluate",
    "friedman_test",
    "pairwise_tests",
    "saturation_size",
]
