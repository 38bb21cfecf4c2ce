"""A node group as decisions see it: effective values with their origins, over the facts of its target."""

from collections.abc import Mapping
from typing import Never

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Growth, Headroom, Mode, ScaleDown, ScaleUp, Window, WithoutMachines


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
