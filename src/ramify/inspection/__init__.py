"""Read fitted models: trees as text and pictures, importances, graphs over labels."""

from ramify.inspection._importances import (
    ImportanceTable,
    output_importances,
    plot_output_importances,
)
from ramify.inspection._label_graph import ConsensusEdges, consensus_edges, score_variance
from ramify.inspection._output_map import plot_output_map
from ramify.inspection._plot_graph import plot_consensus_graph, plot_learning_curve
from ramify.inspection._plot_rules import plot_rules
from ramify.inspection._plot_tree import plot_tree
from ramify.inspection._rules import rules_json, rules_text
from ramify.inspection._rules_code import rules_to_python, rules_to_sql
from ramify.inspection._tree_text import tree_text

__all__ = [
    "ConsensusEdges",
    "ImportanceTable",
    "consensus_edges",
    "output_importances",
    "plot_consensus_graph",
    "plot_learning_curve",
    "plot_output_importances",
    "plot_output_map",
    "plot_rules",
    "plot_tree",
    "rules_json",
    "rules_text",
    "rules_to_python",
    "rules_to_sql",
    "score_variance",
    "tree_text",
]
