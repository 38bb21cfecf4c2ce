"""The page that stays open: what is there, what is coming, what was decided; to those who lead only."""

import re
from html.parser import HTMLParser

import msgspec
import pytest

from reconciler.control.pages.live_page import LivePage, waiting_route
from reconciler.control.pages.outlook import Outlook
from reconciler.control.pages.route import Request
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions.memory import LeadTime, LeadTimes
from reconciler.plan.plan import ActionKind
from reconciler.values.instant import instant_text
from tests.builders import NOW
from tests.control.busy import LONG, BusyLoop, busy_loop, cluster


class Words(HTMLParser):
    """The text of each section by the id of its element, style and script left out."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.sections: dict[str, list[str]] = {"": []}
        self.links: list[str] = []
        self._at, self._raw = "", False
        self.feed(html.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._raw = tag in ("style", "script")
        if tag == "section":
            self._at = str(found["id"])
            self.sections[self._at] = []
        if tag == "a":
            self.links.append(str(found.get("href")))

    def handle_endtag(self, tag: str) -> None:
        self._raw = False
        if tag == "section":
            self._at = ""

    def handle_data(self, data: str) -> None:
        if not self._raw:
            self.sections[self._at].append(data)

    def of(self, section: str) -> str:
        return " ".join(" ".join(self.sections[section]).split())


def test_what_is_there_and_what_is_coming():
    """Groups with now, desired and rest and who holds them; nodes on their way with the time since; pods with the reason."""
    loop = busy_loop()
    assert loop.last is not None
    plan = loop.last[0]
    words = Words(loop.get().body)
    groups = words.of("groups")
    for line in plan.groups:
        assert line.name in groups
    assert "Steady state" in groups
    assert "held by kubectl" in groups
    coming = words.of("upcoming")
    assert "coming-x7k2p coming 3m40s" in coming.replace("more: ", "")
    assert "InvalidConfiguration: no such image in this region" in coming
    assert "shop/giant-*" in words.of("pods")
    assert "2 stay pending" in words.of("pods")
    assert {"metrics", "plan", "report", "readyz"} <= set(words.links)
    assert "2 longest for 3m40s, 1 failed" in words.of("")


def test_what_became_of_decisions():
    """In words, with the instants: done, under way, refused, failed."""
    told = Words(busy_loop().get().body).of("decided")
    for words in (
        "under way",
        "failed at",
        "stays: pod shop/late was bound to it meanwhile",
        "drained, and its machine is being",
    ):
        assert words in told, told


def test_the_same_page_with_the_same_state():
    """Nothing in it depends on how often it was asked for."""
    loop = busy_loop()
    first = loop.get().body
    assert loop.get().body == first


def test_one_that_does_not_lead_shows_no_plan():
    """An earlier plan would be taken for what is done now."""
    loop = busy_loop()
    loop.figures.leads(leader=False)
    answer = loop.get()
    assert answer.status == 503
    assert LONG not in answer.body.decode()
    assert "this instance leads (pod-1)" in answer.body.decode()


def test_before_the_first_turn():
    """It says so, and asks again by itself."""
    loop = BusyLoop().lead()
    answer = loop.get()
    assert (answer.status, answer.content_type) == (503, "text/html; charset=utf-8")
    assert "The first turn has not ended." in answer.body.decode()
    assert loop.get("/report").status == 503


def test_doubts_stand_on_top():
    """The plan stays, with why nothing is decided by it any more."""
    loop = busy_loop()
    loop.view_problem = "nodes: last heard 40 s ago"
    loop.figures.policy("abc", "policies/prod.yaml:3:5: no such field")
    loop.figures.turned(LoopReport(at_seconds=NOW + 30, unavailable="memory cannot be read"), 0.1, 0)
    words = Words(loop.get().body).of("")
    assert "No view to trust: nodes: last heard 40 s ago." in words
    assert "decided nothing: memory cannot be read." in words
    assert "A newer policy is refused, the last good one is in force: policies/prod.yaml:3:5: no such field." in words


def test_without_a_policy():
    """The same page in little: why, and that it will be asked for again."""
    answer = waiting_route(lambda: "there is no file in policies/", lambda: NOW).answer(
        Request(method="GET", path="/", headers={})
    )
    assert answer.status == 503
    assert "Nothing is decided: there is no file in policies/" in Words(answer.body).of("")
    assert b'http-equiv="refresh"' in answer.body


def test_both_pages_ask_who_wants_to_see_them():
    """They show objects of the cluster."""
    pages = [*BusyLoop().page.routes(), waiting_route(lambda: "", lambda: NOW)]
    assert [(page.path, page.details) for page in pages] == [("/", True), ("/report", True), ("/", True)]


def test_the_whole_report_stays():
    """With the picture, and without anything that updates."""
    body = busy_loop().get("/report").body.decode()
    assert 'class="picture' in body
    assert 'id="live"' not in body


@pytest.mark.parametrize(("kept", "told"), [({}, "for 20 s"), ({f"MachineDeployment prod/{LONG}": NOW - 7200}, "for 2 h")])
def test_a_hold_may_be_older_than_the_process(kept: dict[str, int], told: str):
    """What was kept of it counts, else when this process saw it first."""
    busy = busy_loop()
    page = LivePage(busy.figures, lambda: busy.last, lambda: busy.now, leader=lambda: "we lead", held_since=lambda: kept)
    words = Words(page.routes()[0].answer(Request(method="GET", path="/", headers={})).body).of("attention")
    assert f"{LONG}: held by kubectl {told}" in words


def test_decisions_are_folded():
    """However many nodes one plan removes, it is a line a group and reason."""
    loop = BusyLoop().lead()
    plan = loop.turn(cluster(waiting=0, failed=False), ResultState.REFUSED)
    assert sum(action.kind is ActionKind.REMOVE_NODE for action in plan.actions) == 2
    rows = re.findall(r"<tr[^>]*data-key=\"\d+ RemoveNode", loop.get().body.decode())
    assert len(rows) == 1


@pytest.mark.parametrize("took", [0.5, 20.0])
def test_the_outlook_takes_a_tenth_of_the_time(took: float):
    """Another plan is looked at anew after nine times what the last one took; till then the last one's rest is shown."""
    clock = [0.0]

    def monotonic() -> float:
        clock[0] += took / 2
        return clock[0]

    loop = busy_loop()
    assert loop.last is not None
    plan, decided = loop.last
    outlook = Outlook(monotonic)
    first = outlook.of(plan, decided)
    assert first is not None
    loop.now += 60
    other = loop.turn(cluster(waiting=6))
    assert other.digest != plan.digest
    assert loop.last is not None
    assert outlook.of(*loop.last) is first
    clock[0] += 9 * took
    later = outlook.of(*loop.last)
    assert later is not None
    assert later.at_seconds == NOW + 80


@pytest.mark.parametrize(("period", "shown"), [(0.1, 2), (2, 2), (2.9, 2), (30, 30), (60, 60), (3600, 60), (None, 10)])
def test_how_often_the_page_is_asked_for_again(period: float | None, shown: int):
    """As often as the loop turns, within two seconds and a minute."""
    busy = busy_loop()
    given = {} if period is None else {"period_seconds": period}
    page = LivePage(busy.figures, lambda: busy.last, lambda: busy.now, leader=lambda: "we lead", **given)
    body = page.routes()[0].answer(Request(method="GET", path="/", headers={})).body.decode()
    assert f'data-period="{shown}"' in body
    assert ">No view to trust" not in body


@pytest.mark.parametrize(
    ("problem", "unavailable", "leads", "told"),
    [
        ("", "", True, []),
        ("no view", "", True, ["No view to trust: no view."]),
        ("no view", "no view", True, ["No view to trust: no view."]),
        ("no view", "full", True, ["No view to trust: no view.", "decided nothing: full."]),
        ("", "full", True, ["decided nothing: full."]),
        ("no view", "full", False, ["No view to trust: no view."] * 2),
    ],
)
def test_why_a_plan_may_not_be_of_now(problem: str, unavailable: str, leads: bool, told: list[str]):
    """The same thing once, but where it also stands in the place of the plan; what the last turn of one that leads no more met is
    another one's to say."""
    loop = busy_loop()
    loop.view_problem = problem
    loop.figures.turned(LoopReport(at_seconds=NOW + 30, unavailable=unavailable), 0.1, 0)
    loop.figures.leads(leader=leads)
    words = Words(loop.get().body).of("")
    doubts = re.findall(r"No view to trust: [^.]*\.|decided nothing: [^.]*\.|The first turn has not ended\.", words)
    assert doubts == told


def test_one_that_never_led_waits_for_no_first_turn():
    """It stands by."""
    assert "The first turn has not ended" not in Words(BusyLoop().get().body).of("")


def test_a_newer_plan_is_looked_at_anew():
    """Its nodes on their way are those of its own view."""
    loop = busy_loop()
    assert "coming-bad00" in Words(loop.get().body).of("upcoming")
    loop.now += 10
    loop.turn(cluster(failed=False))
    words = Words(loop.get().body).of("upcoming")
    assert ("coming-x7k2p" in words, "coming-bad00" in words) == (True, False)
    assert loop.page._look(*loop.last) is loop.page._look(*loop.last)  # type: ignore[misc]


def test_when_nodes_are_expected():
    """Five requests took 300 s at most: the instant stands beside the one at which the machine is given up."""
    loop = busy_loop()
    plan, decided = loop.last  # type: ignore[misc]
    (target,) = {line.target for line in plan.groups if line.name == "coming"}
    took = tuple(LeadTime(NOW - 86_400 + number * 3600, 90, 300) for number in range(5))
    memory = msgspec.structs.replace(decided.memory, lead_times={target: LeadTimes(requests=took)})
    (asked,) = {node.since_seconds for node in loop.page._look(plan, decided).upcoming if node.machine == "coming-x7k2p"}
    assert instant_text(asked + 300) not in Words(loop.get().body).of("upcoming")
    loop.last = (msgspec.structs.replace(plan), msgspec.structs.replace(decided, memory=memory))
    assert f"{instant_text(asked)} {instant_text(asked + 300)} at" in Words(loop.get().body).of("upcoming")
