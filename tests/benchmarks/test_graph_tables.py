"""The tables of Su and Rousu 2013: resumed runs, rivals that learn, a report."""

import json

import numpy as np
import pytest
from benchmarks.graph_rivals import BaggedSVMs, LabelwiseSVM, MultiTaskFeatures

from benchmarks import graph_completion, graph_inference, graph_tables
from polyleaf.datasets import make_circle_labels


@pytest.mark.parametrize(
    "rival",
    [LabelwiseSVM(5.0), BaggedSVMs(5.0, n_members=5), MultiTaskFeatures(0.1)],
    ids=lambda rival: type(rival).__name__,
)
def test_every_rival_learns_labels_by_lines(rival):
    X, Y = make_circle_labels(400, 5, density=0.6, random_state=0)
    Y[:, 4] = 1  # a constant label is no trouble
    accuracy = graph_tables.measure(Y[300:], rival.fit(X[:300], Y[:300]).predict(X[300:]))[0]
    assert accuracy > 90.0


def test_the_measures_are_those_of_the_paper():
    Y = np.array([[1, 0], [1, 1], [0, 0]])
    predicted = np.array([[1, 0], [0, 1], [0, 1]])
    found = graph_tables.measure(Y, predicted)
    np.testing.assert_allclose(found, [100 * 4 / 6, 100 / 3, 100 * 2 * 2 / (3 + 3)])


def test_a_run_resumes_where_it_was_stopped_and_is_reported(tmp_path, monkeypatch, capsys):
    X, Y = make_circle_labels(80, 3, random_state=0)
    monkeypatch.setattr(graph_tables, "load", lambda name: (X, Y.astype(int)))
    monkeypatch.setattr(graph_tables, "GRID", (1.0,))
    path = tmp_path / "rows.jsonl"
    arguments = ["run", "--data", "circle10", "--methods", "SVM", "graphs", "--members", "2"]
    graph_tables.main([*arguments, "--results", str(path)])
    lines = path.read_text().splitlines()
    assert len(lines) == 10
    path.write_text("\n".join(lines[:7]) + "\n")
    graph_tables.main([*arguments, "--results", str(path)])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["method"], row["fold"]) for row in rows] == [
        (method, fold) for method in ("SVM", "graphs") for fold in range(5)
    ]
    capsys.readouterr()
    graph_tables.main(["report", "--results", str(path)])
    report = capsys.readouterr().out
    assert "| circle10 | 1 | 2 |" in report
    assert "0/0" in report  # nothing was published about this data


def test_completed_potentials_grow_faster_with_c_than_trained_ones(monkeypatch, capsys):
    X, Y = make_circle_labels(150, 5, random_state=0)
    monkeypatch.setattr(graph_completion, "load", lambda name: (X, Y.astype(int)))
    monkeypatch.setattr(graph_completion, "CONSTANTS", (0.01, 1.0))
    graph_completion.main(["--data", "circle10"])
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    trained, completed = ([float(row[column]) for row in rows] for column in (4, 6))
    assert completed[1] / completed[0] > 2.0 * trained[1] / trained[0]
    assert completed[1] > 2.0 * trained[1]


def test_message_passing_finds_nearly_all_best_labellings_of_an_ensemble(monkeypatch, capsys):
    X, Y = make_circle_labels(200, 5, union_share=0.5, random_state=0)
    monkeypatch.setattr(graph_inference, "load", lambda name: (X, Y.astype(int)))
    monkeypatch.setattr(graph_inference, "ENSEMBLES", {"circle10": (1.0, 10)})
    n_labels, n_edges, is_best, lost, proven = graph_inference.inference("circle10", 1.0, 10)
    assert (n_labels, n_edges) == (5, 10)
    assert float(is_best.removesuffix(" %")) >= 95.0
    assert 0.0 <= float(lost.removesuffix(" %")) < 1.0
    assert proven >= 0.95
    graph_inference.main()
    assert f"| circle10 | 5 | 10 | {is_best} |" in capsys.readouterr().out
