"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from ramify.estimators.registry import ESTIMATORS

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "TreeClassifier": {
        "check_classifiers_multilabel_output_format_predict_proba": (
            "asks for probabilities strictly between 0 and 1; a pure leaf's are 0 or 1"
        ),
        "check_class_weight_classifiers": (
            "gives noise classes a weight of 1e-7 and counts on min_weight_fraction_leaf to keep "
            "them from making leaves of their own, which a fully grown tree allows"
        ),
    },
}


def test_there_are_at_most_two_expected_failures():
    assert sum(len(checks) for checks in EXPECTED_FAILURES.values()) <= 2


@parametrize_with_checks(
    [cls(random_state=0) for cls in ESTIMATORS.values()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
