"""Decides whether two groups are similar (`balanceWith: Auto`), and names the first difference."""

from collections.abc import Mapping

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.policy.balancing import ALWAYS_IGNORED, ALWAYS_IGNORED_PREFIX, presets
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.values.quantity import amount_text

# Cluster Autoscaler `nodegroupset/compare_nodegroups`: capacity equal but for memory, which machines of one type report
# with small differences; allocatable may differ a little more, because reservations do.
MEMORY_PERMILLE, ALLOCATABLE_PERMILLE = 15, 50


def ignored_labels(policy: NodeGroupPolicy) -> frozenset[str]:
    """Labels in which siblings may differ, by the policy and its presets; `beta.kubernetes.io/*` besides."""
    asked = (preset for name in policy.balancing_presets if (preset := presets().get(name)) is not None)
    labels = (label for preset in asked for label in preset.labels)
    return frozenset((*ALWAYS_IGNORED, *policy.balancing_ignore_labels, *labels))


OFF, AUTO = "Off", "Auto"


def balance_difference(one: EffectiveGroup, other: EffectiveGroup, ignored: frozenset[str]) -> str | None:
    """What keeps two groups from balancing. Empty if they balance: they share a name, or both have `Auto` and are similar. A
    phrase if both have `Auto` and differ. None if the policy does not balance them. Only groups of one tier whose new nodes are
    known balance."""
    name = one.balance_with
    if name == OFF or other.balance_with != name or other.tier_rank != one.tier_rank:
        return None
    if one.template is None or other.template is None or one.whole or other.whole:
        return None
    if name != AUTO:
        return ""
    if bool(one.made_of_template) is not bool(other.made_of_template) and one.from_template and other.from_template:
        # A node has labels and amounts that no template states.
        return difference(one.from_template, other.from_template, ignored)
    return difference(one.template, other.template, ignored)


def difference(left: NodeShape, right: NodeShape, ignored: frozenset[str]) -> str:
    """The first thing in which two new nodes differ too much, as a phrase; empty when they are alike.

    Capacity is compared exactly but for memory (1.5 %), allocatable within 5 %, labels but the ignored ones, and taints,
    which the Cluster Autoscaler leaves out.
    """
    size = capacity_or_allocatable_difference(left, right)
    if size is not None:
        return size[1]
    mine, theirs = _labels(left, ignored), _labels(right, ignored)
    for key in sorted(mine.keys() | theirs.keys()):
        if mine.get(key) != theirs.get(key):
            return f"label {key}: {mine.get(key, 'none')} and {theirs.get(key, 'none')}"
    if left.taints != right.taints:
        return "taints"
    return ""


def size_difference(left: Resources, right: Resources) -> str:
    """The first resource in which two capacities differ by more than machines of one type do; empty when there is none."""
    mismatch = _first_difference(left, right, {"memory": MEMORY_PERMILLE}, 0)
    return mismatch[1] if mismatch is not None else ""


def capacity_or_allocatable_difference(left: NodeShape, right: NodeShape) -> tuple[str, str] | None:
    """The first resource in which the sizes of two nodes differ too much, with a phrase; None when they are alike."""
    mismatch = _first_difference(left.capacity, right.capacity, {"memory": MEMORY_PERMILLE}, 0)
    if mismatch is not None:
        return mismatch
    mismatch = _first_difference(left.allocatable, right.allocatable, {}, ALLOCATABLE_PERMILLE)
    return (mismatch[0], f"allocatable {mismatch[1]}") if mismatch is not None else None


def _first_difference(left: Resources, right: Resources, tolerated: Mapping[str, int], others: int) -> tuple[str, str] | None:
    """`tolerated` permille by resource, `others` for the rest."""
    for name in sorted({key for key, _ in (*left.items(), *right.items())}):
        one, two = left.get(name), right.get(name)
        if not _within(one, two, tolerated.get(name, others)):
            texts = amount_text(name, one), amount_text(name, two)
            first, second = texts if texts[0] != texts[1] else (str(one), str(two))
            return name, f"{name} {first} and {second}"
    return None


def _labels(shape: NodeShape, ignored: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in shape.labels if key not in ignored and not key.startswith(ALWAYS_IGNORED_PREFIX)}


def _within(left: int, right: int, permille: int) -> bool:
    return abs(left - right) * 1000 <= max(left, right) * permille
