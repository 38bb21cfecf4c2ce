"""How the pages of this folder become a site: `make docs`. SOURCE_URL=https://…/blob/v0.1.0 links to files of the repository."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

project = "nodegroup-reconciler"
author = "The authors of nodegroup-reconciler"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
nitpicky = True
exclude_patterns = ["generator"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = "nodegroup-reconciler"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

_TOP = Path(__file__).resolve().parents[1]
_OUTWARD = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)\)")
_SOURCE_URL = os.environ.get("SOURCE_URL", "").rstrip("/")


_CHAPTER = re.compile(r"^## (?P<caption>.+)\n\n(?P<pages>(?:- .*\n)+)", re.M)
_PAGE = re.compile(r"\]\(([^)]+)\.md\)")


def setup(app: Sphinx) -> None:
    """Links out of this folder are for readers of the repository; in the site they become an address there, or the name."""
    app.connect("source-read", _inward)
    app.connect("source-read", _contents)


def _contents(app: Sphinx, name: str, source: list[str]) -> None:
    """The navigation of the site is the list of pages on the first one, which reads the same on a forge."""
    if name == "index":
        chapters = [(found["caption"], _PAGE.findall(found["pages"])) for found in _CHAPTER.finditer(source[0])]
        source[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n" for caption, pages in chapters
        )


def _inward(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.srcdir, name)

    def told(link: re.Match[str]) -> str:
        target = (page.parent / link[2]).resolve()
        if target.is_relative_to(app.srcdir) or not target.exists():
            return link[0]
        path = target.relative_to(_TOP).as_posix()
        if _SOURCE_URL:
            return f"[{link[1]}]({_SOURCE_URL}/{path})"
        return f"`{path}`" if link[1].strip("`") in (path, target.name) else f"{link[1]} (`{path}`)"

    source[0] = _OUTWARD.sub(told, source[0])
