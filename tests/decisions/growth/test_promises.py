"""A pod that waits for the node which was bought for it is no reason to buy another, however the pods are looked at again."""

import msgspec
import pytest

from reconciler.cluster.target import TargetTemplate
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.growth import promises
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.policy.documents import Expander, PolicySet
from tests.builders import NOW, ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import of_kind


def _cluster(cards: int, plain: int, *, big: int = 3, extra: int = 0) -> ClusterBuilder:
    """Nodes with devices, dear, and nodes without, both of 4 cpu; `big` pods of 3 cpu, which fit both, two of 2 cpu with a
    device, and `extra` ones like them."""
    cluster = ClusterBuilder()
    for name, replicas, devices in (("cards", cards, {"gpu": 2}), ("plain", plain, {})):
        size = amounts("4", "16Gi", 110, **devices)
        cluster.target(name, replicas, template=TargetTemplate(capacity=size, allocatable=size, origins=("annotations",)))
    cluster.pods("big", big, cpu="3")
    cluster.pods("train", 2 + extra, cpu="2", gpu=1)
    return cluster


RULES = policy(node_group("cards", max=9, price_per_hour="0.90"), node_group("plain", max=9, price_per_hour="0.10"))


def _carried_out(plan: Plan, memory: Memory) -> Memory:
    done = [
        Outcome(kind=one.kind, group=one.group, target=one.target, to=one.to, before=one.from_, done=True, at_seconds=NOW)
        for one in of_kind(plan, ActionKind.RESIZE)
    ]
    return settle(memory, tuple(done))


def _bought(rules: PolicySet = RULES) -> tuple[Plan, Memory]:
    plan, memory = decide(_cluster(0, 0).world(), rules, Memory(), NOW)
    assert {line.name: line.desired for line in plan.groups} == {"cards": 1, "plain": 3}
    return plan, _carried_out(plan, memory)


def test_nodes_on_their_way_are_not_bought_again() -> None:
    """The node with devices comes first by name, and a pod of 3 cpu on it leaves one of 4 for pods of 2."""
    _, memory = _bought()
    for later in (60, 120):
        plan, memory = decide(_cluster(1, 3).world(), RULES, memory, NOW + later)
        assert not plan.actions
        assert {line.outcome for line in plan.pods} == {PodOutcome.FITS_UPCOMING}


def test_without_the_memory_they_would_be() -> None:
    """What is promised is the only thing that tells: a process that lost its memory buys another."""
    plan, _ = decide(_cluster(1, 3).world(), RULES, Memory(), NOW + 60)
    assert [(action.group, action.to) for action in plan.actions] == [("cards", 2)]


def test_more_pods_are_bought_for() -> None:
    """Two more with a device need one node more, not two."""
    _, memory = _bought()
    plan, _ = decide(_cluster(1, 3, extra=2).world(), RULES, memory, NOW + 60)
    assert [(action.group, action.to) for action in plan.actions] == [("cards", 2)]


def test_a_node_that_comes_for_another_pod_is_not_for_those_that_wait() -> None:
    """One node is added either way: for two that wait for theirs, or for a pod of 1 cpu that came later."""
    _, memory = _bought()
    cluster = _cluster(1, 3)
    cluster.pods("small", 1, cpu="1", gpu=1)
    plan, _ = decide(cluster.world(), RULES, memory, NOW + 60)
    assert [(action.group, action.to) for action in plan.actions] == [("cards", 2)]
    assert [line.pod.partition("/")[2] for line in plan.pods if line.outcome is PodOutcome.TRIGGERS_SCALE_UP] == ["small-1"]


def test_a_promise_ends_with_the_wait() -> None:
    """By target and kind of pod: three, and two. Nothing is kept for pods that are gone."""
    _, memory = _bought()
    counts = {target: sorted(of_target.values()) for target, of_target in memory.promised.items()}
    assert counts == {"MachineDeployment prod/cards": [2], "MachineDeployment prod/plain": [3]}
    _, fewer = decide(_cluster(1, 3, big=1).world(), RULES, memory, NOW + 60)
    assert sorted(fewer.promised["MachineDeployment prod/plain"].values()) == [1]
    idle = ClusterBuilder()
    idle.target("cards", 1)
    idle.target("plain", 3)
    assert decide(idle.world(), RULES, memory, NOW + 60)[1].promised == {}


def test_a_node_that_did_not_come_is_bought_again() -> None:
    """The promise holds on nodes that are there or on their way, and on no other."""
    _, memory = _bought()
    plan, _ = decide(_cluster(0, 3).world(), RULES, memory, NOW + 60)
    assert [(action.group, action.to) for action in plan.actions] == [("cards", 1)]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promises, "MOST_PROMISES", 1)
    _, memory = decide(_cluster(0, 0).world(), RULES, Memory(), NOW)
    assert [len(of_target) for of_target in memory.promised.values()] == [1]


def test_a_memory_of_an_earlier_version_promises_nothing() -> None:
    assert msgspec.json.decode(b'{"version": 1}', type=Memory).promised == {}


RULES_OF_CARDS = policy(node_group("cards", max=9, price_per_hour="0.90"), expanders=(Expander.LEAST_COST,))


def _mixed(replicas: int) -> ClusterBuilder:
    """Nodes of 400m with two devices each; four pods of 100m, and eight that want a device as well."""
    cluster = ClusterBuilder()
    size = amounts("400m", "16Gi", 110, gpu=2)
    cluster.target("cards", replicas, template=TargetTemplate(capacity=size, allocatable=size, origins=("annotations",)))
    cluster.pods("light", 4, cpu="100m")
    cluster.pods("train", 8, cpu="100m", gpu=1)
    return cluster


def test_a_mix_that_was_found_for_new_nodes_is_not_bought_again() -> None:
    """Four nodes do if no three pods without a device share one. First fit would put all four on the first, and buy a fifth."""
    plan, memory = decide(_mixed(0).world(), RULES_OF_CARDS, Memory(), NOW)
    assert [line.desired for line in plan.groups] == [4]
    plan, _ = decide(_mixed(4).world(), RULES_OF_CARDS, _carried_out(plan, memory), NOW + 60)
    assert not plan.actions
    assert {line.outcome for line in plan.pods} == {PodOutcome.FITS_UPCOMING}


def test_the_minimum_of_a_group_that_failed_keeps_no_promise() -> None:
    """The target replaces the machine that failed, for ever. The pod that was promised it gets a node of the next group."""

    def cluster(spot: int) -> ClusterBuilder:
        size, made = amounts("4", "16Gi", 110), ClusterBuilder()
        for name, replicas in (("spot", spot), ("other", 0)):
            made.target(name, replicas, template=TargetTemplate(capacity=size, allocatable=size, origins=("annotations",)))
        made.pods("web", 1, cpu="3")
        return made

    rules = policy(node_group("spot", price_per_hour="0.10"), node_group("other", price_per_hour="0.20"))
    memory = _carried_out(*decide(cluster(0).world(), rules, Memory(), NOW))
    failed = msgspec.structs.replace(memory, last_failures={"spot": NOW + 30})
    rules = policy(node_group("spot", min=1, price_per_hour="0.10"), node_group("other", price_per_hour="0.20"))
    bought = [
        [(action.group, action.to) for action in decide(cluster(1).world(), rules, one, NOW + 60)[0].actions]
        for one in (memory, failed)
    ]
    assert bought == [[], [("other", 1)]]
