"""Approvals in commit messages."""

import subprocess
from pathlib import Path

import pytest

from reconciler.plan.approval import Approval, judge_removals, read_approvals

DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
FIVE = Approval(policy_digest=DIGEST, nodes=5, evictions=20)


@pytest.mark.parametrize("message", [
    f"Smaller\n\nReconciler-Approve: {DIGEST} nodes<=5 evictions<=20\n",
    f"Smaller\n\nWhy.\n\nSigned-off-by: Ada <a@b.c>\nreconciler-approve:{DIGEST} evictions<=20 nodes<=5\n\n",
    f"Smaller\r\n\r\nReconciler-Approve: {DIGEST}\r\n  nodes<=5\r\n  evictions<=20\r\n",
])  # fmt: skip
def test_read(message: str):
    """Key without regard to case, ceilings in any order, lines that go on."""
    assert read_approvals(message) == ((FIVE,), ())


@pytest.mark.parametrize("message", [
    "", "Smaller", f"Reconciler-Approve: {DIGEST} nodes<=5 evictions<=20",
    f"Smaller\n\nReconciler-Approve: {DIGEST} nodes<=5 evictions<=20\n\nThe end.\n",
    f"Smaller\n\nsay Reconciler-Approve: {DIGEST} nodes<=5 evictions<=20\n",
])  # fmt: skip
def test_no_trailer(message: str):
    """The subject, a paragraph that is not the last, and a line that begins otherwise approve nothing."""
    assert read_approvals(message) == ((), ())


@pytest.mark.parametrize(("value", "why"), [
    ("nodes<=5 evictions<=20", "one sha256: digest"), (f"{DIGEST} nodes<=5", "both nodes<=N and evictions<=N"),
    (f"{DIGEST} {OTHER} nodes<=5 evictions<=2", "one sha256: digest"), (f"{DIGEST} nodes<=5 nodes<=6 evictions<=2", "twice"),
    (f"{DIGEST} nodes<5 evictions<=2", "'nodes<5' is neither"), (f"{DIGEST[:-1]} nodes<=5 evictions<=2", "one sha256: digest"),
    (f"{DIGEST} nodes<=-1 evictions<=2", "neither"),
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
        f"Smaller\n\nWhy: not a trailer block\n\nReconciler-Approve: {DIGEST}\n nodes<=5 evictions<=20\nCo-authored-by: B <b@c>\n"
    )
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse", "--unfold"], input=message, capture_output=True, text=True, check=True,
        cwd=tmp_path, timeout=20,
    )  # fmt: skip
    line = next(line for line in done.stdout.splitlines() if line.startswith("Reconciler-Approve: "))
    assert line == f"Reconciler-Approve: {DIGEST} nodes<=5 evictions<=20"
    assert read_approvals(message)[0] == (FIVE,)


@pytest.mark.parametrize(("nodes", "evictions", "approvals", "code"), [
    (3, 99, (), None), (4, 0, (), "NotApproved"), (4, 0, (Approval(policy_digest=OTHER, nodes=9, evictions=9),), "NotApproved"),
    (5, 20, (FIVE,), None), (6, 20, (FIVE,), "AboveApproval"), (5, 21, (FIVE,), "AboveApproval"),
    (5, 20, (FIVE, Approval(policy_digest=DIGEST, nodes=4, evictions=99)), "AboveApproval"),
        (5, 20, (FIVE, Approval(policy_digest=DIGEST, nodes=9, evictions=19)), "AboveApproval"),
])  # fmt: skip
def test_judge(nodes: int, evictions: int, approvals: tuple[Approval, ...], code: str | None):
    """Three nodes are free; above it both ceilings of an approval of this policy hold, the strictest of several."""
    found = judge_removals(nodes, evictions, limit=3, policy_digest=DIGEST, approvals=approvals)
    assert (found.code if found else None) == code


@pytest.mark.parametrize(("nodes", "code"), [(3, None), (4, "ApprovalNotSigned")])
def test_an_approval_that_nobody_signed(nodes: int, code: str | None):
    """It counts for nothing, however much it allows; what needs no approval goes."""
    found = judge_removals(nodes, 0, limit=3, policy_digest=DIGEST, approvals=(FIVE,), not_signed="commit 0123 is not signed")
    assert (found.code if found else None) == code
    assert found is None or found.sentence().endswith("and it does not count: commit 0123 is not signed")


def test_the_refusal_says_what_to_write():
    """The trailer can be copied into a commit, and then approves."""
    found = judge_removals(4, 7, limit=3, policy_digest=DIGEST, approvals=())
    assert found is not None
    trailer = found.sentence().partition("commit: ")[2]
    assert read_approvals(f"x\n\n{trailer}\n")[0] == (Approval(policy_digest=DIGEST, nodes=4, evictions=7),)
