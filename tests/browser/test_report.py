"""The HTML report in a real browser.

Looked at on 2026-11-22, the plan of the example at 320, 768 and 1280 px: headline, four figures and the actions with their
reasons are on the first screen; at 320 px the figures stand two by two and nothing goes sideways; below 1,000 px groups are cards
with named values, above it a table; the sign, the colour and the words of a change say the same. On the same day the reports of
openb (436 removals) and of a preview, too: pods with a place were ten equal rows for ten nodes and are one, a fifth figure stood
alone in an empty line, arrows broke behind their hyphen, a column of prices was there without any price, and the cost of a mix
was told twice; mended. What is left: a held group's way out breaks inside of `machineDeployments[name=fixed]` at 1280 px.
"""

from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Page

from reconciler.plan.picture import Picture, Pictures
from reconciler.rendering.printers.html.plan import plan_html
from tests.browser.conftest import BEYOND, SCHEMES, WIDTHS, Axe, Open, Opened, Windows
from tests.rendering.test_any_size import plans

VISIBLE_ROWS = "#groups tbody tr:not(.gone)"


@pytest.fixture(scope="module", params=["plan", "preview"])
def report(request: pytest.FixtureRequest, kept_windows: Windows) -> Opened:
    """Both reports, each opened once for all that look at it and change nothing but its size and colours."""
    return kept_windows.show(request.getfixturevalue(f"{request.param}_page"))


@pytest.fixture(scope="module")
def used_page(kept_windows: Windows, plan_page: str) -> Page:
    """The report of the plan, for those that do something with it."""
    return kept_windows.show(plan_page).page


@pytest.fixture
def plan(used_page: Page) -> Page:
    """The same, loaded anew."""
    address = used_page.url.partition("#")[0]
    used_page.goto("about:blank")  # without it, what was typed may come back
    used_page.goto(address)
    return used_page


@pytest.mark.parametrize("width", WIDTHS)
def test_accessible(axe: Axe, report: Opened, width: int):
    """axe-core finds nothing at all, with every fold open, in light and dark."""
    bad, met = axe.look(report.sized(width))
    assert bad == []
    assert met > 20
    bad, met = axe.look(report.sized(width, scheme="dark"), colours_only=True)
    assert bad == []
    assert met >= 1


def test_axe_sees_a_fault(axe: Axe, plan: Page):
    """The check above would notice: a picture without a name, and a text as dark as its ground."""
    plan.emulate_media(color_scheme="dark")
    plan.evaluate("document.querySelector('[data-counted]').setAttribute('role', 'img')")
    plan.evaluate("document.querySelector('.lead').style.color = '#222'")
    assert {"role-img-alt", "color-contrast"} <= {name for name, _ in axe.look(plan)[0]}
    plan.emulate_media(color_scheme="light")


def test_nothing_is_loaded_and_nothing_is_refused(report: Opened):
    """The only request is the file itself; its own style and script pass its own policy without a word."""
    assert [url.rpartition("/")[2] for url in report.requests] == ["report.html"]
    assert report.console == []
    assert report.page.locator("#filter").is_visible()
    assert report.page.evaluate("getComputedStyle(document.body).margin") == "0px"


def test_policy_stops_a_foreign_script(open_page: Open, plan_page: str):
    """Even where markup got in, an inline script, an event handler, an image and a form go nowhere."""
    foreign = (
        "<script>window.hit=1</script><img src=http://127.0.0.1:9/x onerror='window.hit=2'><p style='color:red'>x</p></main>"
    )
    opened = open_page(plan_page.replace("</main>", foreign))
    assert opened.page.evaluate("window.hit") is None
    assert len(opened.console) >= 3
    assert all("Content Security Policy" in line for line in opened.console)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screen(report: Opened, width: int):
    """Neither the page nor a table in it scrolls sideways, with every fold open."""
    page = report.sized(width, 800)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(BEYOND) == []


@pytest.mark.parametrize("width", [390, 768])
def test_reasons_stand_below_what_they_are_for(report: Opened, width: int):
    """On a phone and a tablet a row's reasons are on the screen at full width, below its name, and each value names itself."""
    rows = report.sized(width, 800).evaluate(
        """[...document.querySelectorAll('#groups tbody tr, #nodes tbody tr')].map((row) => {
          const why = row.querySelector('.why'), name = row.querySelector('.name').getBoundingClientRect();
          const box = why.getBoundingClientRect();
          return {empty: !why.textContent, below: box.top >= name.bottom, ends: box.right, share: box.width / row.clientWidth,
            named: [...row.cells].slice(1).every((cell) => getComputedStyle(cell, '::before').content.includes(cell.dataset.as))};
        })"""
    )
    told = [row for row in rows if not row["empty"]]
    assert len(told) > 10
    assert all(row["below"] and row["ends"] <= width and row["share"] > 0.8 for row in told)
    assert all(row["named"] for row in rows)


def test_stacked_rows_are_still_tables(open_page: Open, preview_page: str):
    """The accessibility tree of a narrow page has the tables, rows, headings and cells of a wide one."""
    opened, found = open_page(preview_page), []
    for width in (390, 1280):
        page = opened.sized(width, 800)
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        roles = Counter(node["role"]["value"] for node in nodes if not node["ignored"])
        found.append({role: roles[role] for role in ("table", "row", "columnheader", "rowheader", "cell")})
    assert found[0] == found[1]
    assert min(found[0].values()) >= 4


def test_tables_need_no_scrolling_on_a_desk(report: Opened):
    """At 1280 pixels every column is seen whole, also where a reason holds a path as long as a field of a topology."""
    page = report.sized(1280)
    assert "spec.topology.workers.machineDeployments[name=fixed]" in page.inner_text("main")
    assert page.evaluate(BEYOND) == []


def test_colour_schemes(report: Opened):
    """Light ground and dark text, or the other way round."""
    sums = {}
    for scheme in SCHEMES:
        page = report.sized(1280, scheme=scheme)
        colours = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
        sums[scheme] = [sum(int(part) for part in colour[4:-1].split(",")) for colour in colours]
    assert sums["light"][0] > 3 * 230 > 3 * 60 > sums["light"][1]
    assert sums["dark"][0] < 3 * 60 < 3 * 200 < sums["dark"][1]


def test_without_script(open_page: Open, plan_page: str):
    """Everything can be read; what would do nothing is not there."""
    page = open_page(plan_page, java_script_enabled=False).page
    assert page.locator("#filter").is_hidden()
    assert page.locator(VISIBLE_ROWS).count() == 4
    assert page.get_by_text("auto: resize 2 → 9").is_visible()
    assert page.get_by_text("untolerated taint").first.is_visible()
    page.locator("summary", has_text="batch/hungry-*").first.click()
    assert page.locator("details[open]", has_text="batch/hungry-*").count() == 1


def test_search(plan: Page):
    """`/` goes to the search, words are all looked for, the number is announced, Escape takes it back."""
    plan.keyboard.press("/")
    assert plan.evaluate("document.activeElement.id") == "search"
    plan.keyboard.type("topology HELD")
    assert plan.locator(VISIBLE_ROWS).count() == 1
    assert "c1-fixed-bq6lz" in plan.locator(f"{VISIBLE_ROWS} th").inner_text()
    status = plan.locator("#found")
    status.get_by_text("entr").wait_for()
    assert status.get_attribute("role") == "status"
    shown = plan.locator("[data-counted]:not(.gone)").count()
    assert status.inner_text() == (f"{shown} entries" if shown > 1 else "1 entry")
    plan.keyboard.press("Escape")
    assert plan.locator(VISIBLE_ROWS).count() == 4
    plan.locator("#found:empty").wait_for(state="attached")


def test_search_for_nothing(plan: Page):
    """What nobody is called says so; sections of the picture go with their nodes."""
    plan.locator("#search").fill("no such thing at all")
    plan.locator("#found", has_text="Nothing found").wait_for()
    assert plan.locator(".tiles li:visible").count() == 0
    assert plan.locator("[data-block]:visible").count() == 0


def test_filter_by_group(plan: Page):
    """One group: its row, its nodes, its pods and its actions."""
    plan.locator("#group").select_option(label="big")
    assert plan.locator(VISIBLE_ROWS).count() == 1
    assert plan.locator("#nodes tbody tr:visible").count() == 3
    assert plan.locator("#actions li:visible").count() >= 2
    assert plan.locator("#pods details:visible").count() == 1


def joined_and_left(plan: dict[str, Any]) -> tuple[int, int, int]:
    """Nodes now, those that join on the way to rest and those that leave, from the sizes of all groups."""
    steps = [group["settled"] - group["current"] for group in plan["groups"]]
    return len(plan["nodes"]), sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0)


def test_filter_what_changes(plan: Page, plan_json: dict[str, Any]):
    """Only nodes that come, go or get pods stay in the pictures."""
    _, joined, left = joined_and_left(plan_json)
    plan.locator("#moves").check()
    assert plan.locator(".picture").nth(0).locator("li:visible").count() == left
    assert plan.locator(".picture").nth(1).locator("li:visible .joins").count() == joined >= 1
    assert plan.locator(".picture").nth(1).locator("li:visible", has_not=plan.locator(".joins, .f")).count() == 0


def test_picture(plan: Page, plan_json: dict[str, Any]):
    """A box for every node, before and after; those that join say so, their pods are told as new there."""
    now, joined, left = joined_and_left(plan_json)
    assert plan.locator(".picture").nth(0).locator(".tile").count() == now
    assert plan.locator(".picture").nth(0).locator(".tile.leaves").count() == left
    rest = plan.locator(".picture").nth(1)
    assert rest.locator(".tile").count() == now + joined - left
    assert rest.locator(".tile.joins").count() == joined
    assert rest.locator(".tile.joins").first.get_attribute("aria-label").endswith("new here, joins")
    assert rest.locator(".tile.joins .f").count() >= joined


def test_blocks_stay_in_their_node(report: Opened):
    """No pod is drawn outside the box of its node, and no two of one node lie on each other."""
    tiles = report.page.evaluate(
        """[...document.querySelectorAll('.tile svg')].map((svg) => [...svg.querySelectorAll('rect:not(.box)')].map(
          (r) => ['x', 'y', 'width', 'height'].map((name) => +r.getAttribute(name))))"""
    )
    assert sum(len(blocks) for blocks in tiles) > 50
    for blocks in tiles:
        for index, (x, y, width, height) in enumerate(blocks):
            assert (x >= 2, y >= 2, x + width <= 90, y + height <= 50) == (True,) * 4
            for other_x, other_y, other_width, other_height in blocks[index + 1 :]:
                apart = x + width <= other_x or other_x + other_width <= x or y + height <= other_y or other_y + other_height <= y
                assert apart


def test_keyboard(plan: Page):
    """Tab goes to the skip link first, then through everything, each with a visible ring, and comes to an end."""
    plan.keyboard.press("Tab")
    assert plan.evaluate("document.activeElement.textContent") == "Skip to the content"
    wanted = plan.evaluate("document.querySelectorAll('a[href], input, select, summary, [tabindex=\"0\"]').length")
    seen, unringed = {"skip"}, []
    for _ in range(wanted + 5):
        plan.keyboard.press("Tab")
        place = plan.evaluate(
            """(() => { const e = document.activeElement, s = getComputedStyle(e);
              if (e === document.body) return null;
              e.dataset.stop ??= String(document.querySelectorAll('[data-stop]').length);
              return [e.dataset.stop, e.tagName, s.outlineStyle + parseFloat(s.outlineWidth)]; })()"""
        )
        if place is None:
            break
        seen.add(place[0])
        unringed += [place] if place[2] in ("none0", "none2", "none3") else []
    assert len(seen) == wanted
    assert unringed == []


def test_a_node_of_the_picture_leads_to_its_row(plan: Page):
    """Enter on a box of now goes to the row of that node."""
    tile = plan.locator(".picture").nth(0).locator("a.tile").first
    name = tile.get_attribute("aria-label").partition(":")[0]
    tile.focus()
    plan.keyboard.press("Enter")
    assert plan.locator("tr:target th").inner_text() == name


def test_names_of_others_are_text(open_page: Open, plan: Page, hostile_page: str):
    """Markup in names, reasons and problems is shown as it was written, and does nothing."""
    opened = open_page(hostile_page)
    assert opened.console == []
    assert opened.page.evaluate("window.hit") is None
    assert opened.page.locator("main img, main script, main iframe, main object").count() == 0
    assert opened.page.get_by_text("<img src=x onerror=window.hit=1>").first.is_visible()
    ours = set(plan.evaluate("[...document.querySelectorAll('*')].map((e) => e.tagName)"))
    theirs = set(opened.page.evaluate("[...document.querySelectorAll('*')].map((e) => e.tagName)"))
    assert theirs <= ours


def test_a_large_plan_is_short_on_a_phone(open_page: Open):
    """1,500 nodes of 75 groups, 1,160 of which leave: at most six screens of 400 x 800, and what is folded is a click or a search
    away."""
    now = plans(1_500)[1]
    page = open_page(plan_html(now, Pictures(now=Picture())), viewport={"width": 400, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollHeight") <= 6 * 800
    node = now.actions[0].nodes[0]
    line = page.locator("#actions li li", has_text=node).first
    assert not line.is_visible()
    page.get_by_role("searchbox").fill(node)
    line.wait_for(state="visible")
