"""Progress in notebooks: shown without widgets, and kept in the saved notebook."""

import sys
from types import SimpleNamespace

import pytest

from polyleaf.estimator.notebook_bar import in_notebook
from polyleaf.estimator.running import progress_bar
from polyleaf.experiments._compare import _with_progress

CELL = """
import numpy as np, sys
import polyleaf
X = np.random.default_rng(0).normal(size=(60, 3))
model = polyleaf.BoostingRegressor(n_estimators=4, verbose=1, random_state=0).fit(X, X)
assert "ipywidgets" not in sys.modules
"""


def test_this_is_no_notebook():
    assert not in_notebook()


def test_a_saved_notebook_keeps_the_progress(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    kernelspec = pytest.importorskip("jupyter_client.kernelspec")
    pytest.importorskip("ipykernel")
    manager = kernelspec.KernelSpecManager()
    if "python3" not in manager.find_kernel_specs():
        pytest.skip("no kernel is installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    path = tmp_path / "saved.ipynb"
    nbformat.write(notebook, path)
    (cell,) = nbformat.read(path, as_version=4).cells
    (output,) = [each for each in cell.outputs if each.output_type == "display_data"]
    assert set(output.data) == {"text/plain", "text/html"}
    assert output.data["text/plain"].startswith("BoostingRegressor ████")
    assert "4/4" in output.data["text/plain"]
    assert "train" in output.data["text/plain"]
    assert '<progress value="4" max="4">' in output.data["text/html"]
    assert not any("widget" in kind for each in cell.outputs for kind in each.get("data", {}))


@pytest.fixture
def shown(monkeypatch):
    """Pretend to be in a notebook; return the list of what it shows."""
    shown = []

    class Handle:
        def update(self, state, raw):
            shown.append(state["text/plain"])

    def display(state, raw, display_id):
        shown.append(state["text/plain"])
        return Handle()

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def test_a_fit_that_fails_leaves_the_bar_where_it_was(shown):
    def fail_after_three():
        with progress_bar("fit", 10, 1) as advance:
            for _ in range(3):
                advance(loss=0.5)
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fail_after_three()
    assert shown[0].startswith("fit ░")
    assert " 3/10 " in shown[-1]
    assert "loss 0.5" in shown[-1]


def test_comparisons_show_the_same_bar(shown):
    rows = [{"run": number} for number in range(3)]
    assert list(_with_progress(iter(rows), 5, 2, 1)) == rows
    assert " 5/5 " in shown[-1]
