"""The page of the comparison of defaults names what it leaves out."""

import json

from benchmarks import defaults_page

METHODS = ("Auto", "Boosting", "CatBoost 500")


def _line(name, method, score, division=0):
    scores = None if score is None else {"r2": score, "arrmse": 1 - score}
    seconds = None if score is None else 2.0
    told = {"set": name, "task": "regression", "method": method, "bytes": 10}
    told |= {"division": division, "error": None if scores else "OverTimeError()"}
    return told | {"scores": scores, "seconds": seconds, "waited": 6.0}


def _page(lines, tmp_path, monkeypatch):
    page, results = tmp_path / "auto.md", tmp_path / "results.jsonl"
    monkeypatch.setattr(defaults_page, "PAGE", page)
    results.write_text("\n".join(json.dumps(line) for line in lines))
    defaults_page.write_page(results)
    return page.read_text()


def test_the_page_names_sets_that_were_begun_and_those_that_were_not(tmp_path, monkeypatch):
    page, results = tmp_path / "auto.md", tmp_path / "results.jsonl"
    monkeypatch.setattr(defaults_page, "PAGE", page)
    lines = [_line(s, m, 0.1 * k) for s in ("andro", "jura") for k, m in enumerate(METHODS)]
    lines += [_line("nutrimouse", "Auto", None), _line("nutrimouse", "Boosting", 0.9)]
    results.write_text("\n".join(json.dumps(line) for line in lines))
    defaults_page.write_page(results, ["nutrimouse"], 60)
    text = page.read_text()
    assert "one division of 2 of the 19 judging sets: andro, jura." in text
    assert "- nutrimouse: no result of Auto; 1 of 3 methods were not begun." in text
    assert "limit of a fit is 60 seconds" in text
    assert "took 3.0 times their processor time" in text
    never = text.split("Judging sets that were not begun: ")[1].split(".")[0].split(", ")
    assert len(never) == 16
    assert not {"andro", "jura", "nutrimouse"} & set(never)
    assert "| nutrimouse" not in text


def test_methods_that_did_not_finish_are_last_and_do_not_hide_the_set(tmp_path, monkeypatch):
    lines = [_line("andro", m, score) for m, score in zip(METHODS, (0.5, 0.3, 0.9))]
    lines += [_line("rf1", m, score) for m, score in zip(METHODS, (0.5, 0.3, None))]
    text = _page(lines, tmp_path, monkeypatch)
    assert "one division of 2 of the 19 judging sets: andro, rf1." in text
    assert "Not finished within the limit of a fit: CatBoost 500 on rf1." in text
    assert "| CatBoost 500 | **0.900** |  |" in text
    assert "Every method finished on 1 of 2 sets." in text
    assert "| Auto | 2.0 | 1.5 |" in text  # behind CatBoost on andro, first on rf1
    assert "Auto has average rank 2.0, place 2 of 3, over 1 sets on which all finished" in text
    assert "Auto has average rank 1.5, place 1 of 3, over 2 sets in all" in text
    assert "within one standard error on 1 of 2 sets" in text
    assert "Auto takes 1.0 times" in text
    assert "On 1 more, Auto finished and CatBoost did not" in text


def test_divisions_count_once_all_methods_have_been_tried_on_them(tmp_path, monkeypatch):
    lines = [_line("andro", m, 0.5, k) for m in METHODS for k in range(2)]
    lines += [_line("andro", "Auto", -9.0, 2)]
    text = _page(lines, tmp_path, monkeypatch)
    assert "brackets: andro (2)." in text
    assert "-9.0" not in text
    assert "| Auto | **0.500** |" in text


def test_a_gap_within_one_standard_error_counts_as_level(tmp_path, monkeypatch):
    rivals = {"CatBoost 500": (0.5, 0.5, 0.5)}
    for auto, n_at in (((0.2, 0.6, 0.6), 1), ((0.4, 0.4, 0.41), 0)):
        lines = [_line("andro", "Auto", v, k) for k, v in enumerate(auto)]
        lines += [_line("andro", m, v, k) for m, own in rivals.items() for k, v in enumerate(own)]
        text = _page(lines, tmp_path, monkeypatch)
        assert f"within one standard error on {n_at} of 1 sets" in text


def test_a_method_that_ran_on_some_sets_is_shown_without_a_rank(tmp_path, monkeypatch):
    lines = [_line(s, m, 0.1) for s in ("andro", "jura") for m in METHODS]
    lines += [_line("andro", "mlrl-boomer", 0.7)]
    text = _page(lines, tmp_path, monkeypatch)
    assert "| mlrl-boomer | **0.700** |  |" in text
    assert "place 1 (with Boosting and CatBoost 500) of 3" in text


def test_a_place_that_is_shared_says_with_whom(tmp_path, monkeypatch):
    lines = [_line("andro", m, score) for m, score in zip(METHODS, (0.5, 0.5, 0.1))]
    assert "place 1 (with Boosting) of 3" in _page(lines, tmp_path, monkeypatch)
