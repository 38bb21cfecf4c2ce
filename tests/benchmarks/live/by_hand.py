"""The least that machines take for the work of the comparison: the same numbers set by a hand, one write a group, nobody else at
work. What the loop took beyond it is the loop's; the rest is Cluster API's, the machines' and kube-scheduler's."""

import time
from collections.abc import Callable, Mapping

import msgspec

from tests.benchmarks.live.burst_work import GROUPS, BurstWork
from tests.benchmarks.yardstick import yardstick_seconds
from tests.testbed.api import Object
from tests.testbed.connections import Connections, Request

_MARK = "cluster.x-k8s.io/delete-machine"
Mix = tuple[tuple[str, int, str], ...]


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a burst of pods: seconds from its last pod to the first write and to all bound, from the last node's
    becoming ready to the last pod's being bound (by marks of whole seconds), and the replicas of each group at the end."""

    write_seconds: float
    bound_seconds: float
    after_nodes_seconds: float
    sizes: Mapping[str, int]


class Emptied(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the moment at which empty nodes may go until nothing is asked for, no Machine lives, and no Machine and no
    Node is there; the yardstick meanwhile, the mean of one measured before and one after."""

    asked_seconds: float
    deleted_seconds: float
    gone_seconds: float
    yardstick_seconds: float


def burst(work: BurstWork, mix: Mix, write: Callable[[float], float]) -> Burst:
    """The pods of a mix (name, count, cores of each) at once, up to the last one's being bound. `write` is told when the last pod
    was there, and returns when somebody had written."""
    pods = sum(count for _, count, _ in mix)
    for name, count, request in mix:
        work.deployment(name, count, request)
    came = work.until_pods(pods)
    wrote = write(came)
    last = work.until_bound(pods)
    return Burst(
        write_seconds=max(0.0, wrote - came),
        bound_seconds=last - came,
        after_nodes_seconds=work.bound_after_nodes_seconds(),
        sizes=work.sizes(),
    )


def emptied(work: BurstWork, since: float, before_seconds: float) -> Emptied:
    """How empty nodes go that may go `since` an instant; `before_seconds` is the yardstick before it."""
    asked = work.until_replicas(lambda found: found == 0, "nothing asked for")
    deleted = work.until_machines(0)
    gone = work.until_gone()
    return Emptied(
        asked_seconds=asked - since,
        deleted_seconds=deleted - since,
        gone_seconds=gone - since,
        yardstick_seconds=(before_seconds + yardstick_seconds()) / 2,
    )


def burst_by_hand(work: BurstWork, mix: Mix, model: Burst) -> Burst:
    """The burst again, its numbers set at the moment at which they were first written in `model`; then all gone.

    One machine more of the largest group: kube-scheduler, which spreads, can scatter what just fits on the loop's number, and a
    hand does not see that a pod is left over (12 machines of 192 cores for 190 cores of pods: one was, 2026-11-25)."""
    largest = max(GROUPS, key=GROUPS.__getitem__)
    sizes = {**model.sizes, largest: model.sizes[largest] + 1}

    def write(came: float) -> float:
        time.sleep(max(0.0, came + model.write_seconds - time.monotonic()))
        _scale(work, sizes)
        return time.monotonic()

    found = burst(work, mix, write)
    work.remove(*(name for name, _, _ in mix))
    work.until_pods(0)
    _scale(work, dict.fromkeys(model.sizes, 0))
    work.until_gone()
    return found


def emptied_by_hand(work: BurstWork, group: str, nodes: int, *, marked: bool) -> Emptied:
    """So many nodes of a group that never had a pod, all asked away in one write; `marked`: with delete marks on all Machines
    first, as fast as the server takes them."""
    _scale(work, {group: nodes})
    work.cluster.until_nodes(nodes)
    yardstick = yardstick_seconds()
    began = time.monotonic()
    if marked:
        with Connections(work.cluster.api) as connections:
            connections.send(Request("PATCH", _path(work, one), _MARKED) for one in work.cluster.machines())
    _scale(work, {group: 0})
    return emptied(work, began, yardstick)


_MARKED: Object = {"metadata": {"annotations": {_MARK: "by-hand"}}}


def _path(work: BurstWork, machine: Object) -> str:
    return f"{work.cluster.path('machines')}/{machine['metadata']['name']}"


def _scale(work: BurstWork, sizes: Mapping[str, int]) -> None:
    """One write a group whose number is another one."""
    for name, replicas in sizes.items():
        if work.sizes()[name] != replicas:
            path = f"{work.cluster.path('machinedeployments')}/{name}"
            work.cluster.api.call("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")
