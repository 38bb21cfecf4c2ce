"""The nodes that a carried out plan removes, followed until each has left or stays for a reason."""

from collections.abc import Callable

import msgspec

from reconciler.cluster.world import World
from reconciler.control.saved_plans.apply import Applied
from reconciler.control.turn.loop import ControlLoop, PolicySource
from reconciler.control.turn.memory_store import MemoryStore
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.plan.plan import Action, ActionKind, Plan
from reconciler.providers.contract import ClusterPort, RemovalProgress, RemovalState
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text, verb_for


class Departures:
    """`tell` is given a sentence about everything that happens. Later decisions are asked only for what a replacement of the
    plan still needs: its old nodes leave once the new one is ready."""

    def __init__(
        self,
        port: ClusterPort,
        policies: PolicySource,
        store: MemoryStore,
        tell: Callable[[str], None],
        *,
        work_budget: int = DEFAULT_WORK_BUDGET,
    ) -> None:
        self._store = store
        self._tell = tell
        self._loop = ControlLoop(port, policies, store, work_budget=work_budget, choose=self._choose)
        self._leaving: set[str] = set()
        self._replaced: set[str] = set()
        self._stay: dict[str, tuple[str, str]] = {}
        self._last: dict[str, tuple[RemovalState, int, str]] = {}

    def begin(self, applied: Applied) -> None:
        """What was done of a plan: the nodes that it removes at once, and those that it replaces."""
        for result in applied.results:
            if result.state is ResultState.DONE and result.action.kind is ActionKind.REMOVE_NODE:
                self._leaving.update(result.action.nodes)
            elif result.state is ResultState.DONE and result.action.kind is ActionKind.REPLACE:
                self._replaced.update(result.action.nodes)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Those that have not left yet and are still to, by name."""
        return tuple(sorted(self._leaving | self._replaced))

    @property
    def replacing(self) -> bool:
        """Whether later decisions are needed: nodes wait for the one that replaces them."""
        return bool(self._replaced)

    def turn(self) -> list[str]:
        """One look and one step of each; what came to its end, as sentences."""
        report = self._loop.turn()
        sentences = self._happened(report)
        self._forget_what_is_over(report)
        return sentences

    def give_up(self, code: str, why: Callable[[str], str]) -> None:
        """Nothing is waited for any more: what has not left stays, for a reason that `why` says of each node."""
        for node in self.nodes:
            self._stay[node] = (code, why(node))
        self._leaving.clear()
        self._replaced.clear()

    def ended(self, applied: Applied) -> Applied:
        """The removals that had begun, by their ends: one whose node stays has failed."""
        return msgspec.structs.replace(applied, results=tuple(self._ended(result) for result in applied.results))

    def record(self, removals: tuple[RemovalProgress, ...]) -> list[str]:
        """Progress that is news is told; what has come to its end, as sentences."""
        sentences = []
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
                sentences.append(sentence)
        return sentences

    def _ended(self, result: ActionResult) -> ActionResult:
        stays = [self._stay[node] for node in result.action.nodes if node in self._stay]
        if result.state is not ResultState.DONE or not stays:
            return result
        return msgspec.structs.replace(
            result, state=ResultState.FAILED, code=stays[0][0], message=clauses(message for _, message in stays)
        )

    def _choose(self, plan: Plan, _: World) -> tuple[Action, ...]:
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
        return self.record(report.removals)

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
            has = count_text(removal.replicas or 0, "replica")
            return f"node {removal.node}: drained, its machine is being deleted. {removal.target} has {has}"
        case RemovalState.FAILED:
            return f"node {removal.node} stays: {removal.message} [{removal.code}]"
        case _:
            pods = (
                f"{count_text(removal.remaining, 'pod')} {verb_for(removal.remaining, 'has', 'have')} not left yet"
                if removal.remaining
                else "it is empty"
            )
            return f"node {removal.node}: {pods}" + (f". {removal.message}" if removal.message else "")
