"""Metrics of many outputs: scikit-learn's signatures, NaN for 'not observed', dense and sparse."""

from polyleaf.metrics._auc import roc_auc_score
from polyleaf.metrics._average_precision import average_precision_score
from polyleaf.metrics._hierarchical import (
    hierarchical_f1_score,
    hierarchical_precision_score,
    hierarchical_recall_score,
)
from polyleaf.metrics._label_sets import (
    example_f1_score,
    example_jaccard_score,
    example_precision_score,
    example_recall_score,
    hamming_loss,
    label_f1_score,
    microlabel_accuracy_score,
    multilabel_accuracy_score,
    subset_zero_one_loss,
)
from polyleaf.metrics._probabilities import brier_score_loss, log_loss
from polyleaf.metrics._ranking import coverage_error, label_ranking_average_precision_score
from polyleaf.metrics._registry import METRICS, Metric, column_means, resolve
from polyleaf.metrics._regression import (
    macro_r2_score,
    mean_absolute_error,
    mean_absolute_percentage_error,
    overfitting_score,
    relative_root_mean_squared_error,
    root_mean_squared_error,
)
from polyleaf.metrics._top_k import (
    label_propensities,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_ndcg_at_k,
    propensity_scored_precision_at_k,
)

__all__ = [
    "METRICS",
    "Metric",
    "average_precision_score",
    "brier_score_loss",
    "column_means",
    "coverage_error",
    "example_f1_score",
    "example_jaccard_score",
    "example_precision_score",
    "example_recall_score",
    "hamming_loss",
    "hierarchical_f1_score",
    "hierarchical_precision_score",
    "hierarchical_recall_score",
    "label_f1_score",
    "label_propensities",
    "label_ranking_average_precision_score",
    "log_loss",
    "macro_r2_score",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "microlabel_accuracy_score",
    "multilabel_accuracy_score",
    "ndcg_at_k",
    "one_error",
    "overfitting_score",
    "precision_at_k",
    "propensity_scored_ndcg_at_k",
    "propensity_scored_precision_at_k",
    "relative_root_mean_squared_error",
    "resolve",
    "roc_auc_score",
    "root_mean_squared_error",
    "subset_zero_one_loss",
]
