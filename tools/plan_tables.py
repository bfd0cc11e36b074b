"""Write the tables of the search plan into docs/internals/life_of_a_node.md: `make plan-tables`.

The core states its plan (`_core.plan_rules` and the texts beside it). Each table of the page
stands between two comments. ``tests/core/test_plan_page.py`` fails if the page differs from the
core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from polyleaf import _core

PAGE = Path(__file__).parents[1] / "docs" / "internals" / "life_of_a_node.md"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def described(what: str, texts: Mapping[str, str]) -> str:
    """Write names and their descriptions; names without one are left out."""
    return table((what, "meaning"), [(f"`{n}`", text) for n, text in texts.items() if text])


def rules() -> str:
    """Write the rules of the plan, in their order."""

    def cell(name: str) -> str:
        return "" if name in ("always", "none") else f"`{name}`"

    return table(
        ("", "node", "feature", "tree", "limit", "finder"),
        [
            (
                str(i),
                ", ".join(f"`{n}`" for n in nodes),
                *map(cell, (feature, tree, limit, finder)),
            )
            for i, (nodes, feature, tree, limit, finder) in enumerate(_core.plan_rules(), 1)
        ],
    )


def tables() -> dict[str, str]:
    """Give each table of the page by its name."""
    return {
        "nodes": described("node", _core.node_kinds()),
        "features": described("feature", _core.feature_kinds()),
        "rules": rules(),
        "conditions": described("tree", _core.plan_conditions()),
        "limits": described("limit", _core.plan_limits()),
        "finders": described("finder", _core.finders()),
    }


def filled(page: str) -> str:
    """Put the tables of the core into a page."""
    for name, text in tables().items():
        pattern = rf"(<!-- plan: {name} -->\n).*?(<!-- end -->)"
        page, n = re.subn(pattern, rf"\g<1>{text}\n\g<2>", page, flags=re.DOTALL)
        if n != 1:
            raise ValueError(f"the page must have one place for the table {name!r}; it has {n}.")
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
