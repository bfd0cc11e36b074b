"""scikit-learn's own estimator checks, with two small candidates."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polyleaf import AutoClassifier, AutoRegressor

FOLDS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a row that is there twice falls into other folds than one of weight 2",
)


@pytest.mark.usefixtures("quick")
@parametrize_with_checks(
    [AutoRegressor(cv=2, random_state=0), AutoClassifier(cv=2, random_state=0)],
    expected_failed_checks=lambda estimator: FOLDS,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
