"""A node group as decisions see it: effective values with their origins, over the facts of its target."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.plan.reason import Reason
from reconciler.policy.documents import Headroom, Mode


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """One link of the chain that gave a value: where (`policies/a.yaml:3:5`, annotation, tier defaults, built-in), and what."""

    source: str
    value: str


class EffectiveGroup(msgspec.Struct, frozen=True, kw_only=True):
    """One group with every value decided at one instant. Durations in seconds, thresholds in percent.

    `template` is what one new node offers (None: unknown, `template_problem` says why); `stated` is the same without regard to
    nodes that have less, and `untried`: nothing has come of it yet, and what came before is smaller. `whole`: it grows to its
    maximum at once, or not at all. `platform_chooses`: nodes without Machines may leave, and the platform picks which.
    `ignores_daemonsets`, `ignores_mirror_pods`: such pods are no part of utilization. `chains` maps a field path (`size.min`) to
    the sources in order of precedence; the first one won. `facts` None: the target is not there.
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
    template_problem: str = ""
    stated: NodeShape | None = None
    untried: bool = False
    whole: bool
    startup_taints: tuple[str, ...] = ()
    price_micros: int | None = None
    headroom: Headroom = Headroom()
    removals_enabled: bool
    utilization_threshold_percent: int
    gpu_utilization_threshold_percent: int
    ignores_daemonsets: bool
    ignores_mirror_pods: bool
    unneeded_time_seconds: int
    unready_time_seconds: int
    platform_chooses: bool
    consolidates: bool
    min_saving_percent: int
    max_node_provision_time_seconds: int
    max_node_startup_time_seconds: int
    backoff_initial_seconds: int
    backoff_max_seconds: int
    backoff_reset_seconds: int
    hold: str = ""
    hold_until_seconds: int | None = None
    reasons: tuple[Reason, ...] = ()
    chains: Mapping[str, tuple[Origin, ...]] = {}
