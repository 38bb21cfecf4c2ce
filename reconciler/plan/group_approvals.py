"""Approvals for the loop: how many nodes a group may lose within a day, as a person writes it into a commit message."""

import re

from reconciler.plan.commit_trailers import trailers
from reconciler.policy.group_approval import GroupApproval
from reconciler.policy.values.instant import InstantError, parse_instant

GROUP_TRAILER = "Reconciler-Approve-Removals"
WAITS_FOR_APPROVAL = "WaitsForApproval"
"""The code of the reason that tells of a group that waits, with `waiting` nodes."""
_WORD = re.compile(r"(?P<name>policy|cluster|group|until)=(?P<value>\S*)|(?P<nodes>nodes)<=(?P<most>[0-9]{1,6})")
_PARTS = ("policy", "cluster", "group", "until", "nodes")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def group_trailer(policy_digest: str, cluster: str, group: str, nodes: int) -> str:
    """The line that would allow it; its end is the writer's to say, at most a day ahead."""
    about = f"policy={policy_digest} cluster={cluster} group={group}"
    return f"{GROUP_TRAILER}: {about} until=YYYY-MM-DDTHH:MM:SSZ nodes<={nodes}"


def read_group_approvals(message: str) -> tuple[tuple[GroupApproval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every trailer of this name that cannot be read: it approves
    nothing."""
    approvals: list[GroupApproval] = []
    problems: list[str] = []
    for value in trailers(message, GROUP_TRAILER):
        found = _approval(value)
        if isinstance(found, GroupApproval):
            approvals.append(found)
        else:
            problems.append(f"{GROUP_TRAILER}: {value[:200]!r}: {found}")
    return tuple(approvals), tuple(problems)


def _approval(value: str) -> GroupApproval | str:
    given: dict[str, str] = {}
    for word in value.split():
        match = _WORD.fullmatch(word)
        if match is None:
            return f"{word[:40]!r} is none of policy=, cluster=, group=, until=, nodes<=N"
        name, text = (match["nodes"], match["most"]) if match["nodes"] else (match["name"], match["value"])
        if name in given:
            return f"{name} is there twice"
        given[name] = text
    missing = [part for part in _PARTS if part not in given]
    if missing:
        return f"{', '.join(missing)} missing"
    if not _DIGEST.fullmatch(given["policy"]):
        return f"policy={given['policy'][:80]} is no sha256: digest with 64 digits"
    try:
        until = parse_instant(given["until"])
    except InstantError as error:
        return f"until: {error}"
    return GroupApproval(
        policy_digest=given["policy"], cluster=given["cluster"], group=given["group"], until_seconds=until,
        nodes=int(given["nodes"]),
    )  # fmt: skip
