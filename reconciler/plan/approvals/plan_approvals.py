"""Approvals of saved plans, as a person writes them into a commit message."""

from collections.abc import Sequence

import msgspec

from reconciler.plan.approvals.terms import Terms, read_each
from reconciler.plan.reason import Because
from reconciler.values.instant import instant_text

TRAILER = "Reconciler-Approve"
EXAMPLE = f"{TRAILER}: policy=sha256:… plan=sha256:… cluster=prod until=2026-12-01T00:00:00Z nodes<=5 evictions<=20"
_PARTS = ("policy=", "plan=", "cluster=", "until=", "nodes<=N", "evictions<=N")
_DAY_SECONDS = 86_400


class Occasion(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One saved plan of one policy for one cluster, identified by digests and name: approved, or about to be applied."""

    policy_digest: str
    plan_digest: str
    cluster: str


class Approval(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Somebody allows a plan to remove at most `nodes` nodes and evict at most `evictions` pods at once, until an instant (Unix
    seconds). It works once: applying the plan changes the state that it is bound to, so a second attempt is refused."""

    occasion: Occasion
    until_seconds: int
    nodes: int
    evictions: int


class NotApproved(Because, frozen=True, kw_only=True):
    """More nodes would leave than may without an approval, and this plan has none. `others` says what the existing approvals are
    for (empty: there are none)."""

    code = "NotApproved"
    nodes: int
    limit: int
    trailer: str
    others: str = ""

    def sentence(self) -> str:
        """How many, and what to write."""
        return (
            f"{_count(self.nodes, 'node')} would leave, more than {self.limit} need an approval of this plan. "
            f"{f'The existing approval {self.others}. ' if self.others else ''}To approve, add this trailer: {self.trailer}"
        )


class ApprovalNotSigned(Because, frozen=True, kw_only=True):
    """More nodes would leave than may without an approval, and no permitted person signed the approving commit."""

    code = "ApprovalNotSigned"
    nodes: int
    limit: int
    why: str

    template = "{nodes:node} would leave, more than {limit} need an approval. It is invalid: {why}"


class AboveApproval(Because, frozen=True, kw_only=True):
    """The approval covers less than the plan would do."""

    code = "AboveApproval"
    nodes: int
    evictions: int
    approved_nodes: int
    approved_evictions: int

    template = (
        "{nodes:node} would leave and {evictions:pod} would be evicted, but "
        "the approval covers {approved_nodes:node} and {approved_evictions:eviction}"
    )


def read_approvals(message: str) -> tuple[tuple[Approval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every trailer of this name that cannot be read.

    A trailer that cannot be read approves nothing.
    """
    return read_each(message, TRAILER, _PARTS, _approval, f". Write {EXAMPLE}")


def judge_removals(
    nodes: int,
    evictions: int,
    *,
    limit: int,
    occasion: Occasion,
    now_seconds: int,
    approvals: Sequence[Approval],
    not_signed: str = "",
) -> Because | None:
    """Why a plan may not remove this many nodes at once; None if it may. Of several approvals of one plan, the lowest of each
    figure counts. `not_signed` says what is wrong with the signature of their commit; then none counts. It is empty if nothing is
    wrong or no signature is required."""
    if nodes <= limit:
        return None
    if not_signed:
        return ApprovalNotSigned(nodes=nodes, limit=limit, why=not_signed)
    matching = [approval for approval in approvals if _why_not(approval, occasion, now_seconds) == ""]
    if not matching:
        others = sorted({_why_not(approval, occasion, now_seconds) for approval in approvals})
        until = instant_text(now_seconds + _DAY_SECONDS)
        about = f"policy={occasion.policy_digest} plan={occasion.plan_digest} cluster={occasion.cluster} until={until}"
        trailer = f"{TRAILER}: {about} nodes<={nodes} evictions<={evictions}"
        return NotApproved(nodes=nodes, limit=limit, trailer=trailer, others=" or ".join(others))
    most_nodes = min(approval.nodes for approval in matching)
    most_evictions = min(approval.evictions for approval in matching)
    if nodes <= most_nodes and evictions <= most_evictions:
        return None
    return AboveApproval(nodes=nodes, evictions=evictions, approved_nodes=most_nodes, approved_evictions=most_evictions)


def _why_not(approval: Approval, occasion: Occasion, now_seconds: int) -> str:
    """Why an approval does not apply; empty if it does."""
    if approval.occasion.cluster != occasion.cluster:
        return "is for another cluster"
    if approval.occasion.policy_digest != occasion.policy_digest:
        return "is for another policy"
    if approval.occasion.plan_digest != occasion.plan_digest:
        return "is for another plan"
    return "has expired" if approval.until_seconds <= now_seconds else ""


def _approval(terms: Terms) -> Approval:
    named = terms.named
    return Approval(
        occasion=Occasion(policy_digest=named["policy"], plan_digest=named["plan"], cluster=named["cluster"]),
        until_seconds=terms.until_seconds,
        nodes=terms.most["nodes"],
        evictions=terms.most["evictions"],
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
