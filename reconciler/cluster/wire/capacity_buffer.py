"""CapacityBuffers of autoscaling.x-k8s.io with what they refer to, and the quotas of namespaces, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64, ManagedField, ObjectMeta
from reconciler.cluster.wire.pod import Amounts


class TemplateRef(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec.podTemplateRef`."""

    name: str


class ScalableRef(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec.scalableRef`."""

    kind: str
    name: str
    api_group: str = ""


class BufferSpec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec` of a CapacityBuffer. A field that is not known here may ask for less."""

    provisioning_strategy: str | None = None
    pod_template_ref: TemplateRef | None = None
    scalable_ref: ScalableRef | None = None
    replicas: Int64 | None = None
    percentage: Int64 | None = None
    limits: Amounts | None = None


class StatusFields(msgspec.Struct):
    """The field set below `f:status`, as far as it shows who answers an object."""

    conditions: Raw = msgspec.field(default=EMPTY, name="f:conditions")
    replicas: Raw = msgspec.field(default=EMPTY, name="f:replicas")


class StatusFieldSet(msgspec.Struct):
    """A `fieldsV1` of an object that is answered, as far as its status goes."""

    status: StatusFields | None = msgspec.field(default=None, name="f:status")


class AnsweringManager(ManagedField, rename="camel", gc=False):
    """One `metadata.managedFields` item of an object that is answered."""


class AnsweredMeta(ObjectMeta, rename="camel"):
    """`metadata` of an object that is answered in its status: who writes that matters."""

    managed_fields: list[AnsweringManager] | None = None


class CapacityBuffer(msgspec.Struct, rename="camel"):
    """A CapacityBuffer. Its `spec` is read apart: one that cannot be read must not make the whole view unreadable."""

    metadata: AnsweredMeta
    kind: str = ""
    spec: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))


class PodTemplateObject(msgspec.Struct, rename="camel"):
    """A PodTemplate of the core API. Its `template` is read only if a buffer refers to it."""

    metadata: ObjectMeta
    kind: str = ""
    template: Raw = EMPTY


class ScopeRequirement(msgspec.Struct, rename="camel"):
    """One requirement of a quota's scope selector."""

    scope_name: str = ""
    operator: str = ""
    values: list[str] | None = None


class ScopeSelector(msgspec.Struct, rename="camel"):
    """`spec.scopeSelector` of a ResourceQuota."""

    match_expressions: list[ScopeRequirement] | None = None


class ResourceQuotaSpec(msgspec.Struct, rename="camel"):
    """`spec` of a ResourceQuota."""

    hard: Amounts | None = None
    scopes: list[str] | None = None
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(msgspec.Struct, rename="camel"):
    """`status` of a ResourceQuota."""

    used: Amounts | None = None


class ResourceQuota(msgspec.Struct, rename="camel"):
    """A ResourceQuota of a namespace."""

    metadata: ObjectMeta
    kind: str = ""
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus | None = None
