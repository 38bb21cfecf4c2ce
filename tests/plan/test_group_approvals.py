"""Approvals for the loop, in commit messages."""

import pytest

from reconciler.plan.approvals.group_approvals import GROUP_TRAILER, group_trailer, read_group_approvals
from reconciler.policy.pace import GroupApproval

DIGEST = "sha256:" + "a" * 64
UNTIL = 1_800_000_000
ABOUT = f"policy={DIGEST} cluster=prod group=prod/general until=2027-01-15T08:00:00Z nodes<=8"
EIGHT = GroupApproval(policy_digest=DIGEST, cluster="prod", group="prod/general", until_seconds=UNTIL, nodes=8)


def test_read() -> None:
    """One trailer a group, beside others; the approvals of saved plans are other ones."""
    message = (
        f"Fewer nodes\n\n{GROUP_TRAILER}: {ABOUT}\nSigned-off-by: Ada <a@b.c>\n"
        f"reconciler-approve-removals: {ABOUT.replace('general', 'spot')}\nReconciler-Approve: {ABOUT}\n"
    )
    approvals, problems = read_group_approvals(message)
    assert [one.group for one in approvals] == ["prod/general", "prod/spot"]
    assert (approvals[0], problems) == (EIGHT, ())


@pytest.mark.parametrize(("words", "said"), [
    (ABOUT.replace("nodes<=8", ""), "nodes<=N is missing"),
    (ABOUT.replace("nodes<=8", "nodes=8"), "unknown word 'nodes=8'"),
    (ABOUT.replace("nodes<=8", "nodes<=12345678"), "unknown word"),
    (f"{ABOUT} nodes<=9", "nodes appears twice"),
    (ABOUT.replace(DIGEST, "sha256:abc"), "invalid digest"),
    (ABOUT.replace("2027-01-15T08:00:00Z", "tomorrow"), "until: "),
    (ABOUT.replace("group=prod/general", ""), "group= is missing"),
    (f"{ABOUT} plan=x", "unknown word 'plan=x'"),
], ids=str)  # fmt: skip
def test_what_cannot_be_read_approves_nothing(words: str, said: str) -> None:
    """And is told."""
    approvals, problems = read_group_approvals(f"Fewer\n\n{GROUP_TRAILER}: {words}\n")
    assert approvals == ()
    assert said in problems[0]


def test_the_line_that_is_asked_for_can_be_read_once_it_has_an_end() -> None:
    """What a plan prints is what a person commits."""
    line = group_trailer(DIGEST, "prod", "prod/general", 8).replace("YYYY-MM-DDTHH:MM:SSZ", "2027-01-15T08:00:00Z")
    assert read_group_approvals(f"Fewer\n\n{line}\n") == ((EIGHT,), ())


@pytest.mark.parametrize(("change", "covers"), [
    ({}, True), ({"policy_digest": "sha256:b"}, False), ({"cluster": "stage"}, False), ({"group": "other"}, False),
    ({"now_seconds": UNTIL}, False), ({"now_seconds": UNTIL - 86_400}, True), ({"now_seconds": UNTIL - 86_401}, False),
], ids=str)  # fmt: skip
def test_what_it_covers(change: dict[str, object], covers: bool) -> None:
    """This group of this policy on this cluster, in the day before its end."""
    asked = {"policy_digest": DIGEST, "cluster": "prod", "group": "prod/general", "now_seconds": UNTIL - 1}
    assert EIGHT.covers(**{**asked, **change}) is covers
