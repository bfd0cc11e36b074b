"""Where the parts of a tree's picture go: the tree from left to right, its leaves as table rows.

All lengths are inches; y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from ramify.inspection._reader import TreeReader

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
    nodes: dict[int, PlacedNode] = {}
    n_ends = 0

    def place(node: int) -> float:
        nonlocal n_ends
        depth = int(reader.structure.depth[node])
        is_leaf = bool(reader.structure.is_leaf[node])
        is_end = is_leaf or (max_depth is not None and depth >= max_depth)
        x = depth * (SPLIT_WIDTH + LEVEL_GAP)
        nodes[node] = PlacedNode(node, x, 0.0, 0.0, 0.0, is_end)  # keeps preorder
        if is_end:
            y = (n_ends + 0.5) * ROW_HEIGHT
            n_ends += 1
            nodes[node] = PlacedNode(node, x, y, LEAF_WIDTH, LEAF_HEIGHT, is_end)
        else:
            above, below = (place(child) for child in reader.children(node))
            y = (above + below) / 2
            nodes[node] = PlacedNode(node, x, y, SPLIT_WIDTH, SPLIT_HEIGHT, is_end)
        return y

    place(0)
    right = max(placed.x + placed.width for placed in nodes.values())
    cell_width = min(_WIDEST_CELL, max(_NARROWEST_CELL, _TABLE_WIDTH / n_columns))
    return TreeLayout(nodes, right + TABLE_GAP, cell_width, n_columns)
