"""The code in README.md and in the pages of the guide gives what stands below it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "extending").glob("*.md")),
]
FENCE = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _examples(page: Path) -> str:
    """Blank out everything but the code, so that line numbers in a report are right."""
    text = page.read_text(encoding="utf-8")
    kept = ["" for _ in text.split("\n")]
    for block in FENCE.finditer(text):
        first = text.count("\n", 0, block.start(1))
        for offset, line in enumerate(block.group(1).split("\n")):
            kept[first + offset] = line
    return "\n".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_a_page_gives_what_stands_below_it(page):
    parsed = doctest.DocTestParser().get_doctest(_examples(page), {}, page.name, str(page), 0)
    assert parsed.examples, f"{page.name} has no example"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(parsed, out=report.append)
    assert runner.failures == 0, "".join(report)
