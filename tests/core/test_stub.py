"""The stub of the compiled core states what the module accepts."""

import ast
import importlib.util
from pathlib import Path

import pytest

nanobind = pytest.importorskip("nanobind", reason="it is needed to make the stub")

TOOL = Path(__file__).parents[2] / "tools" / "make_stub.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_stub", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stub_is_what_the_built_module_states(tool):
    """Formatting apart. Versions of nanobind may write types differently: see pyproject.toml."""
    stub = tool.STUB.read_text()
    if tool.made_with(stub) != nanobind.__version__:
        pytest.skip(f"made with nanobind {tool.made_with(stub)}, here is {nanobind.__version__}")
    expected = ast.unparse(ast.parse(tool.make_stub()))
    is_current = ast.unparse(ast.parse(stub)) == expected
    assert is_current, "src/polyleaf/_core.pyi is out of date: run `make stubs`"


def test_the_stub_knows_every_name_of_the_module(tool):
    from polyleaf import _core

    body = ast.parse(tool.STUB.read_text()).body
    names = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    # Numbers that Python shares with the core, but not the types of arrays.
    numbers = (node for node in body if isinstance(node, ast.AnnAssign))
    names |= {node.target.id for node in numbers if ast.unparse(node.annotation) == "int"}
    assert names == {name for name in vars(_core) if not name.startswith("__")}
