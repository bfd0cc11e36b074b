import sys

import pytest

from polyleaf.cli import main


@pytest.fixture
def polyleaf(monkeypatch, capsys):
    """Return a function that runs a command and returns what it printed."""

    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["polyleaf", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        printed, told = capsys.readouterr()
        assert (end.value.code or 0) == code, printed + told
        return printed if code == 0 else told

    return run
