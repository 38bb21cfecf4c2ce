"""The cluster of openb, 1,523 nodes of which 436 leave, on paper, in a pull request and on a phone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import ROOT, Open, printed

SCREENS, HEIGHT = 6, 800
REMOVALS = 436


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The cluster, its policy, and one that lets go at once what is empty."""
    cluster = tmp_path_factory.mktemp("openb") / "openb"
    subprocess.run(
        [sys.executable, str(ROOT / "examples" / "make_openb.py"), "--out", str(cluster)], check=True, capture_output=True
    )
    base, head = cluster.parent / "base", cluster.parent / "head"
    shutil.move(cluster / "policies", base)
    shutil.copytree(base, head)
    (file,) = head.glob("*.yaml")
    text = file.read_text()
    assert 'budgets: [{nodes: "5%"}]' in text
    loose = 'budgets: [{nodes: "100%"}]\n  defaults: {scaleDown: {unneededTime: 0s}}'
    file.write_text(text.replace('budgets: [{nodes: "5%"}]', loose))
    return cluster, base, head


def test_text_is_one_screen(sides: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch):
    """At most sixty lines at eighty columns (the digest is one word); wide it names every node that leaves."""
    cluster, _, head = sides
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed("plan", "--policy", head, "--cluster", cluster).splitlines()
    assert len(lines) <= 60
    assert max(len(line) for line in lines if not line.startswith("sha256:")) <= 80
    assert f"(-{REMOVALS} nodes)" in lines[-2]
    wide = printed("plan", "--policy", head, "--cluster", cluster, "--wide", "--no-settled")
    assert wide.count("remove node openb-node-") == REMOVALS
    monkeypatch.delenv("COLUMNS")
    assert len(printed("fit", "--cluster", cluster).splitlines()) <= 60


def test_a_preview_is_short_everywhere(sides: tuple[Path, Path, Path], open_page: Open, monkeypatch: pytest.MonkeyPatch):
    """Below 8 KB in a pull request, at most six screens of 400 x 800 on a phone; every node that leaves is found there."""
    monkeypatch.chdir(sides[0].parent)  # paths are shown: long ones take another line
    cluster, base, head = (path.name for path in sides)
    where = ("--base-dir", base, "--head-dir", head, "--cluster", cluster)
    assert len(printed("preview", *where, "-o", "markdown").encode()) < 8_192
    page = open_page(printed("preview", *where, "-o", "html"), viewport={"width": 400, "height": HEIGHT}).page
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS * HEIGHT
    page.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    told = page.locator("#actions").inner_text()
    assert told.count("openb-node-") == REMOVALS


def test_a_plan_is_short_on_a_phone(sides: tuple[Path, Path, Path], open_page: Open, monkeypatch: pytest.MonkeyPatch):
    """The report of the plan alone."""
    monkeypatch.chdir(sides[0].parent)
    cluster, _, head = (path.name for path in sides)
    html = printed("plan", "--policy", head, "--cluster", cluster, "-o", "html")
    page = open_page(html, viewport={"width": 400, "height": HEIGHT}).page
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS * HEIGHT
