"""Device classes: which extended resources dynamic resource allocation serves."""

import msgspec

from reconciler.cluster.wire import device_class as wire

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class DeviceClass(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A DeviceClass. Its devices can be asked for as `extended_resource` (empty: under no name of its own) and as
    `implicit_resource`."""

    name: str
    extended_resource: str = ""

    @property
    def implicit_resource(self) -> str:
        """The extended resource that every class stands for. Source: `ResourceDeviceClassPrefix` of resource.k8s.io/v1."""
        return IMPLICIT_PREFIX + self.name


def device_class(item: wire.DeviceClass) -> DeviceClass:
    """One class."""
    return DeviceClass(name=item.metadata.name, extended_resource=item.spec.extended_resource_name or "")
