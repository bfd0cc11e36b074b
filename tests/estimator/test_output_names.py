"""Names for the outputs of a Y that has none."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import polyleaf
from polyleaf._registry import ESTIMATORS
from polyleaf.inspection import tree_text

X = np.random.default_rng(0).normal(size=(60, 3))
LABELS = (X[:, :2] > 0).astype(int)
NAMES = ["wet", "cold"]
#: Small, so that each fits in a moment.
SIZES = {"n_estimators": 3, "n_rules": 5, "max_depth": 2}

each_estimator = pytest.mark.parametrize("cls", ESTIMATORS.values(), ids=ESTIMATORS)


def small(cls):
    taken = cls().get_params(deep=False)
    return cls(random_state=0).set_params(**{k: v for k, v in SIZES.items() if k in taken})


@each_estimator
def test_output_names_of_an_array_are_kept_also_in_files(cls, tmp_path):
    model = small(cls).fit(X, LABELS, output_names=NAMES)
    assert model.output_names_.tolist() == NAMES
    polyleaf.save(model, tmp_path / "model.polyleaf")
    loaded = polyleaf.load(tmp_path / "model.polyleaf")
    assert loaded.output_names_.tolist() == NAMES
    np.testing.assert_array_equal(loaded.predict(X), small(cls).fit(X, LABELS).predict(X))


@each_estimator
def test_names_of_a_frame_must_agree_with_output_names(cls):
    frame = pd.DataFrame(LABELS, columns=NAMES)
    assert small(cls).fit(X, frame, output_names=NAMES).output_names_.tolist() == NAMES
    with pytest.raises(ValueError, match="output 1 is 'cold' in y and 'warm' in output_names"):
        small(cls).fit(X, frame, output_names=["wet", "warm"])


def test_sparse_labels_take_the_classes_of_a_binarizer_as_names():
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = binarizer.fit_transform([{3, 10} if x[0] > 0 else {10} for x in X])
    forest = polyleaf.RandomForestClassifier(n_estimators=5, random_state=0)
    forest.fit(X, Y, output_names=binarizer.classes_)
    assert forest.output_names_.tolist() == ["3", "10"]
    assert sparse.issparse(forest.predict(X))


def test_one_output_takes_one_name():
    tree = polyleaf.TreeRegressor(max_depth=1).fit(X, X[:, 0], output_names="rain")
    assert tree.output_names_.tolist() == ["rain"]
    assert "rain" in tree_text(tree)


def test_warnings_use_the_names():
    Y = LABELS.astype(float)
    Y[:, 1] = np.nan
    with pytest.warns(UserWarning, match="without a single observed value: 'cold'"):
        polyleaf.TreeRegressor().fit(X, Y, output_names=NAMES)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["wet"], ValueError, "each of the 2 outputs of y; got 1"),
        (["wet", "wet"], ValueError, "distinct; got 'wet' more than once"),
        (7, TypeError, "a sequence of strings; got 7"),
    ],
)
def test_names_that_cannot_be_are_refused(names, error, message):
    model = polyleaf.TreeRegressor()
    with pytest.raises(error, match=message):
        model.fit(X, LABELS, output_names=names)
    with pytest.raises(error, match=message):
        polyleaf.TunedDecoder(polyleaf.TreeClassifier()).fit(X, LABELS, output_names=names)
    assert not hasattr(model, "n_outputs_")


def test_tuned_decoder_hands_names_to_its_estimator(tmp_path):
    tuned = polyleaf.TunedDecoder(
        polyleaf.TreeClassifier(max_depth=2), cv=2, decoding="threshold", random_state=0
    ).fit(X, LABELS, output_names=NAMES)
    assert tuned.output_names_.tolist() == NAMES
    polyleaf.save(tuned, tmp_path / "model.polyleaf")
    assert polyleaf.load(tmp_path / "model.polyleaf").output_names_.tolist() == NAMES


def test_tuned_decoder_says_which_estimators_take_no_names():
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ValueError, match="whose fit takes names; KNeighborsClassifier"):
        polyleaf.TunedDecoder(KNeighborsClassifier()).fit(X, LABELS, output_names=NAMES)
