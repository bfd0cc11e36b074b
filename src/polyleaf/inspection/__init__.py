"""Read fitted models: trees as text and pictures, importances, graphs over labels."""

from polyleaf.graphs.plots import plot_consensus_graph
from polyleaf.graphs.reading import ConsensusEdges, consensus_edges, score_variance
from polyleaf.inspection._bridge import to_shap
from polyleaf.inspection._dependence import Dependence, partial_dependence
from polyleaf.inspection._drift import Drift, drift
from polyleaf.inspection._effects import accumulated_local_effects
from polyleaf.inspection._explain import explain_rows, explanation_text
from polyleaf.inspection._importances import (
    ImportanceTable,
    output_importances,
    plot_output_importances,
)
from polyleaf.inspection._learning_curve import plot_learning_curve
from polyleaf.inspection._output_map import plot_output_map
from polyleaf.inspection._permutation import PermutationImportances, permutation_importances
from polyleaf.inspection._plot_dependence import plot_dependence
from polyleaf.inspection._plot_hierarchy import plot_hierarchy
from polyleaf.inspection._plot_shap import (
    plot_shap_dependence,
    plot_shap_difference,
    plot_shap_map,
    plot_shap_swarm,
    plot_shap_waterfall,
)
from polyleaf.inspection._sampled_shap import SampledShapValues, sampled_shap_values
from polyleaf.inspection._shap import shap_interactions, shap_values
from polyleaf.inspection._shap_values import ShapValues
from polyleaf.inspection._single_output import (
    SingleOutputClassifier,
    SingleOutputRegressor,
    single_output,
)
from polyleaf.inspection._stability import (
    RankingStability,
    plot_ranking_stability,
    ranking_stability,
)
from polyleaf.rules.plot import plot_rules
from polyleaf.rules.text import rules_json, rules_text
from polyleaf.trees.plot import plot_tree
from polyleaf.trees.text import tree_text

__all__ = [
    "ConsensusEdges",
    "Dependence",
    "Drift",
    "ImportanceTable",
    "PermutationImportances",
    "RankingStability",
    "SampledShapValues",
    "ShapValues",
    "SingleOutputClassifier",
    "SingleOutputRegressor",
    "accumulated_local_effects",
    "consensus_edges",
    "drift",
    "explain_rows",
    "explanation_text",
    "output_importances",
    "partial_dependence",
    "permutation_importances",
    "plot_consensus_graph",
    "plot_dependence",
    "plot_hierarchy",
    "plot_learning_curve",
    "plot_output_importances",
    "plot_output_map",
    "plot_ranking_stability",
    "plot_rules",
    "plot_shap_dependence",
    "plot_shap_difference",
    "plot_shap_map",
    "plot_shap_swarm",
    "plot_shap_waterfall",
    "plot_tree",
    "ranking_stability",
    "rules_json",
    "rules_text",
    "sampled_shap_values",
    "score_variance",
    "shap_interactions",
    "shap_values",
    "single_output",
    "to_shap",
    "tree_text",
]
