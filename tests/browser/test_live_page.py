"""The page of a running loop in a real browser, from a real server.

What a person saw on 2026-11-22 in its pictures of 320, 768 and 1280 pixels, light, and of 1280 dark: one column on the phone
with every value named above it, nothing cut and nothing to scroll sideways; figures two by two there, in one row of four from
the tablet on; signs, colours and words say the same; sizes and instants stay on one line; a name of 64 characters breaks at its
hyphens; what failed stands first among upcoming nodes; the button and the links have visible edges in both schemes.
"""

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from reconciler.control.pages.http_server import HttpServer
from reconciler.control.turn.turn_report import ResultState
from tests.browser.conftest import BEYOND, WIDTHS, Axe, Opened, Windows
from tests.control.busy import HELD_GROUP, LOST_MACHINE, REFUSED_WRITE, BusyLoop, busy_loop, cluster, faulty_loop

PATIENCE_MS = 60_000
PERIOD_MS = 2_100  # the page asks every two seconds


class Served:
    """A loop with its pages on a port of its own."""

    def __init__(self, loop: BusyLoop) -> None:
        self.loop = loop
        self.server = HttpServer(("127.0.0.1", 0), loop.routes(), lambda _: None, lambda *_: None)
        self.url = f"http://127.0.0.1:{self.server.port}/"
        self.server.start()


@pytest.fixture(scope="module")
def kept() -> Iterator[Served]:
    """A loop in which nothing happens, for all that only look at its page."""
    found = Served(busy_loop())
    yield found
    found.server.stop()


@pytest.fixture(scope="module")
def still(kept: Served, kept_windows: Windows) -> Opened:
    """Its page with updates paused."""
    opened = kept_windows.visit(kept.url)
    opened.page.get_by_role("button", name="Pause updates").click()
    return opened


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served(busy_loop())
    yield found
    found.server.stop()


@pytest.fixture(scope="module")
def window(kept_windows: Windows) -> Page:
    """For pages that tests do something with. Their clock stands until a test lets it run."""
    page = kept_windows.visit("about:blank").page
    page.set_default_timeout(PATIENCE_MS)
    page.clock.install(time=0)
    page.clock.pause_at(1)
    return page


@pytest.fixture
def page(window: Page, served: Served) -> Page:
    """The page of a loop of its own; how often it asked is counted."""
    window.goto(served.url)
    window.evaluate("window.asked = 0; const real = fetch; window.fetch = (...all) => { window.asked++; return real(...all); }")
    return window


@pytest.mark.parametrize("width", WIDTHS)
def test_accessible(still: Opened, axe: Axe, width: int):
    """axe-core finds nothing at all, with every fold open and updates paused, in light and dark."""
    bad, met = axe.look(still.sized(width))
    assert bad == []
    assert met > 20
    bad, met = axe.look(still.sized(width, scheme="dark"), colours_only=True)
    assert bad == []
    assert met >= 1


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(still: Opened, width: int):
    """Neither the page nor a table, with every fold open."""
    page = still.sized(width, 800)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BEYOND) == []


def test_it_updates_itself(page: Page, served: Served):
    """Another decision is shown without loading the page anew: focus, folds and search stay, the summary is announced."""
    page.evaluate("window.same = true")
    lot = page.locator("#pods details", has_text="shop/web-*")
    lot.locator("summary").click()
    expect(lot).to_contain_text("shop/web-3")
    page.get_by_role("searchbox").fill("shop")
    before = page.locator(".lead").inner_text()
    served.loop.now += 60
    served.loop.turn(cluster(waiting=7), ResultState.DONE)
    page.clock.run_for(PERIOD_MS)
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
    page.clock.run_for(PERIOD_MS)
    assert page.locator("#groups tbody tr:visible").count() == 4


def test_updates_can_be_paused(page: Page, served: Served):
    """Then nobody is asked until it goes on, and going on asks at once."""
    page.get_by_role("button", name="Pause updates").click()
    asked = page.evaluate("window.asked")
    served.loop.now += 60
    served.loop.turn(cluster(waiting=7), ResultState.DONE)
    page.clock.run_for(5 * PERIOD_MS)
    assert page.evaluate("window.asked") == asked
    page.get_by_role("button", name="Pause updates").click()
    expect(page.locator("#pods")).to_contain_text("7 pods", timeout=PATIENCE_MS)
    assert page.evaluate("window.asked") == asked + 1


def test_a_loop_that_does_not_answer(page: Page, served: Served):
    """What was shown stays, and says that it is old."""
    served.server.stop()
    page.clock.run_for(PERIOD_MS)
    expect(page.locator("#trouble")).to_contain_text("has not been updated since", timeout=PATIENCE_MS)
    assert page.locator("#groups tbody tr").count() == 4
    served.server = HttpServer(("127.0.0.1", 0), (), lambda _: None, lambda *_: None)
    served.server.start()


def test_one_that_gives_up_leading(page: Page, served: Served):
    """The plan goes from an open page too, and comes back."""
    served.loop.figures.leads(leader=False)
    page.clock.run_for(PERIOD_MS)
    expect(page.locator("#groups")).to_have_count(0, timeout=PATIENCE_MS)
    served.loop.figures.leads(leader=True)
    page.clock.run_for(PERIOD_MS)
    expect(page.locator("#groups")).to_have_count(1, timeout=PATIENCE_MS)


def test_without_scripts(kept: Served, windows: Windows):
    """All of it is there, and the browser itself loads it anew."""
    page = windows.visit(kept.url, java_script_enabled=False).page
    assert page.locator("#groups tbody tr").count() == 4
    assert page.locator("#decided tbody tr").count() == 6
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "60"
    assert page.locator("#pause").is_hidden()


def test_keyboard(window: Page, kept: Served):
    """The pause button and the links are reached, in the order in which they stand."""
    window.goto(kept.url)
    window.keyboard.press("Tab")
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.id") == "pause"
    window.keyboard.press("Enter")
    assert window.locator("#pause").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("link", ["metrics", "plan", "report", "readyz"])
def test_links_lead_to_pages(window: Page, kept: Served, link: str):
    """Each answers."""
    window.goto(kept.url)
    with window.expect_navigation() as found:
        window.locator(f"#more a[href={link}]").click()
    assert found.value.ok


def test_nothing_else_is_asked_for(kept: Served, windows: Windows):
    """Its own policy allows its style, its scripts and itself."""
    opened = windows.visit(kept.url)
    with opened.page.expect_response(kept.url):
        """The page asks for itself."""
    assert set(opened.requests) == {kept.url}
    assert opened.console == []


FAULTS = {
    REFUSED_WRITE: ("general-a: resize 2 → 5 refused", 'conflict with "kubectl"', "retry in 2 s", "spec.adoptFrom"),
    LOST_MACHINE: (
        "gpu: machine gpu-x7k2p will not arrive",
        "QuotaExceeded",
        "does not grow until",
        "fix the cause that the message names",
    ),
    HELD_GROUP: ("batch: held by terraform", "terraform (Apply) owns spec.replicas", "nothing is written", "spec.adoptFrom"),
}
SCREENS = ((1280, 720), (360, 740))


@pytest.mark.parametrize("faults", [*((fault,) for fault in FAULTS), tuple(FAULTS)], ids=[*FAULTS, "all three"])
def test_each_fault_is_named_on_the_first_screen(faults: tuple[str, ...], kept_windows: Windows, axe: Axe):
    """A refused write, a machine that never arrives and a held group: each with since when, what the loop does and what to do.
    Name, time and cause stand within the first screen of a desk and of a phone, without a scroll or a click."""
    served = Served(faulty_loop(*faults))
    opened = kept_windows.visit(served.url)
    served.server.stop()
    entries = opened.page.locator("#attention > ul > li")
    assert entries.count() == len(faults)
    for (width, height), fault in itertools.product(SCREENS, faults):
        opened.page.set_viewport_size({"width": width, "height": height})
        entry = entries.filter(has_text=FAULTS[fault][0])
        for words in FAULTS[fault]:
            expect(entry).to_contain_text(words)
        for part in (entry.locator("b").first, entry.locator("time"), entry.locator(".why")):
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height, f"{fault} at {width}: {box}"
    assert axe.look(opened.page, "#attention")[0] == []


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_the_first_screen_says_that_nothing_is_wrong(kept_windows: Windows, width: int, height: int):
    """And shows the figures on a desk."""
    served = Served(faulty_loop())
    page = kept_windows.visit(served.url).page
    served.server.stop()
    page.set_viewport_size({"width": width, "height": height})
    box = page.get_by_text("Nothing needs attention").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= height
    assert page.locator("#attention li").count() == 0


def test_figures_have_their_last_six_hours(still: Opened):
    """Nodes and pending pods, each with a line that says its spread; nothing has a price there."""
    page = still.sized(1280)
    lines = [page.locator(".spark").nth(at).get_attribute("aria-label") for at in range(page.locator(".spark").count())]
    # Twenty seconds are within one step of two minutes, which shows the highest value.
    assert lines == ["Nodes in groups, last 2 min: 11", "Pending pods, last 2 min: 5"]
    assert page.locator(".spark .line-a").count() == 2


def test_an_age_has_its_instant(still: Opened):
    """For who points at it."""
    age = still.page.locator(".facts time")
    assert (age.inner_text(), age.get_attribute("title")) == ("0 s ago", "2027-01-15T08:00:20Z")


def test_groups_that_change_come_first(still: Opened):
    """In the order of the plan: what changes or is held, then what stays."""
    rows = still.page.locator("#groups tbody tr")
    moves = [rows.nth(at).get_attribute("data-moves") is not None for at in range(rows.count())]
    assert moves == sorted(moves, reverse=True)


def test_what_changes_keeps_pods_that_stay_pending(page: Page):
    """Who asks for what changes also wants to see what does not get on."""
    page.locator("#moves").check()
    expect(page.locator("#pods details", has_text="shop/giant-*")).to_be_visible()
    expect(page.locator("#nodes tbody tr:visible", has_text="general-a-1")).to_have_count(0)
