"""The parts of an object that show who owns its `spec.replicas`, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64


class ReplicasField(msgspec.Struct, rename="camel"):
    """The field set below `f:spec`, as far as `replicas` goes."""

    replicas: Raw = msgspec.field(default=EMPTY, name="f:replicas")


class FieldSet(msgspec.Struct, rename="camel"):
    """A `fieldsV1`, as far as `spec.replicas` goes."""

    spec: ReplicasField | None = msgspec.field(default=None, name="f:spec")


class LastAppliedSpec(msgspec.Struct, rename="camel"):
    """`spec` of a last-applied manifest."""

    replicas: Int64 | None = None


class LastApplied(msgspec.Struct, rename="camel"):
    """A client-side last-applied manifest."""

    spec: LastAppliedSpec | None = None
