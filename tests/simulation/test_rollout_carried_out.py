"""A predicted rollout, carried out on the embedded cluster wave by wave, evicts nothing that the prediction called blocked."""

from collections import Counter

import msgspec
import pytest

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.target import FieldOwner, RolloutPace
from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.rollouts.rollout import predict_rollout
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.rollout import Rollout
from reconciler.policy.documents import Budget, PolicySet
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import Durations
from reconciler.simulation.embedded.field_owner import Via
from reconciler.simulation.embedded.journal import Happened
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.properties.random_clusters import random_cluster

SEEDS = range(16)
_JOINS_SECONDS, _MOST_SECONDS = 200, 3_600
_UNTOUCHED = Durations(drain_timeout_seconds=_MOST_SECONDS)


class CarriedOut:
    """Somebody else does what is predicted: adds nodes, waits for them, deletes the machines of a wave, waits until they are
    gone."""

    def __init__(self, world: World, rules: PolicySet, found: Rollout) -> None:
        self.cluster = SimulatedCluster(world, rules, NOW, durations=_UNTOUCHED)
        self.target = next(facts.ref for facts in world.targets if str(facts.ref) == found.target)
        self.left: list[str] = []
        for wave in found.waves:
            self._resize(wave.adds)
            self.cluster.advance_to(self.cluster.now_seconds + _JOINS_SECONDS)
            for name in wave.nodes:
                self.cluster.machines.delete(self.cluster.objects.nodes[name])
            self._resize(-len(wave.nodes))
            self.cluster.advance_to(self.cluster.now_seconds + _MOST_SECONDS)
            self.left += [name for name in wave.nodes if name in self.cluster.objects.nodes]
        self._resize(found.last_adds)
        self.cluster.advance_to(self.cluster.now_seconds + _JOINS_SECONDS)
        evicted = [event for event in self.cluster.journal.events if event.kind is Happened.POD_EVICTED]
        self.evicted = {event.object for event in evicted}
        self.disturbed = {event.detail for event in evicted}

    def _resize(self, more: int) -> None:
        facts = self.cluster.objects.targets[self.target]
        if more:
            self.cluster.write_replicas(self.target, (facts.replicas or 0) + more, "somebody", Via.SCALE)


def _agrees(world: World, rules: PolicySet, found: Rollout) -> CarriedOut:
    """What must hold of each: nothing that blocks is evicted, nodes that stay are there with it, the others are gone."""
    done = CarriedOut(world, rules, found)
    blocked = {blocker.pod for kept in found.kept for blocker in kept.blockers if blocker.pod}
    kept = {one.node for one in found.kept}
    assert not done.evicted & blocked
    assert not done.disturbed & kept
    assert kept <= set(done.cluster.objects.nodes)
    return done


def _predict(world: World, rules: PolicySet, name: str) -> Rollout:
    return predict_rollout(View.of(world, rules, Memory(), NOW, Work(10_000_000)), name)


def _calm(world: World) -> World:
    """The same without pending pods, whose controllers ask for so many fewer, and with budgets counted anew."""
    rows = [pod for pod in world.pods if pod.node >= 0]
    owners = [world.pod_traits[pod.traits].controller for pod in rows]
    counts = Counter((pod.namespace, owner.name) for pod, owner in zip(rows, owners, strict=True) if owner is not None)
    controllers = tuple(
        msgspec.structs.replace(one, replicas=counts[one.namespace, one.name]) for one in world.controllers if one.replicas
    )
    return msgspec.structs.replace(world, pods=PodTable(rows), controllers=controllers)


def _recounted(world: World, rules: PolicySet) -> World:
    """With the status that the disruption controller would write."""
    cluster = SimulatedCluster(world, rules, NOW)
    cluster.advance_to(NOW)
    return msgspec.structs.replace(world, budgets=cluster.world().budgets)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_blocked_is_evicted(seed: int) -> None:
    """Every group of random clusters, with pending pods, budgets, taints, owners and pods without controllers."""
    random = random_cluster(seed)
    for group in View.of(random.world, random.policy, Memory(), NOW, Work(0)).groups:
        _agrees(random.world, random.policy, _predict(random.world, random.policy, group.name))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_predicted_to_leave_leaves(seed: int) -> None:
    """Where no pod is pending, every node of every wave is gone in time."""
    random = random_cluster(seed)
    world = _recounted(_calm(random.world), random.policy)
    for group in View.of(world, random.policy, Memory(), NOW, Work(0)).groups:
        assert _agrees(world, random.policy, _predict(world, random.policy, group.name)).left == []


def test_a_whole_rollout_takes_the_predicted_steps() -> None:
    """Five full nodes, a surge of two, a budget of two, one node with a pod that may not leave, one owned by somebody else: after
    two waves of two, four nodes are new, and every pod runs."""
    cluster = ClusterBuilder()
    owners = [FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=1)]
    names = cluster.group("general", nodes=5, owners=owners)
    cluster.pods("web", 5, cpu="3", on=list(names))
    cluster.pods("alone", 1, cpu="500m", on="general-3", traits={"safe_to_evict": "false"})
    cluster.budget("web", max_unavailable="2", allowed=2, healthy=5, desired=3, expected=5)
    world = cluster.world()
    pace = RolloutPace(surge=2, unavailable=0, origin="maxSurge 2")
    world = msgspec.structs.replace(world, targets=tuple(msgspec.structs.replace(one, rollout=pace) for one in world.targets))
    rules = policy(node_group("general"), budgets=(Budget(name="many", nodes=10),))
    found = _predict(world, rules, "general")
    assert [(wave.adds, wave.nodes) for wave in found.waves] == [
        (2, ("general-1", "general-2")), (2, ("general-4", "general-5")),
    ]  # fmt: skip
    done = _agrees(world, rules, found)
    assert done.left == []
    assert sorted(done.cluster.objects.nodes) == ["general-3", *(f"general-{number}" for number in (6, 7, 8, 9))]
    assert [pod for pod in done.cluster.objects.pods.values() if pod.node is None] == []
