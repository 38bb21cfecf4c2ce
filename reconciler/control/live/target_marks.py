"""Marks of ours that belong to no removal under way: whoever set them has ended, or the drain was undone. They are taken back.

SOURCE: a taint that stays keeps its node closed. A delete annotation that stays lets its Machine go at the next shrinking,
whoever asks for that. Marks of other programs, and of policies that somebody runs, are never touched.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from reconciler.cluster.target import Machine, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import policy_mark
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.drain_mark import DELETING_TAINT, DrainMark, read_mark
from reconciler.providers.contract import TargetProvider, WriteCode, WriteResult


class Reopening(Protocol):
    """Taking a drain's taint off."""

    def undo(self, node: str) -> None:
        """Off; marks of others stay. Raises `ApiError` and `UnreachableError`."""


class FormerPolicy(msgspec.Struct, frozen=True):
    """What takes back the marks of one policy that nobody runs any more."""

    providers: Mapping[str, TargetProvider]
    drain: Reopening


class LeftMarks:
    """`former` returns, for the name of another policy, the function that removes its marks; None while somebody may run that
    policy. `tell` gets a code and a sentence, once per event. Every error of a guard is raised to the caller."""

    def __init__(
        self,
        providers: Mapping[str, TargetProvider],
        owner: str,
        tell: Callable[[str, str], None],
        former: Callable[[str], FormerPolicy | None],
    ) -> None:
        self._providers = providers
        self._owner = owner
        self._tell = tell
        self._former = former
        self._reported: dict[str, str] = {}

    def forget(self) -> None:
        """Begin anew."""
        self._reported.clear()

    def say(self, code: str, name: str, message: str) -> None:
        """Once, until there is something else to report about the machine or node."""
        if self._reported.get(name) != message:
            self._reported[name] = message
            self._tell(code, message)

    def ended(self, world: World) -> tuple[str, ...]:
        """Names of other policies that stand on targets and that have ended: their targets may be taken over."""
        marks = {policy_mark(facts) for facts in world.targets} - {"", self._owner}
        return tuple(sorted(mark for mark in marks if self._former(mark) is not None))

    def take_back(self, world: World, leaving: Mapping[str, str]) -> None:
        """Delete marks whose node carries no taint of ours, and both marks of policies that have ended."""
        if self._reported:
            there = {machine.name for machine in world.machines} | {node.name for node in world.nodes}
            self._reported = {name: text for name, text in self._reported.items() if name in there}
        foreign = _marks(world, lambda mark: mark.owner != self._owner)
        for machine in world.machines:
            target = machine.target
            if not machine.delete_marked or machine.deleting or target is None or machine.node in leaving:
                continue
            provider = self._providers.get(target.kind)
            if provider is None:
                continue
            self._unmarked(provider, target, machine.name)
            if machine.node not in foreign:
                self._release_mark(provider, target, machine)
        machines = {machine.node: machine for machine in world.machines if machine.node in foreign}
        for node, value in foreign.items():
            self._release_node(machines.get(node), node, value.rpartition(".")[0])

    def _unmarked(self, provider: TargetProvider, target: TargetRef, machine: str) -> WriteResult:
        try:
            result = provider.abandon(target, machine)
        except msgspec.DecodeError as error:
            message = f"Machine {machine} of {target} cannot be understood: {error}"
            result = WriteResult(code=WriteCode.REFUSED, message=message)
        if not result.done:
            self.say("MarkKept", machine, f"our mark on Machine {machine} of {target} could not be taken off: {result.message}")
        elif result.message:
            self.say("MarkTakenOff", machine, result.message)
        return result

    def _release_mark(self, provider: TargetProvider, target: TargetRef, machine: Machine) -> None:
        """The mark of a policy that has ended, on a machine whose node carries no taint of it."""
        policy = provider.marked_by(target, machine.name)
        ended = self._former(policy) if policy and policy != self._owner else None
        if ended is not None and target.kind in ended.providers:
            self._unmarked(ended.providers[target.kind], target, machine.name)

    def _release_node(self, machine: Machine | None, node: str, policy: str) -> None:
        """The taint of a policy that has ended; the mark on the machine goes first."""
        ended = self._former(policy)
        if ended is None or (machine is not None and machine.deleting):
            return
        if (
            machine is not None
            and machine.delete_marked
            and machine.target is not None
            and machine.target.kind in ended.providers
        ):
            result = self._unmarked(ended.providers[machine.target.kind], machine.target, machine.name)
            if not result.done or not result.message:
                # It may still go, since replicas were lowered for it; or this view is older than what was written.
                return
        try:
            ended.drain.undo(node)
        except (ApiError, UnreachableError) as error:
            self.say("TaintKept", node, f"the taint of policy {policy} on node {node} could not be taken off: {error}")
            return
        self.say("TaintTakenOff", node, f"node {node} is open again: policy {policy} closed it, and nobody runs that any more")


def own_marks(world: World, owner: str) -> dict[str, str]:
    """Node name -> the value of the taint of one policy."""
    return _marks(world, lambda mark: mark.owner == owner)


def _marks(world: World, chosen: Callable[[DrainMark], bool]) -> dict[str, str]:
    values = [
        next(
            (
                taint.value
                for taint in shape.taints
                if taint.key == DELETING_TAINT and (mark := read_mark(taint.value)) is not None and chosen(mark)
            ),
            None,
        )
        for shape in world.node_shapes
    ]
    return {node.name: value for node in world.nodes if (value := values[node.shape]) is not None}
