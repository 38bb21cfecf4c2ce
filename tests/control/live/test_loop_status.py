"""What is said of a loop that is not asked itself: from its Lease, its state and its policy object, and what of it is missing."""

import json
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence
from reconciler.cluster.targets.hold_mark import hold_text
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.plan_record import PlanRecorder
from reconciler.control.live.source_standing import StandingRecord
from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.memory import BackoffState, ConflictState, LeadTime, LeadTimes, Memory
from reconciler.decisions.situation.lead_times import LearnedLeadTime
from reconciler.gitops.git.fault import Fault, FaultCode
from reconciler.gitops.sources.last_good import LastGood
from reconciler.gitops.sources.standing import Standing
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.state import StateObject
from reconciler.plan.plan import GroupLine, Ownership, OwnerState, Plan
from reconciler.plan.reason import Reason
from reconciler.rendering.documents.status import LeaderStatus, PlanStatus, PolicyStatus, StatusDocument
from tests.builders import ClusterBuilder
from tests.kube.api_server import FakeApiServer

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
A, B = "MachineDeployment prod/a", "MachineDeployment prod/b"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/reconciler/leases/reconciler-prod"
POLICY = "/apis/reconciler.dev/v1alpha1/nodegrouppolicies/prod"


class _Server(FakeApiServer):
    """Has these objects, and answers these paths by a failure or by bytes."""

    def __init__(self, **answers: Any) -> None:
        super().__init__()
        for path, answer in answers.items():
            if isinstance(answer, dict):
                self.put(path, answer)
            else:
                self.unreadable[path] = answer

    @property
    def state(self) -> LockedState:
        return LockedState(StateObject(self, "reconciler", "prod"))  # type: ignore[arg-type]


def _status(server: _Server, now_seconds: int = NOW, **more: object) -> StatusDocument:
    return loop_status(server, "reconciler", "prod", more.pop("targets", {}), now_seconds, **more)


def _line(name: str, **fields: object) -> GroupLine:
    given: dict[str, object] = {"current": 2, "desired": 2, "owner": Ownership(state=OwnerState.OURS), **fields}
    return GroupLine(name=name, target=f"MachineDeployment prod/{name}", tier="", min=0, max=9, **given)


def test_nothing_was_left_behind() -> None:
    """No Lease, no state, no object: nothing is known, and that is no problem."""
    assert _status(_Server()) == StatusDocument(
        policy="prod", namespace="reconciler", now="2027-01-15T08:00:00Z", leader=LeaderStatus(), plan=PlanStatus(),
        policy_in_force=PolicyStatus(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "leader"),
    [
        (
            {"holderIdentity": "pod-7", "leaseDurationSeconds": 15, "renewTime": "2027-01-15T07:59:45Z", "leaseTransitions": 3},
            LeaderStatus(holder="pod-7", leads=True, renewed_at="2027-01-15T07:59:45Z", transitions=3),
        ),
        (
            {"holderIdentity": "pod-7", "leaseDurationSeconds": 15, "renewTime": "2027-01-15T07:59:44Z"},
            LeaderStatus(holder="pod-7", leads=False, renewed_at="2027-01-15T07:59:44Z"),
        ),
        ({"leaseDurationSeconds": 15, "renewTime": "2027-01-15T08:00:00Z"}, LeaderStatus(renewed_at="2027-01-15T08:00:00Z")),
        (
            {"holderIdentity": "pod-7", "renewTime": "2027-01-15T07:59:59Z"},
            LeaderStatus(holder="pod-7", leads=False, renewed_at="2027-01-15T07:59:59Z"),
        ),
        ({"holderIdentity": "pod-7", "renewTime": "once"}, LeaderStatus(holder="pod-7")),
        ({}, LeaderStatus()),
    ],
)
def test_who_leads(spec: dict[str, object], leader: LeaderStatus) -> None:
    """Whoever holds a Lease that has not run out."""
    found = _status(_Server(**{LEASE: {"spec": spec}}))
    assert found.leader == leader
    assert found.problems == ()


@pytest.mark.parametrize(("holder", "since"), [("pod-7", "2027-01-15T07:56:58Z"), ("", "")])
def test_a_leader_that_does_not_decide(holder: str, since: str) -> None:
    """It renews its Lease, and its cluster does not answer, Without a leader, that is what is wrong."""
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2027-01-15T07:59:59Z"}
    text = json.dumps({"told": NOW, "at": NOW - 182, "why": "refused", "away": True})
    lease = {"metadata": {"annotations": {"reconciler.dev/last-decision": text}}, "spec": spec}
    found = _status(_Server(**{LEASE: lease}))
    assert found.leader.not_decided_since == since
    assert found.problems == ((f"does not answer, not decided since {since}: refused",) if since else ())


def test_a_plan_from_the_policy_object() -> None:
    """Where no plan was recorded; what the loop itself said comes first."""
    status = {"summary": "No changes.", "planDigest": "sha256:1", "planTime": "2027-01-15T07:00:00Z"}
    server = _Server(**{POLICY: {"status": status}})
    assert _status(server).plan == PlanStatus(at="2027-01-15T07:00:00Z", summary="No changes.", digest="sha256:1")
    asked = PlanStatus(at="2027-01-15T07:59:00Z", summary="Plan: …", digest="sha256:2")
    assert _status(server, plan=asked).plan == asked
    PlanRecorder(server.state).turned(
        LoopReport(at_seconds=NOW - 60, plan=Plan(now="", mode="Enforce", summary="New.", digest="d"))
    )
    assert _status(server).plan == PlanStatus(at="2027-01-15T07:59:00Z", summary="New.", digest="d", mode="Enforce")


@pytest.mark.parametrize(
    ("path", "error", "problem"),
    [
        (LEASE, ApiError(403, "Forbidden", "no"), "Lease reconciler/reconciler-prod: 403 Forbidden: no"),
        (LEASE, UnreachableError("no answer"), "Lease reconciler/reconciler-prod: no answer"),
        (POLICY, ApiError(500, "", "broken"), "NodeGroupPolicy prod: 500: broken"),
        (LEASE, b"{", "Lease reconciler/reconciler-prod: Input data was truncated"),
    ],
)
def test_what_cannot_be_read_is_a_problem(path: str, error: object, problem: str) -> None:
    """Nothing raises, and the rest is told."""
    found = _status(_Server(**{path: error}))
    assert found.problems == (problem,)
    assert (found.leader, found.plan) == (LeaderStatus(), PlanStatus())


def test_a_state_that_cannot_be_read() -> None:
    """Memory, plan and policy are in it: each says so."""
    path = "/api/v1/namespaces/reconciler/configmaps/reconciler-state-prod"
    found = _status(_Server(**{path: ApiError(403, "Forbidden", "no")}))
    assert len(found.problems) == 3
    assert all("403 Forbidden: no" in problem for problem in found.problems)


def test_the_policy_in_force() -> None:
    """Where from, since when, who signed it, and why it is not the newest."""
    server = _Server()
    kept = LastGood(source="git", revision="a" * 40, root="", files={}, read_seconds=NOW - 60, signer="Ann")
    StateLastGoodStore(server.state).save(kept)
    found = _status(server)
    assert found.policy_in_force == PolicyStatus(source="git", revision="a" * 40, read_at="2027-01-15T07:59:00Z", signer="Ann")
    assert found.problems == ()

    StandingRecord(server.state).save(Standing(source="git", revision="a" * 40))
    assert _status(server).problems == ()

    fault = Fault(code=FaultCode.INVALID_POLICY, message="a.yaml has 1 error")
    StandingRecord(server.state).save(Standing(source="git", revision="a" * 40, fault=fault, since_seconds=NOW))
    found = _status(server)
    (problem,) = found.problems
    assert "a.yaml has 1 error" in problem
    assert found.policy_in_force.refused == problem


def test_a_source_that_cannot_be_reached_refuses_nothing() -> None:
    """It is a problem, and the policy in force may well be the newest."""
    server = _Server()
    fault = Fault(code=FaultCode.UNREACHABLE, message="git is away")
    StandingRecord(server.state).save(Standing(source="git", revision="a" * 40, fault=fault, since_seconds=NOW))
    found = _status(server)
    assert ("git is away" in found.problems[0], found.policy_in_force.refused) == (True, "")


def test_the_policy_in_force_where_another_place_keeps_its_bytes() -> None:
    """With --last-good FILE the state may hold none: the source says what is in force all the same, and what was refused."""
    server = _Server()
    fault = Fault(code=FaultCode.INVALID_POLICY, message="a.yaml has 1 error")
    StandingRecord(server.state).save(Standing(source="git", revision="a" * 40, fault=fault, since_seconds=NOW))
    found = _status(server).policy_in_force
    assert (found.source, found.revision, found.read_at) == ("git", "a" * 40, "")
    assert "a.yaml has 1 error" in found.refused


def test_the_mode_of_the_last_plan() -> None:
    server = _Server()
    PlanRecorder(server.state).turned(LoopReport(at_seconds=NOW, plan=Plan(now="", mode="Observe", summary="S.", digest="d")))
    assert _status(server).plan.mode == "Observe"


def test_times_and_drains() -> None:
    """Nodes by name with when their removal began; what never happened has no time."""
    server = _Server()
    LiveMemoryStore(server.state).save(Memory(leaving={"n2": NOW - 60, "n1": NOW}, last_added_seconds=NOW - 3600))
    found = _status(server)
    assert [(drain.node, drain.since) for drain in found.drains] == [
        ("n1", "2027-01-15T08:00:00Z"),
        ("n2", "2027-01-15T07:59:00Z"),
    ]
    assert (found.last_added_at, found.last_removed_at, found.last_failed_at) == ("2027-01-15T07:00:00Z", "", "")


def test_groups_of_the_memory_where_no_plan_was_recorded() -> None:
    """Name, hold, back-off and conflict; sorted by name."""
    server = _Server()
    memory = Memory(
        known_groups={B: "b", A: "a"},
        held_groups=("b",),
        backoffs={
            "a": BackoffState(failures=1, failed_seconds=NOW, until_seconds=NOW + 60, reason="out of stock"),
            "b": BackoffState(failures=1, failed_seconds=NOW, until_seconds=NOW, reason="over"),
        },
        conflicts={B: ConflictState(count=3, last_seconds=NOW, writer="kubectl", ours=2, theirs=5)},
    )
    LiveMemoryStore(server.state).save(memory)
    first, second = _status(server).groups

    assert (first.name, first.target, first.held, first.replicas, first.desired) == ("a", A, False, None, None)
    assert (first.backoff_until, first.backoff_reason, first.conflict) == ("2027-01-15T08:01:00Z", "out of stock", "")
    assert (second.name, second.held) == ("b", True)
    assert (second.backoff_until, second.backoff_reason) == ("", "")
    assert second.conflict == "kubectl undid our writes 3 times: 2 -> 5"
    assert (second.why, second.next, second.approval, second.held_since) == ("", "", "", "")


def test_lead_times_of_the_memory() -> None:
    """As learned by an earlier process; of b nothing is known."""
    server = _Server()
    took = tuple(LeadTime(NOW - 9000 + number, 50, 60 + number) for number in range(4))
    LiveMemoryStore(server.state).save(Memory(known_groups={B: "b", A: "a"}, lead_times={A: LeadTimes(requests=took)}))
    first, second = _status(server).groups
    assert (first.lead_time, second.lead_time) == (LearnedLeadTime(requests=4, late=0, median_seconds=61, p95_seconds=63), None)


def test_groups_of_the_last_plan() -> None:
    """They come before those of the memory; why is told of a held one alone."""
    server = _Server()
    LiveMemoryStore(server.state).save(Memory(known_groups={"MachineDeployment prod/old": "old"}, held_groups=("a",)))
    held = Reason(code="GroupHeld", message="held: maintenance")
    lines = (_line("b", held=True, wanted=4, reasons=(held,)), _line("a", desired=3, reasons=(held,)))
    PlanRecorder(server.state).turned(
        LoopReport(at_seconds=NOW - 60, plan=Plan(now="", mode="Enforce", summary="", groups=lines))
    )
    first, second = _status(server).groups

    assert (first.name, first.held, first.desired, first.wanted, first.why) == ("a", False, 3, None, "")
    assert (second.name, second.held, second.desired, second.wanted) == ("b", True, 2, 4)
    assert second.why == "held: maintenance"
    assert second.held_since == "2027-01-15T07:59:00Z"
    assert second.owner.state == "Ours"


@pytest.mark.parametrize(
    ("hold", "over"),
    [
        ("", False),
        ("maintenance", False),
        (hold_text("maintenance", "2027-01-15T08:00:01Z"), False),
        (hold_text("maintenance", "2027-01-15T08:00:00Z"), True),
    ],
)
def test_the_hold_on_a_target(hold: str, over: bool) -> None:
    """As it is written there, and whether its end has passed."""
    server = _Server()
    LiveMemoryStore(server.state).save(Memory(known_groups={A: "a"}))
    cluster = ClusterBuilder()
    cluster.target("a", 4, evidence=OwnerEvidence(hold=hold))
    (facts,) = cluster.world().targets
    (group,) = _status(server, targets={A: msgspec.structs.replace(facts)}).groups

    assert (group.replicas, group.hold, group.hold_over) == (4, hold, over)
