"""The documentation as a site: built without a warning, whole in itself, readable without scripts."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.site import SOURCE
from tests.docs.built_site import built

_FETCHED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout."""
    return built(tmp_path_factory.mktemp("docs") / "site")


class _Page(HTMLParser):
    """What a page fetches, its text, and whether it has pictures without words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.wordless: list[str] = []
        self.words = ""
        self._quiet = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember addresses of what is loaded with the page."""
        said = dict(attrs)
        self._quiet = tag in ("script", "style")
        if tag in _FETCHED and said.get("rel") not in ("next", "prev", "canonical", "index", "search", "author", "copyright"):
            self.fetched.append(said.get(_FETCHED[tag]) or "")
        if tag == "img" and not said.get("alt"):
            self.wordless.append(said.get("src") or "")

    def handle_endtag(self, tag: str) -> None:
        """Text goes on after a script."""
        if tag in ("script", "style"):
            self._quiet = False

    def handle_data(self, data: str) -> None:
        """What can be read without scripts."""
        if not self._quiet:
            self.words += data


def test_every_page_is_there(site: Path) -> None:
    """One page of the site for each of the folder."""
    sources = {path.relative_to(SOURCE).with_suffix(".html").as_posix() for path in SOURCE.rglob("*.md")}
    assert sources <= {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert len(sources) > 20


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture of another host: it reads the same without a network."""
    for path in site.rglob("*.html"):
        assert [one for one in _Page(path.read_text(encoding="utf-8")).fetched if "//" in one] == [], path
    for path in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//", path.read_text(encoding="utf-8")) == [], path


def test_pictures_have_words_and_exist(site: Path) -> None:
    """Each has a text for who does not see it."""
    concepts = _Page((site / "explanation" / "concepts.html").read_text(encoding="utf-8"))
    assert concepts.wordless == []
    pictures = [one for one in concepts.fetched if one.endswith(".svg")]
    assert len(pictures) == 2
    assert all((site / "explanation" / one).exists() for one in pictures)


def test_it_reads_without_scripts(site: Path) -> None:
    """The text is in the pages themselves."""
    page = _Page((site / "reference" / "cluster-autoscaler-flags.html").read_text(encoding="utf-8"))
    assert "--scale-down-unneeded-time" in page.words
    assert "spec.defaults.scaleDown.unneededTime" in page.words


def test_a_link_to_nowhere_fails_the_build(tmp_path: Path) -> None:
    """Strict: what a reader would click in vain is an error, and it is told."""
    source = tmp_path / "docs"
    source.mkdir()
    for name in ("conf.py", "site.py"):
        (source / name).write_bytes((SOURCE / name).read_bytes())
    (source / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n", encoding="utf-8")
    command = [sys.executable, "-m", "docs.site", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "nowhere" in done.stderr
