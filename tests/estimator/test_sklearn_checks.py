"""scikit-learn's own estimator checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from polyleaf import GraphEnsembleClassifier
from polyleaf._registry import ESTIMATORS

PURE_LEAVES = {
    "check_classifiers_multilabel_output_format_predict_proba": (
        "asks for probabilities strictly between 0 and 1; those of pure leaves are 0 or 1"
    ),
}
DRAWN_ROWS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "a row that is there twice is drawn otherwise than one of weight 2, in scikit-learn's too",
)
ITERATIVE = dict.fromkeys(
    DRAWN_ROWS,
    "asks for scores that are equal to seven digits, but training ends at a duality gap, and the "
    "folds of the calibration are cut by rows; test_graph_weights tests the equivalence",
)
ROUNDED_GRADIENTS = dict.fromkeys(
    DRAWN_ROWS,
    "asks for seven equal digits; gradients are float32, and a hundred rounds build on them",
)
FRAMES = dict.fromkeys(
    (
        *DRAWN_ROWS,
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimators_pickle",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
    ),
    "computes with predictions as arrays; those of mixed kinds are frames, and their "
    "probabilities a dict",
)
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "TreeClassifier": PURE_LEAVES,
    "RandomForestRegressor": DRAWN_ROWS,
    "RandomForestClassifier": PURE_LEAVES | DRAWN_ROWS,
    "ExtraTreesClassifier": PURE_LEAVES,
    "BaggedTreesRegressor": DRAWN_ROWS,
    "BaggedTreesClassifier": PURE_LEAVES | DRAWN_ROWS,
    "GraphClassifier": ITERATIVE,
    "GraphEnsembleClassifier": ITERATIVE,
    "BoostingRegressor": ROUNDED_GRADIENTS,
    "BoostingClassifier": ROUNDED_GRADIENTS,
    "TreeMixed": FRAMES,
    "RandomForestMixed": FRAMES,
    "ExtraTreesMixed": FRAMES,
    "BoostingMixed": FRAMES,
    "RuleRegressor": DRAWN_ROWS,
    "RuleClassifier": DRAWN_ROWS,
}


def small(cls):
    """Make an estimator; of graphs few, since the checks fit it some hundred times."""
    is_large = issubclass(cls, GraphEnsembleClassifier)
    return cls(random_state=0, n_estimators=5) if is_large else cls(random_state=0)


def test_an_estimator_has_at_most_two_reasons_to_fail():
    for checks in EXPECTED_FAILURES.values():
        assert len(set(checks.values())) <= 2


@parametrize_with_checks(
    [small(cls) for cls in ESTIMATORS.values()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
