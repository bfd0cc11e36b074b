"""What `import polyleaf` brings with it."""

import subprocess
import sys

import polyleaf

SCRIPT = """
import sys
import polyleaf
print(*sorted(name for name in sys.modules if name.startswith("polyleaf.")))
"""


def test_importing_polyleaf_imports_nothing_that_a_fit_does_not_need():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert "trees" in rooms
    assert not rooms & {"experiments", "inspection", "datasets", "cli", "tuning"}
    assert not rooms & {"auto", "conformal", "distributed", "export"}


def test_every_public_name_is_there_and_listed():
    for name in polyleaf.__all__:
        assert getattr(polyleaf, name) is not None
    assert set(polyleaf.__all__) <= set(dir(polyleaf))
