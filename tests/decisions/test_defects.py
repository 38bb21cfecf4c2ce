"""A defect that one object meets concerns that object alone: the plan for all others is the one without it."""

from collections.abc import Callable
from types import ModuleType

import msgspec
import pytest

from reconciler.cluster import defects
from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.world import World
from reconciler.decisions import decide as deciding
from reconciler.decisions import view
from reconciler.decisions.decide import decide, full_decision
from reconciler.decisions.groups import effective_group, effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal import candidates
from reconciler.decisions.removal.drains.drain import DrainJudge
from reconciler.decisions.removal.drains.drain_report import drain_report
from reconciler.decisions.work import Work
from reconciler.plan.plan import OwnerState, Plan, PodOutcome
from reconciler.policy.documents import PolicySet
from reconciler.scheduling.fit import fit
from reconciler.scheduling.state import SchedulingState
from reconciler.simulation.settled import come_to_rest
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, node, plan_of, pod

RULES = policy(node_group("general", min=1, max=9), node_group("other", min=0, max=9))
UNNEEDED = Memory(unneeded_since={f"other-{number}": NOW - 86_400 for number in (1, 2, 3)})


@pytest.fixture(autouse=True)
def _as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defects, "CAUGHT", (Exception,))


def cluster(evil: int = 1) -> ClusterBuilder:
    """Two groups of three nodes. Pods of `shop` wait, and so do `evil` kinds of pods in `tenant`."""
    builder = ClusterBuilder()
    builder.group("general", nodes=3, cpu="4")
    builder.group("other", nodes=3, cpu="4")
    builder.pods("web", 3, cpu="3", on=["general-1", "general-2", None])
    builder.pods("api", 4, cpu="2500m")
    builder.pods("batch", 2, cpu="500m", namespace="jobs")
    for number in range(evil):
        builder.pods(f"evil{number}", cpu="100m", namespace="tenant", labels={"evil": str(number)})
    return builder


def is_evil(shape: PodShape) -> bool:
    """Whether the made-up defect is met."""
    return any(key == "evil" for key, _ in shape.labels) and not shape.defect


def fails_for_evil(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, shape_of: Callable[..., PodShape]) -> None:
    """Raise in a method while it is about an evil pod."""
    whole = getattr(owner, name)

    def method(*given: object, **named: object) -> object:
        if is_evil(shape_of(*given)):
            raise ZeroDivisionError("made up")
        return whole(*given, **named)

    monkeypatch.setattr(owner, name, method)


def in_state(state: SchedulingState, shape: int, *_: object) -> PodShape:
    """The shape that a method of the state is asked about."""
    return state.pod_shape(shape)


def others(plan: Plan) -> Plan:
    """What the plan says of everything but the pods of `tenant`."""
    pods = tuple(line for line in plan.pods if not line.pod.startswith("tenant/"))
    problems = tuple(problem for problem in plan.problems if problem.code != defects.DEFECT)
    return msgspec.structs.replace(plan, pods=pods, problems=problems, summary="", digest="")


def without_evil(rules: PolicySet = RULES) -> Plan:
    """The plan for the cluster without the evil pods."""
    return others(plan_of(cluster(evil=0).world(), rules))


@pytest.mark.parametrize("method", ["modelled", "place"])
def test_a_pod_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """It is `NotModelled` with the place of the defect, a problem names it, and nothing else of the plan differs."""
    fails_for_evil(monkeypatch, SchedulingState, method, in_state)
    plan = plan_of(cluster().world(), RULES)
    line = pod(plan, "tenant/evil0-1")
    assert (line.outcome, codes(line)) == (PodOutcome.NOT_MODELLED, ["NotJudged"])
    assert [(one.code, one.object) for one in plan.problems] == [("Defect", "Pod tenant/evil0-1")]
    assert "ZeroDivisionError at " in plan.problems[0].message
    assert others(plan) == without_evil()


def test_many_such_pods_of_one_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than four kinds of pods: their whole namespace is left out, and no other one."""
    fails_for_evil(monkeypatch, SchedulingState, "modelled", in_state)
    plan = plan_of(cluster(evil=9).world(), RULES)
    outcomes = {line.outcome for line in plan.pods if line.pod.startswith("tenant/")}
    assert outcomes == {PodOutcome.NOT_MODELLED}
    assert others(plan) == without_evil()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each decision that is begun."""
    begun: list[int] = []
    whole = deciding._decided

    def decided(world: World, *rest: object, **named: object) -> object:
        begun.append(len(world.pods))
        return whole(world, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(deciding, "_decided", decided)
    return begun


@pytest.mark.parametrize("evil", [1, 4, 9])
def test_a_defect_that_repeats_costs_two_decisions(monkeypatch: pytest.MonkeyPatch, evil: int) -> None:
    """Its objects are remembered, also where that is a whole namespace. The plan is that of the first time."""
    fails_for_evil(monkeypatch, SchedulingState, "place", in_state)
    begun = counted(monkeypatch)
    plan, memory = decide(cluster(evil=evil).world(), RULES, Memory(), NOW)
    assert len(begun) > 4
    for _ in range(3):
        begun.clear()
        memory = msgspec.json.decode(msgspec.json.encode(memory), type=Memory)
        again, memory = decide(cluster(evil=evil).world(), RULES, memory, NOW)
        assert len(begun) == 2
        assert (again.pods, again.problems) == (plan.pods, plan.problems)


def test_an_object_that_changed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is repaired is judged although another one still fails. Once none fails, nothing is remembered."""
    fails_for_evil(monkeypatch, SchedulingState, "place", in_state)
    begun = counted(monkeypatch)
    _, memory = decide(cluster(evil=2).world(), RULES, Memory(), NOW)
    repaired = cluster(evil=1)
    repaired.pods("evil1", cpu="100m", namespace="tenant", labels={"good": "1"})
    plan, memory = decide(repaired.world(), RULES, memory, NOW)
    assert codes(pod(plan, "tenant/evil0-1")) == ["NotJudged"]
    assert "NotJudged" not in codes(pod(plan, "tenant/evil1-1"))
    begun.clear()
    _, memory = decide(cluster(evil=0).world(), RULES, memory, NOW)
    assert (len(begun), memory.defects) == (1, {})


def test_more_defects_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory does not grow with what tenants write."""
    monkeypatch.setattr(defects, "MOST_KNOWN", 5)
    fails_for_evil(monkeypatch, SchedulingState, "modelled", in_state)
    _, memory = decide(cluster(evil=6).world(), RULES, Memory(), NOW)
    assert memory.defects == {}


def test_the_steps_of_failed_attempts_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect must not use up the work of others."""
    work = Work(50_000_000)
    full_decision(cluster(evil=0).world(), RULES, Memory(), NOW, work)
    fails_for_evil(monkeypatch, SchedulingState, "place", in_state)
    with_defect = Work(50_000_000)
    full_decision(cluster().world(), RULES, Memory(), NOW, with_defect)
    assert with_defect.spent <= work.spent + 100


def test_a_node_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept. Another node that nobody needs may leave."""
    whole = candidates.NodeLoads.of

    def load(loads: candidates.NodeLoads, index: int, shape: NodeShape) -> object:
        # The second of three nodes.
        if index == 1 and not shape.unschedulable:
            raise OverflowError("made up")
        return whole(loads, index, shape)

    monkeypatch.setattr(candidates.NodeLoads, "of", load)
    builder = ClusterBuilder()
    builder.group("other", nodes=3, cpu="4")
    plan, memory = decide(builder.world(), RULES, UNNEEDED, NOW)
    begun = counted(monkeypatch)
    assert decide(builder.world(), RULES, memory, NOW)[0].problems == plan.problems
    assert len(begun) == 2
    assert [(one.code, one.object) for one in plan.problems] == [("Defect", "Node other-2")]
    assert not node(plan, "other-2").removable
    assert node(plan, "other-1").removable


def test_a_group_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is held, and the other group grows for all."""
    whole = view._judge

    def judge(one: object, *rest: object) -> object:
        if one.name == "general" and not one.facts.problems:  # type: ignore[attr-defined]
            raise ValueError("made up")
        return whole(one, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(view, "_judge", judge)
    plan = plan_of(cluster(evil=0).world(), RULES)
    assert group(plan, "general").owner.state is OwnerState.UNKNOWN
    assert group(plan, "general").desired == 3
    assert [one.object for one in plan.problems if one.code == "Defect"] == ["MachineDeployment prod/general"]
    assert "NotJudged" not in {code for line in plan.pods for code in codes(line)}


@pytest.mark.parametrize(("module", "function"), [(effective_group, "_new_node"), (effective_groups, "sources_at")])
def test_a_document_that_cannot_be_judged(monkeypatch: pytest.MonkeyPatch, module: ModuleType, function: str) -> None:
    """Anybody may write one in a namespace of theirs. Its group is held with the place of the defect; the other one grows."""
    whole = getattr(module, function)

    def fails(*given: object) -> object:
        document = given[1].sources.document if function == "_new_node" else given[0]  # type: ignore[attr-defined]
        if document.name == "general" and document.size.max is not None:
            raise ArithmeticError("made up")
        return whole(*given)

    monkeypatch.setattr(module, function, fails)
    plan = plan_of(cluster(evil=0).world(), RULES)
    line = group(plan, "general")
    assert (line.held, line.desired, group(plan, "other").desired > 3) == (True, 3, True)
    assert any("ArithmeticError at " in reason.message for reason in line.reasons)


def test_a_running_pod_that_no_drain_rule_can_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its node is kept, like that of a pod that must not be evicted."""
    whole = DrainJudge.judge

    def judge(self: DrainJudge, index: int) -> object:
        traits = self._world.pod_traits[self._world.pods.traits[index]]
        if ("evil", "yes") in traits.annotations:
            raise MemoryError
        return whole(self, index)

    monkeypatch.setattr(DrainJudge, "judge", judge)
    builder = ClusterBuilder()
    builder.group("other", nodes=3, cpu="4")
    builder.pods("evil", cpu="100m", on="other-1", namespace="tenant", traits={"annotations": (("evil", "yes"),)})
    world = builder.world()
    plan = plan_of(world, RULES, UNNEEDED)
    assert [(one.code, one.object) for one in plan.problems] == [("Defect", "Pod tenant/evil-1")]
    assert not node(plan, "other-1").removable
    assert node(plan, "other-2").removable
    report = drain_report(world, RULES, NOW, (50,), 1_000_000)
    assert [line.node for line in report.nodes if line.blockers] == ["other-1"]


def test_what_nobody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect that is met whatever is left out is told as it is."""

    def fails(*_: object) -> object:
        raise KeyError("made up")

    monkeypatch.setattr(deciding, "actions", fails)
    with pytest.raises(KeyError, match="made up"):
        decide(cluster().world(), RULES, Memory(), NOW)


def test_the_settled_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look ahead is about the same rest."""
    calm = cluster(evil=0).world()
    expected = come_to_rest(calm, RULES, Memory(), NOW, plan_of(calm, RULES)).plan
    fails_for_evil(monkeypatch, SchedulingState, "modelled", in_state)
    world = cluster().world()
    plan = come_to_rest(world, RULES, Memory(), NOW, plan_of(world, RULES)).plan
    assert [line.settled for line in plan.groups] == [line.settled for line in expected.groups]


def test_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod is `NotModelled` on every node; the others are answered as ever."""
    expected = [one for one in fit(cluster().world()) if not one.pod.startswith("tenant/")]
    fails_for_evil(monkeypatch, SchedulingState, "verdict", in_state)
    answers = list(fit(cluster().world()))
    assert [one for one in answers if not one.pod.startswith("tenant/")] == expected
    (evil,) = [one for one in answers if one.pod.startswith("tenant/")]
    assert {tuple(rejection.plugin for rejection in line.rejections) for line in evil.nodes} == {("NotModelled",)}
    assert len(evil.nodes) == 6
