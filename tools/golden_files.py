"""Write the golden files of the present format: `python tools/golden_files.py`.

A golden file is a small model of every kind, with what it predicts. Releases to come must load all
of them and predict the same, so files that exist are never written again: a change that needs new
ones needs a new format.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.files.golden_cases import answers, golden_cases  # noqa: E402

import polyleaf  # noqa: E402
from polyleaf.files.storage import FORMAT_VERSION  # noqa: E402


def main() -> None:
    """Write the files that are missing, and what their models predict."""
    folder = ROOT / "tests" / "golden" / f"format{FORMAT_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    expected_path = folder / "expected.json"
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else {}
    for name, model, X, y in golden_cases():
        path = folder / f"{name}.polyleaf"
        if path.exists():
            continue
        polyleaf.save(model.fit(X, y), path)
        expected[name] = answers(model, X)
        print(path.name, path.stat().st_size)
    lines = [f"{json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected)]
    expected_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
