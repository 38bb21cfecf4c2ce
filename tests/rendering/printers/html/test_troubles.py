"""What needs attention on the live page, and the lines of its tiles."""

import re

import msgspec
import pytest

from reconciler.decisions.outcome.upcoming_nodes import UpcomingNode
from reconciler.plan.decided import Decision, Fate
from reconciler.plan.plan import ActionKind, GroupLine, Ownership, OwnerState, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason
from reconciler.providers.contract import WriteCode
from reconciler.rendering.printers.html.recent import Sample, ago, lasting, line, size_lines, span_words
from reconciler.rendering.printers.html.troubles import Known, Trouble, trouble_list, troubles
from reconciler.rendering.words.failed_writes import aftermath

NOW, AT = 1_800_000_000, "2027-01-15T08:00:00Z"
EMPTY = Plan(now="", mode="Enforce", summary="")
REFUSED = Decision(
    at_seconds=NOW - 30, kind=ActionKind.RESIZE, group="general-a", target="MachineDeployment prod/general-a", from_=2, to=5,
    fate=Fate.REFUSED, code="Conflict", words='conflict with "kubectl"', fate_seconds=NOW - 30, last_seconds=NOW - 10, times=3,
)  # fmt: skip


def told(plan: Plan = EMPTY, **known: object) -> list[Trouble]:
    """All of them, kind after kind."""
    found = troubles(plan, Known(now_seconds=NOW, period_seconds=10, **known))  # type: ignore[arg-type]
    return [trouble for kind in found for trouble in kind]


def ends(*entries: Decision) -> list[str]:
    return [trouble.what for trouble in told(decisions=entries)]


def test_a_refused_write() -> None:
    """What, since the first try, how often, what the loop does and what to do."""
    (found,) = told(decisions=(REFUSED,))
    assert msgspec.structs.asdict(found) == {
        "key": "write Resize MachineDeployment prod/general-a Conflict",
        "what": "general-a: resize 2 -> 5 refused",
        "why": '3 tries: conflict with "kubectl"',
        "since_seconds": NOW - 30,
        "loop": "retry in 10 s. The group is held while that manager owns spec.replicas",
        "reader": "leave spec.replicas out of what that manager writes, or name it in spec.adoptFrom",
        "danger": True,
    }


def test_what_was_done_since_is_no_trouble() -> None:
    """A later write of that target that was done, or is under way, ends it; one of another target does not."""
    done = msgspec.structs.replace(REFUSED, fate=Fate.UNDER_WAY, code="", at_seconds=NOW, last_seconds=NOW)
    other = msgspec.structs.replace(done, target="MachineDeployment prod/b")
    assert ends(REFUSED, done) == []
    assert ends(REFUSED, other) == ["general-a: resize 2 -> 5 refused"]
    assert ends(done, msgspec.structs.replace(REFUSED, last_seconds=NOW + 1)) == ["general-a: resize 2 -> 5 refused"]


@pytest.mark.parametrize(("age", "number"), [(3600, 1), (3601, 0)])
def test_what_was_not_met_again_is_told_for_an_hour(age: int, number: int) -> None:
    assert len(ends(msgspec.structs.replace(REFUSED, last_seconds=NOW - age, fate_seconds=NOW - age))) == number


def test_another_size_that_meets_the_same_is_the_same_trouble() -> None:
    """Since the first of them; another code begins again."""
    first = msgspec.structs.replace(REFUSED, to=4, fate_seconds=NOW - 90, last_seconds=NOW - 40, times=2)
    (found,) = told(decisions=(first, REFUSED))
    assert (found.what, found.since_seconds, found.why) == (
        "general-a: resize 2 -> 5 refused",
        NOW - 90,
        '5 tries: conflict with "kubectl"',
    )
    (anew,) = told(decisions=(msgspec.structs.replace(first, code="Stale"), REFUSED))
    assert anew.since_seconds == NOW - 30


def test_nodes_that_stay_for_one_cause_are_one() -> None:
    """Three drains that were given up."""
    stays = tuple(
        msgspec.structs.replace(
            REFUSED, kind=ActionKind.REMOVE_NODE, nodes=(f"n{at}",), fate=Fate.FAILED, code="Blocked", words="a pod came", times=1
        )
        for at in (1, 2, 3)
    )
    (found,) = told(decisions=stays)
    assert found.what == "general-a: removal of n1, n2, n3 failed"
    assert found.loop == "the node takes pods again. Its unneeded time starts again"


@pytest.mark.parametrize("code", [*WriteCode, "", "AnyOther"])
@pytest.mark.parametrize("kind", list(ActionKind))
def test_every_code_says_what_follows(code: str, kind: ActionKind) -> None:
    """Both halves, as clauses. A code that a provider may answer has advice of its own."""
    after = aftermath(kind, str(code), 10)
    assert after.loop
    assert after.reader
    assert not after.loop.endswith(".")
    if code in tuple(WriteCode):
        assert after.reader not in (aftermath(kind, "AnyOther", 10).reader, aftermath(kind, "", 10).reader)


@pytest.mark.parametrize(
    ("kind", "code", "until", "loop"),
    [
        (ActionKind.RESIZE, "Stale", 0, "retry in 10 s"),
        (ActionKind.RESIZE, "Unknown", 0, "the target is read again in 10 s"),
        (ActionKind.RESIZE, "Refused", NOW, "the group backs off. Retry at 2027-01-15T08:00:00Z"),
        (ActionKind.RESIZE, "Failed", NOW, "the group backs off. Retry at 2027-01-15T08:00:00Z"),
        (ActionKind.RESIZE, "Denied", NOW, "retry at 2027-01-15T08:00:00Z"),
        (ActionKind.ADOPT, "Refused", 0, "retry in 10 s"),
        (ActionKind.REMOVE_NODE, "Denied", NOW, "the node takes pods again. Retry at 2027-01-15T08:00:00Z"),
        (ActionKind.REMOVE_NODE, "Unavailable", 0, "the node takes pods again. Retry in 10 s"),
    ],
)
def test_what_the_loop_does(kind: ActionKind, code: str, until: int, loop: str) -> None:
    """By code, and by the instant until which nothing is tried."""
    assert aftermath(kind, code, 10, until).loop == loop


def test_machines_that_do_not_arrive() -> None:
    """A group and reason is one, since the oldest; those that are still expected are none."""
    fails = [UpcomingNode(group="gpu", since_seconds=NOW - age, machine=f"m{age}", failed="no capacity") for age in (60, 500)]
    waits = UpcomingNode(group="gpu", since_seconds=NOW - 900, machine="m900")
    (found,) = told(upcoming=(*fails, waits), backoffs={"gpu": NOW + 300})
    assert (found.what, found.why, found.since_seconds) == (
        "gpu: 2 machines will not arrive (m60, m500)",
        "no capacity",
        NOW - 500,
    )
    assert found.loop == "the group does not grow until 2027-01-15T08:05:00Z"
    assert "reconciler hold gpu" in found.reader
    (over,) = told(upcoming=fails[:1], backoffs={"gpu": NOW})
    assert (over.what, over.loop, over.reader) == (
        "gpu: machine m60 will not arrive",
        "the request stays for now",
        "fix the cause that the message names",
    )


def held(name: str, wanted: int | None = None) -> GroupLine:
    owner = Ownership(state=OwnerState.HELD, by="terraform", evidence=("managedFields: terraform (Apply) owns spec.replicas",))
    return GroupLine(
        name=name, target=f"MachineDeployment prod/{name}", tier="", current=2, desired=2, wanted=wanted, min=0, max=9,
        held=True, owner=owner,
    )  # fmt: skip


def test_held_groups() -> None:
    """Alike ones together, since the first of them; what they would do, and each fact once."""
    plan = msgspec.structs.replace(EMPTY, groups=(held("a", 5), held("b", 5)))
    (found,) = told(plan, held_since={"MachineDeployment prod/a": NOW - 60, "MachineDeployment prod/b": NOW - 7200})
    assert (found.what, found.since_seconds, found.danger) == ("a, b: held by terraform", NOW - 7200, False)
    assert found.loop == "nothing is written, and a would go 2 -> 5, and 1 more group would change"
    assert found.why == "managedFields: terraform (Apply) owns spec.replicas"
    (still,) = told(msgspec.structs.replace(EMPTY, groups=(held("a", 2),)))
    assert still.loop == "nothing is written, and no size would change"


def test_groups_under_a_hold_of_a_person() -> None:
    """Whose words they are, and one command for all of them. Nobody else decides these groups."""
    reason = Reason(code="GroupHeld", message="held: racks move (annotation reconciler.dev/hold, written by kubectl since noon)")
    groups = tuple(
        msgspec.structs.replace(held(name), owner=Ownership(state=OwnerState.OURS, by="nodegroup-reconciler"), reasons=(reason,))
        for name in ("a", "b")
    )
    (found,) = told(msgspec.structs.replace(EMPTY, groups=groups))
    assert (found.what, found.why) == ("a, b: held", reason.message)
    assert found.reader.startswith("`reconciler hold a b --release` ends a hold on the target")


@pytest.mark.parametrize(
    ("pods", "doubts", "calm", "words"),
    [
        (0, (), True, "Nothing needs attention"),
        (1, (), False, "1 pod stays pending: the reasons are below."),
        (0, ("A newer policy is refused.",), False, "No write was refused or failed"),
    ],
)
def test_the_green_line(pods: int, doubts: tuple[str, ...], calm: bool, words: str) -> None:
    """Only if nothing is refused, held, pending or old."""
    waiting = tuple(PodLine(pod=f"shop/{number}", outcome=PodOutcome.UNPLACEABLE) for number in range(pods))
    plan = msgspec.structs.replace(EMPTY, pods=waiting)
    markup = trouble_list(plan, Known(now_seconds=NOW, period_seconds=10), doubts).markup
    assert ("calm" in markup, "Nothing needs attention" in markup) == (calm, calm)
    assert words in markup


def test_each_kind_is_on_the_first_screen() -> None:
    """Of twenty refused writes, a machine and a held group the first three are one of each; six are shown at once."""
    many = [msgspec.structs.replace(REFUSED, target=f"t{at}", group=f"g{at}") for at in range(20)]
    gone = UpcomingNode(group="gpu", since_seconds=NOW, machine="m", failed="no capacity")
    plan = msgspec.structs.replace(EMPTY, groups=(held("a"),))
    markup = trouble_list(plan, Known(now_seconds=NOW, period_seconds=10, decisions=many, upcoming=(gone,))).markup
    shown = re.findall(r"<p><b>([^<]*)</b>", markup.partition("<details")[0])
    assert [text.partition(":")[0] for text in shown] == ["g0", "gpu", "a", "g1", "g2", "g3"]
    assert "22 problems to look at" in markup
    assert "16 more" in markup


def test_nothing_needs_attention() -> None:
    markup = trouble_list(EMPTY, Known(now_seconds=NOW, period_seconds=10)).markup
    assert "Nothing needs attention" in markup
    assert "<ul" not in markup


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (12, "12 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (172_799, "47 h"),
        (172_800, "2 d"),
    ],
)
def test_how_long(seconds: int, words: str) -> None:
    """The largest unit, rounded down; the instant is there for who points at it."""
    assert span_words(seconds) == words
    assert ago(NOW, NOW + seconds).markup == f'<time datetime="{AT}" title="{AT}">{words} ago</time>'
    assert 'title="since 2027-01-15T08:00:00Z"' in lasting(NOW, NOW + seconds).markup


def samples(*values: tuple[int, int]) -> list[Sample]:
    """So many minutes ago, so many nodes."""
    return [Sample(at_seconds=NOW - 60 * minutes, nodes=nodes, pending=0) for minutes, nodes in values]


def drawn(those: list[Sample]) -> tuple[str, list[str]]:
    markup = line("Nodes", those, NOW, lambda sample: sample.nodes, str).markup
    return markup, re.findall(r'class="line-a" d="([^"]*)"', markup)


def test_a_line_of_six_hours() -> None:
    """The last step is at the right end; between samples the value stays, and after ten minutes there is a gap."""
    markup, paths = drawn(samples((8, 4), (0, 8)))
    # 180 steps over 632 units from 4 on: step 175 begins at 4 + 632*175//180 = 618, step 179 at 632.
    assert paths == ["M618 115H632V30H636"]
    assert 'aria-label="Nodes, last 10 min: 4 to 8"' in markup
    _, apart = drawn(samples((60, 4), (0, 8)))
    assert len(apart) == 2


def test_only_what_is_within_six_hours_is_drawn() -> None:
    """A loop that has decided nothing for longer has no line; nor has what has no value."""
    assert drawn(samples((361, 4)))[0] == ""
    assert line("Cost", samples((0, 1)), NOW, lambda sample: sample.cost_micros, str).markup == ""
    assert "last 6 h: 4" in drawn(samples((358, 4)))[0]


def test_groups_whose_size_changed_have_a_line() -> None:
    """One that stayed, and one of which nothing is known any more, have none."""
    sizes = ({"x/grows": 2, "x/same": 3, "x/gone": 1}, {"x/grows": 9, "x/same": 3, "x/gone": 2})
    kept = [Sample(at_seconds=NOW - 60 * ago, nodes=0, pending=0, sizes=one) for ago, one in zip((8, 0), sizes, strict=True)]
    lines = size_lines(kept, NOW, {"x/grows": "grows", "x/same": "same"})
    assert list(lines) == ["x/grows"]
    assert 'aria-label="grows, last 10 min: 2 to 9"' in lines["x/grows"].markup
