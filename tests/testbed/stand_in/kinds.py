"""The kinds of the providers' stand-in, as custom resources on Cluster API's v1beta2 contract.

The contract asks for a label that names which of a CRD's versions speaks which contract version, and for certain fields; all
other fields are ours and not checked by a schema.
"""

from typing import NamedTuple

from tests.testbed.api import Object

VERSION = "v1alpha1"


class SimKind(NamedTuple):
    """One kind: its name and API group; the plural is the lower-case name with an s, as the contract wants it."""

    kind: str
    group: str

    @property
    def plural(self) -> str:
        """The resource name."""
        return f"{self.kind.lower()}s"

    @property
    def path(self) -> str:
        """The path of all objects of this kind."""
        return f"/apis/{self.group}/{VERSION}/{self.plural}"

    def named(self, namespace: str, name: str) -> str:
        """The path of one object."""
        return f"/apis/{self.group}/{VERSION}/namespaces/{namespace}/{self.plural}/{name}"


_INFRASTRUCTURE, _BOOTSTRAP, _CONTROL_PLANE = (
    f"{part}.cluster.x-k8s.io" for part in ("infrastructure", "bootstrap", "controlplane")
)

CLUSTER = SimKind("SimCluster", _INFRASTRUCTURE)
CLUSTER_TEMPLATE = SimKind("SimClusterTemplate", _INFRASTRUCTURE)
MACHINE = SimKind("SimMachine", _INFRASTRUCTURE)
MACHINE_TEMPLATE = SimKind("SimMachineTemplate", _INFRASTRUCTURE)
MACHINE_POOL = SimKind("SimMachinePool", _INFRASTRUCTURE)
BOOTSTRAP = SimKind("SimBootstrapConfig", _BOOTSTRAP)
BOOTSTRAP_TEMPLATE = SimKind("SimBootstrapConfigTemplate", _BOOTSTRAP)
CONTROL_PLANE = SimKind("SimControlPlane", _CONTROL_PLANE)
CONTROL_PLANE_TEMPLATE = SimKind("SimControlPlaneTemplate", _CONTROL_PLANE)

KINDS = (
    CLUSTER, CLUSTER_TEMPLATE, MACHINE, MACHINE_TEMPLATE, MACHINE_POOL, BOOTSTRAP, BOOTSTRAP_TEMPLATE, CONTROL_PLANE,
    CONTROL_PLANE_TEMPLATE,
)  # fmt: skip


def definitions() -> list[Object]:
    """The CustomResourceDefinitions of all kinds."""
    return [_definition(kind) for kind in KINDS]


def _definition(kind: SimKind) -> Object:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": kind.kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": {"cluster.x-k8s.io/v1beta2": VERSION}},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
