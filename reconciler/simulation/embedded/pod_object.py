"""A pod of a simulated cluster and the node that it is on: they change over time."""

from collections.abc import Callable

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.target import TargetRef

Counted = tuple[bool, bool]
"""Whether a pod counts as healthy (Ready and not terminating) and as active for disruption budgets."""


class PodObject:
    """One pod; it changes over time, so it is not a struct. Times are Unix seconds, 0 if absent. `replaces` is the key of the
    evicted or deleted pod that this one replaces. `managed`: its controller knows it. `counted` is how it counts for disruption
    budgets (None: they do not know it)."""

    __slots__ = (
        "counted",
        "created",
        "deletion",
        "gated",
        "managed",
        "name",
        "namespace",
        "node",
        "nominated",
        "phase",
        "ready",
        "replaces",
        "shape",
        "traits",
        "uid",
        "unknown_node",
        "unschedulable",
    )

    def __init__(self, namespace: str, name: str, uid: str, shape: int, traits: int, created: int) -> None:
        self.namespace = namespace
        self.name = name
        self.uid = uid
        self.shape = shape
        self.traits = traits
        self.created = created
        self.deletion = 0
        self.unschedulable = 0
        self.node: NodeObject | None = None
        self.nominated: NodeObject | None = None
        self.phase = PodPhase.PENDING
        self.ready = False
        self.gated = False
        self.unknown_node = ""
        self.replaces = ""
        self.managed = False
        self.counted: Counted | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Succeeded or Failed."""
        return self.phase is PodPhase.SUCCEEDED or self.phase is PodPhase.FAILED

    @property
    def active(self) -> bool:
        """Counts for its controller: neither terminating nor finished."""
        return not self.deletion and not self.finished


class NodeObject:
    """One node with the pods on it. `target` sizes it (None: nobody). `index` is its place in the last World.
    `seat`, when it is set, makes the objects of its first pods once they are asked for."""

    __slots__ = ("_pods", "index", "seat", "target", "value")

    def __init__(self, value: Node, target: TargetRef | None) -> None:
        self.value = value
        self.target = target
        self.index = -1
        self.seat: Callable[[], dict[PodObject, None]] | None = None
        self._pods: dict[PodObject, None] = {}

    @property
    def name(self) -> str:
        """The node's name."""
        return self.value.name

    @property
    def pods(self) -> dict[PodObject, None]:
        """The pods on the node, in the order in which they came."""
        if self.seat is not None:
            seat, self.seat = self.seat, None
            self._pods = {**seat(), **self._pods}
        return self._pods

    def reseat(self, seat: Callable[[], dict[PodObject, None]] | None) -> None:
        """Other pods are on the node: those that `seat` makes, or none."""
        self.seat, self._pods = seat, {}

    def put(self, pod: PodObject) -> None:
        """One more pod is on the node."""
        self._pods[pod] = None
