"""A pod of a simulated cluster and the node that it is on: they change over time."""

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.target import TargetRef


class PodObject:
    """One pod; changes over time, so no struct. Times are Unix seconds, 0 when absent. `replaces` is the key of the pod
    whose place this one took when that was evicted or deleted."""

    __slots__ = (
        "created",
        "deletion",
        "gated",
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
    """One node with the pods on it. `target` sizes it (None: nobody). `index` is its place in the last World."""

    __slots__ = ("index", "pods", "target", "value")

    def __init__(self, value: Node, target: TargetRef | None) -> None:
        self.value = value
        self.target = target
        self.index = -1
        self.pods: dict[PodObject, None] = {}

    @property
    def name(self) -> str:
        """The node's name."""
        return self.value.name
