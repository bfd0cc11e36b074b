"""How fast the core adds: ``python -m benchmarks.kernels``.

Grows trees on random codes, without binning or leaves, and prints useful adds per second: the
(row, feature, channel) triples that the split finders summed up (`GrownTree.work`), divided by
the wall time of the whole growth, and of the growth without its setup (what a tree of depth 0
takes). Histograms that come by subtraction are not counted.

A tree of depth 1 is one pass over all rows at the root. ``histogram_min_rows`` says from how many
rows on a node builds histograms; smaller nodes walk their rows sorted by code. 1 means histograms
everywhere, "never" walks everywhere; "automatic" lets the core choose, which also keeps the rows
of small subtrees presorted.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from polyleaf import _core

_TILE = 4  # features side by side in the core's layout of codes
_NEVER = 2**40  # more rows than any node has
_AUTOMATIC = 0  # the core chooses
_CLOCK_TICK = 1e-9  # seconds: keeps rates finite where noise hides a growth behind its setup
_LEAST_WIDTH = 110
_COLUMNS = (
    "n", "p", "q", "bins", "depth", "histogram_min_rows",
    "ms", "setup ms", "nodes", "G adds/s", "without setup",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """Size of a kernel problem: rows, features, channels and bins per feature."""

    n: int
    p: int
    q: int
    n_bins: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Read "n,p,q,bins"."""
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*){3}", text):
            raise argparse.ArgumentTypeError(
                f"a shape is n,p,q,bins, four positive integers such as 10000,60,16,255; "
                f"got {text!r}."
            )
        shape = cls(*(int(part) for part in text.split(",")))
        if shape.n_bins > 255:
            raise argparse.ArgumentTypeError(f"at most 255 bins fit a byte; got {text!r}.")
        return shape


SHAPES = (
    Shape(10_000, 60, 16, 255),
    Shape(30_000, 120, 100, 255),
    Shape(30_000, 120, 16, 64),
    Shape(30_000, 120, 5, 255),
    Shape(30_000, 120, 1, 255),
    Shape(10_000, 60, 983, 255),
)


@dataclass(frozen=True)
class Growth:
    """The fastest of some growths of the same tree."""

    seconds: float
    n_nodes: int
    work: int

    def adds_per_second(self, setup_seconds: float = 0.0) -> float:
        """Return useful adds per second of wall time, the setup left out if it is given."""
        return self.work / max(self.seconds - setup_seconds, _CLOCK_TICK)


def make_problem(shape: Shape, seed: int = 0) -> tuple[_core.Binned, np.ndarray]:
    """Draw codes, and channels that depend on a few features.

    Returns
    -------
    binned : Binned
    gradient : ndarray of shape (n, q), float32
    """
    rng = np.random.default_rng(seed)
    n_tiles = -(-shape.p // _TILE)
    codes = rng.integers(shape.n_bins, size=(n_tiles, shape.n, _TILE), dtype=np.uint8)
    codes[-1, :, shape.p - (n_tiles - 1) * _TILE :] = 0  # unused lanes
    values = np.tile(np.arange(shape.n_bins, dtype=np.float64), shape.p)
    binned = _core.Binned(
        n_rows=shape.n,
        is_categorical=np.zeros(shape.p, np.uint8),
        bin_offsets=np.arange(shape.p + 1, dtype=np.int64) * shape.n_bins,
        bin_low=values,
        bin_high=values,
        dense_features=np.arange(shape.p, dtype=np.int32),
        codes_u8=codes,
        codes_u32=None,
        sparse_features=np.empty(0, np.int32),
        sparse_default=np.empty(0, np.uint32),
        sparse_indptr=np.zeros(shape.n + 1, np.int64),
        sparse_slot=np.empty(0, np.int32),
        sparse_code=np.empty(0, np.uint32),
    )
    factors = np.sin(codes[0] * (2 * np.pi / shape.n_bins))
    signal = factors @ rng.normal(size=(_TILE, shape.q))
    gradient = signal + 0.5 * rng.normal(size=signal.shape)
    return binned, gradient.astype(np.float32)


def grow(
    binned: _core.Binned,
    gradient: np.ndarray,
    *,
    max_depth: int,
    histogram_min_rows: int,
    n_threads: int,
    n_features: int,
    repeats: int,
) -> Growth:
    """Grow a tree some times and keep the fastest.

    Parameters
    ----------
    binned : Binned
    gradient : ndarray of shape (n, q), float32
    max_depth : int
        -1 is no limit.
    histogram_min_rows, n_threads, n_features, repeats : int
    """
    params = _core.GrowParams()
    params.max_depth = max_depth
    params.histogram_min_rows = histogram_min_rows
    params.n_threads = n_threads
    params.max_features = n_features
    rows = np.arange(gradient.shape[0], dtype=np.int32)
    channels = _core.Channels.of_gradients(gradient)
    growths = []
    for _ in range(repeats):
        start = time.perf_counter()
        tree = _core.grow_tree(binned, channels, rows, params)
        growths.append(Growth(time.perf_counter() - start, tree.n_nodes, tree.work))
    return min(growths, key=lambda growth: growth.seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all shapes, depths and settings, and print a table."""
    options = _parser().parse_args(argv)
    if options.instruction_set and not _core.use_instruction_set(options.instruction_set):
        raise SystemExit(
            f"--instruction-set must be one that this machine has; got "
            f"{options.instruction_set!r}. In use: {_core.instruction_set()!r}."
        )
    table = Table(title=f"{_core.instruction_set()}, {options.threads} thread(s)")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for shape in options.shapes:
        _add_rows(table, shape, options)
        table.add_section()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _LEAST_WIDTH)
    console.print(table)


def _add_rows(table: Table, shape: Shape, options: argparse.Namespace) -> None:
    binned, gradient = make_problem(shape)

    def timed(max_depth: int, min_rows: int) -> Growth:
        return grow(
            binned,
            gradient,
            max_depth=max_depth,
            histogram_min_rows=min_rows,
            n_threads=options.threads,
            n_features=shape.p,
            repeats=options.repeats,
        )

    for max_depth in options.depths:
        for min_rows in options.histogram_min_rows:
            setup, growth = timed(0, min_rows), timed(max_depth, min_rows)
            table.add_row(
                *(str(size) for size in (shape.n, shape.p, shape.q, shape.n_bins)),
                "unlimited" if max_depth < 0 else str(max_depth),
                {_NEVER: "never", _AUTOMATIC: "automatic"}.get(min_rows, str(min_rows)),
                f"{1e3 * growth.seconds:.1f}",
                f"{1e3 * setup.seconds:.1f}",
                str(growth.n_nodes),
                f"{growth.adds_per_second() / 1e9:.2f}",
                f"{growth.adds_per_second(setup.seconds) / 1e9:.2f}",
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--shapes", nargs="+", type=Shape.parse, default=list(SHAPES), metavar="N,P,Q,BINS"
    )
    parser.add_argument(
        "--depths", nargs="+", type=_depth, default=[1, 8, -1], help='integers or "unlimited"'
    )
    parser.add_argument(
        "--histogram-min-rows",
        nargs="+",
        type=_min_rows,
        default=[1, _AUTOMATIC, _NEVER],
        help='integers, "automatic" or "never"',
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--instruction-set", help="baseline, avx2 or avx512; default: the best")
    return parser


def _depth(text: str) -> int:
    return -1 if text == "unlimited" else int(text)


def _min_rows(text: str) -> int:
    words = {"never": _NEVER, "automatic": _AUTOMATIC}
    return words[text] if text in words else int(text)


if __name__ == "__main__":
    main()
