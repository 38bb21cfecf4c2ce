"""A working copy of "which pods are on which nodes", for what-ifs: bind, place, ask, undo.

CONTRACT (the body is being written; signatures and meanings are fixed):
"""

from collections.abc import Iterable, Sequence

from reconciler.cluster.node import NodeShape
from reconciler.cluster.pod import PodShape
from reconciler.cluster.resources import Resources
from reconciler.cluster.world import World
from reconciler.scheduling.verdict import Rejection


class SchedulingState:
    """Nodes (existing ones first, in World order, then added ones) with what is bound to them.

    Deterministic: same calls, same answers. Never reads a clock. Costs of asking are by shape, not by pod.
    """

    def __init__(self, world: World, *, pods: Iterable[int] | None = None) -> None:
        """Bind the pods of `world` given by index; None means all that are on a node of the view and not finished
        (terminating ones included, as kube-scheduler counts them)."""
        raise NotImplementedError

    @property
    def node_count(self) -> int:
        """Number of nodes, closed ones included; valid indices are below it."""
        raise NotImplementedError

    def name(self, node: int) -> str:
        """Name of a node."""
        raise NotImplementedError

    def shape_of(self, node: int) -> NodeShape:
        """Shape of a node."""
        raise NotImplementedError

    def pod_shape(self, shape: int) -> PodShape:
        """A pod shape by index: those of the World first, then added ones."""
        raise NotImplementedError

    def add_shape(self, shape: PodShape) -> int:
        """Register a pod shape that is not in the World (headroom); equal shapes get one index. Not undone by `undo`."""
        raise NotImplementedError

    def add_node(self, name: str, shape: NodeShape, pods: Sequence[int] = ()) -> int:
        """A node that is not there yet (upcoming, or a new one of a group) with its daemonset pods, by pod shape, bound
        without asking. Returns its index. Undone by `undo`."""
        raise NotImplementedError

    def close(self, node: int) -> None:
        """The node takes no more pods (it is leaving); what is bound to it stays bound until unbound. Undone by `undo`."""
        raise NotImplementedError

    def modelled(self, shape: int) -> str:
        """Empty when verdicts for this shape are exact; else what is not modelled, as a phrase (`DynamicResources`)."""
        raise NotImplementedError

    def fits(self, shape: int, node: int) -> bool:
        """Would one more pod of this shape run on this node? False on closed nodes and for shapes not modelled."""
        raise NotImplementedError

    def verdict(self, shape: int, node: int) -> tuple[Rejection, ...]:
        """Every filter plugin that rejects the pod on the node, sorted by plugin; empty: fits. `closed` does not count."""
        raise NotImplementedError

    def place(self, shape: int, count: int, nodes: Sequence[int] | None = None) -> tuple[tuple[int, int], ...]:
        """Bind up to `count` pods of one shape, first fit over `nodes` in the given order (None: all, by index).

        Returns (node, pods bound) for nodes that got some; their sum is what was placed. Equals pod-by-pod first fit.
        """
        raise NotImplementedError

    def bind(self, shape: int, node: int, count: int = 1) -> None:
        """Bind without asking."""
        raise NotImplementedError

    def unbind(self, shape: int, node: int, count: int = 1) -> None:
        """Take pods of a shape off a node."""
        raise NotImplementedError

    def bound(self, node: int) -> tuple[tuple[int, int], ...]:
        """(shape, count) on a node, by shape index; counts above zero."""
        raise NotImplementedError

    def used(self, node: int) -> Resources:
        """Sum of the requests bound to a node."""
        raise NotImplementedError

    def mark(self) -> int:
        """A point to return to. Marks nest."""
        raise NotImplementedError

    def undo(self, mark: int) -> None:
        """Back to `mark`: costs as much as what happened since, not as the size of the world."""
        raise NotImplementedError
