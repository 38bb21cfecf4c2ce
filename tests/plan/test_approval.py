"""Approvals in commit messages."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from reconciler.plan.approvals.plan_approvals import Approval, Occasion, judge_removals, read_approvals

DIGEST, OTHER, PLAN = "sha256:" + "a" * 64, "sha256:" + "b" * 64, "sha256:" + "c" * 64
THIS = Occasion(policy_digest=DIGEST, plan_digest=PLAN, cluster="prod")
ABOUT = f"policy={DIGEST} plan={PLAN} cluster=prod until=2027-01-15T08:00:00Z"
UNTIL = 1_800_000_000
NOW = UNTIL - 1
FIVE = Approval(occasion=THIS, until_seconds=UNTIL, nodes=5, evictions=20)


def approval(nodes: int, evictions: int, until: int = UNTIL, **occasion: str) -> Approval:
    """For `THIS`, unless told."""
    return Approval(occasion=msgspec.structs.replace(THIS, **occasion), until_seconds=until, nodes=nodes, evictions=evictions)


@pytest.mark.parametrize("message", [
    f"Smaller\n\nReconciler-Approve: {ABOUT} nodes<=5 evictions<=20\n",
    f"Smaller\n\nWhy.\n\nSigned-off-by: Ada <a@b.c>\nreconciler-approve:{ABOUT} evictions<=20 nodes<=5\n\n",
    f"Smaller\r\n\r\nReconciler-Approve: {ABOUT}\r\n  nodes<=5\r\n  evictions<=20\r\n",
])  # fmt: skip
def test_read(message: str):
    """Key without regard to case, ceilings in any order, lines that go on."""
    assert read_approvals(message) == ((FIVE,), ())


@pytest.mark.parametrize("message", [
    "", "Smaller", f"Reconciler-Approve: {ABOUT} nodes<=5 evictions<=20",
    f"Smaller\n\nReconciler-Approve: {ABOUT} nodes<=5 evictions<=20\n\nThe end.\n",
    f"Smaller\n\nsay Reconciler-Approve: {ABOUT} nodes<=5 evictions<=20\n",
])  # fmt: skip
def test_no_trailer(message: str):
    """The subject, a paragraph that is not the last, and a line that begins otherwise approve nothing."""
    assert read_approvals(message) == ((), ())


@pytest.mark.parametrize(("value", "why"), [
    ("nodes<=5 evictions<=20", "policy= and plan= and cluster= and until= are missing"),
    (f"{ABOUT} nodes<=5", "evictions<=N is missing"), (f"{ABOUT} policy={OTHER} nodes<=5 evictions<=2", "policy appears twice"),
    (f"{ABOUT} nodes<=5 nodes<=6 evictions<=2", "twice"), (f"{ABOUT} nodes<5 evictions<=2", "unknown word 'nodes<5'"),
    (f"{ABOUT.replace('a' * 64, 'a' * 63)} nodes<=5 evictions<=2", "invalid digest"),
    (f"{ABOUT} nodes<=-1 evictions<=2", "unknown word"), (f"{DIGEST} nodes<=5 evictions<=20", "unknown word"),
    (f"{ABOUT.replace('2027-01-15T08:00:00Z', 'tomorrow')} nodes<=5 evictions<=2", "until: invalid instant 'tomorrow': not"),
])  # fmt: skip
def test_what_cannot_be_read_approves_nothing(value: str, why: str):
    """And is told."""
    approvals, problems = read_approvals(f"Smaller\n\nReconciler-Approve: {value}\n")
    assert approvals == ()
    assert len(problems) == 1
    assert why in problems[0]


def test_git_reads_the_same(tmp_path: Path):
    """What git itself takes for trailers of this name is what is read."""
    message = (
        f"Smaller\n\nWhy: not a trailer block\n\nReconciler-Approve: {ABOUT}\n nodes<=5 evictions<=20\nCo-authored-by: B <b@c>\n"
    )
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse", "--unfold"], input=message, capture_output=True, text=True, check=True,
        cwd=tmp_path, timeout=20,
    )  # fmt: skip
    line = next(line for line in done.stdout.splitlines() if line.startswith("Reconciler-Approve: "))
    assert line == f"Reconciler-Approve: {ABOUT} nodes<=5 evictions<=20"
    assert read_approvals(message)[0] == (FIVE,)


@pytest.mark.parametrize(("nodes", "evictions", "approvals", "code"), [
    (3, 99, (), None), (4, 0, (), "NotApproved"), (5, 20, (FIVE,), None), (6, 20, (FIVE,), "AboveApproval"),
    (5, 21, (FIVE,), "AboveApproval"), (5, 20, (FIVE, approval(4, 99)), "AboveApproval"),
    (5, 20, (FIVE, approval(9, 19)), "AboveApproval"),
])  # fmt: skip
def test_judge(nodes: int, evictions: int, approvals: tuple[Approval, ...], code: str | None):
    """Three nodes are free; above it both ceilings of an approval of this plan hold, the strictest of several."""
    found = judge_removals(nodes, evictions, limit=3, occasion=THIS, now_seconds=NOW, approvals=approvals)
    assert (found.code if found else None) == code


@pytest.mark.parametrize(("other", "why"), [
    (approval(9, 9, policy_digest=OTHER), "is for another policy"), (approval(9, 9, plan_digest=OTHER), "is for another plan"),
    (approval(9, 9, cluster="staging"), "is for another cluster"), (approval(9, 9, until=NOW), "has expired"),
])  # fmt: skip
def test_an_approval_of_something_else(other: Approval, why: str):
    """It allows nothing here, and the refusal says what it is for, beside the line that would allow this."""
    found = judge_removals(4, 0, limit=3, occasion=THIS, now_seconds=NOW, approvals=(other,))
    assert found is not None
    assert (found.code, f"The existing approval {why}." in found.sentence()) == ("NotApproved", True)
    assert f"policy={DIGEST} plan={PLAN} cluster=prod until=2027-01-16T07:59:59Z nodes<=4" in found.sentence()


@pytest.mark.parametrize(("nodes", "code"), [(3, None), (4, "ApprovalNotSigned")])
def test_an_approval_that_nobody_signed(nodes: int, code: str | None):
    """It counts for nothing, however much it allows; what needs no approval goes."""
    found = judge_removals(
        nodes, 0, limit=3, occasion=THIS, now_seconds=NOW, approvals=(FIVE,), not_signed="commit 0123 is not signed"
    )
    assert (found.code if found else None) == code
    assert found is None or found.sentence().endswith("It is invalid: commit 0123 is not signed")


def test_the_refusal_says_what_to_write():
    """The trailer can be copied into a commit, and then approves."""
    found = judge_removals(4, 7, limit=3, occasion=THIS, now_seconds=NOW, approvals=())
    assert found is not None
    trailer = found.sentence().partition("trailer: ")[2]
    assert read_approvals(f"x\n\n{trailer}\n")[0] == (approval(4, 7, until=NOW + 86_400),)
