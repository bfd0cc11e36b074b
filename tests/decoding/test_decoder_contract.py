"""What holds for every decoder: a new one is tested by being listed in DECODERS."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from polyleaf import decoding
from polyleaf.decoding import DECODERS, Decoder, Threshold, resolve

rng = np.random.default_rng(0)
P = rng.beta(0.5, 1.0, size=(50, 5))
Y = (rng.random((50, 5)) < P).astype(float)

each_decoder = pytest.mark.parametrize("name", DECODERS)


def fitted(name):
    return resolve(name).fit(Y, P)


@each_decoder
def test_label_sets_are_zero_and_one_in_the_shape_of_the_probabilities(name):
    decoded = fitted(name).decode(P)
    assert decoded.shape == P.shape
    assert decoded.dtype == np.int64
    assert set(np.unique(decoded)) <= {0, 1}


@each_decoder
def test_sparse_probabilities_give_the_same_label_sets_sparse(name):
    decoder = fitted(name)
    decoded = decoder.decode(sparse.coo_matrix(P))
    assert isinstance(decoded, sparse.csr_array)
    np.testing.assert_array_equal(decoded.toarray(), decoder.decode(P))


@each_decoder
def test_rows_are_decoded_one_by_one(name):
    decoder = fitted(name)
    alone = np.vstack([decoder.decode(P[[i]]) for i in range(len(P))])
    np.testing.assert_array_equal(decoder.decode(P), alone)


@each_decoder
def test_certain_labels_are_predicted(name):
    decoder = fitted(name)
    certain = Y[:10]
    np.testing.assert_array_equal(decoder.decode(certain), certain)
    np.testing.assert_array_equal(decoder.decode_joint(np.eye(10), certain), certain)


@each_decoder
def test_sparse_and_dense_training_labels_teach_the_same(name):
    decoded = fitted(name).decode(P)
    other = resolve(name).fit(sparse.csc_matrix(Y), P).decode(P)
    np.testing.assert_array_equal(other, decoded)


@each_decoder
def test_decoders_can_be_cloned_compared_and_pickled(name):
    decoder = fitted(name)
    assert clone(decoder) == decoder
    again = pickle.loads(pickle.dumps(decoder))
    np.testing.assert_array_equal(again.decode(P), decoder.decode(P))


@each_decoder
def test_a_decoder_that_learns_asks_for_fit(name):
    decoder = resolve(name)
    if decoder.needs_probabilities or type(decoder).fit is not Decoder.fit:
        with pytest.raises(NotFittedError):
            decoder.decode(P)
    else:
        np.testing.assert_array_equal(decoder.decode(P), fitted(name).decode(P))


@each_decoder
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([[0.5, 1.5]], "must be from 0 to 1"),
        ([[0.5, np.nan]], "must be from 0 to 1"),
        ([0.5, 0.5], r"got shape \(2,\)"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        (sparse.csr_array([[2.0]]), "must be from 0 to 1"),
    ],
)
def test_wrong_probabilities_are_refused(name, wrong, message):
    with pytest.raises(ValueError, match=message):
        fitted(name).decode(wrong)


@pytest.mark.parametrize(
    ("weights", "sets", "message"),
    [
        ([[1.0]], [[1, 0], [0, 1]], "a column for each of the 2 label sets"),
        ([[-1.0, 2.0]], [[1, 0], [0, 1]], "finite numbers >= 0"),
        ([[0.0, 0.0]], [[1, 0], [0, 1]], "at least one label set of each row"),
        ([[1.0, 1.0]], [[1, 0], [0, np.nan]], "fully observed"),
        ([[1.0, 1.0]], [[1, 0], [0, 2]], "0 and 1 only"),
    ],
)
def test_wrong_distributions_are_refused(weights, sets, message):
    with pytest.raises(ValueError, match=message):
        Threshold().decode_joint(weights, sets)


def test_registry_names_every_decoder_of_the_package():
    public = [getattr(decoding, name) for name in decoding.__all__]
    concrete = {
        each
        for each in public
        if isinstance(each, type) and issubclass(each, Decoder) and not each.__abstractmethods__
    }
    assert concrete == set(DECODERS.values())


def test_instances_resolve_to_themselves():
    decoder = Threshold(0.3)
    assert resolve(decoder) is decoder


@pytest.mark.parametrize(("name", "suggestion"), [("topk", "top_k"), ("F1", "f1")])
def test_near_name_is_suggested(name, suggestion):
    with pytest.raises(ValueError, match=f"got '{name}'. Did you mean '{suggestion}'?"):
        resolve(name)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match=r"Did you mean Threshold\(\)\?"):
        resolve(Threshold)
    with pytest.raises(TypeError, match=r"or a Decoder; got 3\.$"):
        resolve(3)
