"""The distribution's Chromium, one for all tests of a session, and pages of reports in it."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, sync_playwright

from reconciler.cli.main import cli
from reconciler.rendering.html.plan import plan_html
from tests.rendering.hostile import hostile_pictures, hostile_plan
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
    """Chromium from the environment or the PATH; without one the tests are NOT RUN."""
    named = os.environ.get("CHROMIUM", "")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None or not Path(found).exists():
        not_run("chromium", f"no {named or ' or '.join(NAMES)} on the PATH; Debian: apt-get install chromium, or set CHROMIUM")
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=found, args=list(FLAGS))
        yield running
        running.close()


class Opened(msgspec.Struct, frozen=True):
    """A page, what it said on its console, and every address that it asked for."""

    page: Page
    console: list[str]
    requests: list[str]


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a text as a file; options are those of a browser context."""
    contexts = []

    def opened(html: str, **options: object) -> Opened:
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        result = Opened(page, [], [])
        page.on("console", lambda message: result.console.append(message.text))
        page.on("pageerror", lambda error: result.console.append(str(error)))
        page.on("request", lambda request: result.requests.append(request.url))
        page.goto(file.as_uri())
        return result

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


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
    shutil.copytree(POLICIES, head)
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
