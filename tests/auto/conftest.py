"""Few and small candidates, for tests that are about the estimator and not about who wins."""

import pytest

from polyleaf.auto import candidates
from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor
from polyleaf.auto.candidates import Candidate, _baseline, _forest_work, _of, _squares_work
from polyleaf.forests import ExtraTreesClassifier, ExtraTreesRegressor

WORK = _forest_work(0.1)


def trimmed():
    """Give two candidates of each task."""
    return {
        "_REGRESSORS": [
            Candidate("extra_trees", _of(ExtraTreesRegressor, n_estimators=5), WORK),
            Candidate("ridge", _baseline(BaselineRegressor), _squares_work),
        ],
        "_CLASSIFIERS": [
            Candidate("extra_trees", _of(ExtraTreesClassifier, n_estimators=5), WORK),
            Candidate(
                "kernel_ridge", _baseline(BaselineClassifier, model="kernel"), _squares_work
            ),
        ],
    }


@pytest.fixture
def quick(monkeypatch):
    """Let two small candidates take part."""
    for name, value in trimmed().items():
        monkeypatch.setattr(candidates, name, value)
