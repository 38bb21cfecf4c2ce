"""`reconciler status` for people: what is in force, what was refused, what is done about it, line by line."""

import msgspec
import pytest

from reconciler.decisions.situation.lead_times import LearnedLeadTime
from reconciler.plan.plan import BufferLine, BufferState, RequestLine, RequestState
from reconciler.plan.reason import Reason
from reconciler.rendering.documents.status import GroupStatus, LeaderStatus, OwnerStatus, PlanStatus, PolicyStatus, StatusDocument
from reconciler.rendering.printers.text.status import status_text

LEADS = LeaderStatus(holder="pod-7", leads=True, renewed_at="2027-01-15T07:59:55Z", transitions=1)
PLAN = PlanStatus(at="2027-01-15T06:00:00Z", summary="No changes.", digest="sha256:1", mode="Observe")
POLICY = PolicyStatus(source="git", revision="a" * 12, read_at="2027-01-15T07:59:00Z")
REFUSED = "prod.yaml:3:5: no such field (bbbbbbb). aaaaaaa stays in force"
DOCUMENT = StatusDocument(
    policy="prod", namespace="reconciler", now="2027-01-15T08:00:00Z", leader=LEADS, plan=PLAN, policy_in_force=POLICY,
    last_added_at="2027-01-15T05:00:00Z", last_removed_at="2027-01-15T05:10:00Z", last_failed_at="2027-01-15T05:20:00Z",
    groups=(
        GroupStatus(name="a", target="MachineDeployment prod/a", replicas=1),
        GroupStatus(name="b", target="MachineDeployment prod/b", replicas=2),
        GroupStatus(name="c", target="MachineDeployment prod/c"),
    ),
)  # fmt: skip


def _lines(**fields: object) -> list[str]:
    return status_text(msgspec.structs.replace(DOCUMENT, **fields)).splitlines()


def test_the_head() -> None:
    """Mode, since when the plan says so, and times with a space before them."""
    assert _lines()[:8] == [
        "policy prod · state in namespace reconciler · now 2027-01-15T08:00:00Z",
        "leader     pod-7, renewed 2027-01-15T07:59:55Z, 1 transition",
        "mode       Observe: nothing is written",
        "last plan  No changes. (the same since 2027-01-15T06:00:00Z)",
        f"policy     git at {'a' * 12}, read 2027-01-15T07:59:00Z",
        "last added    2027-01-15T05:00:00Z",
        "last removed  2027-01-15T05:10:00Z",
        "last failed   2027-01-15T05:20:00Z",
    ]


@pytest.mark.parametrize(
    ("leader", "words"),
    [(LEADS, "the same since 2027-01-15T06"), (LeaderStatus(), "no decision is made now. The last one was at 2027-01-15T06")],
)
def test_a_plan_that_nobody_renews(leader: LeaderStatus, words: str) -> None:
    """A plan that stays the same is no loop that is stuck; one that nobody decides any more is old."""
    assert words in "\n".join(_lines(leader=leader))


def test_problems_come_first() -> None:
    """A refused policy and what could not be read, each once, before who leads."""
    lines = _lines(policy_in_force=msgspec.structs.replace(POLICY, refused=REFUSED), problems=(REFUSED, "Lease x: 500"))
    assert lines[1:4] == [
        f"problem    a newer policy is refused: {REFUSED}",
        "problem    Lease x: 500",
        "leader     pod-7, renewed 2027-01-15T07:59:55Z, 1 transition",
    ]
    assert sum(REFUSED in line for line in lines) == 1


def test_enforce_says_so_and_an_unknown_mode_nothing() -> None:
    assert "mode       Enforce" in _lines(plan=msgspec.structs.replace(PLAN, mode="Enforce"))
    assert not [line for line in _lines(plan=msgspec.structs.replace(PLAN, mode="")) if line.startswith("mode")]


HELD = GroupStatus(
    name="web", target="MachineDeployment prod/web", replicas=2, desired=2, wanted=5, held=True,
    held_since="2027-01-15T06:00:00Z",
    owner=OwnerStatus(state="Held", by="terraform", evidence=("managedFields: Apply owns spec.replicas",)),
    next="take it over", block=("spec:", "  replicas: 2"), why="web is held: terraform decides",
)  # fmt: skip


def test_a_table_of_groups() -> None:
    """Held groups and those with a problem first, then what changes, then what does not; by name."""
    groups = (
        GroupStatus(name="a", target="MachineDeployment prod/a", replicas=1, desired=1),
        GroupStatus(name="b", target="MachineDeployment prod/b", replicas=1, desired=3),
        GroupStatus(name="c", target="MachineDeployment prod/c"),
        HELD,
    )
    lines = _lines(groups=groups)
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["Group"])
    assert lines[at : at + 6] == [
        "    Group  Now  Desired  Target                      State",
        "  ! c        -        -  MachineDeployment prod/c    no replicas can be read",
        "  ! web      2        2  MachineDeployment prod/web  held by terraform since 2027-01-15T06:00:00Z,",
        "                                                     would go to 5",
        "  ~ b        1        3  MachineDeployment prod/b    changes",
        "    a        1        1  MachineDeployment prod/a    steady state",
    ]


def test_each_fact_about_a_held_group_is_told_once() -> None:
    """Owner, since when, what it would do, evidence and next step."""
    text = " ".join(" ".join(_lines(groups=(HELD,))).split())
    facts = ("terraform", "2027-01-15T06:00:00Z", "go to 5", "Apply owns spec.replicas", "take it over", "replicas: 2")
    assert {fact: text.count(fact) for fact in facts} == dict.fromkeys(facts, 1) | {"2027-01-15T06:00:00Z": 2}
    assert text.endswith("web - evidence: managedFields: Apply owns spec.replicas - next: take it over spec: replicas: 2")


@pytest.mark.parametrize(
    ("fields", "state", "known"),
    [
        ({"hold": "repair until tomorrow"}, "hold on the target", ["hold: repair until tomorrow"]),
        ({"hold": "repair", "hold_over": True}, "hold is over", ["hold: repair"]),
        ({"held": True, "why": "a hold in git"}, "held", ["a hold in git"]),
        ({"held": True, "wanted": 1}, "held", []),
        (
            {"backoff_until": "2027-01-15T08:05:00Z", "backoff_reason": "no capacity"},
            "backs off until 2027-01-15T08:05:00Z", ["back-off: no capacity"],
        ),
        ({"backoff_reason": "over"}, "steady state", []),
        ({"conflict": "x undid our writes 2 times"}, "another writer", ["x undid our writes 2 times"]),
        ({"approval": "3 nodes wait"}, "waits for an approval", ["3 nodes wait"]),
    ],
)  # fmt: skip
def test_what_the_state_of_a_group_rests_on(fields: dict[str, object], state: str, known: list[str]) -> None:
    """A few words in the table, the rest below it."""
    group = msgspec.structs.replace(GroupStatus(name="g", target="t", replicas=1, desired=1), **fields)
    lines = _lines(groups=(group,))
    assert next(line for line in lines if " g " in line).endswith(f"t       {state}")
    assert [line.removeprefix("  - ") for line in lines if line.startswith("  - ")] == known


def test_lead_times_stand_below_the_groups() -> None:
    """Of those groups of which they are known."""
    known = LearnedLeadTime(requests=34, late=2, median_seconds=61, p95_seconds=None)
    groups = (GroupStatus(name="a", target="t", replicas=1), GroupStatus(name="b", target="u", replicas=1, lead_time=known))
    lines = _lines(groups=groups)
    at = lines.index("Lead times of new nodes")
    assert lines[at + 1 :] == ["  b: usable after 1m1s (median) of the last 34 requests. 2 of them did not come in time"]


def test_what_asks_for_room() -> None:
    """CapacityBuffers and ProvisioningRequests of the last plan, with their reasons; nothing without any."""
    buffer = BufferLine(buffer="shop/spare", state=BufferState.FITS, pods=3, fits=3)
    request = RequestLine(
        request="ml/train", class_name="x", state=RequestState.SHORT, pods=9, reasons=(Reason("RequestShort", "only 7 of 9"),)
    )
    lines = _lines(buffers=(buffer,), provisioning_requests=(request,))
    start = lines.index("Room for ProvisioningRequests")
    assert lines[start : start + 6] == [
        "Room for ProvisioningRequests",
        "  ml/train: no room for 9 pods",
        "    - only 7 of 9",
        "",
        "Room for CapacityBuffers",
        "  shop/spare: room for 3 pods, 3 now",
    ]
    assert not any("Room for" in line for line in _lines())
