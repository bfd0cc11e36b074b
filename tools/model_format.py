"""Write the page of the model file format: `python tools/model_format.py`.

Names, types and shapes come from the declarations beside the code that reads and writes them.
"""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np

from polyleaf._registry import ESTIMATORS, META_ESTIMATORS
from polyleaf.estimator.parameters import Added, declaration_of, parameter_names
from polyleaf.files.arrays import StoredArrays
from polyleaf.files.storage import FORMAT_VERSION

PAGE = Path(__file__).resolve().parents[1] / "docs" / "internals" / "model_files.md"

_OPENING = f"""# Model files, format {FORMAT_VERSION}

This page is made from the code by `python tools/model_format.py`; a test fails when it is stale.
[Saving and loading](../guide/saving.md) says how files are used, and
[a decision record](../decisions/0071-model-files-that-last.md) why they are as they are.

A model file is a [safetensors](https://github.com/huggingface/safetensors) file: a JSON header
followed by plain arrays. The header's metadata has one entry, `polyleaf`, a string of three parts
with blanks between them: the number of the format, `{FORMAT_VERSION}`; a BLAKE2b digest of the
JSON and of every array's name, type, shape and bytes; and the JSON, an object with the keys below.

| key | content |
|---|---|
| `polyleaf` | the release that wrote the file |
| `estimator` | the name of its class, one of {{names}} |
| `parameters` | every parameter of the constructor; parts such as losses by name and parameters |
| `features` | number, names and categories of the columns of X |
| `targets` | kind, number, names and classes of the outputs |
| `card` | when it was fitted, shape of its data, versions, scores; older files lack it |
| `steps` | of a `Pipeline`: name and kind of each step; the JSON of those of polyleaf |
| others | facts of the family, such as the seed of a forest or the loss of boosting |

A file holds all parameters that its release knew. A parameter that a later release adds says which
value models behaved like before ("Parameters that files may lack"), so that old files load.
"""


def page() -> str:
    """Make the text of the page."""
    classes = {**ESTIMATORS, **META_ESTIMATORS}
    for room in ("tuning", "conformal"):
        import_module(f"polyleaf.{room}.storage")
    names = ", ".join(f"`{name}`" for name in classes)
    parts = [_OPENING.replace("{names}", names), "## Arrays\n"]
    for declared in sorted(StoredArrays.declared, key=lambda each: each.part):
        if declared.part == "Steps":  # the example in the documentation of `StoredArrays`
            continue
        parts.append(
            f"### {declared.part}\n\n| array | type | shape | meaning |\n|---|---|---|---|"
        )
        for name, array in declared.arrays.items():
            kind = np.dtype(array.dtype).name
            parts.append(f"| `{name}` | {kind} | ({array.shape}) | {array.meaning} |")
        parts.append("")
    parts.append("## Parameters that files may lack\n")
    younger = _younger()
    if not younger:
        parts.append("None: every parameter is as old as the format.")
    else:
        parts.append("| estimator | parameter | since | before |\n|---|---|---|---|")
        parts += [
            f"| `{cls}` | `{name}` | {added.version} | `{added.before!r}` |"
            for cls, name, added in younger
        ]
    return "\n".join(parts) + "\n"


def _younger() -> list[tuple[str, str, Added]]:
    found = []
    for cls_name, cls in ESTIMATORS.items():
        for name in parameter_names(cls):
            added = declaration_of(cls, name).added
            if added is not None:
                found.append((cls_name, name, added))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} written\n")
