"""Which requests the pods of a DaemonSet have on nodes of one group, where they differ between groups."""

from collections.abc import Mapping, Sequence
from itertools import compress

from reconciler.cluster.world import World


def daemon_shapes(world: World, group_of: Sequence[int]) -> Mapping[tuple[str, str, int], int]:
    """The shape of the newest pod, by namespace and name of its DaemonSet and position of the group. It covers DaemonSets whose
    pods differ in their requests, because a webhook may depend on the node. `group_of` has positions by node, below 0 for
    none."""
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
    found = {}
    for (namespace, name, group), (_, _, seen) in newest.items():
        shape = by_requests.get((namespace, name, world.pod_shapes[seen].requests))
        if shape is not None:
            found[namespace, name, group] = shape
    return found
