"""Which pods are demand, and how the scheduler places them."""

from enum import StrEnum
from typing import Annotated

import msgspec

from reconciler.policy.field import Kind, Loosens
from reconciler.policy.keys import Key
from reconciler.values.feature_gate import GATES


class PodRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which pods count as demand."""

    expendable_below_priority: Annotated[
        int,
        Key(
            "Pods with a lower priority never add a node and never keep one.",
            -10,
            loosens=Loosens.UP,
            minimum=-(2**31),
            cluster_autoscaler="--expendable-pods-priority-cutoff",
        ),
    ] = -10
    new_pod_delay_seconds: Annotated[
        int,
        Key(
            "How old a pending pod must be before a node is added for it.",
            "30s",
            loosens=Loosens.SAFE,
            cluster_autoscaler="--new-pod-scale-up-delay",
        ),
    ] = 0
    burst_pause_seconds: Annotated[
        int,
        Key(
            "Growth waits while pods that need a node are still arriving, until none has come for this long.",
            "2s",
            loosens=Loosens.SAFE,
        ),
    ] = 2
    burst_limit_seconds: Annotated[
        int, Key("No pod waits longer than this for the end of a burst.", "10s", loosens=Loosens.SAFE)
    ] = 10
    scheduler_names: Annotated[
        tuple[str, ...],
        Key(
            "Only pods of these schedulers count.",
            ("default-scheduler",),
            minimum=1,
            item="One scheduler.",
            cluster_autoscaler="--allowed-scheduler-names",
        ),
    ] = ("default-scheduler",)
    gang_labels: Annotated[
        tuple[str, ...],
        Key(
            "Pods of one namespace with the same value of such a label are a gang. A plan places all or none.",
            ("scheduling.x-k8s.io/pod-group",),
            kind=Kind.LABEL_KEY,
            item="One label.",
        ),
    ] = ()


class WhenUnsatisfiable(StrEnum):
    """What kube-scheduler does with a pod that would break a spread constraint. ScheduleAnyway only lowers the score."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class InclusionPolicy(StrEnum):
    """Whether nodes that a pod cannot use, by affinity or taints, count in a spread constraint: Honor leaves them out."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class DefaultConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """One of `defaultConstraints` of kube-scheduler's PodTopologySpreadArgs. Its selector is that of each pod's owners.

    `when_unsatisfiable` is a `WhenUnsatisfiable`, or empty in a document that is refused for it.
    """

    max_skew: Annotated[int, Key("How many more pods a domain may have than the one with the fewest.", 1, unit="pods", minimum=1)]
    topology_key: Annotated[
        str, Key("The label of nodes whose values are the domains.", "topology.kubernetes.io/zone", kind=Kind.LABEL_KEY)
    ]
    when_unsatisfiable: Annotated[
        str,
        Key(
            "DoNotSchedule keeps a pod pending. ScheduleAnyway only scores, so it changes no decision.",
            "DoNotSchedule",
            enum=tuple(WhenUnsatisfiable),
        ),
    ]
    min_domains: Annotated[int, Key("With fewer domains than this, the smallest count is 0.", 3, unit="domains", minimum=1)] = 1
    node_affinity_policy: Annotated[
        InclusionPolicy,
        Key("Honor counts only nodes that the pod's node selector and affinity allow. Ignore counts all.", "Honor"),
    ] = InclusionPolicy.HONOR
    node_taints_policy: Annotated[
        InclusionPolicy,
        Key("Honor counts only nodes without taints, and those whose taints the pod tolerates. Ignore counts all.", "Honor"),
    ] = InclusionPolicy.IGNORE


class GateState(StrEnum):
    """Whether a feature gate is on."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class FeatureGate(msgspec.Struct, frozen=True, kw_only=True):
    """A feature gate of kube-scheduler that is not set as its version has it by default."""

    name: Annotated[
        str,
        Key(
            "The name of the gate.",
            "TaintTolerationComparisonOperators",
            enum=tuple(sorted(name for name, gate in GATES.items() if gate.modelled)),
        ),
    ]
    state: Annotated[GateState, Key("Whether it is on.", "Enabled")]

    @property
    def on(self) -> bool:
        """Whether it is on."""
        return self.state is GateState.ENABLED


class SchedulerRules(msgspec.Struct, frozen=True, kw_only=True):
    """How kube-scheduler is configured, as far as it decides where pods fit. Empty: its own defaults, which only score."""

    default_constraints: Annotated[
        tuple[DefaultConstraint, ...],
        Key(
            "The `defaultConstraints` of its plugin PodTopologySpread, with `defaultingType: List`. They apply to "
            "pods of `pods.schedulerNames` without topologySpreadConstraints. If omitted, its system defaults, which only score.",
            item="One constraint. Its selector comes from the Services and the controller of each pod.",
        ),
    ] = ()
    feature_gates: Annotated[
        tuple[FeatureGate, ...],
        Key(
            "Its `--feature-gates` that decide where pods run. If the API server reports a gate in its metrics, that counts. "
            "Others are as its version has them by default.",
            item="One feature gate.",
        ),
    ] = ()
