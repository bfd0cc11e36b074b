"""Imports go downward through the layers of the package."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "polyleaf"

#: From the top down; packages of one layer do not import each other.
LAYERS = (
    {"cli"},
    {"experiments"},
    {"inspection"},
    {"estimators"},
    {"training"},
    {"projections", "losses", "graphs", "ingest"},
    {"model"},
    {"_core"},
)
#: Anyone may import these; they import nobody but the ground.
LEAVES = {"metrics", "decoding", "datasets"}
#: Small helpers under everything.
GROUND = {"_described", "_memory", "_optional", "_spelling"}
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported_packages(path, package):
    """Find the packages directly below polyleaf that a module imports, with line numbers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # relative: one dot drops the name of the module, the next a package
                above = path.relative_to(package).parts[: -node.level]
                module = ".".join(["polyleaf", *above, *filter(None, [node.module])])
            names = (
                [module] if module != "polyleaf" else [f"polyleaf.{a.name}" for a in node.names]
            )
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "polyleaf":
                yield node.lineno, parts[1] if len(parts) > 1 else ""


def violations(package):
    """List the imports that go upward or sideways."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        if parts == ("__init__.py",):
            continue  # public names from everywhere
        own = parts[0].removesuffix(".py")
        if own not in RANK and own not in LEAVES | GROUND:
            found.append(f"{path.name}: {own} is in no layer")
            continue
        for line, other in imported_packages(path, package):
            if other == own or (other in GROUND and own not in GROUND):
                continue
            if other in LEAVES and own not in LEAVES | GROUND:
                continue
            if own in LEAVES | GROUND or other not in RANK or RANK[other] <= RANK[own]:
                found.append(f"{'/'.join(parts)}:{line}: {own} imports {other or 'polyleaf'}")
    return found


def test_imports_go_downward():
    assert len(list(SOURCE.rglob("*.py"))) > 20
    assert violations(SOURCE) == []


@pytest.mark.parametrize(
    ("module", "statement", "is_allowed"),
    [
        ("estimators/a.py", "from polyleaf.training import fit_tree", True),
        ("estimators/a.py", "from polyleaf import projections", True),
        ("estimators/a.py", "from polyleaf.datasets import Dataset", True),
        ("estimators/a.py", "from polyleaf.estimators.b import c", True),
        ("estimators/a.py", "from . import b", True),
        ("estimators/a.py", "import numpy, scipy.sparse", True),
        ("model/a.py", "from polyleaf import _core", True),
        ("training/a.py", "from polyleaf.estimators import TreeRegressor", False),
        ("training/a.py", "import polyleaf.estimators", False),
        ("training/a.py", "from ..estimators import TreeRegressor", False),
        ("training/a.py", "from .. import estimators", False),
        ("training/a.py", "import polyleaf", False),
        ("training/a.py", "def f():\n    from polyleaf.inspection import tree_text", False),
        ("ingest/a.py", "from polyleaf.projections import View", False),
        ("projections/a.py", "from polyleaf import ingest", False),
        ("datasets/a.py", "from polyleaf.metrics import x", False),
        ("datasets/a.py", "from polyleaf.model import Trees", False),
        ("datasets/a.py", "from polyleaf.datasets.b import c", True),
        ("helpers/a.py", "import numpy", False),
        ("stray.py", "import numpy", False),
    ],
)
def test_the_check_tells_allowed_from_forbidden_imports(tmp_path, module, statement, is_allowed):
    path = tmp_path / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(statement)
    (tmp_path / "__init__.py").write_text("from polyleaf.estimators import TreeRegressor")
    found = violations(tmp_path)
    assert (found == []) == is_allowed, found
