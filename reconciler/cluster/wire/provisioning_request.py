"""ProvisioningRequests of autoscaling.x-k8s.io, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.capacity_buffer import AnsweredMeta, TemplateRef
from reconciler.cluster.wire.meta import Condition, Int64


class PodSet(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One item of `spec.podSets`."""

    pod_template_ref: TemplateRef
    count: Int64


class RequestClass(msgspec.Struct, rename="camel"):
    """`spec` of a request of any class, as far as it says which."""

    provisioning_class_name: str = ""


class RequestSpec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec` of a request. A field that is not known here may ask for something else."""

    pod_sets: list[PodSet]
    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None


class RequestStatus(msgspec.Struct, rename="camel"):
    """`status` of a request."""

    conditions: list[Condition] | None = None


class ProvisioningRequest(msgspec.Struct, rename="camel"):
    """A ProvisioningRequest. Its `spec` and `status` are read apart: one that cannot be read must not make the whole view
    unreadable."""

    metadata: AnsweredMeta
    kind: str = ""
    spec: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))
    status: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))
