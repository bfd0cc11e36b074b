"""All tables and figures of the five papers, by name."""

from __future__ import annotations

from benchmarks.papers import (
    boosting,
    boosting_real,
    forest_labels,
    forest_labels_figures,
    forest_numbers,
    graphs,
    rules,
    systems,
)
from benchmarks.papers.tables import Table

TABLES: dict[str, Table] = {
    table.name: table
    for module in (
        forest_labels,
        forest_labels_figures,
        boosting,
        boosting_real,
        rules,
        graphs,
        forest_numbers,
        systems,
    )
    for table in module.TABLES
}
