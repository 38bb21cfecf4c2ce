"""Kubelet features (KEP-5328): which ones pods can need, and which pods need them.

Source: `k8s.io/component-helpers/nodedeclaredfeatures` 1.36, the two features of its registry that are inferred for scheduling;
the others concern updates of running pods only.
"""

from collections.abc import Iterable

from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.wire import pod as wire

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"
FEATURES = frozenset({RESTART_ALL_CONTAINERS, USER_NAMESPACES_HOST_NETWORK})
_RESTART_ALL_ACTION = "RestartAllContainers"

_rules = RawPart(list[wire.RestartRule], "spec.containers[].restartPolicyRules")


def declared(features: Iterable[str]) -> tuple[str, ...]:
    """Those of a node's declared features that matter here, sorted."""
    return tuple(sorted(FEATURES.intersection(features)))


def required(spec: wire.PodSpec) -> tuple[str, ...]:
    """The features that a pod needs of its node, sorted: a rule that restarts all containers, or a user namespace on the
    host's network. Raises `UnreadableError`."""
    needed: list[str] = []
    containers = (*spec.containers, *(spec.init_containers or ()))
    if any(rule.action == _RESTART_ALL_ACTION for item in containers for rule in _rules.read(item.restart_policy_rules) or ()):
        needed.append(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        needed.append(USER_NAMESPACES_HOST_NETWORK)
    return tuple(needed)
