"""What comes with each node of a group: requests of pods of a DaemonSet, where they differ between groups, and static pods."""

from collections.abc import Mapping, Sequence
from itertools import compress

import msgspec

from reconciler.cluster.world import World


class StaticPod(msgspec.Struct, frozen=True):
    """A pod that the kubelet makes from a file of its node: `name` without the node's, `shape` and `traits` by index."""

    namespace: str
    name: str
    shape: int
    traits: int


def static_pods(world: World, group_of: Sequence[int]) -> Mapping[int, tuple[StaticPod, ...]]:
    """The static pods on the newest ready node of each group, by the group's position, in World order. The next node will be made
    like that one. Source: Cluster Autoscaler's template of a group keeps the mirror pods of the node that it is made from."""
    mirrors = bytes(traits.mirror for traits in world.pod_traits)
    if not any(mirrors):
        return {}
    newest: dict[int, tuple[int, str, int]] = {}
    for index, node in enumerate(world.nodes):
        if group_of[index] >= 0 and node.ready and not node.deleting:
            one = (node.created_seconds, node.name, index)
            newest[group_of[index]] = max(one, newest.get(group_of[index], one))
    group_on = {index: group for group, (_, _, index) in newest.items()}
    pods, by_group = world.pods, dict[int, list[StaticPod]]()
    for row in compress(range(len(pods)), map(mirrors.__getitem__, pods.traits)):
        node_index = pods.node[row]
        if node_index in group_on and not pods.finished(row) and not pods.deletion_seconds[row]:
            name = pods.name[row].removesuffix(f"-{world.nodes[node_index].name}")
            one_pod = StaticPod(pods.namespace[row], name, pods.shape[row], pods.traits[row])
            by_group.setdefault(group_on[node_index], []).append(one_pod)
    return {group: tuple(there) for group, there in by_group.items()}


def daemon_shapes(world: World, group_of: Sequence[int]) -> Mapping[tuple[str, str, int], int]:
    """The shape of the newest pod, by namespace and name of its DaemonSet and position of the group. This covers DaemonSets whose
    pods differ in their requests, because a webhook may set these by node. `group_of` has the group's position for each node,
    below 0 for none."""
    several = {(daemon.namespace, daemon.name): (daemon.shape, *daemon.others) for daemon in world.daemon_pods if daemon.others}
    if not several:
        return {}
    pods = world.pods
    owners = {
        number: (traits.namespace, traits.controller.name)
        for number, traits in enumerate(world.pod_traits)
        if traits.controller is not None
        and traits.controller.kind == "DaemonSet"
        and (traits.namespace, traits.controller.name) in several
    }
    marked = bytes(number in owners for number in range(len(world.pod_traits)))
    newest: dict[tuple[str, str, int], tuple[int, str, int]] = {}
    for row in compress(range(len(pods)), map(marked.__getitem__, pods.traits)):
        node = pods.node[row]
        if node < 0 or group_of[node] < 0 or pods.deletion_seconds[row] or pods.finished(row):
            continue
        key = (*owners[pods.traits[row]], group_of[node])
        newest[key] = max((pods.created_seconds[row], pods.name[row], pods.shape[row]), newest.get(key, (-1, "", -1)))
    by_requests = {
        (*name, world.pod_shapes[shape].requests): shape for name, shapes in several.items() for shape in reversed(shapes)
    }
    shape_of = {}
    for (namespace, name, group), (_, _, seen) in newest.items():
        shape = by_requests.get((namespace, name, world.pod_shapes[seen].requests))
        if shape is not None:
            shape_of[namespace, name, group] = shape
    return shape_of
