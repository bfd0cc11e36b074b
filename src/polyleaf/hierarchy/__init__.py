"""Hierarchies over labels: trees and directed acyclic graphs, and what they ask of label sets."""

from polyleaf.hierarchy._forms import as_hierarchy
from polyleaf.hierarchy._hierarchy import Hierarchy

__all__ = ["Hierarchy", "as_hierarchy"]
