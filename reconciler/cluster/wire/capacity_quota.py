"""CapacityQuotas of autoscaling.x-k8s.io, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import LabelSelector, ObjectMeta
from reconciler.cluster.wire.pod import Amounts


class QuotaSelector(LabelSelector, rename="camel", forbid_unknown_fields=True):
    """`spec.selector`."""


class QuotaLimits(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec.limits`."""

    resources: Amounts


class QuotaSpec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec` of a CapacityQuota. A field that is not known here may bound more, or other nodes."""

    limits: QuotaLimits
    selector: QuotaSelector | None = None


class CapacityQuota(msgspec.Struct, rename="camel"):
    """A CapacityQuota. Its `spec` is read apart: one that cannot be read must not make the whole view unreadable."""

    metadata: ObjectMeta
    kind: str = ""
    spec: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))
