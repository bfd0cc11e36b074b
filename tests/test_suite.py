"""How the tests themselves are run."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_tests_in_the_background_of_a_shell_hear_ctrl_c():
    code = "import signal, conftest; print(signal.getsignal(signal.SIGINT).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "default_int_handler"


def test_every_folder_may_have_its_own_fixtures(tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("tests", "tests/auto", "tests/boosting", "tests/zeta"):
        folder, fixture = tmp_path / name, Path(name).name
        folder.mkdir()
        code = f"import pytest\n\n@pytest.fixture\ndef of_{fixture}():\n    return 1\n"
        (folder / "conftest.py").write_text(code)
        (folder / f"test_{fixture}.py").write_text(f"def test_it(of_{fixture}):\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
