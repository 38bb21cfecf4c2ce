"""What an infrastructure template declares about one new node, by Cluster API's scale-from-zero contract."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.targets.capacity import amount
from reconciler.cluster.values.resources import CPU
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.platforms.clusterapi.facts import wire

ARCH_LABEL, OS_LABEL = "kubernetes.io/arch", "kubernetes.io/os"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts by resource name (cpu in milli), the node's properties, and their source."""

    amounts: Mapping[str, int] = {}
    labels: Mapping[str, str] = {}
    architecture: str = ""
    origin: str = ""
    problems: tuple[str, ...] = ()


def offered(template: wire.InfrastructureTemplate | None, reference: wire.ObjectReference) -> Offer:
    """`status.capacity` and `status.nodeInfo` of the template; empty if it was not captured or has neither."""
    if template is None or template.status is None:
        return Offer()
    origin = f"{reference.kind} {reference.name}"
    amounts: dict[str, int] = {}
    problems: list[str] = []
    for name, text in sorted((template.status.capacity or {}).items()):
        try:
            amounts[name] = amount(name, str(text))
        except UnreadableError as error:
            problems.append(f"status.capacity.{name} of {origin}: {error}")
    info = template.status.node_info or wire.NodeInfo()
    return Offer(
        amounts={name: value for name, value in amounts.items() if value or name == CPU},
        labels={OS_LABEL: info.operating_system} if info.operating_system else {},
        architecture=info.architecture,
        origin=f"status of {origin}",
        problems=tuple(problems),
    )
