"""`reconciler status` for people: what is in force, what was refused, what is done about it, line by line."""

import msgspec
import pytest

from reconciler.rendering.status import (
    GroupStatus,
    LeaderStatus,
    PlanStatus,
    PolicyStatus,
    StatusDocument,
    status_text,
)

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
    [(LEADS, "the same since 2027-01-15T06"), (LeaderStatus(), "nobody decides now; it said so at 2027-01-15T06")],
)
def test_a_plan_that_nobody_renews(leader: LeaderStatus, words: str) -> None:
    """A plan that stays the same is no loop that is stuck; one that nobody decides any more is old."""
    assert words in "\n".join(_lines(leader=leader))


def test_what_was_refused_stands_below_what_is_in_force() -> None:
    """Once, and not among the problems at the end."""
    lines = _lines(policy_in_force=msgspec.structs.replace(POLICY, refused=REFUSED), problems=(REFUSED, "Lease x: 500"))
    at = lines.index(f"policy     git at {'a' * 12}, read 2027-01-15T07:59:00Z")
    assert lines[at + 1] == f"refused    {REFUSED}"
    assert [line for line in lines if line.startswith("problem:")] == ["problem: Lease x: 500"]


def test_enforce_says_so_and_an_unknown_mode_nothing() -> None:
    assert "mode       Enforce" in _lines(plan=msgspec.structs.replace(PLAN, mode="Enforce"))
    assert not [line for line in _lines(plan=msgspec.structs.replace(PLAN, mode="")) if line.startswith("mode")]


def test_counts_of_replicas() -> None:
    """One, several, and none that can be read."""
    assert [line.strip() for line in _lines() if "MachineDeployment" in line] == [
        "a  1 replica (MachineDeployment prod/a)", "b  2 replicas (MachineDeployment prod/b)",
        "c  - replicas (MachineDeployment prod/c)",
    ]  # fmt: skip
