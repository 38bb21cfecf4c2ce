"""Trailers of a commit message.

SOURCE: they are read as by `git interpret-trailers`. Trailers are lines `Key: value` of the last paragraph of a message. Keys
ignore case. A line that begins with a blank continues the one before it.
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
    """The values of one key, in order. Only the first 64 KiB of a message are read."""
    lines = message[:_MOST_BYTES].replace("\r\n", "\n").rstrip().split("\n")
    start = len(lines)
    while start and lines[start - 1].strip():
        start -= 1
    if not start:
        return []  # the only paragraph is the subject
    entries: list[tuple[str, str]] = []
    for line in lines[start:]:
        if line[:1] in (" ", "\t") and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        elif match := _LINE.fullmatch(line):
            entries.append((match["key"].lower(), match["value"].strip()))
        else:
            entries.append(("", ""))
    return [value for name, value in entries if name == key.lower()]


# What a person writes after the name of an approving trailer: `policy=sha256:… until=2026-12-01T00:00:00Z nodes<=5`.

_WORD = re.compile(r"(?P<name>[a-z]+)(?:=(?P<text>\S*)|<=(?P<most>[0-9]{1,6}))")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_DIGESTS = ("policy", "plan")
_SHOWN = 200
_Approval = TypeVar("_Approval")


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one trailer by name: digests and names, and upper bounds. It is valid until an instant in Unix seconds."""

    named: Mapping[str, str]
    most: Mapping[str, int]
    until_seconds: int


def read_each(
    message: str, key: str, parts: tuple[str, ...], approval: Callable[[Terms], _Approval], advice: str = ""
) -> tuple[tuple[_Approval, ...], tuple[str, ...]]:
    """An approval for each readable trailer of this key, and a sentence for each other one, which approves nothing.

    `parts` are the required words, as a person reads them (`policy=`, `nodes<=N`), with `until=`. `advice` follows the sentence.
    """
    readings = [(value, read_terms(value, parts)) for value in trailers(message, key)]
    approvals = tuple(approval(terms) for _, terms in readings if isinstance(terms, Terms))
    problems = tuple(f"{key}: {value[:_SHOWN]!r}: {why}{advice}" for value, why in readings if isinstance(why, str))
    return approvals, problems


def read_terms(value: str, parts: tuple[str, ...]) -> Terms | str:
    """The terms, or what is wrong with them."""
    named: dict[str, str] = {}
    most: dict[str, int] = {}
    for word in value.split():
        match = _WORD.fullmatch(word)
        if match is None or f"{match['name']}{'=' if match['most'] is None else '<=N'}" not in parts:
            return f"unknown word {word[:40]!r}. Write {', '.join(parts)}"
        if match["name"] in named or match["name"] in most:
            return f"{match['name']} appears twice"
        if match["most"] is None:
            named[match["name"]] = match["text"]
        else:
            most[match["name"]] = int(match["most"])
    missing = [part for part in parts if part.partition("=")[0].rstrip("<") not in {*named, *most}]
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    for name in _DIGESTS:
        if name in named and not _DIGEST.fullmatch(named[name]):
            return f"invalid digest {name}={named[name][:80]}. Write sha256: and 64 hexadecimal digits"
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


# Approvals for the loop: how many nodes a group may lose within a day, as a person writes it into a commit message.

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
