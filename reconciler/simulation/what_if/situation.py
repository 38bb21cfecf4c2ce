"""One situation: how the cluster differs from what it is today, and the World that this gives."""

from collections import Counter

import msgspec

from reconciler.cluster.pods.pod import Pod, PodShape, Toleration
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import SharedRoom, TargetFacts, TargetRef
from reconciler.cluster.workloads.workload import Controller
from reconciler.cluster.world import World, WorldProblem
from reconciler.plan.what_if import SITUATION

_WAITED_SECONDS = 3600
"""Pods that come have been pending for so long, so that no delay for new pods leaves them out."""


class MorePods(msgspec.Struct, frozen=True, kw_only=True):
    """One more pod like that in `row` of the pods. `anywhere`: it may run on any node, and nothing else of its rules is kept."""

    row: int
    anywhere: bool = False


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what a user types, `words` is a phrase. The policies decide at `at_seconds` (Unix time).

    The pods `more` come and wait. The pods of the rows `gone` have left for good. The platform has no machine for the targets
    `closed`; those in `avoiding` get none in the zone `zone`. `settles`: what it leads to takes more than one plan, as removals
    do.
    """

    name: str
    words: str
    at_seconds: int
    more: tuple[MorePods, ...] = ()
    gone: tuple[int, ...] = ()
    settles: bool = False
    closed: frozenset[TargetRef] = frozenset()
    avoiding: frozenset[TargetRef] = frozenset()
    zone: str = ""


def in_situation(world: World, situation: Situation) -> World:
    """The World of a situation that was derived from the same pods and targets."""
    changed = _with_pods(world, situation) if situation.more or situation.gone else world
    note = WorldProblem(code=SITUATION, object="", message=f"this is not the cluster as it is. What if: {situation.words}")
    return msgspec.structs.replace(
        changed,
        targets=tuple(_target(facts, situation) for facts in changed.targets),
        problems=tuple(sorted((*changed.problems, note))),
    )


def _target(facts: TargetFacts, situation: Situation) -> TargetFacts:
    if facts.ref in situation.closed:
        room = SharedRoom(name=f"the stock of {facts.ref}", left=0, why="it has no machines in this situation")
        return msgspec.structs.replace(facts, rooms=(*facts.rooms, room))
    if facts.ref in situation.avoiding:
        zones = tuple(zone for zone in facts.template.zones if zone != situation.zone)
        avoided = tuple(sorted({*facts.template.avoided_zones, situation.zone}))
        template = msgspec.structs.replace(facts.template, zones=zones, avoided_zones=avoided)
        return msgspec.structs.replace(facts, template=template)
    return facts


def _with_pods(world: World, situation: Situation) -> World:
    gone = frozenset(situation.gone)
    rows = [pod for row, pod in enumerate(world.pods) if row not in gone]
    shapes: dict[PodShape, int] = {}
    numbers = Counter[str]()
    for more in situation.more:
        like = world.pods[more.row]
        shape = like.shape
        if more.anywhere:
            shape = shapes.setdefault(_anywhere(world.pod_shapes[shape]), len(world.pod_shapes) + len(shapes))
        numbers[like.key] += 1
        rows.append(_again(like, shape, numbers[like.key], situation.at_seconds - _WAITED_SECONDS))
    moved = Counter(world.pods.traits[more.row] for more in situation.more)
    moved.subtract(world.pods.traits[row] for row in situation.gone)
    return msgspec.structs.replace(
        world,
        pod_shapes=(*world.pod_shapes, *shapes),
        pods=PodTable(sorted(rows, key=lambda pod: (pod.namespace, pod.name))),
        controllers=_controllers(world, moved),
    )


def _again(like: Pod, shape: int, number: int, created_seconds: int) -> Pod:
    name = f"{like.name}-again-{number}"
    return Pod(
        namespace=like.namespace, name=name, uid=f"uid-{like.namespace}-{name}", shape=shape, traits=like.traits,
        created_seconds=created_seconds,
    )  # fmt: skip


def _anywhere(shape: PodShape) -> PodShape:
    return PodShape(
        namespace=shape.namespace, requests=shape.requests, priority=shape.priority, scheduler_name=shape.scheduler_name,
        tolerations=(Toleration(key="", operator="Exists", value="", effect=""),),
    )  # fmt: skip


def _controllers(world: World, moved: "Counter[int]") -> tuple[Controller, ...]:
    """Those of the World; each wants the pods that came, and does not want those that left."""
    more = Counter[tuple[str, str, str, str]]()
    for number, pods in moved.items():
        traits = world.pod_traits[number]
        if traits.controller is not None:
            more[traits.controller.api_group, traits.controller.kind, traits.namespace, traits.controller.name] += pods
    keys = ((one, (one.api_group, one.kind, one.namespace, one.name)) for one in world.controllers)
    return tuple(
        one if one.replicas is None or not more[key] else msgspec.structs.replace(one, replicas=max(0, one.replicas + more[key]))
        for one, key in keys
    )
