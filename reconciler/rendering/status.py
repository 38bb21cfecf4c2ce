"""What a loop left on the API server, as JSON and as lines for people."""

from collections.abc import Iterator

import msgspec

from reconciler.policy.documents import Mode
from reconciler.rendering.json_text import json_text
from reconciler.rendering.plain import plain
from reconciler.rendering.text.layout import paragraph
from reconciler.values.plural import count_text

FORMAT_VERSION = "1.0"
_WIDTH = 100


class LeaderStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The Lease. `holder` is empty when nobody leads; `leads` says whether it was renewed within its duration, by our clock;
    `renewedAt` is empty when there is no Lease."""

    holder: str = ""
    leads: bool = False
    renewed_at: str = ""
    transitions: int = 0


class PlanStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The last plan, where the loop told of it: beside its memory, or on its own page. `at` is since when it says so; `mode` is
    empty where nobody told it."""

    at: str = ""
    summary: str = ""
    digest: str = ""
    mode: str = ""


class PolicyStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The policy in force: where it came from, which revision, read when, signed by whom. `refused` is why a newer one is not in
    force; empty where none was refused."""

    source: str = ""
    revision: str = ""
    read_at: str = ""
    signer: str = ""
    refused: str = ""


class OwnerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides the replicas (Ours, Adoptable, Held, Unknown; empty: no plan tells), who that is, and how we know."""

    state: str = ""
    by: str = ""
    evidence: tuple[str, ...] = ()


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One group that the loop knows. `replicas` None: the target is not there, or cannot be read. `held`, `owner`, `heldSince`,
    `desired` and `wanted` (what a held group would get) are those of the last plan, `next` is what a person does so that the
    group is decided again, and `block` YAML to copy for that. `hold` is the annotation on the target, with `holdOver` when it
    names an end that has passed. `backoffUntil` and `conflict` are empty without one, `approval` says what waits for one, `why`
    is the last plan's word on why the group is held."""

    name: str
    target: str
    replicas: int | None = None
    desired: int | None = None
    wanted: int | None = None
    held: bool = False
    held_since: str = ""
    owner: OwnerStatus = OwnerStatus()
    next: str = ""
    block: tuple[str, ...] = ()
    hold: str = ""
    hold_over: bool = False
    backoff_until: str = ""
    backoff_reason: str = ""
    conflict: str = ""
    approval: str = ""
    why: str = ""


class DrainStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node that is being emptied."""

    node: str
    since: str


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of one loop. `problems` are sentences about what could not be read."""

    format_version: str = FORMAT_VERSION
    policy: str
    namespace: str
    now: str
    leader: LeaderStatus
    plan: PlanStatus
    policy_in_force: PolicyStatus
    groups: tuple[GroupStatus, ...] = ()
    drains: tuple[DrainStatus, ...] = ()
    last_added_at: str = ""
    last_removed_at: str = ""
    last_failed_at: str = ""
    problems: tuple[str, ...] = ()


def status_json(document: StatusDocument) -> str:
    """Two spaces of indentation; ends with a newline."""
    return json_text(document, None)


def status_text(document: StatusDocument) -> str:
    """One paragraph a thing."""
    lines: list[str] = []
    for line in _lines(document):
        lines += paragraph(plain(line), _WIDTH, 0)
    lines += ["", "Groups"] if document.groups else ["", "No groups are known yet."]
    for group in document.groups:
        lines += paragraph(plain(_group(group)), _WIDTH, 2)
        for sentence in _ownership(group):
            lines += paragraph(plain(sentence), _WIDTH, 4, "- ")
        lines += [f"      {plain(line)}" for line in group.block]
    if document.drains:
        lines += ["", "Drains in flight"]
        lines += [f"  {plain(drain.node)} since {drain.since}" for drain in document.drains]
    for problem in document.problems:
        if problem == document.policy_in_force.refused:
            continue
        lines += paragraph(plain(f"problem: {problem}"), _WIDTH, 0)
    return "\n".join(lines) + "\n"


def _lines(document: StatusDocument) -> Iterator[str]:
    yield f"policy {document.policy} · state in namespace {document.namespace} · now {document.now}"
    leader = document.leader
    if leader.leads:
        yield f"leader     {leader.holder}, renewed {leader.renewed_at}, {count_text(leader.transitions, 'transition')}"
    elif leader.holder:
        yield f"leader     nobody: {leader.holder} has not renewed since {leader.renewed_at}"
    else:
        yield "leader     nobody" + (f": given back at {leader.renewed_at}" if leader.renewed_at else ": there is no Lease")
    plan = document.plan
    if plan.mode:
        yield f"mode       {plan.mode}" + (": nothing is written" if plan.mode == Mode.OBSERVE else "")
    if plan.summary:
        # It is kept when it changes: while somebody leads, an old instant means that nothing has.
        since = f"the same since {plan.at}" if leader.leads else f"nobody decides now; it said so at {plan.at}"
        yield f"last plan  {plan.summary}" + (f" ({since})" if plan.at else "")
    else:
        yield "last plan  not told: --live URL asks the running loop"
    policy = document.policy_in_force
    if policy.source:
        signed = f", signed by {policy.signer}" if policy.signer else ""
        read = f", read {policy.read_at}" if policy.read_at else ""
        yield f"policy     {policy.source} at {policy.revision or 'no revision'}{read}{signed}"
    if policy.refused:
        yield f"refused    {policy.refused}"
    for words, at in (
        ("added", document.last_added_at),
        ("removed", document.last_removed_at),
        ("failed", document.last_failed_at),
    ):
        if at:
            yield f"last {words:<9}{at}"


def _ownership(group: GroupStatus) -> Iterator[str]:
    """Only of groups that are held: for all others it is as expected."""
    if not group.held:
        return
    if group.why and not group.hold and not group.owner.by:
        # A hold on a target that is not read here: a cloud's, without its credentials.
        yield group.why
    yield from (f"evidence: {sentence}" for sentence in group.owner.evidence)
    if group.wanted is not None and group.replicas is not None and group.wanted != group.replicas:
        yield f"it would go {group.replicas} -> {group.wanted}"
    if group.next:
        yield f"next: {group.next}"


def _group(group: GroupStatus) -> str:
    replicas = "- replicas" if group.replicas is None else count_text(group.replicas, "replica")
    parts = [f"{group.name}  {replicas} ({group.target})"]
    if group.hold:
        parts.append(f"hold {'is over' if group.hold_over else 'on the target'}: {group.hold}")
    elif group.held:
        by = f" by {group.owner.by}" if group.owner.by else ""
        parts.append(f"held{by}" + (f" since {group.held_since}" if group.held_since else ""))
    if group.backoff_until:
        parts.append(f"left alone until {group.backoff_until}: {group.backoff_reason}")
    if group.conflict:
        parts.append(group.conflict)
    if group.approval:
        parts.append(group.approval)
    return "; ".join(parts)
