"""Which nodes could be drained today, at which utilization threshold, what keeps the others, and what that costs.

As in Kubecost's static check, the table shows nodes by threshold, and every failing pod with every failing rule. It adds the
hourly price of the nodes that each blocker keeps, and what to do about the blocker. Each node is examined alone, against the
current cluster.
"""

from collections import defaultdict

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.world import World
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.kept_nodes import NodeNotExamined, NoPlaceForSome
from reconciler.decisions.removal.candidates import Candidate, look_at_nodes
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.keeps import ROLLOUT, codes_asked_by
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import NodeState
from reconciler.plan.reason import Blocker
from reconciler.policy.documents import PolicySet
from reconciler.values.money import price_text

ADVICE = {
    "BlockedNamespace": "drain the node by hand, or remove the namespace from drain.blockedNamespaces",
    "ControllerNotFound": "delete the pod, or restore its controller",
    "ControllerUnknown": "capture its controller as well, or correct the object that cannot be read",
    "CustomController": "annotate it safe-to-evict if its controller recreates it, or set drain.customControllers: Allow",
    "DoNotDisrupt": "wait until it ends, or remove the annotation",
    "DoNotDisruptUnreadable": "write true, false, a duration such as 4h, or an instant such as 2026-11-21T18:00:00Z",
    "GangIndivisible": "end the pods of the PodGroup together, or set drain.podGroups: Allow",
    "GangMinimum": "run more pods than minCount of the PodGroup, lower it, or set drain.podGroups: Allow",
    "JobAwaited": "wait until it finishes, or bound the wait by drain.maxPodAge",
    "JobRunning": "wait until it finishes, or set drain.jobs: Wait or Allow",
    "LocalStorage": "name the volume in safe-to-evict-local-volumes if its data may be lost",
    "MinReplicas": "run more replicas, or lower drain.minReplicas",
    "NoPlaceToMove": "the pod needs room on another node: lower its requests, or let a group grow",
    "NotEnoughPdb": "run more replicas than the disruption budget needs, or loosen it",
    "NotModelled": "it uses a feature that is not modelled: drain the node by hand if that is safe",
    "NotSafeToEvict": 'remove the annotation safe-to-evict: "false" when the work is done',
    "OnCompletion": "wait until it ends",
    "SystemPod": "give it a PodDisruptionBudget",
    "Unreplicated": "run it under a controller",
}


class NodeDrain(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One node. `safe` has one entry per threshold, in their order. `price_per_hour` None: unknown."""

    node: str
    group: str | None
    utilization_permille: int | None
    price_per_hour: str | None
    safe: tuple[bool, ...]
    blockers: tuple[Blocker, ...]


class Pin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one pod keeps: nodes that would be safe at the highest threshold without this pod and equal ones."""

    pod: str
    codes: tuple[str, ...]
    nodes: tuple[str, ...]
    price_per_hour: str | None
    advice: tuple[str, ...]


class DrainReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The table, and the pods that pin nodes, most expensive first. `without_requests` counts running pods that request neither
    cpu nor memory: they are invisible to every decision here."""

    format_version: str = "1.0"
    cluster: str
    thresholds: tuple[int, ...]
    nodes: tuple[NodeDrain, ...]
    pins: tuple[Pin, ...]
    without_requests: tuple[str, ...]
    currency: str


def drain_report(world: World, policy: PolicySet, now_seconds: int, thresholds: tuple[int, ...], work_budget: int) -> DrainReport:
    """Examine every node alone. Timers, budgets, cool-downs, group sizes and holds do not count here."""
    return judged(world, lambda some: _report(some, policy, now_seconds, thresholds, work_budget))


def _report(world: World, policy: PolicySet, now_seconds: int, thresholds: tuple[int, ...], work_budget: int) -> DrainReport:
    draft = View.of(world, policy, Memory(), now_seconds, Work(work_budget)).draft(lift_holds=True)
    world = draft.world
    ledger = DisruptionLedger(world, policy.policy.drain.pod_groups)
    candidates = look_at_nodes(draft, ledger)
    blockers = {candidate.index: _blockers(draft, candidate) for candidate in candidates}
    prices = {candidate.index: _price(candidate) for candidate in candidates}
    nodes = tuple(
        NodeDrain(
            node=world.nodes[candidate.index].name,
            group=candidate.group.group.name if candidate.group is not None else None,
            utilization_permille=candidate.utilization_permille,
            price_per_hour=None if (price := prices[candidate.index]) is None else price_text(price),
            safe=tuple(
                not blockers[candidate.index] and (candidate.utilization_permille or 0) <= 10 * percent for percent in thresholds
            ),
            blockers=blockers[candidate.index],
        )
        for candidate in candidates
    )
    return DrainReport(
        cluster=world.name,
        thresholds=thresholds,
        nodes=nodes,
        pins=_pins(world, candidates, blockers, prices, max(thresholds)),
        without_requests=_without_requests(world),
        currency=policy.policy.currency,
    )


def _price(candidate: Candidate) -> int | None:
    return candidate.group.group.price_micros if candidate.group is not None else None


def _blockers(draft: Draft, candidate: Candidate) -> tuple[Blocker, ...]:
    """What runs on the node and keeps it, and where its pods have no other place."""
    if candidate.state is NodeState.LEAVING:
        return tuple(blocker for blocker in candidate.keeps if blocker.code == "Leaving")
    blockers = list(keeps_from_draining(candidate))
    state, mark = draft.state, draft.state.mark()
    state.leave(candidate.index)
    for shape in sorted(candidate.moving, key=lambda shape: (-state.pod_shape(shape).requests.cpu_milli, shape)):
        count = candidate.moving[shape]
        state.unbind(shape, candidate.index, count)
        if not draft.work.spend(state.node_count):
            blockers.append(NodeNotExamined().blocker())
            break
        if state.modelled(shape):
            continue
        placed = sum(bound for _, bound in state.place(shape, count))
        if placed < count:
            pods = draft.world.pods
            key = next(pods.key(index) for index in candidate.pods if pods.shape[index] == shape)
            blockers.append(NoPlaceForSome(pods=count - placed, of=count).blocker(key))
    state.undo(mark)
    return tuple(blockers)


def _pins(
    world: World,
    candidates: tuple[Candidate, ...],
    blockers: dict[int, tuple[Blocker, ...]],
    prices: dict[int, int | None],
    highest_percent: int,
) -> tuple[Pin, ...]:
    pinned: dict[str, list[int]] = defaultdict(list)
    codes: dict[str, set[str]] = defaultdict(set)
    for candidate in candidates:
        if (candidate.utilization_permille or 0) > 10 * highest_percent:
            continue
        for blocker in blockers[candidate.index]:
            if blocker.pod:
                codes[blocker.pod].add(blocker.code)
                if candidate.index not in pinned[blocker.pod]:
                    pinned[blocker.pod].append(candidate.index)
    ranked = []
    for pod, nodes in pinned.items():
        known = [price for node in nodes if (price := prices[node]) is not None]
        pin = Pin(
            pod=pod,
            codes=tuple(sorted(codes[pod])),
            nodes=tuple(world.nodes[node].name for node in nodes),
            price_per_hour=price_text(sum(known)) if known else None,
            advice=tuple(ADVICE[code] for code in sorted(codes[pod]) if code in ADVICE),
        )
        ranked.append((-sum(known), pod, pin))
    return tuple(pin for _, _, pin in sorted(ranked, key=lambda entry: entry[:2]))


def _without_requests(world: World) -> tuple[str, ...]:
    bare = frozenset(
        index for index, shape in enumerate(world.pod_shapes) if not shape.requests.cpu_milli and not shape.requests.memory_bytes
    )
    pods = world.pods
    return tuple(
        pods.key(index)
        for index in range(len(pods))
        if pods.shape[index] in bare and pods.node[index] >= 0 and not pods.finished(index)
    )


def keeps_from_draining(candidate: Candidate) -> tuple[Blocker, ...]:
    """What keeps the node from being drained by whomever, apart from room for its pods elsewhere."""
    return tuple(blocker for blocker in candidate.keeps if blocker.code in codes_asked_by(ROLLOUT))
