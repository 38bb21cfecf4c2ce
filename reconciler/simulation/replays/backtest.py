"""Snapshots of one cluster as demand: the pods of each capture are wanted until the next one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import msgspec

from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.world import World
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number

Value = TypeVar("Value")
_BY_NAME = ("StatefulSet",)


class BacktestError(ValueError):
    """Captures that do not form a history; the message names the fault."""


class Backtest(msgspec.Struct, frozen=True):
    """The demand, and the cluster as it was at first, with volumes, budgets and namespaces of all captures."""

    trace: Trace
    world: World


def backtest(name: str, captures: Sequence[tuple[str, World]]) -> Backtest:
    """The trace of captures by name, in the order of their instants. The last capture lasts as long as the previous one.

    Raises `BacktestError` for fewer than two captures, for an unknown instant, and for two with the same instant.
    """
    ordered = sorted(captures, key=lambda capture: (capture[1].captured_seconds, capture[0]))
    if len(ordered) < 2:
        raise BacktestError(
            f"no file of a recording, and {count_text(len(ordered), 'snapshot')}, but a replay needs at least two, each in its "
            "own directory or file"
        )
    for (label, world), (next_label, following) in pairwise(ordered):
        if not world.captured_seconds:
            raise BacktestError(f"nothing in {label} tells when it was taken: put capturedAt into its snapshot.yaml")
        if world.captured_seconds == following.captured_seconds:
            raise BacktestError(
                f"{label} and {next_label} were taken at the same instant: put capturedAt into their snapshot.yaml"
            )
    worlds = [world for _, world in ordered]
    counts = [wanted_pods(world) for world in worlds]
    sources = {source: index for index, source in enumerate(dict.fromkeys(source for counted in counts for source in counted))}
    steps = []
    for before, now, world in zip(counts, counts[1:], worlds[1:], strict=False):
        touched = (*now, *(source for source in before if source not in now))
        changes = sorted((sources[source], now[source]) for source in touched if now[source] != before[source])
        if changes:
            steps.append(DemandStep(world.captured_seconds, tuple(changes)))
    start, last = worlds[0].captured_seconds, worlds[-1].captured_seconds
    trace = Trace(
        name=name,
        start_seconds=start,
        end_seconds=2 * last - worlds[-2].captured_seconds,
        sources=tuple(sources),
        steps=tuple(steps),
        present=tuple(counts[0][source] for source in sources),
    )
    return Backtest(trace, _merged(worlds))


def wanted_pods(world: World) -> Counter[DemandSource]:
    """How many pods of each kind are wanted. Pods of DaemonSets and mirror pods follow their nodes, so they do not count. Neither
    do finished, gated and terminating ones, except those of a StatefulSet that will come again under their names."""
    pods = world.pods
    replicas = {(one.namespace, one.name): one.replicas or 0 for one in world.controllers if one.kind in _BY_NAME}
    keys: Counter[tuple[int, int, str]] = Counter()
    for index in range(len(pods)):
        traits = world.pod_traits[pods.traits[index]]
        if traits.daemonset or traits.mirror or pods.finished(index) or pods.gated(index):
            continue
        if pods.deletion_seconds[index] and not _comes_again(traits, pods.name[index], replicas):
            continue
        named = traits.controller is None or traits.controller.kind in _BY_NAME
        keys[pods.shape[index], pods.traits[index], pods.name[index] if named else ""] += 1
    return Counter(
        {_backtest_source(world.pod_shapes[shape], world.pod_traits[kind], name): n for (shape, kind, name), n in keys.items()}
    )


def _comes_again(traits: PodTraits, name: str, replicas: Mapping[tuple[str, str], int]) -> bool:
    """Is it terminating although its controller wants its name?"""
    owner = traits.controller
    if owner is None or owner.kind not in _BY_NAME or not name.startswith(f"{owner.name}-"):
        return False
    ordinal = whole_number(name.removeprefix(f"{owner.name}-"))
    return ordinal is not None and ordinal < replicas.get((traits.namespace, owner.name), 0)


def _backtest_source(shape: PodShape, traits: PodTraits, name: str) -> DemandSource:
    return DemandSource(shape=shape, traits=traits, pod_name=name)


def _merged(worlds: Sequence[World]) -> World:
    """The first capture with what pods of later ones refer to."""
    storage = [world.storage for world in worlds]
    return msgspec.structs.replace(
        worlds[0],
        budgets=_latest((world.budgets for world in worlds), lambda budget: (budget.namespace, budget.name)),
        controllers=_latest(
            (world.controllers for world in worlds), lambda item: (item.api_group, item.kind, item.namespace, item.name)
        ),
        services=_latest((world.services for world in worlds), lambda item: (item.namespace, item.name)),
        namespaces=_latest((world.namespaces for world in worlds), lambda item: item[0]),
        storage=msgspec.structs.replace(
            storage[0],
            volumes=_latest((part.volumes for part in storage), lambda item: item.name),
            claims=_latest((part.claims for part in storage), lambda item: (item.namespace, item.name)),
            classes=_latest((part.classes for part in storage), lambda item: item.name),
        ),
    )


def _latest(parts: Iterable[tuple[Value, ...]], key: Callable[[Value], object]) -> tuple[Value, ...]:
    """Of each key the value of the last part that has it, in the order of the keys."""
    newest = {key(value): value for part in parts for value in part}
    return tuple(newest[name] for name in sorted(newest, key=str))
