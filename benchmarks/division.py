"""The public data sets in two halves: those to decide on, and those to judge by.

Defaults are chosen, and candidates and budgets tuned, on the deciding sets alone; the judging sets
are run once, by ``python -m benchmarks.defaults``. The halves were written down before anything
was measured, by a rule that knows nothing but sizes and kinds (`by_rule`): of each task, families
of near-duplicates are sorted by their number of values, n (p + d), and go to the two halves in
the order decide, judge, judge, decide, and so on. A family stays on one side.
"""

from __future__ import annotations

from benchmarks.real_data import REAL_DATA, RealData

#: Sets that share rows, inputs or a source: never independent evidence.
FAMILIES = (
    ("atp1d", "atp7d"),
    ("sf1", "sf2"),
    ("wq", "slovenian-rivers"),
    ("hmc-cellcycle-fun", "hmc-cellcycle-go"),
    ("rcv1", "reuters-k500"),
)

#: Choose by these.
DECIDING = (
    "atp1d",
    "atp7d",
    "cal500",
    "corel5k",
    "delicious",
    "eco-mite",
    "edm",
    "emotions",
    "enb",
    "flags",
    "hmc-cellcycle-fun",
    "hmc-cellcycle-go",
    "hmc-pheno-fun",
    "medical",
    "osales",
    "sf1",
    "sf2",
    "slashdot",
    "slovenian-rivers",
    "slump",
    "tcast",
    "thyroid-L7",
    "wq",
)

#: Count by these, once.
JUDGING = (
    "andro",
    "bibtex",
    "birds",
    "births2",
    "collembola",
    "eco-eucalypts",
    "eco-varespec",
    "enron",
    "foodtruck",
    "genbase",
    "jura",
    "langlog",
    "nutrimouse",
    "rcv1",
    "reuters-k500",
    "rf1",
    "scene",
    "scpf",
    "yeast",
)


def by_rule() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide the sets by their sizes and kinds; both halves in alphabetical order."""
    decide: list[str] = []
    judge: list[str] = []
    for is_regression in (True, False):
        families = [f for f in _families() if (f[0].task == "regression") == is_regression]
        families.sort(key=lambda family: max(_n_values(entry) for entry in family))
        for place, family in enumerate(families):
            half = decide if place % 4 in (0, 3) else judge
            half += [entry.name for entry in family]
    return tuple(sorted(decide)), tuple(sorted(judge))


def _families() -> list[list[RealData]]:
    """Give all families; a set without near-duplicates is one of its own."""
    first = {name: names[0] for names in FAMILIES for name in names}
    found: dict[str, list[RealData]] = {}
    for name, entry in REAL_DATA.items():
        found.setdefault(first.get(name, name), []).append(entry)
    # The task of a family is that of the member that FAMILIES names first.
    return [sorted(f, key=lambda e: e.name != first.get(e.name, e.name)) for f in found.values()]


def _n_values(entry: RealData) -> int:
    return entry.n * (entry.p + entry.d)
