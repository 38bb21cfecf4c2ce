"""A picture of a cluster: which pods run on which nodes, and how much of each node they use."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from reconciler.cluster.world import World
from reconciler.plan.plan import GroupLine, NodeLine

_WHOLE = 1000


class PicturePod(msgspec.Struct, frozen=True, gc=False):
    """One pod on a node: `share_permille` of the node's most requested resource; `daemon` leaves with its node."""

    pod: str
    share_permille: int
    daemon: bool = False


class PictureNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node with its pods, the largest first. `resource` is its most requested resource (empty: none), and `used_permille` is
    the requested share. It is above 1000 if the pods request more than the node offers."""

    node: str
    group: str | None
    ready: bool = True
    allocatable: Resources = Resources()
    resource: str = ""
    used_permille: int = 0
    pods: tuple[PicturePod, ...] = ()


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes by name; `waiting` are pods without a node."""

    nodes: tuple[PictureNode, ...] = ()
    waiting: int = 0


class Pictures(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster now, and `rest`, its steady state. `rest_before` is the steady state under another policy. Each is None if it
    was not computed."""

    now: Picture
    rest: Picture | None = None
    rest_before: Picture | None = None


def picture(world: World, groups: Sequence[GroupLine], nodes: Sequence[NodeLine]) -> Picture:
    """The picture of a World. The group of a node comes from the plan, else from the target of its machine."""
    group_of: dict[str, str | None] = {}
    by_target = {line.target: line.name for line in groups}
    for machine in world.machines:
        if machine.node and machine.target is not None and str(machine.target) in by_target:
            group_of[machine.node] = by_target[str(machine.target)]
    group_of.update((line.node, line.group) for line in nodes if line.group is not None)
    rows = _rows(world)
    return Picture(
        nodes=tuple(
            _node(world, index, group_of, rows.get(index, ())) for index in range(len(world.nodes)) if world.nodes[index].name
        ),
        waiting=len(world.pods.pending()),
    )


def _rows(world: World) -> Mapping[int, Sequence[int]]:
    """Rows of pods that hold resources, by node."""
    pods = world.pods
    rows: dict[int, list[int]] = {}
    for row, node in enumerate(pods.node):
        if node >= 0 and not pods.finished(row):
            rows.setdefault(node, []).append(row)
    return rows


def _node(world: World, index: int, group_of: Mapping[str, str | None], rows: Sequence[int]) -> PictureNode:
    node, pods = world.nodes[index], world.pods
    offered = world.node_shapes[node.shape].allocatable
    requests = [world.pod_shapes[pods.shape[row]].requests for row in rows]
    resource, used = _most_requested(offered, requests)
    pictured = []
    for row, asked in zip(rows, requests, strict=True):
        traits = world.pod_traits[pods.traits[row]]
        share = _share(asked.get(resource), offered.get(resource)) if resource else 0
        pictured.append(PicturePod(pods.key(row), share, traits.daemonset or traits.mirror))
    pictured.sort(key=lambda pod: (pod.daemon, -pod.share_permille, pod.pod))
    return PictureNode(
        node=node.name,
        group=group_of.get(node.name),
        ready=node.ready,
        allocatable=offered,
        resource=resource,
        used_permille=used,
        pods=tuple(pictured),
    )


def _most_requested(offered: Resources, requests: Sequence[Resources]) -> tuple[str, int]:
    """The resource of which the largest part is requested, and that part; slots for pods and disk do not count."""
    best, most = "", 0
    for name in (CPU, MEMORY, *(name for name, _ in offered.extended)):
        if name in (PODS, EPHEMERAL_STORAGE):
            continue
        used = _share(sum(asked.get(name) for asked in requests), offered.get(name))
        if used > most:
            best, most = name, used
    return best, most


def _share(amount: int, of: int) -> int:
    return amount * _WHOLE // of if of > 0 else 0
