"""Nodes that pods were promised: a pod that still waits for its node never causes a second scale-up.

Which pods share a node follows from what was there when the node was requested. Later all requested nodes are upcoming at once.
The same pods in the same order may then fill a node that others need. Without promises, those others would cause a second node.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import PolicyClaim
from reconciler.decisions.demand.queue import Lot, Queue, Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.zones import place
from reconciler.decisions.reasons.pods import PromisedElsewhere
from reconciler.plan.plan import PodOutcome

Serve = Callable[[int], Served]
"""The outcome of pods on a node."""
Promises = Mapping[str, Mapping[str, int]]
"""Pods that wait for a node of a group, by target and shape (some hex digits over all that a pod of it asks for)."""

MOST_PROMISES = 2_048
"""Pairs of a target and a shape that are remembered, about 64 KiB of text."""
_DIGITS = 12
_WAITS = (PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.FITS_UPCOMING, PodOutcome.FITS_EXISTING)


def promised_again(draft: Draft, lots: Iterable[Lot]) -> bool:
    """Whether nodes are added for pods of a shape to which nodes were promised before."""
    known = {shape for of_target in draft.memory.promised.values() for shape in of_target}
    bought = {lot.shape for lot in lots if lot.served.outcome is PodOutcome.TRIGGERS_SCALE_UP} if known else ()
    return any(_digest(draft.world.pod_shapes[shape]) in known for shape in bought)


class Keeping(Enum):
    """How pods take the nodes that they were promised before others look for room: not at all, first fit, or each the emptiest
    node. Which of them does, hangs on how these nodes were chosen."""

    NOT = "not"
    FIRST_FIT = "first-fit"
    EMPTIEST = "emptiest"


def keep_promises(draft: Draft, queue: Queue, serve: Serve, keeping: Keeping, avoided: Callable[[int], Container[int]]) -> None:
    """Pods take the nodes that they were promised, as far as these are there or on their way and have room. Pods of a shape
    take no node that `avoided` has for it: the group of that node failed before, and it may fail for ever."""
    if keeping is Keeping.NOT:
        return
    put = place if keeping is Keeping.FIRST_FIT else _on_emptiest
    digests = {shape: _digest(draft.world.pod_shapes[shape]) for shape, _ in queue.waiting()}
    promised = {target: dict(of_target) for target, of_target in draft.memory.promised.items()}
    moved = True
    while moved:
        # A pod more in one zone frees a place in the others.
        moved = False
        for shape, waiting in queue.waiting():
            left, apart = waiting, avoided(shape)
            for group in draft.groups:
                wanted = promised.get(str(group.group.target), {})
                pods = min(left, wanted.get(digests[shape], 0))
                there = (node for node in group.situation.nodes if not draft.state.closed(node))
                nodes = [node for node in (*there, *group.upcoming_nodes) if node not in apart]
                if not pods or not draft.shares.spend(shape, draft.namespace(shape), len(nodes)):
                    continue
                for node, placed in put(draft, shape, pods, nodes):
                    queue.take(shape, placed, serve(node))
                    wanted[digests[shape]] -= placed
                    left -= placed
                    moved = True


def _on_emptiest(draft: Draft, shape: int, count: int, nodes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """As `place`, one after the other. Source of the order: kube-scheduler's LeastAllocated, over cpu and memory."""
    placed = Counter[int]()
    for _ in range(count):
        if not draft.shares.spend(shape, draft.namespace(shape), len(nodes)):
            break
        placements = place(draft, shape, 1, sorted(nodes, key=lambda node: _full_permille(draft, node)))
        if not placements:
            break
        placed.update(dict(placements))
    return placed.items()


def _full_permille(draft: Draft, node: int) -> int:
    offered, used = draft.state.shape_of(node).allocatable, draft.state.used(node)
    return sum(used.get(name) * 1000 // max(1, offered.get(name)) for name in ("cpu", "memory"))


def leave_to_others(draft: Draft, queue: Queue, left: dict[str, list[tuple[PolicyClaim, int]]]) -> None:
    """Pods for which another policy adds a node are not ours to add one for. `left` are the promises of other policies, less
    those that are used up here."""
    for shape, waiting in queue.waiting() if left else ():
        some = left.get(_digest(draft.world.pod_shapes[shape]), [])
        wanted = waiting
        while some and wanted:
            claim, pods = some.pop()
            taken = min(pods, wanted)
            reason = PromisedElsewhere(policy=claim.policy, namespace=claim.namespace, holder=claim.holder).reason()
            queue.take(shape, taken, Served(outcome=PodOutcome.FITS_UPCOMING, reasons=(reason,)))
            wanted -= taken
            if taken < pods:
                some.append((claim, pods - taken))


def _given_up(draft: Draft, entry: Served) -> bool:
    """Whether our promise to these pods ends because of an equal one. If two policies promise at once, neither has written, or
    the one that has sees its own node on the way. The policy whose name comes later gives up."""
    others = (reason.data["policy"] for reason in entry.reasons if reason.code == PromisedElsewhere.code)
    return any(str(other) < draft.policy.name for other in others)


def promises(draft: Draft, lots: Sequence[Lot]) -> Promises:
    """What to remember: what is promised now, and what was promised before to pods that still wait."""
    before, targets = draft.memory.promised, {group.group.name: str(group.group.target) for group in draft.groups}
    bought = [lot for lot in lots if lot.served.outcome is PodOutcome.TRIGGERS_SCALE_UP]
    if not before and not bought:
        return {}
    digests = {shape: _digest(draft.world.pod_shapes[shape]) for shape in {lot.shape for lot in lots}}
    coming = {str(group.group.target) for group in draft.groups if group.upcoming_nodes}
    now, waiting, unplaceable = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for lot in bought:
        now[targets[lot.served.group or ""], digests[lot.shape]] += len(lot.pods)
    for lot in lots:
        if lot.served.outcome is PodOutcome.UNPLACEABLE:
            unplaceable[digests[lot.shape]] += len(lot.pods)
        elif lot.served.outcome in _WAITS and not _given_up(draft, lot.served):
            waiting[digests[lot.shape]] += len(lot.pods)
    for (_, digest), pod_count in now.items():
        waiting[digest] -= pod_count
    for target, of_target in before.items():
        for digest, pod_count in of_target.items():
            if target not in targets.values():
                continue
            # Other policies read this: a pod that no node is coming for must not keep them from adding one.
            missing = pod_count
            for left in (waiting, unplaceable) if target in coming else (waiting,):
                kept = min(missing, left[digest])
                if kept > 0:
                    now[target, digest] += kept
                    left[digest] -= kept
                    missing -= kept
    return _by_target(sorted(now.items(), key=lambda item: (-item[1], item[0]))[:MOST_PROMISES])


def _by_target(counts: Iterable[tuple[tuple[str, str], int]]) -> Promises:
    promised: dict[str, dict[str, int]] = {}
    for (target, shape), count in sorted(counts):
        promised.setdefault(target, {})[shape] = count
    return promised


def _digest(shape: PodShape) -> str:
    return hashlib.sha256(msgspec.json.encode(shape)).hexdigest()[:_DIGITS]
