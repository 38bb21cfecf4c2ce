"""PodGroups that keep nothing together: kube-scheduler binds each of their pods by itself, as it binds pods without a group.

There may be a group for each of thousands of pods. Without their groups, equal pods are one shape again.
"""

from array import array
from collections.abc import Sequence, Set

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.pods.shape_numbers import ShapeNumbers
from reconciler.cluster.world import World, with_pod_shapes
from reconciler.decisions.situation.pod_groups import grouped_pods, unclear_group
from reconciler.decisions.situation.waiting_pods import waiting_pods


def without_loose_groups(world: World, gang_labels: Sequence[str]) -> World:
    """The World in which pods of such groups have none. Numbers of shapes may change. The result for a result is itself, and for
    a World without groups the World. A pod with one of `gang_labels` keeps its group, which counts instead of the label. For a
    kube-scheduler that does not look at groups, no pod has one."""
    grouped = {(shape.namespace, shape.pod_group) for shape in world.pod_shapes if shape.pod_group}
    if not grouped:
        return world
    loose = _loose(world) if world.release.pod_groups else grouped
    labels = frozenset(gang_labels if world.release.pod_groups else ())
    numbers = ShapeNumbers()
    new = [numbers.of(_ungrouped(shape, loose, labels)) for shape in world.pod_shapes]
    pods = world.pods.with_columns(shape=array("i", map(new.__getitem__, world.pods.shape)))
    return with_pod_shapes(world, tuple(numbers.shapes), pods, new.__getitem__)


def _loose(world: World) -> frozenset[tuple[str, str]]:
    """The groups that are understood, need one pod, and give no reason against binding it."""
    held = {group.key for group in grouped_pods(world, waiting_pods(world)) if group.held is not None}
    return frozenset(
        key
        for group in world.pod_groups
        if (key := (group.namespace, group.name)) not in held
        and group.min_count == 1
        and not group.indivisible
        and not unclear_group(world, group.name, group)
    )


def _ungrouped(shape: PodShape, loose: Set[tuple[str, str]], labels: frozenset[str]) -> PodShape:
    if (shape.namespace, shape.pod_group) not in loose or any(key in labels for key, _ in shape.labels):
        return shape
    return msgspec.structs.replace(shape, pod_group="", preemption_policy="")
