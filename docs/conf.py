"""Sphinx configuration. Theorem pages and the dependency graph are generated before the build."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import attnproofs  # noqa: E402 - found through the path above, installed or not

project = "attnproofs"
author = "the attnproofs authors"
copyright = "the attnproofs authors"
version = release = attnproofs.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "accessible",
    "mathml",
    "theorem_pages",
]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block", "linkify", "colon_fence"]
myst_linkify_fuzzy_links = False
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
exclude_patterns = ["_build", "_ext", "jupyter_execute", "**/.ipynb_checkpoints"]

html_theme = "furo"
html_title = "attnproofs"
html_static_path = ["_static"]
html_css_files = ["attnproofs.css", "site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": False}

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
nitpicky = False
