"""Extended resources that dynamic resource allocation serves: what is known of them, and what is not modelled."""

from reconciler.cluster.workloads.device_class import IMPLICIT_PREFIX
from reconciler.cluster.world import World
from reconciler.scheduling.nodes import NodeTable
from reconciler.scheduling.release import Release
from reconciler.scheduling.shapes import ShapeTable

_PLAIN_DOMAIN = "kubernetes.io/"


class DeviceResources:
    """Which pods ask for what a DeviceClass serves.

    Source: plugins NodeResourcesFit (`shouldDelegateResourceToDRA`) and DynamicResources (`filterExtendedResources`), 1.36:
    an extended resource that a class serves and that a node does not list in its allocatable is left to the devices of
    the node's ResourceSlices, which are not captured. A node that lists it serves it as ever.
    """

    def __init__(self, world: World, release: Release, nodes: NodeTable, shapes: ShapeTable) -> None:
        self._nodes = nodes
        self._shapes = shapes
        self._served: frozenset[str] = frozenset()
        if release.device_classes:
            names = ((item.extended_resource, item.implicit_resource) for item in world.device_classes)
            self._served = frozenset(name for pair in names for name in pair if name)
        listed = {name for shape in world.node_shapes for name, _ in shape.allocatable.extended} if self._served else set()
        self._nowhere_listed = self._served - listed

    def touch(self, shape: int) -> bool:
        """Does a pod of the shape ask for anything that a class serves?"""
        return any(name in self._served for name, _ in self._requests(shape))

    def unknown_everywhere(self, shape: int) -> bool:
        """Does it ask for something that a class serves and no node of the cluster lists? Nobody can say then where it runs."""
        return any(name in self._nowhere_listed for name, _ in self._requests(shape))

    def unknown_on(self, shape: int, node: int) -> str:
        """The first extended resource that the node does not list, where `touch` holds; empty when it lists them all."""
        room = self._nodes.shapes[self._nodes.shape[node]].allocatable
        return next((name for name, _ in self._requests(shape) if _is_extended(name) and not room.get(name)), "")

    def _requests(self, shape: int) -> tuple[tuple[str, int], ...]:
        return self._shapes.shapes[shape].requests.extended


def _is_extended(name: str) -> bool:
    """Source: `IsDRAExtendedResourceName`: a name of some domain that is not Kubernetes' own, or a class by its own name."""
    if name.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in name and _PLAIN_DOMAIN not in name and not name.startswith("requests.")
