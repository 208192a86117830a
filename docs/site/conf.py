"""Sphinx's settings. The sources are what `docs/site/assemble.py` puts together."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "build" / "docs" / "source"

project = "cotm"
author = copyright = "The cotm authors"
(release,) = re.findall(r'__version__ = "(.+)"', (ROOT / "src/cotm/__init__.py").read_text())
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery", "migrating", "pictures/*.ipynb"]
suppress_warnings = ["config.cache"]

# Documents: headings can be linked to as on code hosts; prose is not typeset anew.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
smartquotes = False
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# Docstrings.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": str(SOURCE / "gallery"),
    "gallery_dirs": "pictures",
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = f"cotm {release}"
html_show_sourcelink = False
html_copy_source = False
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["cotm.css"]
html_theme_options = {
    "logo": {"text": "cotm"},
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_context = {"default_mode": "auto"}

# Kernels say that this machine's own connection is not encrypted; errors are enough.
os.environ["IPYTHONDIR"] = str(ROOT / "build" / "docs" / "ipython")
_profile = Path(os.environ["IPYTHONDIR"]) / "profile_default"
_profile.mkdir(parents=True, exist_ok=True)
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n")
