"""Pods that do not count for the utilization of a node (`scaleDown.daemonSetUtilization: Ignore`)."""

from collections.abc import Iterable

from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.policy.documents import Counting


def ignored_pods(world: World, group: EffectiveGroup | None, pods: Iterable[int], cutoff: int) -> tuple[int, ...]:
    """Those of `pods` (indexes into the World) that the group ignores. Finished pods and pods of a priority below `cutoff`
    count in no utilization to begin with, and are not among them.

    Source: Cluster Autoscaler `--ignore-daemonsets-utilization` and `--ignore-mirror-pods-utilization`, both false.
    """
    if group is None:
        return ()
    ignores_daemonsets = group.scale_down.daemon_set_utilization is Counting.IGNORE
    ignores_mirror_pods = group.scale_down.mirror_pod_utilization is Counting.IGNORE
    if not (ignores_daemonsets or ignores_mirror_pods):
        return ()
    ignored = []
    table = world.pods
    for index in pods:
        traits = world.pod_traits[table.traits[index]]
        marked = (traits.daemonset and ignores_daemonsets) or (traits.mirror and ignores_mirror_pods)
        if marked and not table.finished(index) and world.pod_shapes[table.shape[index]].priority >= cutoff:
            ignored.append(index)
    return tuple(ignored)


def requests_of(world: World, pods: Iterable[int]) -> Resources:
    """What these pods request together."""
    total = Resources()
    for index in pods:
        total = total.plus(world.pod_shapes[world.pods.shape[index]].requests)
    return total
