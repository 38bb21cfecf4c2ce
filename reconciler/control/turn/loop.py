"""The loop: observe, decide, re-validate, actuate, record. Level-based: each turn starts from what is there."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.turn.memory_store import MemoryStore, StoreUnavailableError
from reconciler.control.turn.revalidation import Moved, Stands, revalidate
from reconciler.control.turn.turn_report import ActionResult, Decided, LoopReport, ResultState
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, settle
from reconciler.decisions.demand.arriving import arriving
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory, Outcome
from reconciler.decisions.ownership.second_writer import without_last_writes
from reconciler.decisions.reasons.pods import Arriving
from reconciler.decisions.reasons.sizes import PendingPods
from reconciler.decisions.removal.called_off import called_off
from reconciler.decisions.removal.under_way import intending, recovered
from reconciler.plan.one_write import DEFERRED, OneWrite
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.policy.documents import Mode, PolicySet
from reconciler.providers.contract import (
    ClusterPort,
    NodeRemoval,
    RemovalProgress,
    RemovalState,
    SeveralAtOnce,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)
from reconciler.values.defect import defect_text

MAX_TRIES = 3
Chooser: TypeAlias = Callable[[Plan, World], tuple[Action, ...]]
"""Which actions of a decision are done, told the view that it was made on; those of a saved plan, for one."""


class PolicySource(Protocol):
    """Where the policy in force comes from: the last good one, whatever happened since."""

    def current(self) -> PolicySet:
        """The policy to decide by."""


class ControlLoop:
    """One loop over one cluster. Iterations must not overlap. A process that restarts between any two lines continues correctly.
    Everything it needs is in the store, on the targets and in the taints of leaving nodes."""

    def __init__(
        self,
        port: ClusterPort,
        policies: PolicySource,
        store: MemoryStore,
        *,
        work_budget: int = DEFAULT_WORK_BUDGET,
        choose: Chooser | None = None,
        reopens: bool = True,
        waits_for_bursts: bool = True,
    ) -> None:
        """`choose` None: every action of a decision is done. `reopens`: nodes that were leaving when the policy came to Observe
        are opened again; without it such a policy touches nothing at all.
        `waits_for_bursts`: growth waits while pods are arriving, for turns that come again within seconds."""
        self._port = port
        self._policies = policies
        self._store = store
        self._work_budget = work_budget
        self._choose = choose
        self._reopens = reopens
        # Who chose the actions wants them now: a saved plan, or the only turn of a process.
        self._waits_for_bursts = waits_for_bursts and choose is None

    def turn(self) -> LoopReport:
        """One turn. Never raises for what the cluster, the store or a provider does; the report says it."""
        now = self._port.now_seconds()
        policy = self._policies.current()
        try:
            memory = self._store.load()
            world = self._port.observe()
            removals = self._continue_removals(world, policy, memory, now)
            if any(progress.state is not RemovalState.DRAINING for progress in removals):
                world = self._port.observe()
        except (ViewUnavailableError, StoreUnavailableError) as error:
            return LoopReport(at_seconds=now, unavailable=str(error))
        try:
            kept = memory
            memory = judged(world, lambda some: recovered(kept, some, now), kept.defects)
            # By the time when they had ended: a read that is older says nothing of them.
            memory = settle(memory, _ended_removals(removals, memory, self._port.now_seconds()))
            plan, memory = decide(world, policy, memory, now, self._work_budget)
        except Exception as error:
            # Objects that judging fails on are left out; here nobody can tell which these are.
            return LoopReport(at_seconds=now, removals=removals, unavailable=f"no decision: {defect_text(error)}")
        decided = Decided(world=world, policy=policy, memory=memory, now_seconds=now)
        try:
            # Before any act: what the next process must know if this one ends in the middle of it.
            acting = without_last_writes(memory, frozenset(action.target for action in plan.actions))
            self._store.save(acting)
        except StoreUnavailableError as error:
            return LoopReport(at_seconds=now, plan=plan, decided=decided, removals=removals, unavailable=str(error))
        chosen = plan if self._choose is None else msgspec.structs.replace(plan, actions=self._choose(plan, world))
        lowered = {str(progress.target) for progress in removals if progress.state is RemovalState.FINISHED}
        results = self._actuate(chosen, world, policy, acting, now, lowered)
        ended = self._port.now_seconds()
        memory = settle(memory, tuple(_outcome(result, ended) for result in results if result.state is not ResultState.SKIPPED))
        try:
            self._store.save(memory)
        except StoreUnavailableError as error:
            # The writes are on the targets; the next turn reads them there.
            return LoopReport(
                at_seconds=now, plan=plan, decided=decided, settled=memory, results=results, removals=removals,
                unavailable=str(error),
            )  # fmt: skip
        return LoopReport(at_seconds=now, plan=plan, decided=decided, settled=memory, results=results, removals=removals)

    def _continue_removals(
        self, world: World, policy: PolicySet, memory: Memory, now_seconds: int
    ) -> tuple[RemovalProgress, ...]:
        """One step of every removal under way, after those that may not go on were called off. In mode Observe all are called
        off, since nobody else would take their marks back."""
        ending = called_off(world, policy, memory, now_seconds)
        if policy.policy.mode is not Mode.ENFORCE and not (ending and self._reopens):
            return ()
        for removal in ending:
            pod = f"pod {removal.why.pod}: " if removal.why.pod else ""
            self._port.call_off(removal.target, removal.node, f"{removal.why.code}: {pod}{removal.why.message}")
        return self._port.continue_removals()

    def _actuate(
        self, plan: Plan, world: World, policy: PolicySet, memory: Memory, now_seconds: int, lowered: set[str]
    ) -> tuple[ActionResult, ...]:
        """Every action by itself: what one meets does not stop the others. `lowered` are targets that removals have written."""
        if not plan.actions:
            return ()
        observing = _observing(world, policy, now_seconds)
        held = {line.name for line in plan.groups if line.held}
        burst = arriving(plan, world, policy.policy.pods, now_seconds) if self._waits_for_bursts else None
        turn = OneWrite(lowered)
        intended: set[tuple[str, str]] = set()
        results: dict[int, ActionResult] = {}
        sizing: dict[int, Action] = {}
        leaving: dict[int, Action] = {}

        def size() -> None:
            done = self._size(sizing, world)
            for number, result in done.items():
                if result.state is ResultState.DONE:
                    turn.done(sizing[number])
            results.update(done)
            sizing.clear()

        for number, action in enumerate(plan.actions):
            if action.kind is not ActionKind.REMOVE_NODE:
                results |= self._remove(leaving, world, memory, intended)
                leaving = {}
            if action.kind is ActionKind.REMOVE_NODE or any(one.target == action.target for one in sizing.values()):
                size()
            if observing is None or action.target in observing:
                results[number] = _skipped(action, "Observe", "mode is Observe: nothing is written")
            elif action.group in held:
                results[number] = _skipped(action, "Held", f"{action.group} is held")
            elif burst is not None and action.reason.code == PendingPods.code:
                results[number] = _skipped(action, Arriving.code, burst.sentence())
            elif turn.waits(action):
                results[number] = _skipped(
                    action, DEFERRED, f"this iteration has just written {action.target}. The next one decides on it"
                )
            elif action.kind is ActionKind.REMOVE_NODE:
                leaving[number] = action
            else:
                sizing[number] = action
        size()
        results |= self._remove(leaving, world, memory, intended)
        return tuple(results[number] for number in range(len(plan.actions)))

    def _remove(
        self, actions: dict[int, Action], judged: World, memory: Memory, intended: set[tuple[str, str]]
    ) -> dict[int, ActionResult]:
        """Removals begin together. That they begin is stored first, with those that began before them in this turn (`intended`:
        target and node)."""
        if not actions:
            return {}
        intended.update((action.target, action.nodes[0]) for action in actions.values())
        try:
            self._store.save(intending(memory, intended))
        except StoreUnavailableError as error:
            why = f"that it begins cannot be stored: {error}"
            return {number: _skipped(action, "Stale", why) for number, action in actions.items()}

        def begin(stands: Mapping[int, Stands]) -> Iterable[WriteResult]:
            return self._port.remove_nodes(
                tuple(
                    NodeRemoval(target=one.target, node=actions[number].nodes[0], replicas=actions[number].to, bound=one.bound)
                    for number, one in stands.items()
                )
            )

        return self._tried(actions, judged, begin)

    def _size(self, actions: Mapping[int, Action], judged: World) -> dict[int, ActionResult]:
        """Writes of different targets, side by side where the port's targets allow that."""

        def write(stands: Mapping[int, Stands]) -> Iterable[ActionResult | WriteResult]:
            port, numbers = self._port, tuple(stands)

            def one(position: int) -> ActionResult | WriteResult:
                return self._written(actions[numbers[position]], stands[numbers[position]])

            if len(numbers) > 1 and isinstance(port, SeveralAtOnce):
                return port.together([stands[number].target for number in numbers], one)
            return map(one, range(len(numbers)))

        return self._tried(actions, judged, write)

    def _tried(
        self,
        actions: Mapping[int, Action],
        judged: World,
        write: Callable[[Mapping[int, Stands]], Iterable[ActionResult | WriteResult]],
    ) -> dict[int, ActionResult]:
        """Each is re-validated, and those that stand are written together, up to three times while only the objects under them
        move."""
        results: dict[int, ActionResult] = {}
        left = dict(actions)
        for _ in range(MAX_TRIES):
            if not left:
                break
            try:
                fresh = self._port.observe()
                going: dict[int, Stands] = {}
                for number, action in left.items():
                    try:
                        checked = revalidate(action, judged, fresh)
                    except Exception as error:
                        # Nothing of this action has begun, and the others go on.
                        results[number] = _failed(action, error)
                        continue
                    if isinstance(checked, Moved):
                        results[number] = _skipped(action, "Stale", checked.why)
                    else:
                        going[number] = checked
                written = dict(zip(going, write(going), strict=True))
            except ViewUnavailableError as error:
                results |= {number: _skipped(action, "Stale", f"the view was lost: {error}") for number, action in left.items()}
                break
            results |= {
                number: _result(actions[number], one) if isinstance(one, WriteResult) else one for number, one in written.items()
            }
            left = {number: actions[number] for number in written if results[number].code == WriteCode.STALE}
        return results

    def _written(self, action: Action, stands: Stands) -> ActionResult | WriteResult:
        try:
            return self._write(action, stands.target, stands.bound)
        except ViewUnavailableError as error:
            return _skipped(action, "Stale", f"the view was lost: {error}")
        except Exception as error:
            # A provider may fail in any way; the report carries it, and the other actions go on.
            return _failed(action, error)

    def _write(self, action: Action, target: TargetRef, bound: Bound) -> WriteResult:
        match action.kind:
            case ActionKind.ADOPT:
                return self._port.adopt(target, action.to, bound)
            case ActionKind.RELEASE:
                return self._port.release(target, bound)
            case ActionKind.CANCEL:
                return self._port.cancel(target, action.machines, action.to, bound)
            case _:
                # Of a replacement only the growth: the memory, stored before this, has later turns drain the nodes once the new
                # one is ready.
                return self._port.resize(target, action.to, bound)


def _observing(world: World, policy: PolicySet, now_seconds: int) -> frozenset[str] | None:
    """Targets of groups that only observe; None: the whole policy does."""
    if policy.policy.mode is Mode.OBSERVE:
        return None
    groups = judged(world, lambda some: effective_groups(some, policy, now_seconds))
    return frozenset(str(group.target) for group in groups if group.mode is Mode.OBSERVE)


def _result(action: Action, result: WriteResult) -> ActionResult:
    state = ResultState.DONE if result.done else ResultState.REFUSED
    return ActionResult(
        action=action,
        state=state,
        code=result.code,
        message=result.message,
        generation=result.generation,
        replicas=result.replicas,
    )


def _failed(action: Action, error: Exception) -> ActionResult:
    return ActionResult(action=action, state=ResultState.FAILED, code="Failed", message=f"{type(error).__name__}: {error}")


def _skipped(action: Action, code: str, why: str) -> ActionResult:
    return ActionResult(action=action, state=ResultState.SKIPPED, code=code, message=why)


def _outcome(result: ActionResult, now_seconds: int) -> Outcome:
    action = result.action
    return Outcome(
        kind=action.kind,
        group=action.group,
        target=action.target,
        to=action.to if result.replicas is None else result.replicas,
        before=action.bound.replicas,
        nodes=action.nodes,
        done=result.state is ResultState.DONE,
        code=result.code,
        message=result.message,
        at_seconds=now_seconds,
        generation=result.generation,
    )


def _ended_removals(removals: tuple[RemovalProgress, ...], memory: Memory, now_seconds: int) -> tuple[Outcome, ...]:
    """Removals that ended since the last turn: a finished one is a write of replicas, a failed one names its node."""
    return tuple(
        Outcome(
            kind=ActionKind.REMOVE_NODE,
            group=memory.known_groups.get(_name(progress.target), ""),
            target=_name(progress.target),
            to=progress.replicas,
            before=progress.replicas + 1,
            nodes=(progress.node,) if progress.state is RemovalState.FAILED else (),
            done=progress.state is RemovalState.FINISHED,
            code=progress.code,
            message=progress.message,
            at_seconds=now_seconds,
            generation=progress.generation,
        )
        for progress in removals
        if progress.state is not RemovalState.DRAINING
    )


def _name(target: TargetRef | None) -> str:
    return "" if target is None else str(target)
