"""Approvals of removals, as a person writes them into a commit message.

SOURCE: trailers are read as `git interpret-trailers` does: lines `Key: value` of the last paragraph of a message, keys
without regard to case, a line that begins with a blank goes on with the one before it.
"""

import re
from collections.abc import Sequence

import msgspec

from reconciler.plan.reason import Because

TRAILER = "Reconciler-Approve"
EXAMPLE = f"{TRAILER}: sha256:<policy digest> nodes<=5 evictions<=20"
_MOST_BYTES = 64 << 10
_LINE = re.compile(r"(?P<key>[A-Za-z0-9-]+)\s*:\s*(?P<value>.*)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CEILING = re.compile(r"(?P<name>nodes|evictions)<=(?P<most>[0-9]{1,6})")


class Approval(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Somebody allows a policy to remove at most `nodes` nodes and evict at most `evictions` pods in one go."""

    policy_digest: str
    nodes: int
    evictions: int


class NotApproved(Because, frozen=True, kw_only=True):
    """More nodes would go than may without an approval, and there is none for this policy."""

    code = "NotApproved"
    nodes: int
    limit: int
    trailer: str

    def sentence(self) -> str:
        """How many, and what to write."""
        return (
            f"{_count(self.nodes, 'node')} would go, more than {self.limit} need an approval of this policy; "
            f"as a trailer of the commit: {self.trailer}"
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
    approvals: list[Approval] = []
    problems: list[str] = []
    for value in _trailers(message[:_MOST_BYTES]):
        found = _approval(value)
        if isinstance(found, Approval):
            approvals.append(found)
        else:
            problems.append(f"{TRAILER}: {value[:200]!r}: {found}; write {EXAMPLE}")
    return tuple(approvals), tuple(problems)


def judge_removals(
    nodes: int, evictions: int, *, limit: int, policy_digest: str, approvals: Sequence[Approval], not_signed: str = ""
) -> Because | None:
    """What stands against removing so many nodes at once; None when nothing does. Of several approvals of one policy the
    strictest counts, figure by figure. `not_signed` says what is wrong with the signature of the commit that holds them
    (empty: nothing, or nobody asks for one); then none counts."""
    if nodes <= limit:
        return None
    if not_signed:
        return ApprovalNotSigned(nodes=nodes, limit=limit, why=not_signed)
    matching = [approval for approval in approvals if approval.policy_digest == policy_digest]
    if not matching:
        trailer = f"{TRAILER}: {policy_digest} nodes<={nodes} evictions<={evictions}"
        return NotApproved(nodes=nodes, limit=limit, trailer=trailer)
    most_nodes = min(approval.nodes for approval in matching)
    most_evictions = min(approval.evictions for approval in matching)
    if nodes <= most_nodes and evictions <= most_evictions:
        return None
    return AboveApproval(nodes=nodes, evictions=evictions, approved_nodes=most_nodes, approved_evictions=most_evictions)


def _trailers(message: str) -> list[str]:
    lines = message.replace("\r\n", "\n").rstrip().split("\n")
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    if not start:
        return []  # the only paragraph is the subject
    found: list[tuple[str, str]] = []
    for line in lines[start:]:
        if line[:1] in (" ", "\t") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif match := _LINE.fullmatch(line):
            found.append((match["key"].lower(), match["value"].strip()))
        else:
            found.append(("", ""))
    return [value for key, value in found if key == TRAILER.lower()]


def _approval(value: str) -> Approval | str:
    words = value.split()
    digests = [word for word in words if _DIGEST.fullmatch(word)]
    if len(digests) != 1:
        return "one sha256: digest of the policy is needed, with 64 digits"
    most: dict[str, int] = {}
    for word in words:
        if word in digests:
            continue
        match = _CEILING.fullmatch(word)
        if match is None:
            return f"{word[:40]!r} is neither nodes<=N nor evictions<=N"
        if match["name"] in most:
            return f"{match['name']} is there twice"
        most[match["name"]] = int(match["most"])
    if len(most) != len(("nodes", "evictions")):
        return "both nodes<=N and evictions<=N are needed"
    return Approval(policy_digest=digests[0], nodes=most["nodes"], evictions=most["evictions"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
