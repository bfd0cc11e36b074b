"""Sphinx configuration; `make docs` builds with warnings as errors and without a network."""

from __future__ import annotations

import ramify

project = "ramify"
author = "The ramify developers"
project_copyright = "The ramify developers"
version = release = ramify.__version__

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
html_title = f"ramify {version}"
html_show_sourcelink = False
html_copy_source = False
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings tell types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # properties are documented once, where they stand
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
}
# A gallery script's variables would not survive the cache of the environment otherwise.
suppress_warnings = ["config.cache"]
