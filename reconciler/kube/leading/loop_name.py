"""What the Lease and the state of a loop are called: after its policy, and in a fleet after its cluster as well."""

import hashlib
import re
from collections.abc import Mapping

import msgspec

from reconciler.decisions.ownership.other_policies import LEASE_PREFIX, STATE_PREFIX

STATE_LABEL = "reconciler.dev/state"
CLUSTER_LABEL = "reconciler.dev/cluster"
"""On the Lease and the state of a loop in a fleet: namespace and name of its cluster."""
POLICY_LABEL = "reconciler.dev/policy"
FLEET_LABEL = "reconciler.dev/fleet"
"""On all Leases of a fleet, with one of these values."""
LOOP, INSTANCE, ENDED = "loop", "instance", "ended"
"""Ended: another policy counts in the cluster now."""
TEMPLATE_LABEL = "reconciler.dev/template"
"""On the Lease of an instance: the version of the Deployment that it was made from."""
_LONGEST = 63
"""The most characters of a label's value. SOURCE: Kubernetes' validation."""
_DIGITS = 10
_LIKE_A_DIGEST = re.compile(rf"-[0-9a-f]{{{_DIGITS}}}$")
_NOT_OF_LABELS = re.compile(r"[^A-Za-z0-9_.-]+")


class LoopName(msgspec.Struct, frozen=True, order=True):
    """One loop: a policy, and the namespace and name of the Cluster in a fleet (empty: the loop of one cluster alone)."""

    policy: str
    namespace: str = ""
    cluster: str = ""

    @property
    def text(self) -> str:
        """A name that no other loop has, and that fits into a label: `fleet.infra.west`."""
        return _joined(self.policy, self.namespace, self.cluster) if self.cluster else self.policy

    @property
    def lease(self) -> str:
        """The name of the Lease."""
        return f"{LEASE_PREFIX}{self.text}"

    @property
    def state(self) -> str:
        """The name of the ConfigMap with the state."""
        return f"{STATE_PREFIX}{self.text}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Which cluster and policy it is of, to find it by; none for the loop of one cluster alone."""
        if not self.cluster:
            return {}
        return {FLEET_LABEL: LOOP, CLUSTER_LABEL: cluster_label(self.namespace, self.cluster), POLICY_LABEL: self.policy}

    @property
    def title(self) -> str:
        """`infra/west`; the policy where it is not of a fleet."""
        return f"{self.namespace}/{self.cluster}" if self.cluster else self.policy


def cluster_label(namespace: str, name: str) -> str:
    """What a cluster is called in labels: `infra.west`."""
    return _joined(namespace, name)


def _joined(*parts: str) -> str:
    """The parts with dots between them. If that is ambiguous or too long, it ends with a digest. It also does if the parts end
    like a digest: so nobody can name a cluster to get the Lease of another one."""
    plain = ".".join(parts)
    if len(plain) <= _LONGEST and all("." not in part for part in parts) and not _LIKE_A_DIGEST.search(plain):
        return plain
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
    return f"{_NOT_OF_LABELS.sub('-', plain)[: _LONGEST - _DIGITS - 1].rstrip('.-_')}-{digest}"
