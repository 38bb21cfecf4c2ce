"""Approvals for the loop: how many nodes a group may lose within a day, as a person writes it into a commit message."""

from reconciler.plan.approvals.terms import Terms, read_each
from reconciler.policy.pace import GroupApproval

GROUP_TRAILER = "Reconciler-Approve-Removals"
WAITS_FOR_APPROVAL = "WaitsForApproval"
"""The code of the reason for a group that waits, with `waiting` nodes."""
_GROUP_APPROVALS_PARTS = ("policy=", "cluster=", "group=", "until=", "nodes<=N")


def group_trailer(policy_digest: str, cluster: str, group: str, nodes: int) -> str:
    """The trailer that would approve it. The writer sets its end, at most a day ahead."""
    about = f"policy={policy_digest} cluster={cluster} group={group}"
    return f"{GROUP_TRAILER}: {about} until=YYYY-MM-DDTHH:MM:SSZ nodes<={nodes}"


def read_group_approvals(message: str) -> tuple[tuple[GroupApproval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every unreadable trailer of this name, which approves nothing."""
    return read_each(message, GROUP_TRAILER, _GROUP_APPROVALS_PARTS, _group_approvals_approval)


def _group_approvals_approval(terms: Terms) -> GroupApproval:
    return GroupApproval(
        policy_digest=terms.named["policy"], cluster=terms.named["cluster"], group=terms.named["group"],
        until_seconds=terms.until_seconds, nodes=terms.most["nodes"],
    )  # fmt: skip
