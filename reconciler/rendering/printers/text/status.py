"""What a loop left on the API server, as lines for people."""

from collections.abc import Iterator

from reconciler.plan.plan import OwnerState
from reconciler.policy.documents import Mode
from reconciler.rendering.documents.blocks import Column
from reconciler.rendering.documents.status import GroupStatus, StatusDocument
from reconciler.rendering.printers.columns import Row, table
from reconciler.rendering.printers.lines import Style
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.lacking_room import rooms_of_buffers, rooms_of_requests
from reconciler.rendering.words.plain import plain
from reconciler.rendering.words.wording import HELD, OTHER, SAME
from reconciler.values.plural import count_text

_WIDTH = 100


def status_text(document: StatusDocument) -> str:
    """Problems, who leads and what is in force, then a table of groups: those with a problem or a hold first. What is known of
    them stands below the table."""
    policy = document.policy_in_force
    lines = paragraph(
        plain(f"policy {document.policy} · state in namespace {document.namespace} · now {document.now}"), _WIDTH, 0
    )
    for problem in (*([f"a newer policy is refused: {policy.refused}"] if policy.refused else []), *document.problems):
        if problem != policy.refused:
            lines += paragraph(plain(f"problem    {problem}"), _WIDTH, 0)
    for line in _lines(document):
        lines += paragraph(plain(line), _WIDTH, 0)
    ordered = sorted(document.groups, key=lambda group: (_rank(group), group.name))
    if ordered:
        rows = [
            Row(_MARKS[_rank(group)], (group.name, _size(group.replicas), _size(group.desired), group.target, _state(group)))
            for group in ordered
        ]
        lines += ["", *table(_COLUMNS, rows, _WIDTH, Style(colour=False))]
    else:
        lines += ["", "No groups are known yet."]
    for group in ordered:
        if known := [*_known(group)]:
            lines += ["", plain(group.name)]
            for sentence in known:
                lines += paragraph(plain(sentence), _WIDTH, 2, "- ")
            lines += [f"    {plain(line)}" for line in group.block]
    known_times = [(group.name, group.lead_time) for group in ordered if group.lead_time is not None]
    if known_times:
        lines += ["", "Lead times of new nodes"]
        for name, times in known_times:
            lines += paragraph(plain(f"{name}: {times.sentence()}"), _WIDTH, 2)
    for heading, rooms in (
        ("Room for ProvisioningRequests", rooms_of_requests(document.provisioning_requests)),
        ("Room for CapacityBuffers", rooms_of_buffers(document.buffers)),
    ):
        lines += ["", heading] if rooms else []
        for room in rooms:
            lines += paragraph(plain(room.words), _WIDTH, 2)
            for reason in room.reasons:
                lines += paragraph(plain(reason.message), _WIDTH, 4, "- ")
    if document.drains:
        lines += ["", "Nodes that are being drained"]
        lines += [f"  {plain(drain.node)} since {drain.since}" for drain in document.drains]
    return "\n".join(lines) + "\n"


_COLUMNS = (
    Column(heading="Group"),
    Column(heading="Now", right=True),
    Column(heading="Desired", right=True),
    Column(heading="Target", shrinks=True),
    Column(heading="State", wraps=True),
)
_MARKS = (HELD, OTHER, SAME)


def _lines(document: StatusDocument) -> Iterator[str]:
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
        decides = leader.leads and not leader.not_decided_since
        since = f"the same since {plan.at}" if decides else f"no decision is made now. The last one was at {plan.at}"
        yield f"last plan  {plan.summary}" + (f" ({since})" if plan.at else "")
    else:
        yield "last plan  not told: --live URL asks the running loop"
    policy = document.policy_in_force
    if policy.source:
        signed = f", signed by {policy.signer}" if policy.signer else ""
        read = f", read {policy.read_at}" if policy.read_at else ""
        yield f"policy     {policy.source} at {policy.revision or 'no revision'}{read}{signed}"
    for words, at in (
        ("added", document.last_added_at),
        ("removed", document.last_removed_at),
        ("failed", document.last_failed_at),
    ):
        if at:
            yield f"last {words:<9}{at}"


def _rank(group: GroupStatus) -> int:
    """0: a problem or a hold, 1: it changes, 2: neither."""
    if group.held or group.hold or group.backoff_until or group.conflict or group.approval or group.replicas is None:
        return 0
    return 1 if group.desired not in (None, group.replicas) else 2


def _size(size: int | None) -> str:
    return "-" if size is None else str(size)


def _state(group: GroupStatus) -> str:
    """In a few words; what they rest on stands below the table."""
    parts = []
    if group.hold:
        parts.append("hold is over" if group.hold_over else "hold on the target")
    elif group.held:
        by = f" by {group.owner.by}" if group.owner.by and group.owner.state != OwnerState.OURS else ""
        parts.append(f"held{by}" + (f" since {group.held_since}" if group.held_since else ""))
    if group.held and group.wanted is not None and group.replicas is not None and group.wanted != group.replicas:
        parts.append(f"would go to {group.wanted}")
    parts += [f"backs off until {group.backoff_until}"] if group.backoff_until else []
    parts += ["another writer"] if group.conflict else []
    parts += ["waits for an approval"] if group.approval else []
    parts += ["no replicas can be read"] if group.replicas is None else []
    return ", ".join(parts) or ("changes" if _rank(group) == 1 else "steady state")


def _known(group: GroupStatus) -> Iterator[str]:
    """The evidence for the state of a group, and what to do. Empty for groups that are as expected."""
    if group.hold:
        yield f"hold: {group.hold}"
    elif group.held and group.why and not group.owner.by:
        # A hold on a target that is not read here: a cloud's, without its credentials.
        yield group.why
    if group.held:
        yield from (f"evidence: {sentence}" for sentence in group.owner.evidence)
    if group.backoff_reason and group.backoff_until:
        yield f"back-off: {group.backoff_reason}"
    yield from (sentence for sentence in (group.conflict, group.approval) if sentence)
    if group.held and group.next:
        yield f"next: {group.next}"
