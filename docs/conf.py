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

#: Examples on data that a reader knows come first, studies of parameters last.
GALLERY_ORDER = (
    "explain_body",
    "complete_digits",
    "auto",
    "joint_regions",
    "explain_wine",
    "multi_target_tree",
    "hierarchy_of_labels",
    "mixed_kinds",
    "rules_explained",
    "forest_intervals",
    "graph_ensemble",
    "boosting_projections",
    "forest_views",
    "forest_saturation",
    "projection_tree",
    "f_test_pruning",
    "rule_curves",
)


class GalleryOrder:
    """Sort examples by the list above; others follow by name."""

    def __init__(self, src_dir: str) -> None:
        del src_dir  # sphinx-gallery gives it

    def __repr__(self) -> str:
        return "GalleryOrder"

    def __call__(self, filename: str) -> tuple[int, str]:
        """Give the place of an example."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        place = GALLERY_ORDER.index(name) if name in GALLERY_ORDER else len(GALLERY_ORDER)
        return place, name


sphinx_gallery_conf = {
    "within_subsection_order": GalleryOrder,
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
