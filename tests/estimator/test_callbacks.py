"""Callbacks of scikit-learn 1.9 follow fits of every family."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import polyleaf

pytest.importorskip("sklearn.callback")

X = np.random.default_rng(0).normal(size=(80, 4))
Y = (X[:, :3] > 0).astype(int)


class Recorder:
    """Counts what it is told."""

    def __init__(self):
        self.events, self.scores, self.most = [], [], None

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")
        self.most = context.max_subtasks if context.task_name == "fit" else self.most

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))


STEPS = [
    (polyleaf.TreeClassifier(), 0),
    (polyleaf.RandomForestClassifier(n_estimators=7), 7),
    (polyleaf.BoostingClassifier(n_estimators=5), 5),
    (polyleaf.RuleClassifier(n_rules=9), 9),
    (polyleaf.GraphEnsembleClassifier(n_estimators=3), 3),
]


@pytest.mark.parametrize(("model", "n_steps"), STEPS, ids=lambda each: type(each).__name__)
def test_every_step_of_a_fit_is_told(model, n_steps):
    recorder = Recorder()
    model = clone(model).set_params(random_state=0).set_callbacks(recorder).fit(X, Y)
    steps = ["begin step", "end step"] * n_steps
    assert recorder.events == ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert recorder.most == n_steps
    assert recorder.scores == [model.score(X, Y)]


@pytest.mark.parametrize("model", [model for model, _ in STEPS], ids=lambda m: type(m).__name__)
def test_callbacks_do_not_change_a_model(model):
    alone = clone(model).set_params(random_state=0).fit(X, Y)
    watched = clone(alone).set_callbacks(Recorder()).fit(X, Y)
    np.testing.assert_array_equal(alone.predict_proba(X), watched.predict_proba(X))


def test_a_failed_fit_ends_its_callbacks_and_keeps_the_model():
    recorder = Recorder()
    model = polyleaf.BoostingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="inconsistent"):
        model.set_callbacks(recorder).fit(X, Y[:5])
    assert recorder.events == ["setup", "begin fit", "teardown"]
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_progress_and_scores_of_scikit_learn_work_in_a_search():
    from sklearn.callback import ProgressBar, ScoringMonitor

    model = polyleaf.RandomForestClassifier(n_estimators=3, random_state=0)
    monitor = ScoringMonitor(scoring="accuracy")
    model.set_callbacks(monitor)
    search = GridSearchCV(model, {"max_depth": [1, 2]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None))
    search.fit(X, Y[:, 0])
    assert search.best_params_["max_depth"] in (1, 2)
    assert len(monitor.get_logs(select="all")) >= 1


@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_both_sparse_interfaces_give_the_same_model(interface):
    import sklearn
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MultiLabelBinarizer

    texts = ["cat mat", "dog", "cat dog", "mat", "dog mat", "cat"] * 3
    tags = [text.split() for text in texts]
    with sklearn.config_context(sparse_interface=interface):
        labels = MultiLabelBinarizer(sparse_output=True).fit_transform(tags)
        model = make_pipeline(
            TfidfVectorizer(), polyleaf.ExtraTreesClassifier(n_estimators=5, random_state=0)
        ).fit(texts, labels)
        found = model.predict(texts)
    np.testing.assert_array_equal(found.toarray(), labels.toarray())
