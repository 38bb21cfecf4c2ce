"""The live cluster behind the port of the loop: a view, a clock, the providers of its targets, and the drain of its nodes."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import PolicyClaim, World
from reconciler.control.live.leaving_nodes import Drain, LeavingNodes, machines_on
from reconciler.control.live.own_writes import OwnWrites
from reconciler.control.live.target_marks import FormerPolicy, LeftMarks, own_marks
from reconciler.control.policy.policy_in_force import NoPolicyError
from reconciler.decisions.groups.cluster_names import in_cloud
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.ownership.other_policies import claim_words, claims_on, promised_since
from reconciler.decisions.ownership.owner import policy_mark, rivals_over
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.side_by_side import side_by_side
from reconciler.kube.drain import SeenNode
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.leading.target_holders import Holders
from reconciler.kube.watching.live_world import IncompleteViewError
from reconciler.kube.watching.watch_pace import Pace
from reconciler.plan.plan import Bound
from reconciler.policy.documents import PolicySet
from reconciler.providers.answer import failed
from reconciler.providers.contract import (
    FindsNodes,
    Finishing,
    NodeRemoval,
    RemovalProgress,
    TargetProvider,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
    WritesTogether,
)
from reconciler.providers.machine_of_node import machine_of
from reconciler.providers.target_mark import marked_by_targets
from reconciler.values.cluster_identity import FleetPlace


class LiveView(Protocol):
    """Where the view comes from."""

    def observe(self) -> World:
        """A complete view. Raises `IncompleteViewError` when there is none to trust."""


class CurrentPolicy(Protocol):
    """The policy in force."""

    def current(self) -> PolicySet:
        """The policy to write by."""


class Claims(Protocol):
    """What other policies say of targets."""

    def known(self) -> tuple[PolicyClaim, ...]:
        """Some seconds old at most; what cannot be asked at present is as it was."""

    def before_write(self) -> tuple[PolicyClaim, ...]:
        """Read since our own claims were stored last. Raises `ApiError` and `UnreachableError`."""


_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class Several(Protocol):
    """Makes several calls."""

    def __call__(self, call: Callable[[_Item], _Answer], items: Sequence[_Item]) -> list[_Answer]:
        """The results, in the order of the items."""


class LivePort:
    """A `ClusterPort` over real servers. `owner` (the policy's name) is in our taints: those of others are left alone.

    `providers` by kind of target. `annotations`, given a target, are what explains a write on it (policy, revision). `rivals` is
    the evidence that another autoscaler works there; `rivals_at_write` is the same just before a write (None: not looked for
    again). `claims` is what other policies say (None: nobody is asked). `tell` and `former` are those of `LeftMarks`. `tell` is
    also given what keeps a removal waiting, and `former` names those whose marks on targets no longer count. With a `pace`, the
    port waits for a view that shows what removals wrote. In a fleet, `fleet` returns the place of the cluster in it.
    `holders` say which cluster may write a target of a cloud. Both are None outside a fleet. `several` calls run at once.
    """

    def __init__(
        self,
        view: LiveView,
        clock: Callable[[], int],
        policies: CurrentPolicy,
        providers: Mapping[str, TargetProvider],
        drain: Drain,
        owner: str,
        annotations: Callable[[TargetRef], Mapping[str, str]] = lambda _: {},
        rivals: Callable[[], tuple[str, ...]] = tuple,
        tell: Callable[[str, str], None] = lambda _code, _message: None,
        former: Callable[[str], FormerPolicy | None] = lambda _: None,
        pace: Pace | None = None,
        rivals_at_write: Callable[[], tuple[str, ...]] | None = None,
        claims: Claims | None = None,
        fleet: Callable[[], FleetPlace] | None = None,
        holders: Holders | None = None,
        several: Several = side_by_side,
    ) -> None:
        self._several = several
        self._judging = threading.Lock()
        """Held while writes are judged again: what judges them remembers its answers for a moment."""
        self._fleet = fleet
        self._holders = holders
        self._view = view
        self._clock = clock
        self._policies = policies
        self._providers = providers
        self._drain = drain
        self._owner = owner
        self._annotations = annotations
        self._rivals = rivals
        self._rivals_at_write = rivals_at_write
        self._claims = claims
        self._left_marks = LeftMarks(providers, owner, tell, former)
        self._world: World | None = None
        self._own_writes = OwnWrites(pace)
        self._leaving = LeavingNodes(drain, providers, self._left_marks.say, clock)

    def observe(self) -> World:
        """The view now. Raises `ViewUnavailableError`."""
        try:
            world = marked_by_targets(self._own_writes.shown(self._view.observe(), self._view.observe))
        except IncompleteViewError as error:
            self._world = None
            # The answers are there once the view is.
            self._known_beside()
            raise ViewUnavailableError(str(error)) from error
        (rivals, claims), ended = self._known_beside(), self._left_marks.ended(world)
        if rivals or ended or claims:
            world = msgspec.structs.replace(world, rivals=rivals, ended_policies=ended, claims=claims)
        if self._fleet is not None:
            world = msgspec.structs.replace(world, fleet=self._fleet())
        self._world = world
        return self._world

    def _known_beside(self) -> tuple[tuple[str, ...], tuple[PolicyClaim, ...]]:
        """Other autoscalers, and what other policies say: both are asked at once."""
        if self._claims is None:
            return self._rivals(), ()
        with ThreadPoolExecutor(1) as pool:
            claims = pool.submit(self._claims.known)
            return self._rivals(), claims.result()

    def forget(self) -> None:
        """Begin again: another instance may have led since."""
        self._leaving.forget()
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
        grows = replicas > bound.replicas
        return self._rival(target, grows=grows) or self._with_provider(
            target, lambda provider: provider.resize(target, replicas, bound, self._annotations(target))
        )

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """An act of its own; the value stays."""
        return self._rival(target) or self._with_provider(
            target, lambda provider: provider.adopt(target, replicas, bound, self._annotations(target))
        )

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Our marks go."""
        result = self._with_provider(target, lambda provider: provider.release(target, bound))
        return self._given_back(target) or result if result.done else result

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Requests for nodes that never came are taken back. What was read of the target may lack a machine that is a Node."""

        def cancel(provider: TargetProvider) -> WriteResult:
            finder: object = provider
            strangers = _strangers(self._world) if isinstance(finder, FindsNodes) and self._world is not None else ()
            wrong = finder.concealed(target, strangers) if isinstance(finder, FindsNodes) and strangers else None
            return wrong or provider.cancel(target, machines, replicas, bound)

        return self._rival(target) or self._with_provider(target, cancel)

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        """Each drain begins when the provider sees nothing against the removal, several side by side."""

        def begin(one: NodeRemoval) -> WriteResult:
            try:
                return self._begun(world, one)
            except Exception as error:
                # A provider may fail in any way; what it meets at one node stops no other.
                return WriteResult(code=WriteCode.UNKNOWN, message=f"{type(error).__name__}: {error}")

        world = self._world or self.observe()
        rivals = {one.target: self._rival(one.target) for one in removals}
        going = iter(tuple(self._several(begin, [one for one in removals if rivals[one.target] is None])))
        results = tuple(rivals[one.target] or next(going) for one in removals)
        for one, result in zip(removals, results, strict=True):
            if result.done:
                self._leaving.began(one.target, one.node, one.replicas)
        return results

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        """One of them alone; what its provider raises comes out."""
        world, removal = self._world or self.observe(), NodeRemoval(target=target, node=node, replicas=replicas, bound=bound)
        result = self._rival(target) or self._begun(world, removal)
        if result.done:
            self._leaving.began(target, node, replicas)
        return result

    def _rival(self, target: TargetRef, *, grows: bool = False) -> WriteResult | None:
        """The refusal of a write because another autoscaler or policy came (back) since the view was taken; None: none did."""
        with self._judging:
            return self._judged_again(target, grows=grows)

    def _judged_again(self, target: TargetRef, *, grows: bool) -> WriteResult | None:
        with ThreadPoolExecutor(1) as pool:
            claims = None if self._claims is None else pool.submit(self._claims.before_write)
            rivals = self._rivals_at_write() if self._rivals_at_write is not None else ()
        facts = _facts(self._world, target) if rivals and self._world is not None else None
        over = rivals_over(facts, rivals) if facts is not None else rivals
        if over:
            return WriteResult(code=WriteCode.REFUSED, message=f"{target} is held: {over[0]}")
        claimed = self._claimed(target, claims.result, grows=grows) if claims is not None else None
        return claimed or self._held_elsewhere(target)

    def _claimed(
        self, target: TargetRef, before_write: Callable[[], tuple[PolicyClaim, ...]], *, grows: bool
    ) -> WriteResult | None:
        """Stale where other policies say something else of the target than the view has, so that it is judged again. Growth also
        is if one of them has promised nodes to pods since."""
        try:
            now = before_write()
        except (ApiError, UnreachableError) as error:
            return WriteResult(
                code=WriteCode.UNAVAILABLE, message=f"{target}: the targets of other policies cannot be read: {error}"
            )
        judged = self._world.claims if self._world is not None else ()
        claims = claims_on(now, str(target))
        if claims == claims_on(judged, str(target)):
            since = promised_since(judged, now) if grows else None
            message = f"{target}: {claim_words(since)} has promised nodes to pods since then" if since is not None else ""
            return WriteResult(code=WriteCode.STALE, message=message) if message else None
        named = ", ".join(claim_words(one) for one in claims) or "no other policy"
        return WriteResult(code=WriteCode.STALE, message=f"{target}: {named} has it now, which was judged otherwise")

    def _held_elsewhere(self, target: TargetRef) -> WriteResult | None:
        """The refusal of a write on a target of a cloud that the loop of another cluster has; None: this one has it."""
        facts = _facts(self._world, target) if self._world is not None else None
        if self._holders is None or not in_cloud(target.kind):
            return None
        if facts is None or not facts.uid:
            return WriteResult(code=WriteCode.REFUSED, message=f"{target}: it is unknown which target of the cloud this is")
        try:
            other = self._holders.take(str(target), facts.uid)
        except (ApiError, UnreachableError, NotLeaderError) as error:
            message = f"{target}: which cluster may write it cannot be recorded: {error}"
            return WriteResult(code=WriteCode.UNAVAILABLE, message=message)
        return WriteResult(code=WriteCode.REFUSED, message=other) if other else None

    def _given_back(self, target: TargetRef) -> WriteResult | None:
        """Why another cluster may not have the target yet; None: it may."""
        facts = _facts(self._world, target) if self._world is not None else None
        if self._holders is None or facts is None or not facts.uid or not in_cloud(target.kind):
            return None
        try:
            self._holders.give_back(facts.uid)
        except (ApiError, UnreachableError, NotLeaderError) as error:
            return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{target}: it could not be given back: {error}")
        return None

    def _begun(self, world: World, removal: NodeRemoval) -> WriteResult:
        target, node = removal.target, removal.node
        view_node = next((item for item in world.nodes if item.name == node), None)
        facts = _facts(world, target)
        if view_node is None or facts is None:
            return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} has no node {node}")
        machine = machine_of(world.machines, target, node)
        one = machines_on(world, (node,)).get(node)
        if machine and (one is None or one.target != target):
            message = (
                f"machines of several targets are named node {node}, and the provider id does not say that it is one of {target}"
            )
            return WriteResult(code=WriteCode.REFUSED, message=message)
        if not machine and facts.selectable:
            message = f"{target} has no Machine that is node {node}"
            return WriteResult(code=WriteCode.NOT_FOUND, message=message)

        def begin(provider: TargetProvider) -> WriteResult:
            allowed = provider.may_begin(target, machine if facts.selectable else "", node, removal.bound)
            if not allowed.done:
                return allowed
            try:
                self._drain.begin(node, SeenNode(uid=view_node.uid, taints=world.node_shapes[view_node.shape].taints))
            except (ApiError, UnreachableError) as error:
                return failed(error, f"Node {node}")
            return allowed

        return self._with_provider(target, begin)

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """Taken up by the next step of removals: nothing more is evicted, our marks are taken back."""
        self._leaving.call_off(node, why)

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """Marks without a taint, then one step of everything that carries our taint, whichever process began it."""
        world = self._world or self.observe()
        leaving = own_marks(world, self._owner)
        if leaving and self._rivals_at_write is not None:
            world = msgspec.structs.replace(world, rivals=self._rivals_at_write())
        self._leaving.look(world, leaving)
        groups = effective_groups(world, self._policies.current(), self._clock()) if leaving else ()
        updates: list[RemovalProgress] = []
        try:
            # First: of all machines that are marked the platform may take any when replicas fall.
            self._left_marks.take_back(world, leaving)
            self._finish(world)
            self._leaving.proceed(world, {group.target: group for group in groups}, leaving, updates)
        except NotLeaderError:
            # Nothing more is sent; what lies on the objects is the next leader's to go on with.
            pass
        self._own_writes.note(updates)
        return tuple(updates)

    def _finish(self, world: World) -> None:
        """What earlier writes have left on targets of this policy, whichever process wrote."""
        for kind, provider in self._providers.items():
            finishing: object = provider
            if isinstance(finishing, Finishing):
                own = (facts for facts in world.targets if facts.ref.kind == kind and policy_mark(facts) in ("", self._owner))
                finishing.finish(tuple(own), self._clock())

    def together(self, targets: Sequence[TargetRef], write: Callable[[int], _Answer]) -> Sequence[_Answer]:
        """As `SeveralAtOnce.together`: first the targets of platforms that write one after the other."""
        beside: dict[int, TargetRef] = {}
        for kind, provider in self._providers.items():
            writer: object = provider
            if isinstance(writer, WritesTogether):
                own = {number: target for number, target in enumerate(targets) if target.kind == kind}
                writer.expect(tuple(own.values()))
                beside |= own
        results = {number: write(number) for number in range(len(targets)) if number not in beside}
        results |= zip(beside, self._several(write, tuple(beside)), strict=True)
        return [results[number] for number in range(len(targets))]

    def abandon_removals(self) -> tuple[RemovalProgress, ...]:
        """Before the process ends: finish what is one write from its end, and open the nodes of all other drains again. None
        stays closed while nobody looks after it."""
        world = self.observe()
        leaving = own_marks(world, self._owner)
        groups = self._groups_at_the_end(world) if leaving else {}
        machines = machines_on(world, leaving)
        going = {node for node, machine in machines.items() if machine.target and (machine.deleting or machine.delete_marked)}
        updates: list[RemovalProgress] = []
        try:
            self._leaving.proceed(world, groups, {node: taint for node, taint in leaving.items() if node in going}, updates)
            for node in sorted(leaving.keys() - going):
                target = machines[node].target if node in machines else None
                self._leaving.reopen(target, node, "Stopped", "the drain is undone, since this process ends", updates)
        except NotLeaderError:
            # Nothing more is sent; the next leader goes on.
            pass
        return tuple(updates)

    def _groups_at_the_end(self, world: World) -> dict[TargetRef, EffectiveGroup]:
        """None without a policy: nothing may be lowered any more then, so that marks and taints are taken back."""
        try:
            policy = self._policies.current()
        except NoPolicyError:
            return {}
        return {group.target: group for group in effective_groups(world, policy, self._clock())}

    def _with_provider(self, target: TargetRef, write: Callable[[TargetProvider], WriteResult]) -> WriteResult:
        provider = self._providers.get(target.kind)
        if provider is None:
            message = f"{target}: no provider is configured for {target.kind}"
            return WriteResult(code=WriteCode.REFUSED, message=message)
        try:
            return write(provider)
        except NotLeaderError as error:
            return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{target}: {error}")


def _facts(world: World, target: TargetRef) -> TargetFacts | None:
    return next((facts for facts in world.targets if facts.ref == target), None)


_MOST_STRANGERS = 200
"""The newest Nodes: one that no read shows has joined a moment ago."""


def _strangers(world: World) -> tuple[str, ...]:
    """The provider ids of Nodes that belong to no target that was read, the newest first."""
    known = {machine.node for machine in world.machines} | {""}
    loose = (node for node in world.nodes if node.name not in known and node.provider_id)
    found = sorted((-node.created_seconds, node.provider_id) for node in loose)
    return tuple(provider_id for _, provider_id in found[:_MOST_STRANGERS])
