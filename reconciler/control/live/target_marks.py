"""Marks of ours that belong to no removal under way: whoever set them has ended, or the drain was undone. They are taken back.

SOURCE: a taint that stays keeps its node closed. A delete annotation that stays lets its Machine go at the next shrinking,
whoever asks for that. Marks of other programs, and of policies that somebody runs, are never touched.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from reconciler.cluster.target import Machine, TargetFacts, TargetRef
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.cluster.world import World
from reconciler.decisions.ownership.handover import place
from reconciler.decisions.ownership.owner import policy_mark
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.drain import DELETING_TAINT, DrainMark, read_mark
from reconciler.kube.watching.collection import Served, object_of
from reconciler.policy.documents import PolicySet
from reconciler.providers.answer import CloudError
from reconciler.providers.contract import TargetProvider, WriteCode, WriteResult
from reconciler.providers.live_platforms import hold_in_cloud
from reconciler.values.decoding import decode


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


# Holds written on targets: one annotation, under our manager, where it is ours to write; in a cloud what stands for it there.

_CONFLICT = 409
_TRIES = 3


class HoldState(StrEnum):
    """Held, Released: written. Unchanged: it was so already. Refused: it may not be written here, `message` says where
    instead. Failed: the server did not take it."""

    HELD = "Held"
    RELEASED = "Released"
    UNCHANGED = "Unchanged"
    REFUSED = "Refused"
    FAILED = "Failed"


class HoldResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the hold of one group. `lines` are YAML to write elsewhere, where it was refused; `before` is the hold
    that was there (empty: none), `now` the one that is."""

    group: str
    target: str
    state: HoldState
    before: str = ""
    now: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


def set_hold(api: Api, served: tuple[Served, ...], policy: PolicySet, group: str, facts: TargetFacts, text: str) -> HoldResult:
    """Write the annotation with `text` (empty: take it off). The object is read, and written with that resourceVersion. If
    somebody else was faster, it is read again, up to three times. A target of a cloud is written there, by whom `policy` says.
    Never raises for what the server or the cloud says."""
    target_object = object_of(facts.ref, served)
    if target_object is None:
        return _in_cloud(policy, group, facts, text)
    refused = _elsewhere(group, facts, text)
    if refused is not None:
        return refused
    path = target_object.path
    error: Exception | None = None
    for _ in range(_TRIES):
        try:
            meta = decode(api.get(path), _Object).metadata
            before = (meta.annotations or {}).get(HOLD, "")
            if before == text:
                return HoldResult(group=group, target=str(facts.ref), state=HoldState.UNCHANGED, before=before, now=text)
            change = {"metadata": {"resourceVersion": meta.resource_version, "annotations": {HOLD: text or None}}}
            api.write("PATCH", path, change, content_type=ContentType.MERGE_PATCH)
            state = HoldState.HELD if text else HoldState.RELEASED
            return HoldResult(group=group, target=str(facts.ref), state=state, before=before, now=text)
        except (ApiError, UnreachableError) as caught:
            error = caught
            if not isinstance(caught, ApiError) or caught.status != _CONFLICT:
                break
    return HoldResult(group=group, target=str(facts.ref), state=HoldState.FAILED, message=str(error))


def _in_cloud(policy: PolicySet, group: str, facts: TargetFacts, text: str) -> HoldResult:
    target = str(facts.ref)
    try:
        before = hold_in_cloud(facts.ref, policy, text)
    except CloudError as error:
        return HoldResult(group=group, target=target, state=HoldState.FAILED, message=str(error))
    if before is None:
        message = f"{target}: no hold can be written there. Hold the group in the policy (spec.hold)"
        return HoldResult(group=group, target=target, state=HoldState.REFUSED, message=message)
    if before == text:
        return HoldResult(group=group, target=target, state=HoldState.UNCHANGED, before=before, now=text)
    return HoldResult(group=group, target=target, state=HoldState.HELD if text else HoldState.RELEASED, before=before, now=text)


def _elsewhere(group: str, facts: TargetFacts, text: str) -> HoldResult | None:
    """What a topology makes is its own, annotations too: it is written on the Cluster, by whoever writes that."""
    if not facts.owner.topology_owned or facts.owner.hold == text:
        return None
    verb = "add to" if text else "take out of"
    value = msgspec.json.encode(text or facts.owner.hold).decode()
    return HoldResult(
        group=group,
        target=str(facts.ref),
        state=HoldState.REFUSED,
        before=facts.owner.hold,
        now=facts.owner.hold,
        message=f"a topology owns {facts.ref}, so nothing is written on it: {verb} {place(facts)}, "
        "or use spec.hold of the NodeGroup",
        lines=("metadata:", "  annotations:", f"    {HOLD}: {value}"),
    )
