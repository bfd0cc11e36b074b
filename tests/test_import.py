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


WITHOUT_CALLBACKS = """
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
try:
    import sklearn.callback
    del sklearn.callback.CallbackSupportMixin  # as before scikit-learn 1.9
except ImportError:
    pass
import polyleaf
X = np.arange(20.0).reshape(10, 2)
Y = np.stack([X[:, 0] > 6, X[:, 1] > 12], axis=1).astype(int)
model = clone(make_pipeline(StandardScaler(), polyleaf.TreeClassifier(random_state=0))).fit(X, Y)
print(hasattr(model[-1], "set_callbacks"), int((model.predict(X) != Y).sum()))
"""


def test_a_scikit_learn_without_callbacks_is_enough():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CALLBACKS], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "0"]
