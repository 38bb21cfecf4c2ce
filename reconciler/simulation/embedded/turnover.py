"""What changed on nodes since the scheduler last looked."""

from reconciler.simulation.embedded.pod_object import NodeObject, PodObject


class Turnover:
    """`moved` are pods that came (negative: went), by node and shape. `nodes` are those that changed or went. `anew`: everything
    must be read again, since a node joined or a terminating pod is gone."""

    __slots__ = ("_terminating", "anew", "moved", "nodes")

    def __init__(self) -> None:
        self.anew = True
        self.moved: dict[tuple[NodeObject, int], int] = {}
        self.nodes: dict[NodeObject, None] = {}
        self._terminating: dict[PodObject, None] = {}

    def came(self, pod: PodObject, node: NodeObject) -> None:
        """A pod was bound."""
        if not pod.finished:
            self.moved[node, pod.shape] = self.moved.get((node, pod.shape), 0) + 1

    def changed(self, pod: PodObject) -> None:
        """Something about a pod on a node changed."""
        if pod.deletion:
            self._terminating[pod] = None

    def went(self, pod: PodObject, node: NodeObject) -> None:
        """A pod is gone from its node."""
        if pod.deletion and self._terminating.pop(pod, pod) is pod:
            # Pods that terminate hold room and count in no domain: the state knows how many, not which.
            self.anew = True
        if not pod.finished:
            self.moved[node, pod.shape] = self.moved.get((node, pod.shape), 0) - 1

    @property
    def lasting(self) -> bool:
        """Can a state be brought up to date by what is told here?"""
        return not self.anew and not self._terminating

    def clear(self) -> None:
        """Everything is known now."""
        self.anew = False
        self.moved.clear()
        self.nodes.clear()
        self._terminating.clear()
