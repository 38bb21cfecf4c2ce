"""A saved plan in rounds: what is left for the next one, when it ends, and how many nodes may go without an approval."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner
from reconciler.control.saved_plans.apply import Applied, PlanApplication, RemovalTerms, _ours
from reconciler.control.saved_plans.apply_document import apply_document
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.approvals.plan_approvals import Approval, Occasion
from reconciler.plan.plan import Action, ActionKind, Bound, GroupLine, Ownership, OwnerState, Plan
from reconciler.plan.reason import Reason
from reconciler.plan.saved_intersection import Intersection, Refusal
from reconciler.policy.documents import Budget, Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.providers.contract import WriteResult
from reconciler.providers.simulated import SimulatedPort
from reconciler.rendering.documents.apply import WhyNot
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import Via
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

SOMEBODY_ONCE = (FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 90_000),)
WHY = Reason(code="Moved", message="it has moved")


def _action(name: str, kind: ActionKind = ActionKind.RESIZE) -> Action:
    return Action(
        kind=kind, group=name, target=str(machine_deployment(name)), from_=1, to=2, reason=Reason(code="Why", message=""),
        bound=Bound(resource_version="1", replicas=1, owner_digest="", policy_digest=""),
    )  # fmt: skip


def _result(action: Action, state: ResultState = ResultState.DONE, code: str = "", message: str = "") -> ActionResult:
    return ActionResult(action=action, state=state, code=code, message=message)


A, B = _action("a"), _action("b")
PLAN = Plan(now="2027-01-15T08:00:00Z", mode="Enforce", summary="", actions=(A, B), digest="sha256:saved")
DEFERRED = _result(B, ResultState.SKIPPED, "Deferred", "The next one decides on it")


class Rounds:
    """A loop whose reports the test writes, one a round; `refused` is what the choice of each round refuses."""

    def __init__(self, *reports: LoopReport, refused: tuple[tuple[Refusal, ...], ...] = ()) -> None:
        self.reports = list(reports)
        self.refused = list(refused)
        self.left: list[tuple[Action, ...]] = []
        self.application = PlanApplication(None, None, None, PLAN)  # type: ignore[arg-type]
        self.application._loop = self  # type: ignore[assignment]

    def turn(self) -> LoopReport:
        self.left.append(self.application._left)
        if self.refused:
            self.application._agreed = Intersection(refusals=self.refused.pop(0))
        return self.reports.pop(0)

    def run(self) -> Applied:
        return self.application.run()


def _report(*results: ActionResult, digest: str = "", unavailable: str = "") -> LoopReport:
    plan = Plan(now="", mode="Enforce", summary="", digest=digest) if digest else None
    return LoopReport(at_seconds=NOW, plan=plan, results=results, unavailable=unavailable)


def test_one_round_is_enough_where_nothing_waits() -> None:
    refusal = Refusal(action=B, reasons=(WHY,))
    rounds = Rounds(_report(_result(A), digest="1"), refused=((refusal,),))
    applied = rounds.run()
    assert applied.fresh is not None
    assert (applied.fresh.digest, applied.results, applied.refusals) == ("1", (_result(A),), (refusal,))
    assert (applied.unavailable, applied.complete) == ("", False)


def test_what_waits_is_done_in_the_next_round() -> None:
    """That it waited is not told; the decision is the first one, and what was done is not tried again."""
    rounds = Rounds(_report(_result(A), DEFERRED, digest="1"), _report(_result(B), digest="2"))
    applied = rounds.run()
    assert applied.fresh is not None
    assert (applied.fresh.digest, applied.results, applied.complete) == ("1", (_result(A), _result(B)), True)
    assert rounds.left == [(A, B), (B,)]


def test_it_ends_after_four_rounds() -> None:
    """What waits still is told then."""
    rounds = Rounds(*[_report(DEFERRED, digest="1")] * 9)
    assert rounds.run().results == (DEFERRED,)
    assert len(rounds.left) == 4


def test_it_ends_where_nothing_can_be_decided() -> None:
    """With why, and with what was put off."""
    rounds = Rounds(_report(DEFERRED, digest="1", unavailable="the memory cannot be stored"), _report(_result(B)))
    applied = rounds.run()
    assert (applied.results, applied.unavailable, applied.complete) == ((DEFERRED,), "the memory cannot be stored", False)
    assert len(rounds.left) == 1
    blind = Rounds(_report(unavailable="no view")).run()
    assert (blind.fresh, blind.results, blind.unavailable) == (None, (), "no view")


@pytest.mark.parametrize(
    ("applied", "complete"),
    [
        (Applied(), True),
        (Applied(results=(_result(A), _result(B))), True),
        (Applied(results=(_result(A), _result(B, ResultState.REFUSED))), False),
        (Applied(results=(_result(A),), refusals=(Refusal(action=B, reasons=()),)), False),
        (Applied(results=(_result(A),), unavailable="no view"), False),
    ],
)
def test_whether_all_of_it_was_done(applied: Applied, *, complete: bool) -> None:
    assert applied.complete is complete


def test_the_document_has_every_action_of_the_plan() -> None:
    """In its order; what was done needs no reason, a state without a code is its own, and what nobody knows of was not
    reached."""
    c = _action("c")
    plan = msgspec.structs.replace(PLAN, actions=(A, B, c))
    failed = _result(msgspec.structs.replace(B, to=5), ResultState.FAILED, message="cut")
    document = apply_document(plan, Applied(results=(failed,), refusals=(Refusal(action=A, reasons=(WHY,)),)), NOW, ("it ran",))
    assert [(line.group, line.to, line.planned_to, line.state, line.reasons) for line in document.actions] == [
        ("a", 2, 2, "Refused", (WhyNot(code="Moved", message="it has moved"),)),
        ("b", 5, 2, "Failed", (WhyNot(code="Failed", message="cut"),)),
        ("c", 2, 2, "Skipped", (WhyNot(code="NotReached", message="it was not reached"),)),
    ]
    assert (document.plan, document.decision, document.planned_at, document.now) == (
        "sha256:saved", "", "2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z",
    )  # fmt: skip
    assert (document.complete, document.happened) == (False, ("it ran",))
    fresh = msgspec.structs.replace(PLAN, digest="sha256:fresh")
    done = apply_document(PLAN, Applied(fresh=fresh, results=(_result(A), _result(B))), NOW)
    assert (done.decision, done.complete, [line.reasons for line in done.actions]) == ("sha256:fresh", True, [(), ()])


class Source:
    def __init__(self, rules: PolicySet) -> None:
        self.rules = rules

    def current(self) -> PolicySet:
        return self.rules


class Stage:
    """A cluster in memory and the plan of its policy."""

    def __init__(
        self, cluster: ClusterBuilder, rules: PolicySet, port: Callable[[SimulatedCluster], SimulatedPort] = SimulatedPort
    ) -> None:
        self.cluster = SimulatedCluster(cluster.world(), rules, NOW)
        self.cluster.advance_to(NOW)
        self.plan = decide(self.cluster.world(), rules, Memory(), NOW)[0]
        self._port, self._source = port(self.cluster), Source(rules)

    def apply(self, terms: RemovalTerms | None = None) -> Applied:
        return PlanApplication(self._port, self._source, InMemoryStore(), self.plan, terms=terms).run()

    def replicas(self, name: str) -> int | None:
        return self.cluster.objects.targets[machine_deployment(name)].replicas


def _ends(applied: Applied) -> list[tuple[str, str, str]]:
    tried = [(str(one.action.kind), one.action.group, one.code or str(one.state)) for one in applied.results]
    return tried + [(str(one.action.kind), one.action.group, one.reasons[0].code) for one in applied.refusals]


RULES = policy(
    node_group("empty", scale_down=ScaleDown(unneeded_time_seconds=0)), node_group("small"), budgets=(Budget(nodes=9),)
)


def _three_go() -> Stage:
    """Three empty nodes go, and another group is taken over."""
    cluster = ClusterBuilder()
    cluster.group("empty", nodes=3)
    cluster.group("small", nodes=1, owners=SOMEBODY_ONCE)
    return Stage(cluster, RULES)


def _approval(stage: Stage, **changes: Any) -> Approval:
    occasion = Occasion(policy_digest=RULES.digest, plan_digest=stage.plan.digest, cluster=stage.plan.cluster)
    given = {"occasion": occasion, "until_seconds": NOW + 60, "nodes": 3, "evictions": 0, **changes}
    return Approval(**given)


GONE = [("RemoveNode", "empty", "Done")] * 3
TAKEN = ("Adopt", "small", "Done")


@pytest.mark.parametrize(
    ("limit", "approved", "code"),
    [
        (None, None, ""),
        (3, None, ""),
        (2, None, "NotApproved"),
        (0, {}, ""),
        (2, {"nodes": 2}, "AboveApproval"),
        (2, {"until_seconds": NOW}, "NotApproved"),
    ],
)
def test_more_nodes_than_may_go_need_an_approval(limit: int | None, approved: dict[str, int] | None, code: str) -> None:
    """Without it none of them goes, since a part of them is nobody's decision; all else is done."""
    stage = _three_go()
    approvals = () if approved is None else (_approval(stage, **approved),)
    applied = stage.apply(None if limit is None else RemovalTerms(limit=limit, approvals=approvals))
    refused = [("RemoveNode", "empty", code)] * 3
    assert sorted(_ends(applied)) == sorted([TAKEN, *(refused if code else GONE)])
    assert applied.complete is (not code)


def test_an_approval_that_nobody_signed_counts_for_nothing() -> None:
    stage = _three_go()
    terms = RemovalTerms(limit=2, approvals=(_approval(stage),), not_signed="the commit has no signature")
    assert ("RemoveNode", "empty", "ApprovalNotSigned") in _ends(stage.apply(terms))


def test_an_approval_is_of_evictions_too() -> None:
    """The plan moves a pod that the approval does not have; a plan without removals needs none."""
    cluster = ClusterBuilder()
    cluster.group("empty", nodes=2, cpu="4")
    cluster.pods("web", 1, cpu="500m", on="empty-1")
    cluster.pods("rest", 1, cpu="3", on="empty-2")
    rules = policy(node_group("empty", scale_down=ScaleDown(unneeded_time_seconds=0)))
    stage = Stage(cluster, rules)
    assert [str(action.kind) for action in stage.plan.actions] == ["RemoveNode"]
    occasion = Occasion(policy_digest=rules.digest, plan_digest=stage.plan.digest, cluster=stage.plan.cluster)
    for evictions, code in ((0, "AboveApproval"), (1, "Done")):
        approval = _approval(stage, occasion=occasion, evictions=evictions)
        assert _ends(stage.apply(RemovalTerms(limit=0, approvals=(approval,)))) == [("RemoveNode", "empty", code)]


def _repacked() -> Stage:
    """A node with pods of 3 cores each is replaced by nodes of two groups, so two actions name it."""
    cluster = ClusterBuilder()
    for name, cpu, nodes in (("small", "4", 0), ("mid", "8", 0), ("big", "16", 2)):
        cluster.group(name, nodes=nodes, cpu=cpu)
    cluster.pods("web", 8, cpu="3", on=["big-1"] * 4 + ["big-2"] * 4)
    on = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    prices = {"small": "0.20", "mid": "0.35", "big": "0.80"}
    rules = policy(
        *(node_group(name, price_per_hour=price, scale_down=on) for name, price in prices.items()), budgets=(Budget(nodes=100),)
    )
    return Stage(cluster, rules)


@pytest.mark.parametrize(("limit", "code"), [(1, "Done"), (0, "NotApproved")])
def test_a_node_counts_once_if_nodes_of_several_groups_replace_it(limit: int, code: str) -> None:
    """One node leaves, although two actions name it."""
    stage = _repacked()
    assert [action.nodes for action in stage.plan.actions] == [("big-1",)] * 2
    applied = stage.apply(RemovalTerms(limit=limit))
    assert _ends(applied) == [("Replace", "mid", code), ("Replace", "small", code)]
    assert [refusal.reasons[0].data["nodes"] for refusal in applied.refusals] == [1] * 2 * (not limit)


def test_a_replacement_is_carried_out_in_all_its_parts_or_not_at_all() -> None:
    """Somebody resized one target since. New nodes of the other group alone would take too few pods and still cost."""
    stage = _repacked()
    stage.cluster.write_replicas(SMALL, 1, "kubectl", Via.PATCH)
    assert {(kind, group) for kind, group, code in _ends(stage.apply()) if code != "Done"} == {
        ("Replace", "mid"), ("Replace", "small"),
    }  # fmt: skip
    assert stage.replicas("mid") == 0


SMALL = machine_deployment("small")


class Watching(SimulatedPort):
    """Calls `after` once, after something was adopted."""

    after: Callable[[], object] = staticmethod(lambda: None)

    def adopt(self, *words: Any) -> WriteResult:
        result = super().adopt(*words)
        self.after()
        return result


def _adopting() -> Stage:
    cluster = ClusterBuilder()
    cluster.group("small", nodes=1, owners=SOMEBODY_ONCE)
    return Stage(cluster, policy(node_group("small", min=3)), Watching)


def test_what_was_adopted_is_written_in_the_next_round() -> None:
    """Its owner has moved by our own hand, which is no reason to refuse."""
    stage = _adopting()
    assert _ends(stage.apply()) == [("Adopt", "small", "Done"), ("Resize", "small", "Done")]
    assert stage.replicas("small") == 3


def test_what_somebody_took_over_after_the_adoption_is_refused() -> None:
    """The owner has moved, and not by our hand: neither where it is held now nor where it might be adopted again."""
    for via in (Via.APPLY, Via.PATCH):
        stage = _adopting()
        port = stage._port
        assert isinstance(port, Watching)
        port.after = lambda cluster=stage.cluster, via=via: cluster.write_replicas(SMALL, 1, "argocd-controller", via)
        applied = stage.apply()
        assert _ends(applied)[0] == ("Adopt", "small", "Done")
        assert (stage.replicas("small"), applied.complete) == (1, False)


def test_what_was_not_adopted_here_is_judged_as_it_was_planned() -> None:
    """It is ours now, by another hand than this plan's: who owned it when it was planned has moved, and nothing is written."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=1)
    stage = Stage(cluster, policy(node_group("small", min=3)))
    (action,) = stage.plan.actions
    other = msgspec.structs.replace(action.bound, owner_digest="sha256:another")
    stage.plan = msgspec.structs.replace(stage.plan, actions=(msgspec.structs.replace(action, bound=other),))
    assert not stage.apply().complete
    assert stage.replicas("small") == 1


@pytest.mark.parametrize(
    ("state", "by", "ours"),
    [
        (OwnerState.OURS, "", True),
        (OwnerState.OURS, "nodegroup-reconciler", True),
        (OwnerState.OURS, "kubectl", False),
        (OwnerState.HELD, "", False),
        (OwnerState.ADOPTABLE, "", False),
    ],
)
def test_what_counts_as_ours_after_an_adoption(state: OwnerState, by: str, *, ours: bool) -> None:
    """Nobody's, or under our manager."""
    line = GroupLine(
        name="small", target="t", tier="", current=1, desired=1, min=0, max=9, owner=Ownership(state=state, by=by)
    )  # fmt: skip
    assert _ours(line) is ours
