"""Nodes that are being emptied: cordoned, evicted pod by pod, handed on when empty, given up after too long."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.simulation.embedded.agenda import Agenda
from reconciler.simulation.embedded.durations import Durations
from reconciler.simulation.embedded.objects import ClusterObjects
from reconciler.simulation.embedded.pod_lifecycle import PodLifecycle
from reconciler.simulation.embedded.pod_object import NodeObject, PodObject
from reconciler.values.plural import count_text, verb_for

DELETING_TAINT = "reconciler.dev/deleting"
CORDON_TAINT = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class Drain:
    """One node on its way out. `refusal` is the last eviction that was refused; `taint` is what marks the node."""

    __slots__ = ("began", "done", "given_up", "node", "refusal", "retry_at", "taint")

    def __init__(
        self, node: NodeObject, began: int, taint: Taint | None, done: Callable[[], None], given_up: Callable[[str], None]
    ) -> None:
        self.node = node
        self.began = began
        self.taint = taint
        self.done = done
        self.given_up = given_up
        self.refusal = ""
        self.retry_at = began


class Drains:
    """All drains in flight. A drain without `taint` is the machine controller's own and is never given up."""

    def __init__(self, objects: ClusterObjects, agenda: Agenda, durations: Durations, pods: PodLifecycle) -> None:
        self._objects = objects
        self._agenda = agenda
        self._durations = durations
        self._pods = pods
        self.by_node: dict[str, Drain] = {}

    def begin(self, node: NodeObject, taint: Taint | None, done: Callable[[], None], given_up: Callable[[str], None]) -> Drain:
        """Mark the node and start to empty it; beginning twice changes nothing."""
        drain = self.by_node.get(node.name)
        if drain is None:
            drain = self.by_node[node.name] = Drain(node, self._agenda.now_seconds, taint, done, given_up)
            shape = self._objects.shape_of(node)
            extra = (CORDON_TAINT,) if taint is None else (CORDON_TAINT, taint)
            self._reshape(node, shape, {*shape.taints, *extra}, cordoned=True)
        return drain

    def step(self) -> bool:
        """Go on with every drain; whether anything moved."""
        moved = False
        for drain in list(self.by_node.values()):
            moved = self._step(drain) or moved
        if moved and not self._durations.drain_retry_seconds:
            # Nothing takes time: what one drain freed lets the others go on in the same instant.
            for drain in self.by_node.values():
                drain.retry_at = self._agenda.now_seconds
        return moved

    def forget(self, node: NodeObject) -> None:
        """The node went away by itself."""
        self.by_node.pop(node.name, None)

    def remaining(self, drain: Drain) -> list[PodObject]:
        """Pods that must leave before the node may go."""
        return [pod for pod in drain.node.pods if not self._objects.goes_with_node(pod)]

    def _step(self, drain: Drain) -> bool:
        now = self._agenda.now_seconds
        left = self.remaining(drain)
        if not left:
            del self.by_node[drain.node.name]
            drain.done()
            return True
        if drain.taint is not None and now - drain.began >= self._durations.drain_timeout_seconds:
            self._give_up(
                drain, drain.refusal or f"{count_text(len(left), 'pod')} {verb_for(len(left), 'has', 'have')} not ended"
            )
            return True
        if now < drain.retry_at:
            return False
        moved = False
        refusal = ""
        for pod in sorted((pod for pod in left if not pod.deletion), key=lambda pod: (pod.namespace, pod.name)):
            why = self._pods.evict(pod)
            moved = moved or not why
            refusal = refusal or why
        drain.refusal = refusal
        if not moved:
            wait = self._durations.drain_retry_seconds or self._durations.drain_timeout_seconds
            drain.retry_at = now + wait
            self._agenda.at(drain.retry_at, _wake)
        return moved

    def _give_up(self, drain: Drain, why: str) -> None:
        del self.by_node[drain.node.name]
        self.reopen(drain.node)
        drain.given_up(why)

    def reopen(self, node: NodeObject) -> None:
        """Take the marks of a drain off the node."""
        shape = self._objects.shape_of(node)
        kept = {taint for taint in shape.taints if taint != CORDON_TAINT and taint.key != DELETING_TAINT}
        self._reshape(node, shape, kept, cordoned=False)

    def _reshape(self, node: NodeObject, shape: NodeShape, taints: set[Taint], *, cordoned: bool) -> None:
        fresh = msgspec.structs.replace(shape, taints=tuple(sorted(taints)), unschedulable=cordoned)
        self._objects.change_node(node, node_shape=fresh)


def _wake() -> None:
    """Nothing of its own: the clock stops here, and every drain is looked at again."""
