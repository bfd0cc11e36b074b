"""The page of the comparison of defaults names what it leaves out."""

import json

from benchmarks import defaults_page

METHODS = ("Auto", "Boosting", "CatBoost 500")


def _line(name, method, score):
    scores = None if score is None else {"r2": score, "arrmse": 1 - score}
    seconds = None if score is None else 2.0
    told = {"set": name, "task": "regression", "division": 0, "method": method, "bytes": 10}
    return told | {"scores": scores, "seconds": seconds, "waited": 6.0}


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
    assert "limit of 60 seconds" in text
    assert "took 3.0 times their processor time" in text
    never = text.split("Judging sets that were not begun: ")[1].split(".")[0].split(", ")
    assert len(never) == 16
    assert not {"andro", "jura", "nutrimouse"} & set(never)
    assert "| nutrimouse" not in text
