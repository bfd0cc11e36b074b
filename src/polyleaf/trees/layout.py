"""Where the parts of a tree's picture go: the tree from left to right, its leaves as table rows.

All lengths are inches; y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyleaf.trees.reader import TreeReader

SPLIT_WIDTH, SPLIT_HEIGHT = 1.8, 0.84
LEAF_WIDTH, LEAF_HEIGHT = 0.82, 0.36
ROW_HEIGHT = 0.58
#: Between two levels; edges carry "yes", "no" and "missing" there.
LEVEL_GAP = 0.92
TABLE_GAP = 0.35
_TABLE_WIDTH = 7.0
_WIDEST_CELL, _NARROWEST_CELL = 0.62, 0.05


@dataclass(frozen=True)
class PlacedNode:
    """A node of the picture.

    Attributes
    ----------
    node : int
    x, y : float
        Left edge and middle.
    width, height : float
    is_end : bool
        A leaf, or a node whose subtree is not shown.
    """

    node: int
    x: float
    y: float
    width: float
    height: float
    is_end: bool


@dataclass(frozen=True)
class TreeLayout:
    """The places of all parts.

    Attributes
    ----------
    nodes : dict of int to PlacedNode
        By node, in preorder.
    table_x : float
        Left edge of the table.
    cell_width : float
    n_columns : int
    """

    nodes: dict[int, PlacedNode]
    table_x: float
    cell_width: float
    n_columns: int

    @property
    def ends(self) -> list[PlacedNode]:
        """The rows of the table, from top to bottom."""
        return [placed for placed in self.nodes.values() if placed.is_end]

    @property
    def table_right(self) -> float:
        """Right edge of the table."""
        return self.table_x + self.n_columns * self.cell_width

    @property
    def bottom(self) -> float:
        """Lower edge of the last row."""
        return len(self.ends) * ROW_HEIGHT


def place_tree(reader: TreeReader, max_depth: int | None, n_columns: int) -> TreeLayout:
    """Give every shown node its place.

    Parameters
    ----------
    reader : TreeReader
    max_depth : int or None
        Deepest level to show.
    n_columns : int
        Values in each row of the table.
    """
    shown = _shown_nodes(reader, max_depth)
    middles: dict[int, float] = {}
    ends = [node for node, is_end in shown.items() if is_end]
    for row, node in enumerate(ends):
        middles[node] = (row + 0.5) * ROW_HEIGHT
    for node in reversed(shown):  # children come before their parents
        if not shown[node]:
            above, below = reader.children(node)
            middles[node] = (middles[above] + middles[below]) / 2
    nodes = {
        node: PlacedNode(
            node,
            x=int(reader.structure.depth[node]) * (SPLIT_WIDTH + LEVEL_GAP),
            y=middles[node],
            width=LEAF_WIDTH if is_end else SPLIT_WIDTH,
            height=LEAF_HEIGHT if is_end else SPLIT_HEIGHT,
            is_end=is_end,
        )
        for node, is_end in shown.items()
    }
    right = max(placed.x + placed.width for placed in nodes.values())
    cell_width = min(_WIDEST_CELL, max(_NARROWEST_CELL, _TABLE_WIDTH / n_columns))
    return TreeLayout(nodes, right + TABLE_GAP, cell_width, n_columns)


def _shown_nodes(reader: TreeReader, max_depth: int | None) -> dict[int, bool]:
    """Find the nodes down to a depth, in preorder, and whether nothing below them is shown."""
    shown: dict[int, bool] = {}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        is_too_deep = max_depth is not None and reader.structure.depth[node] >= max_depth
        shown[node] = bool(reader.structure.is_leaf[node] or is_too_deep)
        if not shown[node]:
            waiting.extend(reversed(reader.children(node)))
    return shown
