"""A saved plan, carried out on a live cluster by the one instance that leads meanwhile, until its drains have ended.

Apply takes the Lease that the loop takes, and is refused while a loop renews it. Two writers that each judge correctly would
still undo each other's drains, and each would see the other as a second writer. Apply does not hand the plan to the loop either.
A loop in Enforce decides the same by itself; with `--read-only` it holds no Lease.

The whole plan is bound to the leadership term in which it began. Once the Lease is lost, nothing more of the plan is done, even
if the Lease is regained. Another instance may have been the leader meanwhile, and what was judged before may no longer be true.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_process import LiveProcess
from reconciler.control.live.wake import WakeReason
from reconciler.control.saved_plans.apply import Applied, PlanApplication, RemovalTerms
from reconciler.control.saved_plans.departures import Departures
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.one_write import DEFERRED
from reconciler.plan.plan import Bound, Plan
from reconciler.plan.reason import Because
from reconciler.plan.saved_intersection import Refusal, action_key
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import (
    ClusterPort,
    NodeRemoval,
    RemovalProgress,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)
from reconciler.values.whole_number import whole_number

VIEW_PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_NOT_JUDGED = frozenset({DEFERRED, WriteCode.UNAVAILABLE.value})
"""What a turn says of an action against which nothing stands but the moment."""


class LostLease(Because, frozen=True, kw_only=True):
    """The Lease was lost after the plan was begun."""

    code = "LostLease"
    template = (
        "the Lease of policy {policy} was lost meanwhile, and another instance may have led: nothing more of this plan is done. "
        "Make a new one"
    )
    policy: str


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


class AwaitedWrite(msgspec.Struct, frozen=True):
    """The resourceVersion of a target in the view that a write was decided on, and the one that the write made (empty: not
    known)."""

    before: str
    written: str

    def is_behind(self, shown: str) -> bool:
        """Whether a view with this version is older than the write. Versions of one resource can be compared as whole numbers
        (Kubernetes promises it since 1.35, and etcd has always counted). A different version is not enough: a controller may have
        written in between, and a write of ours may be several. Where versions are not numbers, any other one will do."""
        seen, written = whole_number(shown), whole_number(self.written)
        if seen is not None and written is not None:
            return seen < written
        return shown == self.before


class SettlingPort:
    """A port whose view shows our own last write before anything is decided on it. A plan's next action on the same target is
    thus judged on what the last one left. If a write does not show in time, the view stays as it is, and the next action is
    refused."""

    def __init__(self, port: ClusterPort, pause: Pause) -> None:
        self._port = port
        self._pause = pause
        self._last: World | None = None
        self._awaited: dict[TargetRef, AwaitedWrite] = {}

    def observe(self) -> World:
        """The view, once it shows what was written."""
        deadline = self._pause.monotonic() + VIEW_PATIENCE_SECONDS
        while True:
            world = self._port.observe()
            awaited = ((facts, self._awaited.get(facts.ref)) for facts in world.targets)
            if not any(write is not None and write.is_behind(facts.resource_version) for facts, write in awaited):
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

    def remove_nodes(self, removals: Sequence[NodeRemoval]) -> tuple[WriteResult, ...]:
        """As the port does: nothing of the targets is written yet."""
        return self._port.remove_nodes(removals)

    def call_off(self, target: TargetRef, node: str, why: str) -> None:
        """As the port does."""
        self._port.call_off(target, node, why)

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        """As the port does."""
        return self._port.continue_removals()

    def _written(self, target: TargetRef, result: WriteResult) -> WriteResult:
        if result.done and self._last is not None:
            self._awaited |= {
                facts.ref: AwaitedWrite(facts.resource_version, result.resource_version)
                for facts in self._last.targets
                if facts.ref == target
            }
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
        self._saved = saved
        self._tell = tell
        port = SettlingPort(process.port, pause)
        store = LiveMemoryStore(process.state)
        self._application = PlanApplication(port, process.source, store, saved, terms=terms, work_budget=work_budget)
        self._departures = Departures(port, process.source, store, tell, work_budget=work_budget)

    def run(self) -> tuple[Applied, tuple[str, ...]]:
        """Carry it out and stay until every node that is to leave has left or stays for a reason. The action of a node that stays
        has failed for that reason. Also returns what happened, as sentences."""
        term = self._process.term()
        with self._process.lease.within(term):
            return self._run(term)

    def _run(self, term: int) -> tuple[Applied, tuple[str, ...]]:
        applied = self._application.run()
        if self._lost(term):
            applied = self._without_the_rest(applied)
        happened: list[str] = []
        self._departures.begin(applied)
        while self._departures.nodes:
            happened += self._departures.turn()
            if not self._departures.nodes:
                break
            if self._lost(term):
                self._let_go()
            elif self._process.wake.wait() is WakeReason.STOP:
                happened += self._called_off()
        return self._departures.ended(applied), tuple(happened)

    def _lost(self, term: int) -> bool:
        return not term or self._process.term() != term

    def _without_the_rest(self, applied: Applied) -> Applied:
        """Every action that was not done, and that nobody judged, refused by name."""
        why = LostLease(policy=self._process.settings.name)
        not_judged = {action_key(result.action) for result in applied.results if result.code in _NOT_JUDGED}
        known = {action_key(result.action) for result in applied.results}
        known |= {action_key(refusal.action) for refusal in applied.refusals}
        left = [action for action in self._saved.actions if action_key(action) in not_judged or action_key(action) not in known]
        if not left and not applied.unavailable:
            return applied
        return msgspec.structs.replace(
            applied,
            results=tuple(result for result in applied.results if action_key(result.action) not in not_judged),
            refusals=(*applied.refusals, *(Refusal(action=action, reasons=(why.reason(),)) for action in left)),
            unavailable=why.sentence(),
        )

    def _let_go(self) -> None:
        """Who leads now goes on with what lies on the nodes, or opens them; this process may be the one, when it ends."""
        why = LostLease(policy=self._process.settings.name)
        self._tell(why.sentence())
        self._departures.give_up(why.code, lambda node: f"{node} had not left: {why.sentence()}")

    def _called_off(self) -> list[str]:
        """The process is to end: what is one write from its end is finished, every other drain is undone."""
        try:
            sentences = self._departures.record(self._process.port.abandon_removals())
        except (ApiError, UnreachableError, NotLeaderError, ViewUnavailableError) as error:
            sentences = [f"actions under way are left as they are: {error}"]
            self._tell(sentences[0])
        self._departures.give_up("Stopped", lambda node: f"{node} had not left when the command was ended")
        return sentences
