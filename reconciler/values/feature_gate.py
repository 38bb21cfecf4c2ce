"""Feature gates of kube-scheduler that decide where pods run."""

from collections.abc import Iterable, Mapping

import msgspec

NEWEST_MINOR = 37
"""The newest 1.x version whose verdicts are compared with ours. A later one counts as this one."""

Gates = Iterable[tuple[str, bool]]


class Gate(msgspec.Struct, frozen=True):
    """A feature gate. `since` is the first minor version of Kubernetes that has it on by default (0: none has). If `modelled`,
    decisions follow it where it is set otherwise."""

    since: int = 0
    modelled: bool = False

    def on(self, major: int, minor: int) -> bool:
        """Whether a version has it on by default."""
        return bool(self.since) and (major, minor) >= (1, self.since)


GATES: Mapping[str, Gate] = {
    # Off by default. Only API servers that have it on keep the group of a pod.
    "GenericWorkload": Gate(1, modelled=True),
    "GangScheduling": Gate(1, modelled=True),
    "NodeDeclaredFeatures": Gate(36, modelled=True),
    "DRAExtendedResource": Gate(36, modelled=True),
    "VolumeLimitScaling": Gate(37, modelled=True),
    "TaintTolerationComparisonOperators": Gate(modelled=True),
    "DRAAdminAccess": Gate(34),
    "DRAConsumableCapacity": Gate(36),
    "DRADerivedAttributes": Gate(),
    "DRADeviceBindingConditions": Gate(36),
    "DRADeviceCompatibilityGroups": Gate(),
    "DRADeviceTaints": Gate(36),
    "DRAFractionalCapacityRange": Gate(37, modelled=True),
    "DRAListTypeAttributes": Gate(),
    "DRANodeAllocatableResources": Gate(),
    "DRAOptionalNodeOperations": Gate(),
    "DRAPartitionableDevices": Gate(36),
    "DRAPrioritizedList": Gate(34),
    "InPlacePodLevelResourcesVerticalScaling": Gate(36),
    "InPlacePodVerticalScalingSchedulerPreemption": Gate(),
    "MatchLabelKeysInPodTopologySpread": Gate(27),
    "PodLevelResources": Gate(34),
}
"""SOURCE: pkg/features/kube_features.go of Kubernetes 1.36 and 1.37, and `Features` of its scheduler plugins. Left out are gates
that are locked, that only score, queue or retry, or whose objects are not modelled either way (`CompositePodGroup`,
`DRAWorkloadResourceClaims`, `TopologyAwareWorkloadScheduling`)."""


REPORTED = frozenset(GATES) - {"GangScheduling"}
"""What an API server knows as well. Its word on a gate of kube-scheduler alone says nothing."""


def default_gates(minor: int) -> tuple[tuple[str, bool], ...]:
    """The gates as a 1.x release has them by default."""
    return tuple((name, gate.on(1, minor)) for name, gate in sorted(GATES.items()))


def not_followed(minor: int, gates: Gates) -> tuple[tuple[str, bool], ...]:
    """Gates that are set otherwise than a 1.x release has them by default, and that decisions do not follow."""
    return tuple(
        (name, on) for name, on in gates if name in GATES and GATES[name].on(1, minor) != on and not GATES[name].modelled
    )
