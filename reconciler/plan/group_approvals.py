"""Approvals for the loop: how many nodes a group may lose within a day, as a person writes it into a commit message."""

from reconciler.plan.approval_terms import Terms, read_each
from reconciler.policy.group_approval import GroupApproval

GROUP_TRAILER = "Reconciler-Approve-Removals"
WAITS_FOR_APPROVAL = "WaitsForApproval"
"""The code of the reason that tells of a group that waits, with `waiting` nodes."""
_PARTS = ("policy=", "cluster=", "group=", "until=", "nodes<=N")


def group_trailer(policy_digest: str, cluster: str, group: str, nodes: int) -> str:
    """The line that would allow it; its end is the writer's to say, at most a day ahead."""
    about = f"policy={policy_digest} cluster={cluster} group={group}"
    return f"{GROUP_TRAILER}: {about} until=YYYY-MM-DDTHH:MM:SSZ nodes<={nodes}"


def read_group_approvals(message: str) -> tuple[tuple[GroupApproval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every trailer of this name that cannot be read: it approves
    nothing."""
    return read_each(message, GROUP_TRAILER, _PARTS, _approval)


def _approval(terms: Terms) -> GroupApproval:
    return GroupApproval(
        policy_digest=terms.named["policy"], cluster=terms.named["cluster"], group=terms.named["group"],
        until_seconds=terms.until_seconds, nodes=terms.most["nodes"],
    )  # fmt: skip
