"""The record of a loop's last days: written every ten minutes, read again by the next leader, shown by `reconciler report`."""

import pytest

from reconciler.control.live.ended_waits import ended_waits
from reconciler.control.live.loop_report import loop_report
from reconciler.control.live.week_record import PART, WeekRecorder, week_in
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.leading.events import Happening, Severity, Subject
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.plan.plan import Plan, PodLine, PodOutcome
from reconciler.plan.week import Week
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.rendering.documents.report import report_tree
from reconciler.rendering.printers.text.document import document_text
from tests.builders import ClusterBuilder
from tests.control.live.test_telling import REPORT, Parts
from tests.kube.api_server import FakeApiServer

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
HELD = Happening(
    subject=Subject(api_version="v1", kind="MachineDeployment", name="general"), reason="Held", action="Hold",
    note="kubectl owns spec.replicas", severity=Severity.WARNING,
)  # fmt: skip
POD = Happening(subject=Subject(api_version="v1", kind="Pod", name="p"), reason="TriggeredScaleUp", action="Resize", note="p")
GONE = RemovalProgress(target=None, node="n", state=RemovalState.FINISHED)


def turn(at: int, *removals: RemovalProgress, plan: Plan | None = REPORT.plan) -> LoopReport:
    return LoopReport(at_seconds=at, plan=plan, removals=removals)


def test_it_is_saved_every_ten_minutes_and_at_the_end() -> None:
    parts = Parts()
    recorder = WeekRecorder(parts)
    for at in range(NOW, NOW + 600, 10):
        recorder.turned(turn(at), [HELD, POD] if at == NOW else [])
    assert PART not in parts.parts
    recorder.turned(turn(NOW + 600, GONE), [])
    week = week_in(parts)
    assert week is not None
    assert [(one.decided_seconds, one.node_seconds, one.held_group_seconds, one.removed) for one in week.hours] == [
        (600, 0, 600, 1)
    ]
    assert [(one.code, one.words, one.warning) for one in week.news] == [("Held", "kubectl owns spec.replicas", True)]
    recorder.turned(turn(NOW + 610), [])
    recorder.flush()
    again = week_in(parts)
    assert again is not None
    assert again.hours[0].decided_seconds == 610


@pytest.mark.parametrize("gap", [301, -5])
def test_time_without_decisions_is_not_counted(gap: int) -> None:
    parts = Parts()
    recorder = WeekRecorder(parts)
    for at in (NOW + 1000, NOW + 1010, NOW + 1010 + gap):
        recorder.turned(turn(at), [])
    recorder.turned(turn(NOW + 1400, plan=None), [])
    recorder.turned(turn(NOW + 1410), [])
    recorder.flush()
    week = week_in(parts)
    assert week is not None
    assert sum(one.decided_seconds for one in week.hours) == 10


def test_waiting_times_are_from_creation_until_a_pod_is_seen_on_a_node() -> None:
    """`a` was created 95 s before it is seen on a node, `fresh` 7 s. `gone` never got one, and `still` has none. A pod of a
    DaemonSet and one that ran before do not count."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    for name, age, owner in (("a", 85, "Job"), ("fresh", -3, "Job"), ("old", 1, "Job"), ("agent", -3, "DaemonSet")):
        cluster.pods(name, age=age, owner=owner, on="general-1")
    cluster.pods("still", age=0)
    before, after = (
        Plan(now="", mode="Enforce", summary="", pods=tuple(PodLine(f"shop/{name}-1", PodOutcome.UNPLACEABLE) for name in names))
        for names in (("a", "gone", "still"), ("still",))
    )
    waits, never = ended_waits(before, after, cluster.world(), NOW, NOW + 10)
    assert (waits, never) == ({95: 1, 7: 1}, 1)


def test_the_next_leader_goes_on_with_it() -> None:
    parts = Parts()
    first, second = WeekRecorder(parts), WeekRecorder(parts)
    for at in (NOW, NOW + 10):
        first.turned(turn(at), [])
    first.flush()
    second.turned(turn(NOW + 20), [])
    second.turned(turn(NOW + 40), [])
    second.flush()
    week = week_in(parts)
    assert week is not None
    assert week.hours[0].decided_seconds == 30
    first.began()
    first.turned(turn(NOW + 50), [])
    first.turned(turn(NOW + 55), [])
    first.flush()
    week = week_in(parts)
    assert week is not None
    assert week.hours[0].decided_seconds == 35


def test_a_damaged_record_begins_anew() -> None:
    parts = Parts()
    parts.parts[PART] = b'{"hours": [{"atSeconds": -1}]}'
    assert week_in(parts) is None
    recorder = WeekRecorder(parts)
    recorder.turned(turn(NOW), [])
    recorder.flush()
    assert isinstance(week_in(parts), Week)


class Away(Parts):
    def load(self, part: str) -> bytes | None:
        raise StateUnavailableError("no answer")


def test_a_server_that_is_away_stops_nothing() -> None:
    recorder = WeekRecorder(Away())
    recorder.turned(turn(NOW), [HELD])
    recorder.flush()


def test_the_report_of_a_loop() -> None:
    """From the state object alone."""
    server = FakeApiServer()
    state = LockedState(StateObject(server, "reconciler", "prod"))  # type: ignore[arg-type]
    recorder = WeekRecorder(state)
    for at in range(NOW, NOW + 3600, 60):
        recorder.turned(turn(at), [HELD] if at == NOW else [])
    recorder.flush()
    document = loop_report(server, "reconciler", "prod", NOW + 3600, 24 * 3600)  # type: ignore[arg-type]
    assert document.before is None
    assert (document.figures.hours, document.figures.held_group_seconds, document.figures.most_waiting) == (1, 3540, 1)
    text = document_text(report_tree(document), width=100)
    assert "0 nodes added and 0 removed in the last 24h, and 1.0 pod hours without a node." in text
    assert "2027-01-15T08:00:00Z general: Held: kubectl owns spec.replicas" in text


def test_nothing_is_recorded_yet() -> None:
    document = loop_report(FakeApiServer(), "reconciler", "prod", NOW, 3600)  # type: ignore[arg-type]
    assert document.summary == "Nothing was decided in the last 1h, or nothing is recorded of it."
