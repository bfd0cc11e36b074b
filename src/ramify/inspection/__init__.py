"""Read fitted models: trees as text and pictures, importances per output."""

from ramify.inspection._importances import (
    ImportanceTable,
    output_importances,
    plot_output_importances,
)
from ramify.inspection._plot_tree import plot_tree
from ramify.inspection._tree_text import tree_text

__all__ = [
    "ImportanceTable",
    "output_importances",
    "plot_output_importances",
    "plot_tree",
    "tree_text",
]
