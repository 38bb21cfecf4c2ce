"""A node group as decisions see it: effective values with their origins, over the facts of its target."""

from collections.abc import Mapping
from typing import Never

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.plan.reason import Reason
from reconciler.policy.balancing import ALWAYS_IGNORED, ALWAYS_IGNORED_PREFIX, presets
from reconciler.policy.documents import Growth, Headroom, Mode, NodeGroupPolicy, ScaleDown, ScaleUp, Window, WithoutMachines
from reconciler.values.quantity import amount_text


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """One link of the chain that gave a value: where (`policies/a.yaml:3:5`, annotation, tier defaults, built-in), and what."""

    source: str
    value: str


class EffectiveGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group with every value decided at one instant. Durations in seconds, thresholds in percent.

    A field of `scaleDown` and `scaleUp` that is added to the policy is here without a line of its own.

    `template` is the shape of a new node (None: unknown, `template_problem` says why). `in_zones` is the same in each of several
    zones that the platform fills evenly. `stated` is the same without regard to nodes that have less. `smaller_since`: when these
    were created, if nobody knows the template of any of them. `from_template` is the same without regard to any node, for
    `balanceWith: Auto` (None: unknown, or not asked). `made_of_template` are its ready nodes that came from this template, as far
    as known. `untried`: no node has come from it yet, and the previous ones are smaller. `pods_guessed`: no source gives the
    number of pods of a new node. `devices_declared`: the policy says which devices it has. `chains` maps a field path
    (`size.min`) to the sources in order of precedence; the first one won. `facts` is None if the target does not exist.
    """

    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    target: TargetRef
    facts: TargetFacts | None
    tier: str
    tier_rank: int
    mode: Mode
    min_size: int
    max_size: int
    balance_with: str
    template: NodeShape | None = None
    in_zones: tuple[tuple[str, NodeShape], ...] = ()
    template_problem: str = ""
    pods_guessed: bool = False
    devices_declared: bool = False
    stated: NodeShape | None = None
    smaller_since: tuple[int, ...] = ()
    from_template: NodeShape | None = None
    made_of_template: frozenset[str] = frozenset()
    untried: bool = False
    startup_taints: tuple[str, ...] = ()
    price_micros: int | None = None
    headroom: Headroom = Headroom()
    windows: tuple[Window, ...] = ()
    scale_down: ScaleDown[Never]
    scale_up: ScaleUp[Never]
    hold: str = ""
    hold_until_seconds: int | None = None
    human_hold_time_seconds: int = 3600
    reasons: tuple[Reason, ...] = ()
    chains: Mapping[str, tuple[Origin, ...]] = {}

    @property
    def whole(self) -> bool:
        """Whether it grows to its maximum at once, or not at all."""
        return self.scale_up.growth is Growth.ZERO_OR_MAX

    @property
    def platform_chooses(self) -> bool:
        """Whether nodes without Machines may leave, of which the platform picks one."""
        return self.scale_down.without_machines is WithoutMachines.PLATFORM_CHOOSES


# When two groups are alike enough to be grown together (`balanceWith: Auto`), and what broke it when they are not.

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
