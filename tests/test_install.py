"""What an installation promises: one version, types, a smoke test that every wheel passes."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import polyleaf
from polyleaf.cli._main import say_version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place(capsys):
    (source,) = PROJECT["tool"]["dynamic-metadata"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert source["field"] == "version"
    text = (ROOT / source["input"]).read_text(encoding="utf-8")
    assert re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1] == polyleaf.__version__
    say_version()
    assert capsys.readouterr().out == f"polyleaf {polyleaf.__version__}\n"
    elsewhere = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "_version.py" and "__version__ =" in path.read_text(encoding="utf-8")
    ]
    assert elsewhere == []


def test_types_are_shipped():
    assert (files("polyleaf") / "py.typed").is_file()
    assert (files("polyleaf") / "_core.pyi").is_file()


def test_the_smoke_test_of_wheels_passes_here():
    command = [sys.executable, "-I", ROOT / "tools" / "smoke.py"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.startswith(f"polyleaf {polyleaf.__version__} works on Python ")


EXTRAS = ["plot", "readers", "cli", "report", "stats", "pipelines", "onnx", "treelite"]


@pytest.mark.parametrize("name", EXTRAS)
def test_the_guide_names_every_extra(name):
    assert name in PROJECT["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page
