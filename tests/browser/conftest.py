"""The distribution's Chromium, one for all tests of a session, and pages of reports in it."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from reconciler.cli.main import cli
from reconciler.rendering.printers.html.plan import plan_html
from tests.rendering.hostile import hostile_pictures, hostile_plan
from tests.testbed.cache import component_wanted
from tests.testbed.missing import not_run

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
POLICIES = ROOT / "policies"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One for the session."""
    with sync_playwright() as play:
        running = chromium(play)
        yield running
        running.close()


def chromium(play: Playwright) -> Browser:
    """Chromium from the environment or the PATH; without one the tests are NOT RUN."""
    component_wanted()
    named = os.environ.get("CHROMIUM", "")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None or not Path(found).exists():
        not_run("chromium", f"no {named or ' or '.join(NAMES)} on the PATH; Debian: apt-get install chromium, or set CHROMIUM")
    return play.chromium.launch(executable_path=found, args=list(FLAGS))


WIDTHS = (320, 1280)
"""One of each layout: cards, and tables. What a tablet sees are cards that are wider."""
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
BEYOND = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth).filter(n => n > 0)"
"""By how many pixels tables are wider than what is seen of them."""


class Opened(msgspec.Struct, frozen=True):
    """A page, what it said on its console, and every address that it asked for."""

    page: Page
    console: list[str]
    requests: list[str]

    def sized(self, width: int, height: int = 900, *, scheme: Literal["light", "dark"] = "light") -> Page:
        """The page at a width, with every fold open: what may be asked of a page that other tests look at too."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
        return self.page


Open = Callable[..., Opened]


class Windows:
    """Pages that stay open until all of them are closed."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self._contexts: list[BrowserContext] = []

    def show(self, html: str, **options: object) -> Opened:
        """A text, opened as a file; options are those of a browser context."""
        file = self._folder / f"{len(self._contexts)}" / "report.html"
        file.parent.mkdir()
        file.write_text(html, encoding="utf-8")
        return self.visit(file.as_uri(), **options)

    def visit(self, address: str, **options: object) -> Opened:
        """A page of a server."""
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self._contexts.append(context)
        page = context.new_page()
        result = Opened(page, [], [])
        page.on("console", lambda message: result.console.append(message.text))
        page.on("pageerror", lambda error: result.console.append(str(error)))
        page.on("request", lambda request: result.requests.append(request.url))
        page.goto(address)
        return result

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def windows(browser: Browser, tmp_path: Path) -> Iterator[Windows]:
    """Of one test."""
    found = Windows(browser, tmp_path)
    yield found
    found.close()


@pytest.fixture
def open_page(windows: Windows) -> Open:
    """Open a text as a file, for one test."""
    return windows.show


@pytest.fixture(scope="module")
def kept_windows(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Windows]:
    """Of all tests of a file: opening a page takes longer than most of what is asked of it."""
    found = Windows(browser, tmp_path_factory.mktemp("pages"))
    yield found
    found.close()


class Axe:
    """axe-core, put into a page once. Rules of colour alone hang on the colour scheme."""

    def __init__(self) -> None:
        self._source = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def look(self, page: Page, part: str = ":root", *, colours_only: bool = False) -> tuple[list[tuple[str, str]], int]:
        """What it finds in a part of a page, and how many rules that part met."""
        if not page.evaluate("'axe' in window"):
            page.evaluate(self._source)
        rules = ", runOnly: {type: 'tag', values: ['cat.color']}" if colours_only else ""
        found = page.evaluate(f"(part) => axe.run(part, {{resultTypes: ['violations']{rules}}})", part)
        return [(entry["id"], entry["nodes"][0]["html"]) for entry in found["violations"]], len(found["passes"])


@pytest.fixture(scope="session")
def axe() -> Axe:
    """For all pages."""
    return Axe()


@pytest.fixture(scope="session")
def plan_page() -> str:
    """The report of the example cluster's plan."""
    return printed("plan", "--policy", POLICIES, "--cluster", QUICKSTART, "-o", "html")


@pytest.fixture(scope="session")
def plan_json() -> dict[str, Any]:
    """The same plan for programs: what the page must agree with."""
    found: dict[str, Any] = json.loads(printed("plan", "--policy", POLICIES, "--cluster", QUICKSTART, "-o", "json"))
    return found


@pytest.fixture(scope="session")
def preview_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a change, a smaller maximum and nothing to adopt, with recorded demand under both policies."""
    head = tmp_path_factory.mktemp("head") / "policies"
    demand = head.parent / "night.csv"
    demand.write_text("# pod: cpu=1 memory=2Gi\ntime,pods\n2026-11-21T00:00:00Z,2\n2026-11-21T00:10:00Z,2\n")
    shutil.copytree(POLICIES, head, ignore=shutil.ignore_patterns("tests"))
    for file, before, after in (
        ("on-demand.yaml", "size: {min: 2, max: 10}", "size: {min: 2, max: 7}"),
        ("prod.yaml", "adoptFrom: [kubectl]", "adoptFrom: []"),
    ):
        text = (head / file).read_text()
        assert before in text
        (head / file).write_text(text.replace(before, after))
    sides = ("--base-dir", POLICIES, "--head-dir", head)
    return printed("preview", *sides, "--cluster", QUICKSTART, "--replay", demand, "-o", "html")


HOSTILE = "<img src=x onerror=window.hit=1>\"'><script>window.hit=1</script></title></style></script>&lt;b&gt;\u202e\x1b[31m"


@pytest.fixture(scope="session")
def hostile_page() -> str:
    """A report in which everything that others name is markup."""
    return plan_html(hostile_plan(HOSTILE), hostile_pictures(HOSTILE))


def printed(*arguments: object) -> str:
    """What a command prints."""
    result = CliRunner().invoke(cli, [str(word) for word in arguments], standalone_mode=False)
    assert result.exception is None, result.output
    return result.stdout_bytes.decode()
