"""Device classes: which devices belong together, and which extended resources dynamic resource allocation serves."""

import msgspec

from reconciler.cluster.values.instant import unix_seconds_or_zero
from reconciler.cluster.wire import devices as wire

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class DeviceClass(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A DeviceClass. Its devices can be asked for as `extended_resource` (empty: under no name of its own) and as
    `implicit_resource`. `selectors` are CEL expressions, which all must hold; an empty one is of a kind that nobody knows."""

    name: str
    extended_resource: str = ""
    selectors: tuple[str, ...] = ()
    created_seconds: int = 0

    @property
    def implicit_resource(self) -> str:
        """The extended resource that every class stands for. Source: `ResourceDeviceClassPrefix` of resource.k8s.io/v1."""
        return IMPLICIT_PREFIX + self.name


def device_class(item: wire.DeviceClass) -> DeviceClass:
    """One class."""
    return DeviceClass(
        name=item.metadata.name,
        extended_resource=item.spec.extended_resource_name or "",
        selectors=expressions(item.spec.selectors),
        created_seconds=unix_seconds_or_zero(item.metadata.creation_timestamp),
    )


def expressions(selectors: list[wire.Selector] | None) -> tuple[str, ...]:
    """The CEL expressions of selectors, in their order."""
    return tuple(item.cel.expression if item.cel else "" for item in selectors or ())
