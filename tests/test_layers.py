"""Imports go downward through the rooms of the package."""

import ast
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import polyleaf

SOURCE = Path(__file__).resolve().parents[1] / "src" / "polyleaf"

#: From the top down; rooms of one layer do not import each other.
LAYERS = (
    {"cli"},
    {"experiments"},
    {"auto"},
    {"inspection", "tuning", "conformal", "export", "distributed"},
    {"forests", "boosting", "rules", "graphs"},
    {"trees"},
    {"estimator"},
    {"projections", "losses", "data"},
    {"files"},
    {"_core"},
)
#: Families that may build on `trees`; the others do without. A rule is a chain of splits.
BUILT_ON_TREES = {"forests", "boosting", "rules"}
#: `explain` of a model is written above it, and imported when it is called.
LOOKING_UP = {("trees/tree_model.py", "inspection")}
#: Anyone above `files` may import these; they import nobody but the ground.
LEAVES = {"metrics", "decoding", "datasets"}
#: Even leaves may import it.
LOWEST_LEAVES = {"hierarchy"}
#: Under everything: checks, the table of estimators by name, and the version.
GROUND = {"checks", "_registry", "_version"}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported_rooms(path, package):
    """Find the rooms directly below polyleaf that a module imports, with line numbers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # relative: one dot drops the name of the module, the next a package
                above = path.relative_to(package).parts[: -node.level]
                module = ".".join(["polyleaf", *above, *filter(None, [node.module])])
            names = [module]
            if module == "polyleaf":
                names = [f"polyleaf.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "polyleaf":
                yield node.lineno, parts[1] if len(parts) > 1 else ""


def is_allowed(own, other):
    """Whether one room may import another."""
    if other == own:
        return True
    if other in GROUND:
        return own not in GROUND
    if own in LOWEST_LEAVES | GROUND:
        return False
    if other in LOWEST_LEAVES:
        return own in LEAVES or RANK[own] < RANK["files"]
    if own in LEAVES:
        return False
    if other in LEAVES:
        return RANK[own] < RANK["files"]
    if other == "trees" and RANK[own] == RANK["rules"]:
        return own in BUILT_ON_TREES
    return other in RANK and RANK[other] > RANK[own]


def violations(package):
    """List the imports that go upward or sideways."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        if parts == ("__init__.py",):
            continue  # public names from everywhere
        own = parts[0].removesuffix(".py")
        if own not in RANK and own not in LEAVES | LOWEST_LEAVES | GROUND:
            found.append(f"{path.name}: {own} is in no layer")
            continue
        found += [
            f"{'/'.join(parts)}:{line}: {own} imports {other or 'polyleaf'}"
            for line, other in imported_rooms(path, package)
            if not is_allowed(own, other) and ("/".join(parts), other) not in LOOKING_UP
        ]
    return found


def test_imports_go_downward():
    assert len(list(SOURCE.rglob("*.py"))) > 20
    assert violations(SOURCE) == []


@pytest.mark.parametrize(
    ("module", "statement", "is_fine"),
    [
        ("forests/a.py", "from polyleaf.trees.growing import fit_tree", True),
        ("boosting/a.py", "from polyleaf.trees import TreeRegressor", True),
        ("rules/a.py", "from polyleaf.trees.additive import AdditiveTrees", True),
        ("graphs/a.py", "from polyleaf.trees import TreeRegressor", False),
        ("forests/a.py", "from polyleaf.boosting import BoostingRegressor", False),
        ("boosting/a.py", "from polyleaf.rules import RuleRegressor", False),
        ("trees/a.py", "from polyleaf.forests import RandomForestRegressor", False),
        ("rules/a.py", "from polyleaf import projections", True),
        ("rules/a.py", "from polyleaf.datasets import Dataset", True),
        ("rules/a.py", "from polyleaf.rules.b import c", True),
        ("rules/a.py", "from . import b", True),
        ("rules/a.py", "import numpy, scipy.sparse", True),
        ("files/a.py", "from polyleaf import _core", True),
        ("files/a.py", "from polyleaf._registry import ESTIMATORS", True),
        ("files/a.py", "from polyleaf.metrics import METRICS", False),
        ("losses/a.py", "from polyleaf.checks.spelling import did_you_mean", True),
        ("losses/a.py", "from polyleaf.boosting import BoostingRegressor", False),
        ("losses/a.py", "import polyleaf.boosting", False),
        ("losses/a.py", "from ..boosting import BoostingRegressor", False),
        ("losses/a.py", "from .. import boosting", False),
        ("losses/a.py", "import polyleaf", False),
        ("trees/a.py", "def f():\n    from polyleaf.inspection import tree_text", False),
        ("data/a.py", "from polyleaf.projections import View", False),
        ("projections/a.py", "from polyleaf import data", False),
        ("datasets/a.py", "from polyleaf.metrics import x", False),
        ("datasets/a.py", "from polyleaf.files import write_model", False),
        ("datasets/a.py", "from polyleaf.datasets.b import c", True),
        ("helpers/a.py", "import numpy", False),
        ("stray.py", "import numpy", False),
    ],
)
def test_the_check_tells_allowed_from_forbidden_imports(tmp_path, module, statement, is_fine):
    path = tmp_path / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(statement)
    (tmp_path / "__init__.py").write_text("from polyleaf.trees import TreeRegressor")
    found = violations(tmp_path)
    assert (found == []) == is_fine, found


class Way:
    """The way of data through the package: functions in the order of their first call."""

    def __init__(self, action):
        visited = {}

        def note(frame, event, _):
            path, name = Path(frame.f_code.co_filename), frame.f_code.co_name
            if event == "call" and not name.startswith("<") and path.is_relative_to(SOURCE):
                place = path.relative_to(SOURCE).as_posix(), name, frame.f_code.co_firstlineno
                visited[place] = None

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            action()
        finally:
            sys.setprofile(before)
        self.files = list(dict.fromkeys(file for file, _, _ in visited))
        rooms = [file.split("/")[0] for file, _, _ in visited]
        self.n_jumps = sum(a != b for a, b in itertools.pairwise(rooms))


X = np.random.default_rng(0).normal(size=(300, 6))
LABELS = (X[:, :4] + 0.3 * np.random.default_rng(1).normal(size=(300, 4)) > 0).astype(int)


@pytest.mark.parametrize(
    ("estimator", "y", "most_files", "most_jumps"),
    [
        (
            polyleaf.RandomForestClassifier(n_estimators=3, random_state=0),
            sparse.csr_array(LABELS),
            24,
            16,
        ),
        (polyleaf.BoostingRegressor(n_estimators=6, random_state=0), LABELS * 1.0, 30, 25),
        (
            polyleaf.RuleClassifier(n_rules=5, loss="examplewise_logistic", random_state=0),
            LABELS,
            18,
            12,
        ),
        (polyleaf.GraphEnsembleClassifier(n_estimators=2, random_state=0), LABELS, 20, 14),
    ],
    ids=["forest", "boosting", "rules", "graphs"],
)
def test_a_fit_visits_few_files_and_seldom_changes_rooms(estimator, y, most_files, most_jumps):
    way = Way(lambda: type(estimator)(**estimator.get_params()).fit(X, y))
    assert len(way.files) <= most_files, way.files
    assert way.n_jumps <= most_jumps


def test_no_file_is_long():
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "tests", "cpp", "tools", "benchmarks", "examples")
        for path in (SOURCE.parents[1] / folder).rglob("*.*")
        if path.suffix in {".py", ".pyi", ".cpp", ".hpp", ".inl"} and path.name != "_core.pyi"
    }
    assert [str(path) for path, length in lengths.items() if length > 500] == []
