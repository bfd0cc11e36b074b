"""Write the types of the compiled core, as the built module states them: `make stubs`.

The stub is what nanobind's stubgen makes of the signatures in cpp/bindings. Arrays, which
cpp/bindings/arrays.hpp calls Vector, Matrix and Cube, are given their meaning here.
``tests/core/test_stub.py`` fails if the file in the repository is not up to date.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nanobind
from nanobind.stubgen import ReplacePattern, StubGen

from polyleaf import _core

STUB = Path(__file__).parents[1] / "src" / "polyleaf" / "_core.pyi"
HEADER = '''\
"""Types of the compiled core; made by `make stubs` with nanobind {version}, see cpp/bindings."""

'''
#: Arrays by their number of dimensions, all of them C-contiguous.
ARRAYS = """\
\\from typing import TypeAlias, TypeVar

_T = TypeVar("_T", bound=numpy.generic)
Vector: TypeAlias = numpy.ndarray[tuple[int], numpy.dtype[_T]]
Matrix: TypeAlias = numpy.ndarray[tuple[int, int], numpy.dtype[_T]]
Cube: TypeAlias = numpy.ndarray[tuple[int, int, int], numpy.dtype[_T]]
"""

#: A member of a struct: what can be assigned can be read, too.
MEMBER = re.compile(
    r"""@property
 +def (?P<name>\w+)\(self\) -> [^:]+: \.\.\.

 +@(?P=name)\.setter
 +def (?P=name)\(self, arg: (?P<type>[^,]+), /\) -> None: \.\.\.
"""
)


def make_stub() -> str:
    """Make the stub of the module that is installed."""
    arrays = ReplacePattern(re.compile(r"polyleaf\._core\.__prefix__"), ARRAYS.splitlines(), 0)
    generator = StubGen(_core, include_docstrings=False, patterns=[arrays])
    generator.put(_core)
    stub = MEMBER.sub(r"\g<name>: \g<type>", generator.get())
    stub = stub.replace("import numpy\n", "import numpy as np\n")
    stub = re.sub(r"(?<!from )numpy\.", "np.", stub)
    return HEADER.format(version=nanobind.__version__) + stub


def made_with(stub: str) -> str | None:
    """Read the version of nanobind that made a stub."""
    found = re.search(r"with nanobind (\S+),", stub)
    return found and found[1]


def main() -> None:
    """Write the stub, in the format of the repository."""
    STUB.write_text(make_stub())
    ruff = Path(sys.executable).with_name("ruff")
    for step in (["format", "--quiet"], ["check", "--fix", "--quiet"]):
        subprocess.run([ruff, *step, STUB], check=True)


if __name__ == "__main__":
    main()
