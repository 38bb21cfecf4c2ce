"""What restricts removals: health, drain rules, budgets."""

from enum import StrEnum
from typing import Annotated

import msgspec

from reconciler.policy.field import Kind, Loosens, from_tightest
from reconciler.policy.keys import Key
from reconciler.policy.values.label_selector import Selector


class BlockRule(StrEnum):
    """Whether a kind of pod keeps its node."""

    BLOCK = "Block"
    ALLOW = "Allow"


class JobRule(StrEnum):
    """What a removal does about running pods of Jobs, from the tightest rule to the loosest."""

    BLOCK = "Block"
    WAIT = "Wait"
    ALLOW = "Allow"


class ConditionStatus(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class RemovalReason(StrEnum):
    """Why a node may go; budgets are counted by it."""

    EMPTY = "Empty"
    UNDERUTILIZED = "Underutilized"
    UNREADY = "Unready"
    ABOVE_MAX = "AboveMax"
    CONSOLIDATED = "Consolidated"
    RETURNED = "Returned"
    ENDING = "Ending"
    REPAIRED = "Repaired"


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that means that a node is broken."""

    condition: Annotated[
        str, Key("The type of the condition, as `kubectl get node -o yaml` shows it.", "AcceleratedHardwareReady", kind=Kind.NAME)
    ]
    status: Annotated[ConditionStatus, Key("The status that means a broken node.", "False")]
    toleration_seconds: Annotated[
        int,
        Key("How long the condition may have that status before the node is replaced.", "10m", minimum=0, loosens=Loosens.DOWN),
    ]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Removals stop when more than `ok_unready_count` and more than `max_unready_percent` of managed nodes are unready."""

    max_unready_percent: Annotated[
        int,
        Key(
            "Percent of managed nodes that may be not Ready.",
            45,
            loosens=Loosens.UP,
            cluster_autoscaler="--max-total-unready-percentage",
        ),
    ] = 45
    ok_unready_count: Annotated[
        int,
        Key(
            "This many nodes may always be not Ready.",
            3,
            unit="nodes",
            loosens=Loosens.UP,
            cluster_autoscaler="--ok-total-unready-count",
        ),
    ] = 3
    repair: Annotated[
        tuple[Repair, ...],
        Key(
            "Conditions of nodes that are broken. Such a node is drained within budgets (reason Repaired). Groups grow before, "
            "for pods that find no other place. Nothing is repaired while more managed nodes, or more nodes of the zone, are "
            "broken or not Ready than both numbers allow.",
            item="One condition.",
        ),
    ] = ()


def _rule(description: str, flag: str = "") -> Key:
    return Key(description, "Allow", loosens=BlockRule.ALLOW, cluster_autoscaler=flag)


class DrainRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which pods keep their node. `system_pod_timeout_seconds` and `max_pod_age_seconds` None mean Never."""

    system_pods_without_pdb: Annotated[
        BlockRule,
        Key(
            "Pods in kube-system without a PodDisruptionBudget.",
            "Allow",
            yaml_key="systemPodsWithoutPDB",
            loosens=BlockRule.ALLOW,
            cluster_autoscaler="--skip-nodes-with-system-pods",
        ),
    ] = BlockRule.BLOCK
    system_pod_timeout_seconds: Annotated[
        int | None,
        Key(
            "The age after which such a pod no longer keeps its node. With Never, it always does.",
            "1h",
            never=True,
            loosens=Loosens.DOWN,
            cluster_autoscaler="--blocking-system-pod-distruption-timeout",
        ),
    ] = None
    local_storage: Annotated[
        BlockRule,
        _rule("Pods with hostPath or emptyDir volumes that are not declared safe to lose.", "--skip-nodes-with-local-storage"),
    ] = BlockRule.BLOCK
    pod_groups: Annotated[
        BlockRule,
        _rule(
            "Pods of a PodGroup without which fewer run than its `minCount`, or that may only be disrupted with all others of it."
        ),
    ] = BlockRule.BLOCK
    unreplicated: Annotated[BlockRule, _rule("Pods without a controller.")] = BlockRule.BLOCK
    custom_controllers: Annotated[
        BlockRule,
        _rule("Pods of controllers other than the built-in ones.", "--skip-nodes-with-custom-controller-pods"),
    ] = BlockRule.BLOCK
    jobs: Annotated[
        JobRule,
        Key(
            "Running pods of Jobs. Block keeps their node. Wait keeps it until they have finished, and its unneeded time "
            "runs meanwhile. Wait cordons nothing. Allow lets them be evicted like others.",
            "Wait",
            loosens=from_tightest(JobRule),
        ),
    ] = JobRule.ALLOW
    max_pod_age_seconds: Annotated[
        int | None,
        Key(
            "With `jobs: Wait`, the age from which a Job's pod no longer keeps its node. It counts from the creation of the "
            "pod, or of its node if that is later. With Never, the wait has no bound.",
            "6h",
            never=True,
            loosens=Loosens.DOWN,
        ),
    ] = None
    min_replicas: Annotated[
        int,
        Key(
            "Pods of a ReplicaSet or ReplicationController with fewer replicas keep their node.",
            2,
            unit="pods",
            loosens=Loosens.DOWN,
            cluster_autoscaler="--min-replica-count",
        ),
    ] = 0
    blocked_namespaces: Annotated[
        tuple[str, ...],
        Key(
            "Pods in these namespaces keep their node, regardless of their annotations.",
            ("payments",),
            kind=Kind.OBJECT_NAME,
            item="One namespace.",
            loosens=Loosens.FEWER,
        ),
    ] = ()


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes may be leaving at the same time: exactly one of a count and a percentage.

    `groups` and `node_selector` select the nodes that it covers (both None: all). `zones` is in how many zones these may leave at
    the same time (None: in any).
    """

    name: Annotated[str, Key("What plans call this budget.", "night", kind=Kind.NAME, loosens=Loosens.SAFE)] = ""
    nodes: Annotated[
        int | None,
        Key(
            'A number, or a share of the Ready managed nodes that the budget covers ("10%", rounded up).',
            1,
            "10%",
            kind=Kind.INTEGER_OR_PERCENT,
            unit="nodes",
            required=True,
            minimum=0,
            maximum=2**31 - 1,
            loosens=Loosens.UP,
        ),
    ] = None
    percent: int | None = None
    zones: Annotated[
        int | None,
        Key(
            "In how many zones nodes may be leaving at the same time. If omitted, in any number. Nodes without "
            "the label topology.kubernetes.io/zone count as one more zone.",
            1,
            unit="zones",
            minimum=1,
            maximum=1000,
            loosens=Loosens.UP,
        ),
    ] = None
    groups: Annotated[Selector | None, Key("Only the nodes of groups with these labels.")] = None
    node_selector: Annotated[Selector | None, Key("Only nodes with these labels.")] = None
    reasons: Annotated[
        tuple[RemovalReason, ...],
        Key("The reasons for removal that this budget covers. If omitted, all.", ("Empty",), minimum=1, item="One reason."),
    ] = ()
    schedule: Annotated[
        str, Key("When the budget opens, as a CronJob schedule. It needs a duration.", "0 22 * * *", kind=Kind.CRON)
    ] = ""
    time_zone: Annotated[str, Key("The time zone of the schedule.", "Europe/Berlin", kind=Kind.TIME_ZONE)] = "Etc/UTC"
    duration_seconds: Annotated[int | None, Key("How long the budget stays open. It needs a schedule.", "8h", minimum=1)] = None
