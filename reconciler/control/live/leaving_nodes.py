"""The nodes that are leaving: emptied side by side, then handed to their targets, all of one target together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.denied_steps import DeniedSteps
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.ownership.owner import rivals_over
from reconciler.decisions.situation.group_situation import shrinking
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.side_by_side import side_by_side
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.policy.documents import Mode
from reconciler.providers.contract import (
    LeavingMachine,
    RemovalProgress,
    RemovalState,
    TargetProvider,
    TargetRemoval,
    WriteCode,
)

NOTHING_MAY_GO = 1 << 31


class Drain(Protocol):
    """Emptying nodes. Our taint on the node is its only state. All methods raise `ApiError` and `UnreachableError`."""

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        """Mark the node, which the view shows as `seen`, with our taint; again changes nothing."""

    def step(self, node: str) -> DrainStep:
        """Evict what may be evicted now."""

    def undo(self, node: str) -> None:
        """Take our taint off; marks of others stay."""


class _Empty(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose machine may go. `held` and `called_off` say why it must not (empty: it may)."""

    node: str
    taint: str
    target: TargetRef
    provider: TargetProvider
    machine: LeavingMachine
    floor: int
    held: str = ""
    called_off: str = ""


class LeavingNodes:
    """What this process knows about its removals in addition to the taints. `tell` is given a code, a machine and a sentence."""

    def __init__(
        self,
        drain: Drain,
        providers: Mapping[str, TargetProvider],
        tell: Callable[[str, str, str], None],
        now_seconds: Callable[[], int],
    ) -> None:
        self._denied = DeniedSteps(now_seconds)
        self._drain = drain
        self._providers = providers
        self._tell = tell
        self._floors: dict[TargetRef, int] = {}
        self._pending: dict[TargetRef, set[str]] = {}
        """The nodes of each target whose machines may be marked while replicas are not lowered for them yet."""
        self._ends: set[tuple[str, str, RemovalState]] = set()
        """Ends of removals that were told: node, taint and state."""
        self._called_off: dict[str, str] = {}
        """Why the removal of a node must end, until the next step of removals."""

    def forget(self) -> None:
        """Begin again: another instance may have led since."""
        self._floors.clear()
        self._pending.clear()
        self._ends.clear()

    def began(self, target: TargetRef, node: str, replicas: int) -> None:
        """The removal of a node begins, in a plan that leaves `replicas`."""
        # One that fails in the second in which an earlier one did has the same taint, and is told again.
        self._ends = {end for end in self._ends if end[0] != node}
        # Several removals of one target may end in any order: the last one of the plan names the lowest value.
        self._floors[target] = min(replicas, self._floors.get(target, replicas))

    def call_off(self, node: str, why: str) -> None:
        """Taken up by the next step of removals."""
        self._called_off[node] = why

    def look(self, world: World, leaving: Mapping[str, str]) -> None:
        """Forget what the view says is over. `leaving`: node name -> our taint."""
        self._ends = {end for end in self._ends if leaving.get(end[0]) == end[1]}
        self._pending = {target: left for target, nodes in self._pending.items() if (left := nodes & leaving.keys())}
        begun = {machine.target for machine in world.machines if machine.node in leaving}
        self._floors = {target: floor for target, floor in self._floors.items() if target in begun}
        self._denied.keep({*leaving, *map(str, begun)})

    def proceed(
        self,
        world: World,
        groups: Mapping[TargetRef, EffectiveGroup],
        leaving: Mapping[str, str],
        updates: list[RemovalProgress],
    ) -> None:
        """One step of every removal, written to `updates`: a guard that ends it leaves there what was done until then."""
        called_off, self._called_off = self._called_off, {}
        machines = machines_on(world, leaving)
        facts = {one.ref: one for one in world.targets}
        lowered_targets = shrinking(world) if self._ends else frozenset()
        prepared: list[tuple[_Empty, bool]] = []
        for node, taint in sorted(leaving.items()):
            machine = machines.get(node)
            target = machine.target if machine is not None else None
            if why := self._denied.why(node) or self._denied.why(str(target)):
                updates.append(_draining(target, node, 0, why))
                continue
            if machine is None:
                self._without_machine(None, node, updates)
                continue
            lowered = (node, taint, RemovalState.FINISHED) in self._ends
            if lowered and (machine.deleting or (machine.target in lowered_targets and node not in called_off)):
                continue
            one = self._prepared(machine, facts, groups, world.rivals, node, taint, called_off.get(node, ""), updates)
            if one is not None:
                # A machine that is going or marked has been empty; its node may have pods again that nobody must evict.
                drains = not (machine.deleting or machine.delete_marked or one.held or one.called_off)
                prepared.append((one, drains))
        empty = self._emptied(prepared, updates)
        by_target: dict[TargetRef, list[_Empty]] = {}
        for one in empty:
            by_target.setdefault(one.target, []).append(one)
        for together in by_target.values():
            # First what must not go: of all machines that are marked the platform may take any when replicas fall.
            for one in together:
                if one.held or one.called_off:
                    self._hand_over([one], updates)
            self._hand_over([one for one in together if not (one.held or one.called_off)], updates)

    def reopen(self, target: TargetRef | None, node: str, code: str, why: str, updates: list[RemovalProgress]) -> None:
        """Our taint goes."""
        if self._opened(target, node, updates):
            updates.append(_gave_up(target, node, code, why))

    def _opened(self, target: TargetRef | None, node: str, updates: list[RemovalProgress]) -> bool:
        """One node that cannot be reached stops no other."""
        try:
            self._drain.undo(node)
        except (ApiError, UnreachableError) as error:
            self._denied.note(node, error)
            updates.append(_draining(target, node, 0, str(error)))
            return False
        return True

    def _without_machine(self, target: TargetRef | None, node: str, updates: list[RemovalProgress]) -> None:
        """Nobody will lower anything for this node."""
        self.reopen(target, node, "NotFound", f"node {node} has no machine of a target any more", updates)

    def _prepared(
        self,
        machine: Machine,
        facts: Mapping[TargetRef, TargetFacts],
        groups: Mapping[TargetRef, EffectiveGroup],
        rivals: tuple[str, ...],
        node: str,
        taint: str,
        called_off: str,
        updates: list[RemovalProgress],
    ) -> _Empty | None:
        target = machine.target
        provider = self._providers.get(target.kind) if target is not None else None
        if target is None or provider is None or target not in facts:
            # One whose machine is going is left closed.
            if not machine.deleting:
                self._without_machine(target, node, updates)
            return None
        group = groups.get(target)
        held = _stopped(group, rivals_over(facts[target], rivals))
        pending = node in self._pending.get(target, ())
        return _Empty(
            node=node,
            taint=taint,
            target=target,
            provider=provider,
            machine=LeavingMachine(
                machine=machine.name if facts[target].selectable else "", node=node, marked=machine.delete_marked or pending
            ),
            floor=NOTHING_MAY_GO if group is None or held or called_off else max(group.min_size, self._floors.get(target, 0)),
            held=held,
            called_off=called_off,
        )

    def _emptied(self, prepared: Sequence[tuple[_Empty, bool]], updates: list[RemovalProgress]) -> list[_Empty]:
        """Those whose turn at their target has come. With each node stands whether it is to be emptied now."""
        ends = iter(side_by_side(self._drained, [one for one, drains in prepared if drains]))
        empty = []
        for one, drains in prepared:
            progress = next(ends) if drains else None
            if isinstance(progress, NotLeaderError):
                raise progress
            if progress is None:
                empty.append(one)
            else:
                updates.append(progress)
        return empty

    def _drained(self, one: _Empty) -> RemovalProgress | NotLeaderError | None:
        """One step of the drain; None when the node is empty. What the guard raises is an answer, too: what was done until then
        is told."""
        try:
            drained = self._drain.step(one.node)
            if drained.given_up:
                self._drain.undo(one.node)
                return _gave_up(one.target, one.node, drained.code or "DrainTimeout", drained.given_up)
        except (ApiError, UnreachableError) as error:
            self._denied.note(one.node, error)
            return _draining(one.target, one.node, 0, str(error))
        except NotLeaderError as error:
            return error
        self._denied.note(one.node, code=drained.code, message=drained.message)
        return _draining(one.target, one.node, drained.remaining, drained.message) if drained.remaining else None

    def _hand_over(self, together: list[_Empty], updates: list[RemovalProgress]) -> None:
        """One step of the provider for nodes of one target, and what became of each."""
        if not together:
            return
        target, pending = together[0].target, self._pending.setdefault(together[0].target, set())
        others = pending - {one.node for one in together}
        if others and not together[0].held and not together[0].called_off:
            # Of two machines that are marked the platform may take either when replicas fall.
            why = f"waits until replicas are lowered for {min(others)}"
            updates.extend(_draining(target, one.node, 0, why) for one in together)
            return
        # Until it has ended in order, the marks may be there and replicas not lowered.
        pending |= {one.node for one in together}
        try:
            steps = together[0].provider.step(target, tuple(one.machine for one in together), together[0].floor)
        except (ApiError, UnreachableError) as error:
            self._denied.note(str(target), error)
            updates.extend(_draining(target, one.node, 0, str(error)) for one in together)
            return
        except msgspec.DecodeError as error:
            # Objects that cannot be read stop neither the other removals nor the turn.
            unread = TargetRemoval(state=RemovalState.DRAINING, code=WriteCode.REFUSED, message=str(error), untouched=True)
            steps = (unread,) * len(together)
        waits = (step for step in steps if step.state is RemovalState.DRAINING and step.code == WriteCode.DENIED)
        denied = next(waits, None)
        self._denied.note(str(target), code=denied.code if denied else "", message=denied.message if denied else "")
        for one, step in zip(together, steps, strict=True):
            if step.state is not RemovalState.DRAINING or (step.untouched and not one.machine.marked):
                # The others of the target may go on: no mark is on this machine, or it has done its work.
                pending.discard(one.node)
            self._tell_step(one, step, updates)

    def _tell_step(self, one: _Empty, step: TargetRemoval, updates: list[RemovalProgress]) -> None:
        node, target = one.node, one.target
        if step.untouched:
            self._tell("RemovalWaits", one.machine.machine, f"the removal of node {node} waits: {step.message}")
        if step.state is RemovalState.FAILED and not step.reopen and (node, one.taint, RemovalState.FINISHED) in self._ends:
            # Its machine has gone since, before the view has shown it going.
            return
        if step.state is RemovalState.FAILED and step.reopen and not self._opened(target, node, updates):
            return
        if step.state is RemovalState.DRAINING:
            updates.append(_draining(target, node, 0, step.message))
            return
        if (node, one.taint, step.state) in self._ends:
            return
        self._ends.add((node, one.taint, step.state))
        if step.state is RemovalState.FAILED:
            code = "Held" if one.held else "CalledOff" if one.called_off else step.code
            updates.append(_gave_up(target, node, code, one.held or one.called_off or step.message))
            return
        updates.append(
            RemovalProgress(target=target, node=node, state=step.state, replicas=step.replicas, generation=step.generation)
        )


def machines_on(world: World, nodes: Iterable[str]) -> dict[str, Machine]:
    """The Machine that is each node. In a management cluster, nodes of several workload clusters may share a name. The provider
    id decides then; if it cannot, the node is left out."""
    wanted = set(nodes)
    named: dict[str, list[Machine]] = {}
    for machine in world.machines:
        if machine.node in wanted:
            named.setdefault(machine.node, []).append(machine)
    by_node = {}
    for name, machines in named.items():
        alike = machines
        if len({machine.target for machine in machines}) > 1:
            identity = next((item.provider_id for item in world.nodes if item.name == name), "")
            alike = [machine for machine in machines if machine.provider_id and machine.provider_id == identity]
        if len({machine.target for machine in alike}) == 1:
            by_node[name] = alike[0]
    return by_node


def _stopped(group: EffectiveGroup | None, rivals: tuple[str, ...]) -> str:
    """Why removals that began must not go on; empty when they may."""
    if group is None:
        return "no group of the policy has this target any more"
    if group.hold:
        return f"{group.name} is held: {group.hold}"
    if rivals:
        return f"{group.name} is held: {rivals[0]}"
    return f"{group.name} is in mode Observe" if group.mode is Mode.OBSERVE else ""


def _draining(target: TargetRef | None, node: str, remaining: int, message: str) -> RemovalProgress:
    return RemovalProgress(target=target, node=node, state=RemovalState.DRAINING, remaining=remaining, message=message)


def _gave_up(target: TargetRef | None, node: str, code: str, why: str) -> RemovalProgress:
    return RemovalProgress(target=target, node=node, state=RemovalState.FAILED, code=code, message=why)
