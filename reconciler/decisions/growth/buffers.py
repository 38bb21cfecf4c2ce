"""Room for the pods of CapacityBuffers: they are placed, and nodes are added for them, as for pending pods and after those."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.world import BufferPods
from reconciler.decisions.demand.pending import never_placed, serving_order
from reconciler.decisions.demand.queue import Demand, Queue, Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.scale_up import explain_rest, fill_existing, grow_for, served_by_room
from reconciler.decisions.growth.zones import place
from reconciler.decisions.reasons.buffers import BufferFits, BufferRequested, BufferShort, BufferUpcoming
from reconciler.decisions.reasons.sizes import Headroom, PendingPods
from reconciler.plan.plan import NodeState, PodOutcome
from reconciler.plan.reason import Reason


class KeptRoom(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan means for one buffer. `served` are its pods by outcome."""

    buffer: BufferPods
    served: Mapping[PodOutcome, int]
    reasons: tuple[Reason, ...]


def keep_buffers(draft: Draft) -> tuple[tuple[KeptRoom, ...], frozenset[str]]:
    """Bind placeholders for the pods of all buffers where there is room. Grow groups for the others as for pending pods.
    Protect the nodes that carry them. Also the names of the groups that grow.

    Runs after all pending pods have their places, so that no buffer takes the room of a pod that is there. Of equal pods, those
    of the older buffer come first.
    """
    if not draft.buffers:
        return (), frozenset()
    numbers, owners = _placeholders(draft)
    queue = Queue(tuple(Demand(shape=shape, pods=tuple(numbers[shape])) for shape in serving_order(draft.world, numbers)))
    for shape, pods in numbers.items():
        if (apart := never_placed(draft.state, draft.policy.pods, shape)) is not None:
            queue.take(shape, len(pods), Served(outcome=apart[0], reasons=(apart[1],)))
    draft.share_among(draft.namespace(shape) for shape, _ in queue.waiting())
    before = [(group.desired, len(group.reasons)) for group in draft.groups]
    fill_busy(draft, queue, busy_nodes(draft))
    fill_existing(draft, queue)
    grow_for(draft, queue)
    explain_rest(draft, queue)
    places = {node.name: index for index, node in enumerate(draft.world.nodes)}
    served = {pod: lot.served for lot in queue.lots() for pod in lot.pods}
    for pod, entry in sorted(served.items()):
        if entry.outcome is PodOutcome.FITS_EXISTING and entry.node in places:
            draft.protected.add(places[entry.node])
            draft.kept_for.setdefault(places[entry.node], owners[pod].key)
    grown = _tell_groups(draft, served, owners, before)
    return _outcomes(draft.buffers, served, owners), grown


def _placeholders(draft: Draft) -> tuple[dict[int, list[int]], list[BufferPods]]:
    """Numbers for the pods of all buffers, by shape, and the buffer of each."""
    numbers: dict[int, list[int]] = defaultdict(list)
    owners: list[BufferPods] = []
    for buffer in draft.buffers:
        numbers[buffer.shape].extend(range(len(owners), len(owners) + buffer.count))
        owners.extend([buffer] * buffer.count)
    return numbers, owners


def busy_nodes(draft: Draft) -> "array[int]":
    """Nodes that stay anyway, the fullest first."""
    busy = [index for index in draft.busy if draft.states[index] in (NodeState.IN_USE, NodeState.UNMANAGED)]
    return array("i", sorted(draft.state.open_among(busy), key=lambda index: (_free(draft, index), index)))


def fill_busy(draft: Draft, queue: Queue, nodes: Sequence[int]) -> None:
    """Room on nodes that stay anyway comes first, the fullest node first. So an empty node may leave, and other pods still find
    places where no room is kept."""
    for shape, count in queue.waiting():
        if nodes and draft.shares.spend(shape, draft.namespace(shape), len(nodes)):
            queue.take_on(shape, place(draft, shape, count, nodes), lambda node: served_by_room(draft, node, None))


def _free(draft: Draft, node: int) -> int:
    """What is left of a node, on one scale for cpu and memory."""
    offered, (cpu_milli, memory_bytes) = draft.state.shape_of(node).allocatable, draft.state.used_cpu_and_memory(node)
    amounts = (offered.cpu_milli, cpu_milli), (offered.memory_bytes, memory_bytes)
    return sum((offer - used) * 1000 // max(1, offer) for offer, used in amounts)


def _tell_groups(
    draft: Draft, served: Mapping[int, Served], owners: Sequence[BufferPods], before: Sequence[tuple[int, int]]
) -> frozenset[str]:
    """Groups that grew say for which buffers, in place of pending pods. Their names."""
    asking: dict[str, dict[str, BufferPods]] = defaultdict(dict)
    there: Counter[str] = Counter()
    for pod, entry in sorted(served.items()):
        buffer = owners[pod]
        if entry.outcome is PodOutcome.TRIGGERS_SCALE_UP and entry.group:
            asking[entry.group][buffer.key] = buffer
        elif entry.outcome in (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING):
            there[buffer.key] += 1
    grown = set()
    for group, (size, told) in zip(draft.groups, before, strict=True):
        if group.desired == size:
            continue
        grown.add(group.group.name)
        buffers = asking[group.group.name]
        because = Headroom(
            wanted=sum(one.count for one in buffers.values()),
            free=sum(there[key] for key in buffers),
            nodes=group.desired - size,
            what="pods",
            buffers=tuple(sorted(buffers)),
        )
        others = [reason for reason in group.reasons[told:] if reason.code != PendingPods.code]
        group.reasons[told:] = [because.reason(), *others]
    return frozenset(grown)


def _outcomes(buffers: Sequence[BufferPods], served: Mapping[int, Served], owners: Sequence[BufferPods]) -> tuple[KeptRoom, ...]:
    entries: dict[str, list[Served]] = defaultdict(list)
    for pod, entry in sorted(served.items()):
        entries[owners[pod].key].append(entry)
    return tuple(_outcome(buffer, entries[buffer.key]) for buffer in buffers)


def _outcome(buffer: BufferPods, entries: Sequence[Served]) -> KeptRoom:
    counts = Counter(entry.outcome for entry in entries)
    groups: dict[PodOutcome, list[str]] = defaultdict(list)
    for entry in entries:
        if entry.group and entry.group not in groups[entry.outcome]:
            groups[entry.outcome].append(entry.group)
    reasons: list[Reason] = []
    if pods := counts[PodOutcome.FITS_EXISTING]:
        reasons.append(BufferFits(pods=pods).reason())
    if pods := counts[PodOutcome.FITS_UPCOMING]:
        reasons.append(BufferUpcoming(pods=pods, groups=tuple(groups[PodOutcome.FITS_UPCOMING])).reason())
    if pods := counts[PodOutcome.TRIGGERS_SCALE_UP]:
        reasons.append(BufferRequested(pods=pods, groups=tuple(groups[PodOutcome.TRIGGERS_SCALE_UP])).reason())
    placed = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP)
    left = [entry for entry in entries if entry.outcome not in placed]
    if left:
        reasons.append(BufferShort(pods=len(left)).reason())
        # Pods that were refused together share one entry.
        reasons.extend(reason for entry in {id(entry): entry for entry in left}.values() for reason in entry.reasons)
    return KeptRoom(buffer=buffer, served=counts, reasons=tuple(reasons))
