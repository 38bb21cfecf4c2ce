"""What a turn leaves for people: Events on the cluster of each object, the plan beside the memory, and who may not tell."""

from typing import Any

import msgspec
import pytest

from reconciler.control.live.plan_record import plan_in
from reconciler.control.live.telling import Telling
from reconciler.control.turn.turn_report import LoopReport
from reconciler.kube.connection.api import ContentType
from reconciler.kube.leading.events import Subject
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.collection import cluster_api
from reconciler.plan.plan import GroupLine, Ownership, OwnerState, Plan, PodLine, PodOutcome
from reconciler.plan.reason import Reason
from tests.builders import ClusterBuilder, machine_deployment

TARGET = str(machine_deployment("general"))
SERVED = (cluster_api(version="v1beta2"),)
LINE = GroupLine(
    name="general", target=TARGET, tier="", current=1, desired=1, min=0, max=9, held=True,
    owner=Ownership(state=OwnerState.HELD, by="kubectl", evidence=("kubectl owns spec.replicas",)),
)  # fmt: skip
LARGE = PodLine(
    pod="shop/large", outcome=PodOutcome.UNPLACEABLE, reasons=(Reason(code="NoFit", message="no group is large enough"),)
)
REPORT = LoopReport(at_seconds=1000, plan=Plan(now="", mode="Enforce", summary="1 held.", groups=(LINE,), pods=(LARGE,)))
NOTHING = LoopReport(at_seconds=1010, unavailable="no view")


class Cluster:
    """Keeps the Events that are written; `lost`: a guard refuses."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.counts: list[int] = []
        self.lost = ""

    def write(self, method: str, path: str, body: dict[str, Any], *, content_type: ContentType = ContentType.JSON) -> bytes:
        if self.lost:
            raise NotLeaderError(self.lost)
        if method == "POST":
            about = body["regarding"]
            self.events.append(
                (f"{about['apiVersion']} {about['kind']} {about['namespace']}/{about['name']}", body["reason"], body["note"])
            )
        else:
            self.counts.append(body["series"]["count"])
        return b"{}"


class Parts:
    """A state object in memory."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self.loads = 0

    def load(self, part: str) -> bytes | None:
        self.loads += 1
        return self.parts.get(part)

    def save(self, part: str, content: bytes) -> bool:
        self.parts[part] = content
        return True


class Objects:
    """A custom resource that stands for the target, and the turns that it was told."""

    def __init__(self) -> None:
        self.told: list[LoopReport] = []

    def subjects(self, plan: Plan | None) -> dict[str, Subject]:
        custom = Subject(api_version="reconciler.dev/v1alpha1", kind="NodeGroup", name="general", namespace="reconciler")
        return {TARGET: custom} if plan is not None else {}

    def turned(self, report: LoopReport) -> None:
        self.told.append(report)


class Stage:
    """Two clusters, a state and a view with one target."""

    def __init__(self, objects: Objects | None = None) -> None:
        self.workload, self.management, self.parts = Cluster(), Cluster(), Parts()
        self.lost: list[str] = []
        self.news: list[tuple[int, tuple[str, ...]]] = []
        self.now = 1000.0
        self.telling = Telling(
            self.workload, self.management, self.parts, objects,  # type: ignore[arg-type]
            identity="pod-1", wall_seconds=lambda: self.now, lost=self.lost.append,
            news=lambda happenings, at_seconds: self.news.append((at_seconds, tuple(one.reason for one in happenings))),
        )  # fmt: skip
        cluster = ClusterBuilder()
        cluster.group("general", nodes=1)
        self.world = cluster.world()

    def turn(self, report: LoopReport = REPORT) -> tuple[list[Any], list[Any]]:
        """Events of the cluster of the pods and of that of the targets, since the last call."""
        self.telling.turned(report, self.world, SERVED)
        found = (list(self.workload.events), list(self.management.events))
        self.workload.events.clear()
        self.management.events.clear()
        return found


HELD = ("cluster.x-k8s.io/v1beta2 MachineDeployment prod/general", "Held", "kubectl owns spec.replicas")
NO_NODE = ("v1 Pod shop/large", "NotTriggerScaleUp", "no group is large enough")


def test_each_event_goes_to_the_cluster_that_its_object_is_of() -> None:
    """Pods to the one whose pods are placed, targets to the one that holds them; the plan is kept beside the memory."""
    stage = Stage()
    assert stage.turn() == ([NO_NODE], [HELD])
    record = plan_in(stage.parts)
    assert record is not None
    assert (record.summary, record.groups[0].line.name) == ("1 held.", "general")


def test_news_are_what_the_events_are() -> None:
    stage = Stage()
    stage.turn()
    stage.turn()
    assert stage.news == [(1000, ("Held", "NotTriggerScaleUp")), (1000, ())]


def test_what_was_told_of_the_plan_before_is_not_told_again() -> None:
    """Also after turns that decided nothing; who leads anew tells all of it, as one more of the same."""
    stage = Stage()
    stage.turn()
    assert stage.turn() == ([], [])
    assert stage.turn(NOTHING) == ([], [])
    assert stage.turn() == ([], [])
    stage.telling.began()
    assert stage.turn() == ([], [])
    assert (stage.workload.counts, stage.management.counts) == ([2], [2])


def test_who_leads_anew_reads_what_another_one_told_of_the_plan() -> None:
    """The record that is there may be of the one that led in between."""
    stage = Stage()
    stage.turn()
    before = stage.parts.loads
    stage.turn()
    assert stage.parts.loads == before
    stage.telling.began()
    stage.turn()
    assert stage.parts.loads > before


def test_custom_resources_are_told_in_the_stead_of_their_targets() -> None:
    """And each turn, whether or not it decided something."""
    objects = Objects()
    stage = Stage(objects)
    custom = ("reconciler.dev/v1alpha1 NodeGroup reconciler/general", "Held", "kubectl owns spec.replicas")
    assert stage.turn() == ([NO_NODE], [custom])
    stage.turn(NOTHING)
    assert objects.told == [REPORT, NOTHING]


def test_without_a_view_only_pods_are_told() -> None:
    """Where a target lies is what the view says."""
    stage = Stage()
    stage.telling.turned(REPORT, None, SERVED)
    assert (stage.workload.events, stage.management.events) == ([NO_NODE], [])


@pytest.mark.parametrize("which", ["workload", "management"])
def test_one_that_does_not_lead_any_more_says_so_and_tells_nothing(which: str) -> None:
    """Nor when it ends: the counts are lost, and nothing fails."""
    stage = Stage()
    stage.turn()
    stage.telling.began()
    stage.turn()
    stage.telling.began()
    stage.turn()
    getattr(stage, which).lost = "pod-2 leads"
    more = msgspec.structs.replace(LINE, name="b", owner=Ownership(state=OwnerState.HELD, evidence=("somebody else",)))
    pod = msgspec.structs.replace(LARGE, pod="shop/other")
    plan = Plan(now="", mode="Enforce", summary="2 held.", groups=(LINE, more), pods=(pod,))
    stage.turn(LoopReport(at_seconds=1020, plan=plan))
    assert stage.lost == ["pod-2 leads"]
    stage.telling.flush()
    assert (stage.management.counts, stage.workload.counts) == (([2], [2]) if which == "management" else ([2, 3], [2]))


def test_counts_that_were_not_written_are_written_at_the_end() -> None:
    """A series is written with its second member, then rarely: the third is written before the process ends."""
    stage = Stage()
    for _ in range(3):
        stage.telling.began()
        stage.turn()
    assert (stage.management.counts, stage.workload.counts) == ([2], [2])
    stage.telling.flush()
    assert (stage.management.counts, stage.workload.counts) == ([2, 3], [2, 3])
