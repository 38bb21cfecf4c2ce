"""Device classes, pruned."""

import msgspec

from reconciler.cluster.wire.meta import ObjectMeta


class DeviceClassSpec(msgspec.Struct, rename="camel", gc=False):
    """`spec` of a DeviceClass."""

    extended_resource_name: str | None = None


class DeviceClass(msgspec.Struct, rename="camel"):
    """A DeviceClass (resource.k8s.io)."""

    metadata: ObjectMeta
    kind: str = ""
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
