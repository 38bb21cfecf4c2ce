"""Our own writes on a simulated cluster, accepted and refused as the API server and the machine controller do."""

import msgspec

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.decisions.ownership.owner import OUR_MARKS
from reconciler.plan.plan import Bound
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.drains import DELETING_TAINT, Drain
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, applied, claimed, conflict, disclaimed
from reconciler.simulation.embedded.journal import Happened
from reconciler.values.plural import count_text


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a write: `code` empty when done, else Conflict, Stale, NotFound or Refused."""

    code: str = ""
    message: str = ""
    generation: int = 0


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A removal that came to an end: `code` empty when the node is gone or going, else why it was given up."""

    target: TargetRef
    node: str
    replicas: int = 0
    generation: int = 0
    code: str = ""
    message: str = ""


class SimulatedWrites:
    """The writes of one loop. `owner` names the loop in the taint of a leaving node. `by_itself`: a removal ends as soon as its
    node is empty. Otherwise it ends by `finish_empty`, since a loop only writes in its iterations."""

    def __init__(self, cluster: SimulatedCluster, owner: str = "simulation", *, by_itself: bool = True) -> None:
        self._cluster = cluster
        self._owner = owner
        self._by_itself = by_itself
        self._empty: list[str] = []
        self._ended: list[Ended] = []
        self._removals: dict[str, tuple[TargetRef, Drain]] = {}

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> Written:
        """Replicas by an apply that does not force."""
        facts = self._fresh(target, bound)
        if isinstance(facts, Written):
            return facts
        if other := conflict(facts, OUR_MANAGER, replicas):
            return self._conflict(target, other)
        stored = self._cluster.store(applied(facts, OUR_MANAGER, replicas, self._cluster.now_seconds), OUR_MANAGER)
        return Written(generation=stored.generation)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> Written:
        """Others' claims on the field go, also that of a last-applied manifest; then our apply records us as the only owner."""
        facts = self._fresh(target, bound)
        if isinstance(facts, Written):
            return facts
        stored = self._cluster.store(claimed(facts, OUR_MANAGER, replicas, self._cluster.now_seconds), OUR_MANAGER)
        return Written(generation=stored.generation)

    def release(self, target: TargetRef, bound: Bound) -> Written:
        """Remove our annotations and our claim on the field. Replicas stay: the spec is not part of the write."""
        facts = self._fresh(target, bound)
        if isinstance(facts, Written):
            return facts
        kept = tuple(item for item in facts.annotations if item[0] not in OUR_MARKS)
        released = msgspec.structs.replace(disclaimed(facts, OUR_MANAGER), annotations=kept)
        return Written(generation=self._cluster.store(released, OUR_MANAGER).generation)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> Written:
        """Delete machines that never became nodes and set replicas, so that no other machine goes."""
        facts = self._fresh(target, bound)
        if isinstance(facts, Written):
            return facts
        if stale := self._cluster.machines.not_cancellable(target, machines, replicas):
            return self._refused(target, "Stale", stale)
        if other := conflict(facts, OUR_MANAGER, replicas):
            return self._conflict(target, other)
        self._cluster.machines.cancel(target, machines)
        if replicas == facts.replicas:
            return Written(generation=facts.generation)
        stored = self._cluster.store(applied(facts, OUR_MANAGER, replicas, self._cluster.now_seconds), OUR_MANAGER)
        return Written(generation=stored.generation)

    def remove_node(self, target: TargetRef, name: str, bound: Bound) -> Written:
        """Mark and cordon the node and begin to drain it."""
        facts = self._cluster.objects.targets.get(target)
        node = self._cluster.objects.nodes.get(name)
        if facts is None or node is None or node.target != target:
            return self._refused(target, "NotFound", f"{target} has no node {name}")
        if name in self._removals:
            return Written(generation=facts.generation)
        if node.value.deleting:
            return self._refused(target, "Refused", f"{name} is being deleted already")
        stale = _moved(facts, bound)
        if stale:
            return self._refused(target, "Stale", stale)
        now = self._cluster.now_seconds
        taint = Taint(DELETING_TAINT, f"{self._owner}.{now}", "NoSchedule")
        drain = self._cluster.drains.begin(
            node, taint, lambda: self._emptied(target, name), lambda why: self._give_up(target, name, "DrainTimeout", why)
        )
        self._removals[name] = (target, drain)
        self._cluster.journal.add(now, Happened.REMOVAL_BEGAN, name, by=OUR_MANAGER, target=str(target))
        return Written(generation=facts.generation)

    def call_off(self, target: TargetRef, name: str, why: str) -> None:
        """End a removal that is under way; its node is open again."""
        node = self._cluster.objects.nodes.get(name)
        if name not in self._removals or node is None or node.value.deleting:
            return
        self._cluster.drains.forget(node)
        self._cluster.drains.reopen(node)
        self._give_up(target, name, "CalledOff", why)

    def finish_empty(self) -> None:
        """Hand on every node that has become empty; forget those that went by themselves."""
        for name in [name for name in self._removals if name not in self._cluster.objects.nodes]:
            del self._removals[name]
        waiting, self._empty = self._empty, []
        for name in waiting:
            if name in self._removals:
                self._finish(self._removals[name][0], name)

    def _emptied(self, target: TargetRef, name: str) -> None:
        if self._by_itself:
            self._finish(target, name)
        else:
            self._empty.append(name)
            self._cluster.objects.touch()

    def _finish(self, target: TargetRef, name: str) -> None:
        """The node is empty: its machine is deleted and replicas are lowered by one, so that no other machine goes."""
        cluster = self._cluster
        facts, node = cluster.objects.targets.get(target), cluster.objects.nodes.get(name)
        if facts is None or node is None:
            self._give_up(target, name, "NotFound", f"{target} or {name} is gone")
            return
        replicas = max(0, (facts.replicas or 0) - 1)
        mark = read_hold(facts.owner.hold)
        if mark is not None and mark.holds(cluster.now_seconds):
            cluster.drains.reopen(node)
            self._give_up(target, name, "Held", f"a hold was set while it was drained: {mark.reason}")
            return
        other = conflict(facts, OUR_MANAGER, replicas)
        if other:
            cluster.drains.reopen(node)
            self._give_up(target, name, "Conflict", f'conflict with "{other}": .spec.replicas')
            return
        cluster.machines.delete(node)
        stored = cluster.store(applied(facts, OUR_MANAGER, replicas, cluster.now_seconds), OUR_MANAGER)
        del self._removals[name]
        self._ended.append(Ended(target=target, node=name, replicas=replicas, generation=stored.generation))

    def _give_up(self, target: TargetRef, name: str, code: str, why: str) -> None:
        self._removals.pop(name, None)
        self._cluster.journal.add(
            self._cluster.now_seconds, Happened.REMOVAL_FAILED, name, detail=f"{code}: {why}", by=OUR_MANAGER, target=str(target)
        )
        self._ended.append(Ended(target=target, node=name, code=code, message=why))

    def _fresh(self, target: TargetRef, bound: Bound) -> TargetFacts | Written:
        """The target as it was judged, or why it is not."""
        facts = self._cluster.objects.targets.get(target)
        if facts is None:
            return self._refused(target, "NotFound", f"{target} does not exist")
        stale = _moved(facts, bound)
        return self._refused(target, "Stale", stale) if stale else facts

    def _conflict(self, target: TargetRef, other: str) -> Written:
        return self._refused(target, "Conflict", f'Apply failed with 1 conflict: conflict with "{other}": .spec.replicas')

    def _refused(self, target: TargetRef, code: str, why: str) -> Written:
        self._cluster.journal.add(
            self._cluster.now_seconds, Happened.WRITE_REFUSED, str(target), detail=f"{code}: {why}", by=OUR_MANAGER
        )
        return Written(code=code, message=why)

    def ended(self) -> tuple[Ended, ...]:
        """Removals that ended since the last call."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def draining(self) -> tuple[tuple[TargetRef, str, int, str], ...]:
        """Removals in flight: target, node, pods that have not left, the last refusal."""
        return tuple(
            (target, name, len(self._cluster.drains.remaining(drain)), drain.refusal)
            for name, (target, drain) in sorted(self._removals.items())
        )


def _moved(facts: TargetFacts, bound: Bound) -> str:
    if facts.resource_version != bound.resource_version:
        return f"{facts.ref} moved from resourceVersion {bound.resource_version} to {facts.resource_version}"
    if (facts.replicas or 0) != bound.replicas:
        return f"{facts.ref} has {count_text(facts.replicas or 0, 'replica')}, and {bound.replicas} when the plan was made"
    return ""
