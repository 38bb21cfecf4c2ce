"""When two groups are alike enough to be grown together (`balanceWith: Auto`), and what broke it when they are not."""

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.reasons.amounts import amount_text
from reconciler.policy.balancing import ALWAYS_IGNORED, ALWAYS_IGNORED_PREFIX, presets
from reconciler.policy.documents import NodeGroupPolicy

# Cluster Autoscaler `nodegroupset/compare_nodegroups`: capacity equal but for memory, which machines of one type report
# with small differences; allocatable may differ a little more, because reservations do.
MEMORY_PERMILLE, ALLOCATABLE_PERMILLE = 15, 50


def ignored_labels(policy: NodeGroupPolicy) -> frozenset[str]:
    """Labels in which siblings may differ, by the policy and its presets; `beta.kubernetes.io/*` besides."""
    asked = (preset for name in policy.balancing_presets if (preset := presets().get(name)) is not None)
    labels = (label for preset in asked for label in preset.labels)
    return frozenset((*ALWAYS_IGNORED, *policy.balancing_ignore_labels, *labels))


def difference(left: NodeShape, right: NodeShape, ignored: frozenset[str]) -> str:
    """The first thing in which two new nodes differ too much, as a phrase; empty when they are alike.

    Capacity is compared exactly but for memory (1.5 %), allocatable within 5 %, labels but the ignored ones, and taints,
    which the Cluster Autoscaler leaves out.
    """
    size = size_difference(left.capacity, right.capacity)
    if size:
        return size
    for name in sorted({key for key, _ in (*left.allocatable.items(), *right.allocatable.items())}):
        one, two = left.allocatable.get(name), right.allocatable.get(name)
        if not _within(one, two, ALLOCATABLE_PERMILLE):
            return f"allocatable {name} {amount_text(name, one)} and {amount_text(name, two)}"
    mine, theirs = _labels(left, ignored), _labels(right, ignored)
    for key in sorted(mine.keys() | theirs.keys()):
        if mine.get(key) != theirs.get(key):
            return f"label {key}: {mine.get(key, 'none')} and {theirs.get(key, 'none')}"
    if left.taints != right.taints:
        return "taints"
    return ""


def size_difference(left: Resources, right: Resources) -> str:
    """The first resource in which two capacities differ by more than machines of one type do; empty when there is none."""
    for name in sorted({key for key, _ in (*left.items(), *right.items())}):
        one, two = left.get(name), right.get(name)
        if not _within(one, two, MEMORY_PERMILLE if name == "memory" else 0):
            return f"{name} {amount_text(name, one)} and {amount_text(name, two)}"
    return ""


def _labels(shape: NodeShape, ignored: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in shape.labels if key not in ignored and not key.startswith(ALWAYS_IGNORED_PREFIX)}


def _within(left: int, right: int, permille: int) -> bool:
    return abs(left - right) * 1000 <= max(left, right) * permille
