"""Trailers of a commit message.

SOURCE: they are read as `git interpret-trailers` does: lines `Key: value` of the last paragraph of a message, keys without
regard to case, a line that begins with a blank goes on with the one before it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from reconciler.plan.reason import Because
from reconciler.policy.pace import GroupApproval
from reconciler.values.instant import InstantError, instant_text, parse_instant

_MOST_BYTES = 64 << 10
_LINE = re.compile(r"(?P<key>[A-Za-z0-9-]+)\s*:\s*(?P<value>.*)")


def trailers(message: str, key: str) -> list[str]:
    """The values of one key, in their order; of a message of more than 64 KiB only the beginning is read."""
    lines = message[:_MOST_BYTES].replace("\r\n", "\n").rstrip().split("\n")
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
    return [value for name, value in found if name == key.lower()]


# What a person writes behind the name of a trailer that approves: `policy=sha256:… until=2026-12-01T00:00:00Z nodes<=5`.

_WORD = re.compile(r"(?P<name>[a-z]+)(?:=(?P<text>\S*)|<=(?P<most>[0-9]{1,6}))")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGESTS = ("policy", "plan")
_SHOWN = 200
_Approval = TypeVar("_Approval")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one trailer by name: digests and names, and figures that may not be exceeded. It counts until an instant in
    Unix seconds."""

    named: Mapping[str, str]
    most: Mapping[str, int]
    until_seconds: int


def read_each(
    message: str, key: str, parts: tuple[str, ...], approval: Callable[[Terms], _Approval], advice: str = ""
) -> tuple[tuple[_Approval, ...], tuple[str, ...]]:
    """An approval for each trailer of this key that can be read, and a sentence for each that cannot: it approves nothing.

    `parts` are the words that there must be, as a person reads them (`policy=`, `nodes<=N`), `until=` among them; `advice` goes
    behind the sentence.
    """
    found = [(value, read_terms(value, parts)) for value in trailers(message, key)]
    approvals = tuple(approval(terms) for _, terms in found if isinstance(terms, Terms))
    problems = tuple(f"{key}: {value[:_SHOWN]!r}: {why}{advice}" for value, why in found if isinstance(why, str))
    return approvals, problems


def read_terms(value: str, parts: tuple[str, ...]) -> Terms | str:
    """The terms, or what is wrong with them."""
    named: dict[str, str] = {}
    most: dict[str, int] = {}
    for word in value.split():
        match = _WORD.fullmatch(word)
        if match is None or f"{match['name']}{'=' if match['most'] is None else '<=N'}" not in parts:
            return f"{word[:40]!r} is none of {', '.join(parts)}"
        if match["name"] in named or match["name"] in most:
            return f"{match['name']} is there twice"
        if match["most"] is None:
            named[match["name"]] = match["text"]
        else:
            most[match["name"]] = int(match["most"])
    missing = [part for part in parts if part.partition("=")[0].rstrip("<") not in {*named, *most}]
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for name in _DIGESTS:
        if name in named and not _DIGEST.fullmatch(named[name]):
            return f"{name}={named[name][:80]} is no sha256: digest with 64 digits"
    try:
        return Terms(named=named, most=most, until_seconds=parse_instant(named["until"]))
    except InstantError as error:
        return f"until: {error}"


# Approvals of saved plans, as a person writes them into a commit message.

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


# Approvals for the loop: how many nodes a group may lose within a day, as a person writes it into a commit message.

GROUP_TRAILER = "Reconciler-Approve-Removals"
WAITS_FOR_APPROVAL = "WaitsForApproval"
"""The code of the reason that tells of a group that waits, with `waiting` nodes."""
_GROUP_APPROVALS_PARTS = ("policy=", "cluster=", "group=", "until=", "nodes<=N")


def group_trailer(policy_digest: str, cluster: str, group: str, nodes: int) -> str:
    """The line that would allow it; its end is the writer's to say, at most a day ahead."""
    about = f"policy={policy_digest} cluster={cluster} group={group}"
    return f"{GROUP_TRAILER}: {about} until=YYYY-MM-DDTHH:MM:SSZ nodes<={nodes}"


def read_group_approvals(message: str) -> tuple[tuple[GroupApproval, ...], tuple[str, ...]]:
    """The approvals in a commit message, and a sentence for every trailer of this name that cannot be read: it approves
    nothing."""
    return read_each(message, GROUP_TRAILER, _GROUP_APPROVALS_PARTS, _group_approvals_approval)


def _group_approvals_approval(terms: Terms) -> GroupApproval:
    return GroupApproval(
        policy_digest=terms.named["policy"], cluster=terms.named["cluster"], group=terms.named["group"],
        until_seconds=terms.until_seconds, nodes=terms.most["nodes"],
    )  # fmt: skip
