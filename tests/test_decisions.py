"""Records of decisions stay half a page: what no longer holds is superseded, not edited longer."""

from pathlib import Path

import pytest

RECORDS = sorted((Path(__file__).parents[1] / "docs" / "decisions").glob("0*.md"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_has_its_number_and_is_half_a_page(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(path.name[:4])}. ")
    assert len(text.split()) <= 380, "supersede it by a new record, or split it"
