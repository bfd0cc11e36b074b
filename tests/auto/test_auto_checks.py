"""scikit-learn's own estimator checks, with two small candidates."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyleaf import AutoClassifier, AutoRegressor
from polyleaf.auto import candidates
from polyleaf.auto.baselines import BaselineClassifier, BaselineRegressor
from polyleaf.auto.candidates import Candidate, _baseline, _forest_work, _of, _squares_work
from polyleaf.forests import ExtraTreesClassifier, ExtraTreesRegressor

FOLDS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a row that is there twice falls into other folds than one of weight 2",
)


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


@pytest.mark.usefixtures("quick")
@parametrize_with_checks(
    [AutoRegressor(cv=2, random_state=0), AutoClassifier(cv=2, random_state=0)],
    expected_failed_checks=lambda estimator: FOLDS,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
