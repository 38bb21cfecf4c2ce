"""A saved plan, carried out on a live cluster by the one instance that leads meanwhile, until its drains have ended.

Apply takes the Lease that the loop takes, and is refused while a loop renews it: two writers that each judge rightly would
still undo each other's drains and count each other's writes as a second writer's. It does not hand the plan to the loop
either: a loop in Enforce decides the same by itself, and one that only looks on (`--read-only`) holds no Lease.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.apply import Applied, PlanApplication, RemovalTerms
from reconciler.control.live_memory_store import LiveMemoryStore
from reconciler.control.live_process import LiveProcess
from reconciler.control.loop import ControlLoop
from reconciler.control.report import ActionResult, LoopReport, ResultState
from reconciler.control.wake import WakeReason
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.kube.api import ApiError, UnreachableError
from reconciler.kube.lease import NotLeaderError
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import ClusterPort, RemovalProgress, RemovalState, ViewUnavailableError, WriteResult

VIEW_PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class FixedSource:
    """A policy that was read once, as the source of a process."""

    def __init__(self, policy: PolicySet) -> None:
        self._policy = policy

    def current(self) -> PolicySet:
        """The policy."""
        return self._policy

    def missing(self) -> str:
        """Never."""
        return ""

    def start(self, changed: Callable[[], None]) -> None:
        """Nothing changes."""

    def poll(self) -> bool:
        """Nothing new."""
        return False

    def notify(self) -> None:
        """Nothing to look at."""

    def stop(self) -> None:
        """Nothing to end."""


class Pause(Protocol):
    """Time, handed in."""

    def monotonic(self) -> float:
        """Seconds on a clock that only goes forward."""

    def pause(self, seconds: float) -> bool:
        """Wait; true: stop."""


class SettlingPort:
    """A port whose view shows our own last write before anything is decided on it: a plan's next action on the same target is
    judged on what the last one left. A write that does not show in time leaves the view as it is; the judgement refuses then."""

    def __init__(self, port: ClusterPort, pause: Pause) -> None:
        self._port = port
        self._pause = pause
        self._last: World | None = None
        self._awaited: dict[TargetRef, str] = {}

    def observe(self) -> World:
        """The view, once it shows what was written."""
        deadline = self._pause.monotonic() + VIEW_PATIENCE_SECONDS
        while True:
            world = self._port.observe()
            shown = {facts.ref: facts.resource_version for facts in world.targets}
            if not any(shown.get(ref) == version for ref, version in self._awaited.items()):
                break
            if self._pause.monotonic() > deadline or self._pause.pause(_LOOK_SECONDS):
                break
        self._awaited.clear()
        self._last = world
        return world

    def now_seconds(self) -> int:
        """Unix time."""
        return self._port.now_seconds()

    def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """As the port does."""
        return self._written(target, self._port.resize(target, replicas, bound))

    def adopt(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
        """As the port does."""
        return self._written(target, self._port.adopt(target, replicas, bound))

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """As the port does."""
        return self._written(target, self._port.release(target, bound))

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """As the port does."""
        return self._written(target, self._port.cancel(target, machines, replicas, bound))

    def remove_node(self, target: TargetRef, node: str, replicas: int, bound: Bound) -> WriteResult:
        """As the port does: nothing of the target is written yet."""
        return self._port.remove_node(target, node, replicas, bound)

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """As the port does."""
        self._port.call_off(target, node, why)

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """As the port does."""
        return self._port.continue_removals()

    def _written(self, target: TargetRef, result: WriteResult) -> WriteResult:
        if result.done and self._last is not None:
            self._awaited |= {facts.ref: facts.resource_version for facts in self._last.targets if facts.ref == target}
        return result


class LiveApply:
    """One saved plan on one live cluster. `process` stands by already: it has a view and the Lease. `tell` is given a sentence
    about everything that happens."""

    def __init__(
        self,
        process: LiveProcess,
        saved: Plan,
        terms: RemovalTerms | None,
        pause: Pause,
        tell: Callable[[str], None],
        *,
        work_budget: int = DEFAULT_WORK_BUDGET,
    ) -> None:
        self._process = process
        self._tell = tell
        port = SettlingPort(process.port, pause)
        store = LiveMemoryStore(process.state)
        self._application = PlanApplication(port, process.source, store, saved, terms=terms, work_budget=work_budget)
        self._store = store
        self._follow = ControlLoop(port, process.source, store, work_budget=work_budget, choose=self._choose)
        self._leaving: set[str] = set()
        self._replaced: set[str] = set()
        self._stay: dict[str, tuple[str, str]] = {}
        self._last: dict[str, tuple[RemovalState, int, str]] = {}

    def run(self) -> tuple[Applied, tuple[str, ...]]:
        """Carry it out and stay until every node that is to leave has left, or stays for a reason, which its action then failed
        for; what happened, as sentences."""
        applied = self._application.run()
        happened: list[str] = []
        for result in applied.results:
            if result.state is ResultState.DONE and result.action.kind is ActionKind.REMOVE_NODE:
                self._leaving.update(result.action.nodes)
            elif result.state is ResultState.DONE and result.action.kind is ActionKind.REPLACE:
                self._replaced.update(result.action.nodes)
        while self._leaving or self._replaced:
            report = self._follow.turn()
            happened += self._happened(report)
            self._forget_what_is_over(report)
            if (self._leaving or self._replaced) and self._process.wake.wait() is WakeReason.STOP:
                happened += self._called_off()
        results = tuple(self._ended(result) for result in applied.results)
        return msgspec.structs.replace(applied, results=results), tuple(happened)

    def _called_off(self) -> list[str]:
        """The process is to end: what is one write from its end is finished, every other drain is undone."""
        try:
            found = self._told(self._process.port.abandon_removals())
        except (ApiError, UnreachableError, NotLeaderError, ViewUnavailableError) as error:
            found = [f"what was under way is left as it is: {error}"]
            self._tell(found[0])
        for node in sorted(self._leaving | self._replaced):
            self._stay[node] = ("Stopped", f"{node} had not left when the command was ended")
        self._leaving.clear()
        self._replaced.clear()
        return found

    def _ended(self, result: ActionResult) -> ActionResult:
        """A removal that had begun, by its end."""
        stays = [self._stay[node] for node in result.action.nodes if node in self._stay]
        if result.state is not ResultState.DONE or not stays:
            return result
        return msgspec.structs.replace(
            result, state=ResultState.FAILED, code=stays[0][0], message="; ".join(message for _, message in stays)
        )

    def _choose(self, plan: Plan, _: World) -> tuple[Action, ...]:
        """Of later decisions only what a replacement of the plan still needs: its old nodes leave."""
        return tuple(
            action for action in plan.actions if action.kind is ActionKind.REMOVE_NODE and self._replaced.issuperset(action.nodes)
        )

    def _happened(self, report: LoopReport) -> list[str]:
        if report.unavailable:
            self._tell(f"waiting: {report.unavailable}")
        for result in report.results:
            if result.state is ResultState.DONE:
                self._replaced.difference_update(result.action.nodes)
                self._leaving.update(result.action.nodes)
        return self._told(report.removals)

    def _told(self, removals: tuple[RemovalProgress, ...]) -> list[str]:
        found = []
        for removal in removals:
            now = (removal.state, removal.remaining, removal.message)
            if self._last.get(removal.node) == now:
                continue
            self._last[removal.node] = now
            sentence = _sentence(removal)
            self._tell(sentence)
            if removal.state is not RemovalState.DRAINING:
                if removal.state is RemovalState.FAILED and removal.node in self._leaving:
                    self._stay[removal.node] = (removal.code, sentence)
                self._leaving.discard(removal.node)
                found.append(sentence)
        return found

    def _forget_what_is_over(self, report: LoopReport) -> None:
        """Nodes that are gone, and replacements that were given up."""
        if report.decided is None:
            return
        there = {node.name for node in report.decided.world.nodes}
        self._leaving &= there
        under_way = {node for item in self._store.load().replacements for node in item.nodes}
        for node in sorted((self._replaced & there) - under_way):
            self._stay[node] = ("GivenUp", f"{node} stays: the replacement was given up")
        self._replaced &= under_way


def _sentence(removal: RemovalProgress) -> str:
    match removal.state:
        case RemovalState.FINISHED:
            return f"node {removal.node}: drained, its machine is being deleted; {removal.target} has {removal.replicas} replicas"
        case RemovalState.FAILED:
            return f"node {removal.node} stays: {removal.message} [{removal.code}]"
        case _:
            pods = f"{removal.remaining} pods have not left yet" if removal.remaining else "it is empty"
            return f"node {removal.node}: {pods}" + (f"; {removal.message}" if removal.message else "")
