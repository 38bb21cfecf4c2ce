"""Charts of a replay: what is drawn where, what is said in words, and how large a page gets."""

import json
import re
from collections.abc import Sequence

import msgspec
import pytest

from reconciler.plan.replay import GroupFigures, Replay, ReplayFigures, ReplaySeries, TargetNodes
from reconciler.rendering.documents.replay import replay_document, replay_values
from reconciler.rendering.printers.html.chart import Axis, area, climb, marks, numbered, shaded, stairs
from reconciler.rendering.printers.html.element import MOST_CHARACTERS
from reconciler.rendering.printers.html.replay import replay_html
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.over_time import bars, columns, resource_series
from reconciler.rendering.printers.text.document import document_text
from tests.rendering.printers.html.test_html import HOSTILE, Elements
from tests.rendering.printers.html.test_html_replay import figures, replay

LARGEST_BYTES = 200_000
LONG = "a-name-that-is-very-long-" * 40
AXIS = Axis(step_seconds=900, whole_seconds=3_600, most=10)
"""Four steps; 632 units across from 4 on, 170 upwards from 200."""


def busy(side: ReplayFigures, name: str) -> ReplayFigures:
    """240 steps in each of which everything changes, and more targets than are told by name."""
    waves = tuple(1 + at * 7919 % 97 for at in range(240))
    total = tuple(7 * wave for wave in waves)
    series = ReplaySeries(
        step_seconds=15, demand_cpu_milli=waves, demand_memory_bytes=waves, capacity_cpu_milli=total,
        capacity_memory_bytes=total, pending_pods=waves, nodes=total,
        targets=tuple(TargetNodes(f"{name}{number}", waves) for number in range(6)), evictions=waves,
        cost=tuple(f"{at}.00" for at in range(240)),
    )  # fmt: skip
    group = GroupFigures(target="t", node_seconds=1, peak_nodes=1, grown_nodes=1, removed_nodes=0, cost=None)
    targets = tuple(msgspec.structs.replace(group, target=f"{number}-{name}") for number in range(20))
    return msgspec.structs.replace(side, series=series, targets=targets)


def two(name: str = "name") -> Replay:
    return replay(busy(figures(name, 90, "239.00"), name), busy(figures(f"{name}2", 30, "239.00"), name))


def labels(page: Elements) -> list[str]:
    """What a screen reader says of each drawing."""
    return [str(attributes["aria-label"]) for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]


def test_every_chart_has_a_title_and_its_main_numbers_in_words():
    """Of one policy: the numbers are those of the series above it."""
    page = Elements(replay_html(replay(figures("after", 30, "0.77"))))
    assert labels(page) == [
        "CPU: demand and capacity: demand up to 1.5 cores, capacity up to 4 cores, up to 3 pods pending, in 2 of 240 steps, "
        "2 pods evicted",
        "Cost so far: after: $0.77 in the end",
        "Nodes by group: up to 2 nodes, 2 at the end, MachineDeployment capi/general up to 2",
        "Memory: demand and capacity: demand up to 2Gi, capacity up to 8Gi, up to 3 pods pending, in 2 of 240 steps, "
        "2 pods evicted",
    ]
    assert sum(tag == "figcaption" for tag, _ in page.tags) == 4
    text = " ".join(page.text)
    for words in ("shaded, bars below: pods pending, up to 3", "2 pods evicted", "1: MachineDeployment capi/general, up to 2"):
        assert words in text


def test_two_policies_are_drawn_at_one_scale():
    """A chart a policy and one of both costs, whose lines differ in more than their colour."""
    small, large = figures("small", 90, "1.00"), figures("large", 30, "4.00")
    large = msgspec.structs.replace(large, series=msgspec.structs.replace(large.series, capacity_cpu_milli=(8_000,) * 240))
    page = Elements(replay_html(replay(small, large)))
    assert page.text.count("8 cores") == 2
    assert "Cost so far: small: $1.00 in the end, large: $4.00 in the end" in labels(page)
    lines = [(attributes["class"], attributes["d"]) for tag, attributes in page.tags if tag == "path" and "class" in attributes]
    # A tenth of a dollar up to the last of 240 steps, where it is one of four; four of four.
    assert ("line-a", "M4 200L6 196H633L636 158") in lines
    assert ("line-b", "M4 200L6 196H633L636 30") in lines


def test_without_a_price_there_is_no_chart_of_cost():
    """Nothing is drawn of what nobody knows."""
    side = figures("after", 30, "1.00")
    unknown = msgspec.structs.replace(side, cost=None, series=msgspec.structs.replace(side.series, cost=None))
    assert not any(label.startswith("Cost") for label in labels(Elements(replay_html(replay(unknown)))))


def test_nothing_runs_and_nothing_loads():
    """No script at all, no source, no handler, no style in an attribute; the policy of the page says so."""
    page = Elements(replay_html(two()))
    policy = next(a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    assert "script-src 'none'" in str(policy)
    assert [tag for tag, _ in page.tags if tag in ("script", "img", "form", "iframe")] == []
    names = {name for _, attributes in page.tags for name in attributes}
    assert not {name for name in names if name in ("src", "style") or name.startswith("on")}
    ids = page.values("id")
    assert {link.removeprefix("#") for link in page.values("href")} <= set(ids)
    assert len(ids) == len(set(ids))


def test_names_of_others_are_text():
    """The same elements with harmless and hostile names of policies, traces, clusters and targets."""
    pages = [Elements(replay_html(msgspec.structs.replace(two(name), trace=name, cluster=name))) for name in ("name", HOSTILE)]
    assert [tag for tag, _ in pages[0].tags] == [tag for tag, _ in pages[1].tags]
    assert [set(attributes) for _, attributes in pages[0].tags] == [set(attributes) for _, attributes in pages[1].tags]
    assert HOSTILE in "".join(pages[1].text)


def test_no_drawing_is_cut():
    """Paths of 240 steps are longer than any text may be."""
    found = Elements(replay_html(two())).values("d")
    assert max(map(len, found)) > MOST_CHARACTERS
    assert [one for one in found if re.fullmatch(r"[MLHVhlvz0-9 -]+", one) is None] == []


def test_a_page_is_bounded_and_the_same_every_time():
    """Everything changes in every step, names are a thousand characters long."""
    page = replay_html(two(LONG))
    assert len(page.encode()) < LARGEST_BYTES
    assert page == replay_html(two(LONG))


def test_one_core_is_one():
    """And not one cores."""
    series = figures("after", 30, "1.00").series
    cpu = resource_series(msgspec.structs.replace(series, demand_cpu_milli=(1_000,)))[0]
    assert [cpu.amount(value) for value in (0, 500, 1_000, 2_000)] == ["0 cores", "0.5 cores", "1 core", "2 cores"]


def test_an_empty_cluster_is_drawn():
    """No node, no pod, no time: zeros divide nothing."""
    side = figures("after", 0, "0.00")
    zero = (0,)
    series = ReplaySeries(
        step_seconds=1, demand_cpu_milli=zero, demand_memory_bytes=zero, capacity_cpu_milli=zero, capacity_memory_bytes=zero,
        pending_pods=zero, nodes=zero, targets=(), evictions=zero, cost=("0.00",),
    )  # fmt: skip
    empty = msgspec.structs.replace(replay(msgspec.structs.replace(side, series=series, targets=())), seconds=0)
    assert len(labels(Elements(replay_html(empty)))) == 4
    assert "demand up to 0 cores" in document_text(replay_document(empty), width=100)


def drawn(html: str) -> list[str]:
    return re.findall(r' d="([^"]*)"', html)


def test_a_line_holds_each_value_for_its_step():
    """Steps are 158 units long; 5 of 10 is half of 170 above 200, 10 of 10 all of it. Equal steps need no point between them."""
    assert drawn(stairs(AXIS, (5, 5, 10, 0), "k").markup) == ["M4 115H320V30H478V200H636"]


def test_an_area_lies_on_what_is_below():
    """From 2 to 5: from 200 - 34 up to 200 - 85."""
    assert drawn(area(AXIS, (3,) * 4, "k", (2,) * 4).markup) == ["M4 115H636V166H4z"]
    assert area(AXIS, (0,) * 4, "k").markup == ""


def test_cost_climbs_from_nothing():
    """Through the end of each step."""
    assert drawn(climb(AXIS, (1, 2, 5, 10), "k").markup) == ["M4 200L162 183L320 166L478 115L636 30"]


def test_pending_pods_are_shaded_and_counted_by_bars():
    """Steps 1 and 2: a shade over each, and bars of half and of the whole 26."""
    shade, columns_drawn = drawn(shaded(AXIS, (0, 2, 4, 0)).markup)
    assert shade == "M162 30h158V200h-158zM320 30h158V200h-158z"
    assert columns_drawn == "M162 232v-13h158v13zM320 232v-26h158v26z"
    assert shaded(AXIS, (0,) * 4).markup == ""


def test_evictions_are_marks():
    """One in the middle of each step that has some."""
    assert drawn(marks(AXIS, (0, 9, 0, 1)).markup) == ["M241 234l5 10h-10zM557 234l5 10h-10z"]
    assert marks(AXIS, (0,) * 4).markup == ""


@pytest.mark.parametrize(("value", "there"), [(1, False), (2, True)])
def test_an_area_is_numbered_where_it_has_room(value: int, there: bool):
    """17 units are too low for a number, 34 are not; it stands in the middle of the highest step."""
    found = numbered(AXIS, 3, (0, value, 0, 0), (0,) * 4).markup
    assert ('x="241"' in found) == there


# Bars in a terminal.


@pytest.mark.parametrize(
    ("values", "most", "shown"),
    [((0, 1, 8), 8, " ▁█"), ((0, 1, 100), 100, " ▁█"), ((4, 5), 8, "▄▅"), ((0, 0), 0, "  ")],
)
def test_bars(values: Sequence[int], most: int, shown: str):
    """Eighths, rounded up, so that nothing above zero looks like zero."""
    assert bars(values, most) == shown


def test_columns_keep_the_largest():
    """240 steps of a minute in 60 columns are four each; a peak of one step is still there."""
    values = [0] * 240
    values[7] = 9
    assert columns(values, 60, 14_400) == (0, 9, *(0,) * 58)


def test_few_steps_are_stretched_and_a_step_may_lie_in_two_columns():
    """Three steps of 10 s in two columns of 15 s: the middle one counts in both."""
    assert columns((1, 5, 2), 10, 30, 2) == (5, 5)
    assert columns((1, 5, 2), 10, 30, 6) == (1, 1, 5, 5, 2, 2)


@pytest.mark.parametrize("width", [0, 100, 80, 60, 40])
def test_text_has_rows_of_sixty_columns_where_they_fit(width: int):
    """Three rows a policy; no line is longer than the width."""
    lines = document_text(replay_document(two()), width=width).splitlines()
    rows = [line for line in lines if line.startswith(("    demand    ", "    capacity  ", "    pending   "))]
    assert len(rows) == 6
    assert {len(line) for line in rows if line.startswith("    capacity  ")} == {min(width, 74) if width else 74}
    assert not width or max(len(line) for line in rows) <= width


def test_memory_is_told_where_no_pod_requests_cpu():
    """Otherwise the row would be blank."""
    side = figures("after", 1, "1.00")
    bare = msgspec.structs.replace(side, series=msgspec.structs.replace(side.series, demand_cpu_milli=(0,) * 240))
    assert "memory: demand up to 2Gi, capacity up to 8Gi, pending pods up to 3" in document_text(
        replay_document(replay(bare)), width=100
    )


def test_json_has_the_series():
    """Integers and decimal strings, in columns."""
    series = json.loads(json_text(replay_values(replay(figures("after", 1, "1.00"))), None))["sides"][0]["series"]
    assert (series["stepSeconds"], series["pendingPods"][98], series["cost"][-1]) == (15, 3, "1.00")
    assert series["targets"][0]["target"] == "MachineDeployment capi/general"
