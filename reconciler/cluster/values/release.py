"""What one release of kube-scheduler does differently from another, as far as a decision shows it."""

from enum import Enum, auto

import msgspec

from reconciler.cluster.values.kubernetes_version import KubernetesVersion
from reconciler.values.feature_gate import GATES, NEWEST_MINOR, Gates

# By minor version, the patch release that evaluates negative namespace selectors again (kubernetes #141526, the fix is
# #141563 with its cherry-picks of September 2026). 1.34.0 was the first that did not; older ones never lost it.
_NAMESPACE_SELECTORS_FIXED = {34: 12, 35: 9, 36: 5, 37: 1}


class Resizes(Enum):
    """How much room a pod on a node takes while its resources change in place."""

    EACH_CONTAINER = auto()
    """The most of spec, status and allocation of each container, until 1.36."""
    WHOLE_POD = auto()
    """The most of three sums over its containers, since 1.37."""
    EITHER = auto()
    """The larger of both."""


class DeviceRules(msgspec.Struct, frozen=True, kw_only=True):
    """How the allocator of devices judges, in version 1.37 unless stated otherwise.

    `all_of_any_room`: a request for all devices includes those whose room others have, and then it fails. Before, it left them
    out. `counters_where_reached`: a slice with counters concerns only nodes that reach it. `each_is_distinct`: a constraint of
    different values compares all devices. Before, it remembered one per request. `shares_in_use`: a device in use consumes its
    counters once, also if its share has no amount. `fractions`: steps of capacities may be fractions.
    """

    all_of_any_room: bool = True
    counters_where_reached: bool = True
    each_is_distinct: bool = True
    shares_in_use: bool = True
    fractions: bool = True


BEFORE_1_37 = DeviceRules(
    all_of_any_room=False, counters_where_reached=False, each_is_distinct=False, shares_in_use=False, fractions=False
)


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Which rules are in force. `known`: the version of the cluster tells.

    `negation_selects_all` concerns a namespace selector of the pod's own affinity terms that matches empty labels (only `NotIn`
    and `DoesNotExist`). It then means every namespace, not only those that it selects. `whole_groups`: kube-scheduler queues
    PodGroups. It compares priorities and preemption policies of all pods of a group, and one with scheduling gates keeps out all
    others. `held_promises`: pods that something holds back count on the node that they are promised.

    The others are feature gates. `pod_groups`: the gangs of PodGroups are respected. `declared_features`: plugin
    NodeDeclaredFeatures runs. `device_classes`: device classes serve extended resources. `drivers_required`: a CSIDriver with
    `preventPodSchedulingIfMissing` is respected. `compares_taints`: tolerations with Gt and Lt compare numbers. Otherwise they
    match no taint.
    """

    known: bool
    negation_selects_all: bool
    whole_groups: bool
    held_promises: bool
    resizes: Resizes
    devices: DeviceRules
    pod_groups: bool
    declared_features: bool
    device_classes: bool
    drivers_required: bool
    compares_taints: bool


def release_of(version: KubernetesVersion | None, gates: Gates = ()) -> Release:
    """The rules of a version, with feature gates that are set otherwise.

    Where versions differ and none is known, the stricter rule counts: that of 1.37, and `Resizes.EITHER`. Of negative namespace
    selectors no rule is the stricter one. Who reads pods leaves those open.
    """
    major, minor, patch = version or (1, NEWEST_MINOR, 99)
    fixed = _NAMESPACE_SELECTORS_FIXED.get(minor)
    since_37 = (major, minor) >= (1, 37)
    on = {name: gate.on(major, minor) for name, gate in GATES.items()} | dict(gates)
    return Release(
        known=version is not None,
        negation_selects_all=major == 1 and fixed is not None and patch < fixed,
        whole_groups=since_37,
        held_promises=since_37,
        resizes=Resizes.EITHER if version is None else Resizes.WHOLE_POD if since_37 else Resizes.EACH_CONTAINER,
        devices=DeviceRules(fractions=on["DRAFractionalCapacityRange"]) if since_37 else BEFORE_1_37,
        pod_groups=on["GenericWorkload"] and (since_37 or on["GangScheduling"]),
        declared_features=on["NodeDeclaredFeatures"],
        device_classes=on["DRAExtendedResource"],
        drivers_required=on["VolumeLimitScaling"],
        compares_taints=on["TaintTolerationComparisonOperators"],
    )
