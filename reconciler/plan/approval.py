"""Approvals of saved plans, as a person writes them into a commit message."""

from collections.abc import Sequence

import msgspec

from reconciler.plan.approval_terms import Terms, read_each
from reconciler.plan.reason import Because
from reconciler.values.instant import instant_text

TRAILER = "Reconciler-Approve"
EXAMPLE = f"{TRAILER}: policy=sha256:… plan=sha256:… cluster=prod until=2026-12-01T00:00:00Z nodes<=5 evictions<=20"
_PARTS = ("policy=", "plan=", "cluster=", "until=", "nodes<=N", "evictions<=N")
_DAY_SECONDS = 86_400


class Occasion(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """What is allowed, or about to be done: one saved plan of one policy for one cluster, named by digests and name."""

    policy_digest: str
    plan_digest: str
    cluster: str


class Approval(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Somebody allows a plan to remove at most `nodes` nodes and evict at most `evictions` pods in one go, until an instant
    (Unix seconds). It counts once: what a plan was bound to has moved when it has been carried out, and it is refused then."""

    occasion: Occasion
    until_seconds: int
    nodes: int
    evictions: int


class NotApproved(Because, frozen=True, kw_only=True):
    """More nodes would go than may without an approval, and there is none for this plan. `others` says what those that there
    are, are for (empty: there are none)."""

    code = "NotApproved"
    nodes: int
    limit: int
    trailer: str
    others: str = ""

    def sentence(self) -> str:
        """How many, and what to write."""
        return (
            f"{_count(self.nodes, 'node')} would go, more than {self.limit} need an approval of this plan; "
            f"{f'what is approved {self.others}; ' if self.others else ''}as a trailer of the commit: {self.trailer}"
        )


class ApprovalNotSigned(Because, frozen=True, kw_only=True):
    """More nodes would go than may without an approval, and the commit that approves is not signed by who may."""

    code = "ApprovalNotSigned"
    nodes: int
    limit: int
    why: str

    def sentence(self) -> str:
        """How many, what is wrong with the commit, and what to do."""
        return (
            f"{_count(self.nodes, 'node')} would go, more than {self.limit} need an approval, and it does not count: {self.why}"
        )


class AboveApproval(Because, frozen=True, kw_only=True):
    """The approval is for less than what would be done."""

    code = "AboveApproval"
    nodes: int
    evictions: int
    approved_nodes: int
    approved_evictions: int

    def sentence(self) -> str:
        """Both figures and both ceilings."""
        return (
            f"{_count(self.nodes, 'node')} would go and {_count(self.evictions, 'pod')} would be evicted; "
            f"approved are {_count(self.approved_nodes, 'node')} and {_count(self.approved_evictions, 'eviction')}"
        )


def read_approvals(message: str) -> tuple[tuple[Approval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every trailer of this name that cannot be read.

    A trailer that cannot be read approves nothing.
    """
    return read_each(message, TRAILER, _PARTS, _approval, f"; write {EXAMPLE}")


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
    """What stands against removing so many nodes at once; None when nothing does. Of several approvals of one plan the
    strictest counts, figure by figure. `not_signed` says what is wrong with the signature of the commit that holds them
    (empty: nothing, or nobody asks for one); then none counts."""
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
    """Why an approval is not for this; empty when it is."""
    if approval.occasion.cluster != occasion.cluster:
        return "is for another cluster"
    if approval.occasion.policy_digest != occasion.policy_digest:
        return "is for another policy"
    if approval.occasion.plan_digest != occasion.plan_digest:
        return "is for another plan"
    return "has run out" if approval.until_seconds <= now_seconds else ""


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
