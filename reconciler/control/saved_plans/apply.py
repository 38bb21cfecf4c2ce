"""Carries out a saved plan: decides again on what is there, and does what both plans do."""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.control.turn.loop import ControlLoop, PolicySource
from reconciler.control.turn.memory_store import MemoryStore
from reconciler.control.turn.turn_report import ActionResult, ResultState
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.plan.approvals.plan_approvals import Approval, Occasion, judge_removals
from reconciler.plan.impact import evicted_now
from reconciler.plan.one_write import DEFERRED
from reconciler.plan.plan import Action, ActionKind, GroupLine, OwnerState, Plan
from reconciler.plan.saved_intersection import Intersection, Refusal, action_key, intersection
from reconciler.providers.contract import ClusterPort
from reconciler.values.instant import parse_instant

MAX_ROUNDS = 4
"""A target that was adopted is written in the next round, when the adoption has been read back."""
_REMOVALS = (ActionKind.REMOVE_NODE, ActionKind.REPLACE)


class RemovalTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes may go without an approval, and the approvals that there are. `not_signed` says why none of them counts,
    where the commit that holds them must be signed and is not by who may."""

    limit: int
    approvals: tuple[Approval, ...] = ()
    not_signed: str = ""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a saved plan. `results` are actions that were tried, `refusals` those that were not. `later` are keys of
    actions that a further iteration did, since the one before had just written their target. `unavailable` states why it stopped
    early."""

    fresh: Plan | None = None
    results: tuple[ActionResult, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    later: frozenset[object] = frozenset()
    unavailable: str = ""

    @property
    def complete(self) -> bool:
        """Whether all of it was done."""
        return not self.unavailable and not self.refusals and all(r.state is ResultState.DONE for r in self.results)


class PlanApplication:
    """One saved plan and one cluster. What is written goes through the loop's own actuation: the same order, judged again
    before each write, remembered before the act."""

    def __init__(
        self,
        port: ClusterPort,
        policies: PolicySource,
        store: MemoryStore,
        saved: Plan,
        *,
        terms: RemovalTerms | None = None,
        work_budget: int = DEFAULT_WORK_BUDGET,
    ) -> None:
        """`terms` None: removals need no approval."""
        self._policies = policies
        self._saved = saved
        self._terms = terms
        self._left: tuple[Action, ...] = saved.actions
        self._adopted: set[str] = set()
        self._agreed = Intersection()
        self._loop = ControlLoop(port, policies, store, work_budget=work_budget, choose=self._choose)

    def run(self) -> Applied:
        """Do it. Never raises for what the cluster says."""
        fresh: Plan | None = None
        results: list[ActionResult] = []
        refusals: list[Refusal] = []
        later: set[object] = set()
        for number in range(MAX_ROUNDS):
            self._agreed = Intersection()
            report = self._loop.turn()
            if number == 0:
                fresh = report.plan
            refusals += self._agreed.refusals
            waiting = [result for result in report.results if result.code == DEFERRED]
            again = bool(waiting) and number + 1 < MAX_ROUNDS and not report.unavailable
            later.update(action_key(result.action) for result in report.results if number and result.state is ResultState.DONE)
            results += [result for result in report.results if not again or result.code != DEFERRED]
            if not again:
                return Applied(
                    fresh=fresh, results=tuple(results), refusals=tuple(refusals), later=frozenset(later),
                    unavailable=report.unavailable,
                )  # fmt: skip
            done = (result for result in report.results if result.state is ResultState.DONE)
            self._adopted.update(result.action.target for result in done if result.action.kind is ActionKind.ADOPT)
            keys = {action_key(result.action) for result in waiting}
            self._left = tuple(action for action in self._left if action_key(action) in keys)
        return Applied(fresh=fresh, results=tuple(results), refusals=tuple(refusals), later=frozenset(later))

    def _choose(self, fresh: Plan, world: World) -> tuple[Action, ...]:
        """What the loop may do of its decision."""
        digest = self._policies.current().digest
        self._agreed = self._approved(intersection(self._planned(fresh), fresh, policy_digest=digest), fresh, world, digest)
        return self._agreed.actions

    def _planned(self, fresh: Plan) -> Plan:
        """The saved plan with what is left of it. The owner of what was adopted a moment ago has moved by our own hand."""
        ours = {line.target: line for line in fresh.groups if line.target in self._adopted and _ours(line)}
        digests = {action.target: action.bound.owner_digest for action in fresh.actions if action.target in ours}
        actions = tuple(
            msgspec.structs.replace(action, bound=msgspec.structs.replace(action.bound, owner_digest=digests[action.target]))
            if action.target in digests
            else action
            for action in self._left
        )
        groups = tuple(
            msgspec.structs.replace(line, owner=ours[line.target].owner) if line.target in ours else line
            for line in self._saved.groups
        )
        return msgspec.structs.replace(self._saved, actions=actions, groups=groups)

    def _approved(self, agreed: Intersection, fresh: Plan, world: World, policy_digest: str) -> Intersection:
        """Without the removals when they are more than what is allowed: a part of them is nobody's decision."""
        removals = tuple(action for action in agreed.actions if action.kind in _REMOVALS)
        if self._terms is None:
            return agreed
        # Each part of a replacement names all nodes that leave.
        nodes = len({name for action in removals for name in action.nodes})
        evictions = len(evicted_now(world, msgspec.structs.replace(fresh, actions=removals)))
        against = judge_removals(
            nodes,
            evictions,
            limit=self._terms.limit,
            occasion=Occasion(policy_digest=policy_digest, plan_digest=self._saved.digest, cluster=fresh.cluster),
            now_seconds=parse_instant(fresh.now),
            approvals=self._terms.approvals,
            not_signed=self._terms.not_signed,
        )
        if against is None:
            return agreed
        refusals = tuple(Refusal(action=action, reasons=(against.reason(),)) for action in removals)
        kept: Sequence[Action] = [action for action in agreed.actions if action.kind not in _REMOVALS]
        return Intersection(actions=tuple(kept), refusals=(*agreed.refusals, *refusals))


def _ours(line: GroupLine) -> bool:
    return line.owner.state is OwnerState.OURS and line.owner.by in ("", OUR_MANAGER)
