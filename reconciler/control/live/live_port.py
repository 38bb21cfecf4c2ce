"""The live cluster behind the port of the loop: a view, a clock, the providers of its targets, and the drain of its nodes."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from reconciler.cluster.target import Machine, TargetFacts, TargetKind, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.left_marks import FormerPolicy, LeftMarks, own_marks
from reconciler.control.policy.policy_in_force import NoPolicyError
from reconciler.decisions.groups.effective import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.draining.drain import DrainStep
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.live_world import IncompleteViewError
from reconciler.plan.plan import Bound
from reconciler.policy.documents import Mode, PolicySet
from reconciler.providers.answer import failed
from reconciler.providers.clusterapi_reading import machine_of
from reconciler.providers.contract import (
    RemovalProgress,
    RemovalState,
    TargetProvider,
    TargetRemoval,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)

_NOTHING_MAY_GO = 1 << 31


class LiveView(Protocol):
    """Where the view comes from."""

    def observe(self) -> World:
        """A complete view. Raises `IncompleteViewError` when there is none to trust."""


class Drain(Protocol):
    """Emptying nodes. Our taint on the node is its only state. All methods raise `ApiError` and `UnreachableError`."""

    def begin(self, node: str) -> None:
        """Mark the node with our taint; again changes nothing."""

    def step(self, node: str) -> DrainStep:
        """Evict what may be evicted now."""

    def undo(self, node: str) -> None:
        """Take our taint off; marks of others stay."""


class CurrentPolicy(Protocol):
    """The policy in force."""

    def current(self) -> PolicySet:
        """The policy to write by."""


class LivePort:
    """A `ClusterPort` over real servers. `owner` (the policy's name) stands in our taints: those of others are left alone.

    `providers` by kind of target. `annotations`, given a target, says what explains a write on it (policy, revision);
    `rivals`, given a view, is the evidence that another autoscaler is at work there. `tell` and `former` are those of
    `LeftMarks`; `tell` is also given what keeps a removal waiting, and `former` tells whose marks on targets hold no more.
    """

    def __init__(
        self,
        view: LiveView,
        clock: Callable[[], int],
        policies: CurrentPolicy,
        providers: Mapping[TargetKind, TargetProvider],
        drain: Drain,
        owner: str,
        annotations: Callable[[TargetRef], Mapping[str, str]] = lambda _: {},
        rivals: Callable[[World], tuple[str, ...]] = lambda _: (),
        tell: Callable[[str, str], None] = lambda _code, _message: None,
        former: Callable[[str], FormerPolicy | None] | None = None,
    ) -> None:
        self._view = view
        self._clock = clock
        self._policies = policies
        self._providers = providers
        self._drain = drain
        self._owner = owner
        self._annotations = annotations
        self._rivals = rivals
        self._left_marks = LeftMarks(providers, owner, tell, former)
        self._world: World | None = None
        self._floors: dict[TargetRef, int] = {}
        self._pending: dict[TargetRef, str] = {}
        """The node of each target whose machine may be marked while replicas are not lowered for it yet."""
        self._told: set[tuple[str, str, RemovalState]] = set()
        """Ends of removals that were told: node, taint and state."""
        self._called_off: dict[str, str] = {}
        """Why the removal of a node must end, until the next step of removals."""

    def observe(self) -> World:
        """The view now. Raises `ViewUnavailableError`."""
        try:
            world = self._view.observe()
        except IncompleteViewError as error:
            self._world = None
            raise ViewUnavailableError(str(error)) from error
        rivals, ended = self._rivals(world), self._left_marks.ended(world)
        self._world = msgspec.structs.replace(world, rivals=rivals, ended_policies=ended) if rivals or ended else world
        return self._world

    def forget(self) -> None:
        """Begin anew: another instance may have led since."""
        self._floors.clear()
        self._pending.clear()
        self._told.clear()
        self._left_marks.forget()

    @property
    def last_world(self) -> World | None:
        """The view that was taken last; None when there was none to trust."""
        return self._world

    def now_seconds(self) -> int:
        """Unix time."""
        return self._clock()

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """Judged again by the provider, and never forced."""
        return self._with_provider(target, lambda provider: provider.resize(target, replicas, bound, self._annotations(target)))

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """An act of its own; the value stays."""
        return self._with_provider(target, lambda provider: provider.adopt(target, replicas, bound, self._annotations(target)))

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Our marks go."""
        return self._with_provider(target, lambda provider: provider.release(target, bound))

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Requests for nodes that never came are taken back."""
        return self._with_provider(target, lambda provider: provider.cancel(target, machines, replicas, bound))

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        """The drain begins when the provider sees nothing against the removal."""
        world = self._world or self.observe()
        found = next((item for item in world.nodes if item.name == node), None)
        facts = _facts(world, target)
        if found is None or facts is None:
            return WriteResult(done=False, code=WriteCode.NOT_FOUND, message=f"{target} has no node {node}")
        machine = machine_of(world.machines, target, node)
        one = _machine_on(world, node)
        if machine and (one is None or one.target != target):
            message = (
                f"machines of several targets are named node {node}, and the provider id does not say that it is one of {target}"
            )
            return WriteResult(done=False, code=WriteCode.REFUSED, message=message)
        if not machine and facts.selectable:
            message = f"{target} has no Machine that is node {node}"
            return WriteResult(done=False, code=WriteCode.NOT_FOUND, message=message)

        def begin(provider: TargetProvider) -> WriteResult:
            allowed = provider.may_begin(target, machine if facts.selectable else "", node, bound)
            if not allowed.done:
                return allowed
            try:
                self._drain.begin(node)
            except (ApiError, UnreachableError) as error:
                return failed(error, f"Node {node}")
            # One that fails in the second in which an earlier one did has the same taint, and is told again.
            self._told = {told for told in self._told if told[0] != node}
            # Several removals of one target may end in any order: the last one of the plan names the lowest value.
            self._floors[target] = min(replicas, self._floors.get(target, replicas))
            return allowed

        return self._with_provider(target, begin)

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """Taken up by the next step of removals: nothing more is evicted, our marks are taken back."""
        self._called_off[node] = why

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Marks without a taint, then one step of everything that carries our taint, whichever process began it."""
        world = self._world or self.observe()
        leaving = own_marks(world, self._owner)
        self._told = {told for told in self._told if leaving.get(told[0]) == told[1]}
        self._pending = {target: node for target, node in self._pending.items() if node in leaving}
        begun = {machine.target for machine in world.machines if machine.node in leaving}
        self._floors = {target: floor for target, floor in self._floors.items() if target in begun}
        groups = effective_groups(world, self._policies.current(), self._clock()) if leaving else ()
        by_target = {group.target: group for group in groups}
        called_off, self._called_off = self._called_off, {}
        found: list[RemovalProgress | None] = []
        try:
            # First: of all machines that are marked the platform may take any when replicas fall.
            self._left_marks.take_back(world, leaving)
            found.extend(
                self._continued(world, by_target, name, leaving[name], called_off.get(name, ""))
                for name in self._in_order(world, leaving)
            )
        except NotLeaderError:
            # Nothing more is sent; what lies on the objects is the next leader's to go on with.
            pass
        return tuple(progress for progress in found if progress is not None)

    def _in_order(self, world: World, leaving: Mapping[str, str]) -> list[str]:
        """By name, those first whose machine is marked: what is one write from its end comes before what begins."""
        marked = {machine.node for machine in world.machines if machine.delete_marked} | set(self._pending.values())
        return sorted(leaving, key=lambda node: (node not in marked, node))

    def abandon_removals(self) -> tuple[RemovalProgress, ...]:
        """Before the process ends: what is one write from its end is finished, the nodes of all other drains are opened
        again, so that none stays closed while nobody looks after it."""
        world = self.observe()
        leaving = own_marks(world, self._owner)
        groups = self._groups_at_the_end(world) if leaving else {}
        ended: list[RemovalProgress | None] = []
        for node, taint in sorted(leaving.items()):
            machine = _machine_on(world, node)
            try:
                if machine is not None and machine.target is not None and (machine.deleting or machine.delete_marked):
                    ended.append(self._continued(world, groups, node, taint))
                else:
                    why = "the drain is undone, since this process ends"
                    ended.append(self._reopened(machine.target if machine is not None else None, node, "Stopped", why))
            except NotLeaderError:
                # Nothing more is sent; the next leader goes on.
                break
        return tuple(progress for progress in ended if progress is not None)

    def _groups_at_the_end(self, world: World) -> dict[TargetRef, EffectiveGroup]:
        """None without a policy: nothing may be lowered any more then, so that marks and taints are taken back."""
        try:
            policy = self._policies.current()
        except NoPolicyError:
            return {}
        return {group.target: group for group in effective_groups(world, policy, self._clock())}

    def _reopened(self, target: TargetRef | None, node: str, code: str, why: str) -> RemovalProgress | None:
        """Our taint goes; None where no target is left to tell it of. One node that cannot be reached stops no other."""
        try:
            self._drain.undo(node)
        except (ApiError, UnreachableError) as error:
            return _draining(target, node, 0, str(error)) if target is not None else None
        return _gave_up(target, node, code, why) if target is not None else None

    def _continued(
        self, world: World, groups: Mapping[TargetRef, EffectiveGroup], node: str, taint: str, called_off: str = ""
    ) -> RemovalProgress | None:
        machine = _machine_on(world, node)
        target = machine.target if machine is not None else None
        provider, facts = (self._providers.get(target.kind), _facts(world, target)) if target is not None else (None, None)
        if machine is None or target is None or provider is None or facts is None:
            # Nobody will lower anything for this node. One whose machine is going is left closed.
            if machine is not None and machine.deleting:
                return None
            return self._reopened(target, node, "NotFound", f"node {node} has no machine of a target any more")
        group = groups.get(target)
        held = _stopped(group, world.rivals)
        stopped = held or called_off
        floor = max(group.min_size, self._floors.get(target, 0)) if group is not None and not stopped else _NOTHING_MAY_GO
        try:
            # A machine that is going or marked has been empty; its node may have pods again that nobody must evict.
            if not machine.deleting and not machine.delete_marked and not stopped:
                drained = self._drain.step(node)
                if drained.given_up:
                    self._drain.undo(node)
                    return _gave_up(target, node, drained.code or "DrainTimeout", drained.given_up)
                if drained.remaining:
                    return _draining(target, node, drained.remaining, drained.message)
            pending = self._pending.get(target, node)
            if pending != node:
                # Of two machines that are marked the platform may take either when replicas fall by one: one at a time.
                return _draining(target, node, 0, f"waits until replicas are lowered for {pending}")
            marked = machine.delete_marked or self._pending.pop(target, None) is not None
            # Until it has ended in order, the mark may be there and replicas not lowered.
            self._pending[target] = node
            try:
                step = provider.step(target, machine.name if facts.selectable else "", node, floor)
            except msgspec.DecodeError as error:
                # One object that cannot be read stops neither the other removals nor the turn.
                step = TargetRemoval(state=RemovalState.DRAINING, code=WriteCode.REFUSED, message=str(error), untouched=True)
            if step.state is not RemovalState.DRAINING or (step.untouched and not marked):
                # The others of the target may go on: no mark is on this machine, or it has done its work.
                del self._pending[target]
            if step.untouched:
                self._left_marks.say("RemovalWaits", machine.name, f"the removal of node {node} waits: {step.message}")
            if step.state is RemovalState.FAILED and step.reopen:
                self._drain.undo(node)
        except (ApiError, UnreachableError, msgspec.DecodeError) as error:
            return _draining(target, node, 0, str(error))
        if step.state is RemovalState.DRAINING:
            return _draining(target, node, 0, step.message)
        if (node, taint, step.state) in self._told:
            return None
        self._told.add((node, taint, step.state))
        if step.state is RemovalState.FAILED:
            return _gave_up(target, node, _code(held, called_off, step.code), stopped or step.message)
        return RemovalProgress(target=target, node=node, state=step.state, replicas=step.replicas, generation=step.generation)

    def _with_provider(self, target: TargetRef, write: Callable[[TargetProvider], WriteResult]) -> WriteResult:
        provider = self._providers.get(target.kind)
        if provider is None:
            message = f"{target}: no provider is configured for {target.kind.value}"
            return WriteResult(done=False, code=WriteCode.REFUSED, message=message)
        try:
            return write(provider)
        except NotLeaderError as error:
            return WriteResult(done=False, code=WriteCode.UNAVAILABLE, message=f"{target}: {error}")


def _stopped(group: EffectiveGroup | None, rivals: tuple[str, ...]) -> str:
    """Why removals that began must not go on; empty when they may."""
    if group is None:
        return "no group of the policy has this target any more"
    if group.hold:
        return f"{group.name} is held: {group.hold}"
    if rivals:
        return f"{group.name} is held: {rivals[0]}"
    return f"{group.name} is in mode Observe" if group.mode is Mode.OBSERVE else ""


def _code(held: str, called_off: str, otherwise: str) -> str:
    return "Held" if held else "CalledOff" if called_off else otherwise


def _machine_on(world: World, node: str) -> Machine | None:
    """The Machine that is `node`. A management cluster may hold several workload clusters whose nodes share names: the provider
    id decides then, and None says that it cannot."""
    found = [machine for machine in world.machines if machine.node == node]
    if len({machine.target for machine in found}) > 1:
        identity = next((item.provider_id for item in world.nodes if item.name == node), "")
        found = [machine for machine in found if machine.provider_id and machine.provider_id == identity]
        if len({machine.target for machine in found}) > 1:
            return None
    return found[0] if found else None


def _facts(world: World, target: TargetRef) -> TargetFacts | None:
    return next((facts for facts in world.targets if facts.ref == target), None)


def _draining(target: TargetRef, node: str, remaining: int, message: str) -> RemovalProgress:
    return RemovalProgress(target=target, node=node, state=RemovalState.DRAINING, remaining=remaining, message=message)


def _gave_up(target: TargetRef, node: str, code: str, why: str) -> RemovalProgress:
    return RemovalProgress(target=target, node=node, state=RemovalState.FAILED, code=code, message=why)
