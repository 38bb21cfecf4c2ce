"""What admission writes into pods: limit ranges and runtime classes, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, ObjectMeta
from reconciler.cluster.wire.pod import Toleration


class LimitRangeItem(msgspec.Struct, rename="camel", gc=False):
    """One of `spec.limits` of a LimitRange."""

    type: str = ""
    default: Raw = EMPTY
    default_request: Raw = EMPTY


class LimitRangeSpec(msgspec.Struct, rename="camel", gc=False):
    """`spec` of a LimitRange."""

    limits: list[LimitRangeItem] | None = None


class LimitRange(msgspec.Struct, rename="camel"):
    """A LimitRange."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)
    kind: str = ""


class Overhead(msgspec.Struct, rename="camel", gc=False):
    """`overhead` of a RuntimeClass."""

    pod_fixed: Raw = EMPTY


class Scheduling(msgspec.Struct, rename="camel", gc=False):
    """`scheduling` of a RuntimeClass."""

    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(msgspec.Struct, rename="camel"):
    """A RuntimeClass (node.k8s.io)."""

    metadata: ObjectMeta
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
    kind: str = ""
