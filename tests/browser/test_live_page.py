"""The page of a running loop in a real browser, from a real server.

What a person saw in its pictures of 320, 768 and 1280 pixels, light, and of 1280 dark: one column on the phone with every value
named above it, nothing cut and nothing to scroll sideways; figures two by two there, in one row of four from the tablet on;
signs, colours and words say the same; sizes and instants stay on one line; a name of 64 characters breaks at its hyphens; what
failed stands first among upcoming nodes; the button and the links have visible edges in both schemes.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from reconciler.control.pages.http_server import HttpServer
from reconciler.control.turn.report import ResultState
from tests.browser.test_report import BEYOND
from tests.control.busy import BusyLoop, busy_loop, cluster

PATIENCE_MS = 60_000


class Served:
    """A loop with its pages on a port of its own."""

    def __init__(self, loop: BusyLoop) -> None:
        self.loop = loop
        self.server = HttpServer(("127.0.0.1", 0), loop.routes(), lambda _: None, lambda *_: None)
        self.url = f"http://127.0.0.1:{self.server.port}/"
        self.server.start()


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served(busy_loop())
    yield found
    found.server.stop()


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[object]:
    """Open the page; options are those of a browser context."""
    contexts = []

    def visited(**options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(served.url)
        return page

    yield visited
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_accessible(visit, axe: str, scheme: str, width: int):
    """axe-core finds nothing at all, with every fold open, and with updates paused too."""
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    page.get_by_role("button", name="Pause updates").click()
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(entry["id"], entry["nodes"][0]["html"]) for entry in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(visit, width: int):
    """Neither the page nor a table, with every fold open."""
    page = visit(viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BEYOND) == []


def test_it_updates_itself(visit, served: Served):
    """Another decision is shown without loading the page anew: focus, folds and search stay, the summary is announced."""
    page = visit()
    page.evaluate("window.same = true")
    lot = page.locator("#pods details", has_text="shop/web-*")
    lot.locator("summary").click()
    expect(lot).to_contain_text("shop/web-3")
    page.get_by_role("searchbox").fill("shop")
    before = page.locator(".lead").inner_text()
    served.loop.now += 60
    served.loop.turn(cluster(waiting=7), ResultState.DONE)
    expect(lot).to_contain_text("shop/web-7", timeout=PATIENCE_MS)
    assert page.evaluate("[window.same, document.activeElement.id, document.getElementById('search').value]") == [
        True,
        "search",
        "shop",
    ]
    assert lot.get_attribute("open") is not None
    summary = page.locator(".lead").inner_text()
    assert summary != before
    assert page.locator("#news").inner_text() == summary
    assert page.locator("#groups tbody tr:visible").count() == 0, "the search still says what is shown"
    page.get_by_role("searchbox").fill("")
    assert page.locator("#groups tbody tr:visible").count() == 4


def test_updates_can_be_paused(visit, served: Served):
    """Then nobody is asked until it goes on, and going on asks at once."""
    page = visit()
    page.get_by_role("button", name="Pause updates").click()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    served.loop.now += 60
    served.loop.turn(cluster(waiting=7), ResultState.DONE)
    page.wait_for_timeout(5_000)  # more than two periods
    assert asked == []
    page.get_by_role("button", name="Pause updates").click()
    expect(page.locator("#pods")).to_contain_text("7 pods", timeout=PATIENCE_MS)
    assert asked


def test_a_loop_that_does_not_answer(visit, served: Served):
    """What was shown stays, and says that it is old."""
    page = visit()
    served.server.stop()
    expect(page.locator("#trouble")).to_contain_text("has not been updated since", timeout=PATIENCE_MS)
    assert page.locator("#groups tbody tr").count() == 4
    served.server = HttpServer(("127.0.0.1", 0), (), lambda _: None, lambda *_: None)
    served.server.start()


def test_one_that_gives_up_leading(visit, served: Served):
    """The plan goes from an open page too, and comes back."""
    page = visit()
    served.loop.figures.leads(leader=False)
    expect(page.locator("#groups")).to_have_count(0, timeout=PATIENCE_MS)
    served.loop.figures.leads(leader=True)
    expect(page.locator("#groups")).to_have_count(1, timeout=PATIENCE_MS)


def test_without_scripts(visit):
    """All of it is there, and the browser itself loads it anew."""
    page = visit(java_script_enabled=False)
    assert page.locator("#groups tbody tr").count() == 4
    assert page.locator("#decided tbody tr").count() == 6
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "60"
    assert page.locator("#pause").is_hidden()


def test_keyboard(visit):
    """The pause button and the links are reached, in the order in which they stand."""
    page = visit()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "pause"
    page.keyboard.press("Enter")
    assert page.locator("#pause").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("link", ["metrics", "plan", "report", "readyz"])
def test_links_lead_to_pages(visit, link: str):
    """Each answers."""
    page = visit()
    with page.expect_navigation() as found:
        page.locator(f"#more a[href={link}]").click()
    assert found.value.ok


def test_nothing_else_is_asked_for(visit, served: Served):
    """Its own policy allows its style, its scripts and itself."""
    said, asked = [], []
    page = visit()
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    with page.expect_response(served.url):
        """The page asks for itself."""
    assert set(asked) == {served.url}
    assert said == []
