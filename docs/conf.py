"""Sphinx configuration; `make docs` builds with warnings as errors and without a network."""

from __future__ import annotations

import re
from typing import Any

import polyleaf

project = "polyleaf"
author = "The polyleaf developers"
project_copyright = "The polyleaf developers"
version = release = polyleaf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/*.ipynb"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

html_theme = "furo"
html_title = f"polyleaf {version}"
html_show_sourcelink = False
html_copy_source = False
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings tell types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Types are told as they stand: "shape" in "ndarray of shape (n,)" is no reference.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
}
suppress_warnings = [
    "config.cache",  # sphinx-gallery's settings cannot be pickled
]

# scikit-learn's names of fitted attributes end with an underscore, which means a reference in
# reStructuredText.
_FITTED_ATTRIBUTE = re.compile(r"(?<![`\w])([a-z]\w*)_(?![`\w])")


def escape_fitted_attributes(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Escape the last underscore of names such as n_outputs_ in the text of docstrings."""
    is_code = False
    for number, line in enumerate(lines):
        is_code = line.lstrip().startswith(">>>") or (is_code and bool(line.strip()))
        if not is_code:
            lines[number] = _FITTED_ATTRIBUTE.sub(r"\1\\_", line)


def setup(app: Any) -> None:
    """Register the hook above, to run after napoleon."""
    app.connect("autodoc-process-docstring", escape_fitted_attributes, priority=900)
