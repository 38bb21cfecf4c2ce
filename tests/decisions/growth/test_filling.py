"""Options worked out in whole passes are those of asking pod by pod."""

from array import array
from typing import Any

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.decisions.decide import decide
from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.filling import Filling
from reconciler.decisions.growth.open_domains import open_domains
from reconciler.decisions.growth.options import _option, options_of
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.waiting_pods import waiting_pods
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.scheduling.packing import label_keys
from reconciler.scheduling.state import SchedulingState
from tests.benchmarks.mixed.apps import HOST, ZONE, Rules
from tests.benchmarks.mixed.clusters import MixedCluster
from tests.benchmarks.mixed.machines import MACHINES
from tests.builders import NOW, policy, selector


@pytest.mark.parametrize("seed", range(6))
def test_options_equal_those_of_one_shape_at_a_time(seed: int) -> None:
    """Anti-affinity on the host, host ports and pools, over eight machine types with DaemonSets."""
    cluster = MixedCluster(seed, Rules(apart=30, host_ports=20, pinned_pool=10))
    cluster.add_groups(MACHINES[seed : seed + 8], [1, 0] * 4)
    for app in cluster.add_apps(20, scale=2.0):
        cluster.wait(app, cluster.rng.choice((1, 5, 40)))
    _check(cluster)


@pytest.mark.parametrize("seed", range(8))
def test_options_under_spread_over_hosts_equal_those_of_one_shape_at_a_time(seed: int) -> None:
    """Skews from 1 to 3, some with fewer hosts than they ask for, beside pods that keep apart or take ports; pods of the same
    apps run on the nodes that are there."""
    cluster = MixedCluster(seed, Rules(apart=20, host_ports=20))
    cluster.add_groups(MACHINES[seed : seed + 8], [1, 0] * 4)
    apps = cluster.add_apps(12, scale=2.0)
    for app in apps:
        if cluster.rng.random() < 0.7:
            skew, hosts = cluster.rng.choice((1, 1, 2, 3)), cluster.rng.choice((1, 1, 3, 30))
            mine = selector(app=cluster.app(app).name)
            spread = SpreadConstraint(topology_key=HOST, max_skew=skew, selector=mine, min_domains=hosts)
            cluster.change(app, spread=(spread,))
    for machine in cluster.machines:
        cluster.fill(machine, apps, cluster.rng.choice((0.0, 0.3)))
    for app in apps:
        cluster.wait(app, cluster.rng.choice((1, 5, 40)))
    _check(cluster)


@pytest.mark.parametrize("seed", range(12))
def test_options_under_spread_over_zones_equal_those_of_one_shape_at_a_time(seed: int) -> None:
    """Over two to four zones, some without a node so far, some of which tolerations or selectors shut out; beside a spread over
    hosts or pools, ports and pods that keep apart."""
    cluster = MixedCluster(seed, Rules(apart=15, host_ports=10, pinned_pool=10))
    rng = cluster.rng
    cluster.add_groups(
        MACHINES[seed % 6 : seed % 6 + 8], [rng.choice((0, 1, 1)) for _ in range(8)], zones="abcd"[: rng.choice((2, 3, 4))]
    )
    apps = cluster.add_apps(12, scale=2.0)
    for app in apps:
        mine = selector(app=cluster.app(app).name)
        spread = [
            SpreadConstraint(
                topology_key=key, max_skew=rng.choice((1, 1, 2, 5)), selector=mine, min_domains=rng.choice((1, 1, 3, 30)),
                node_taints_policy=rng.choice(("Honor", "Ignore")), node_affinity_policy=rng.choice(("Honor", "Ignore")),
            )
            for key in (ZONE, HOST, "pool-kind") if rng.random() < (0.8 if key == ZONE else 0.2)
        ]  # fmt: skip
        cluster.change(app, spread=tuple(spread))
    for machine in cluster.machines:
        cluster.fill(machine, apps, rng.choice((0.0, 0.3)))
    for app in apps:
        cluster.wait(app, rng.choice((1, 5, 40)))
    _check(cluster)


def _check(cluster: MixedCluster) -> None:
    draft, waiting = _draft(cluster)
    open_domains(draft, list(draft.groups), [shape for shape, _ in waiting])
    filling = Filling(draft)
    assert filling.covers(waiting)
    keys = label_keys(draft.world.pod_shapes, [group.group.template for group in draft.groups if group.group.template])
    found = options_of(draft, draft.groups, waiting, keys, filling)
    again = options_of(draft, draft.groups, waiting, keys, filling)
    assert found
    served = {option.position for option in found}
    for group in draft.groups:
        if group.position not in served and group.group.template is not None:
            assert _option(draft, group, waiting, draft.room(group, group.group.template)[0], set()) is None
    for option, kept in zip(found, again, strict=True):
        group = draft.groups[option.position]
        assert group.group.template is not None
        plain = _option(draft, group, waiting, draft.room(group, group.group.template)[0], set())
        assert plain is not None
        assert sorted(option.bindings) == sorted(plain.bindings)
        assert msgspec.structs.replace(option, bindings=plain.bindings) == plain
        assert list(kept.bindings) == list(option.bindings)


def test_a_pod_that_must_be_near_another_is_not_for_whole_passes() -> None:
    """Affinity hangs on more than one node: the general path answers."""
    cluster = MixedCluster(1, Rules(near=100))
    cluster.add_groups(MACHINES[:1], [1])
    (app,) = cluster.add_apps(1)
    cluster.wait(app, 1)
    world, rules = cluster.world(), policy(*cluster.groups)
    draft = View.of(world, rules, Memory(), NOW, Work(10**9)).draft()
    shape = array("i", world.pods.shape)[[node < 0 for node in world.pods.node].index(True)]
    assert not Filling(draft).covers([(shape, 1)])


@pytest.mark.parametrize(("same", "covered"), [(False, True), (True, False)])
def test_pods_that_another_spread_counts_are_not_for_whole_passes(same: bool, covered: bool) -> None:
    """Two shapes of one app: a pod of one changes where the other may go."""
    draft, waiting = _draft(_spread_by_host(3, same=same))
    assert Filling(draft).covers(waiting) is covered


def test_pods_spread_over_hosts_are_not_placed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the pods: not even twice the questions to the state, of which there was one a pod and machine type."""
    asked: list[int] = []
    for pods in (20, 80):
        calls = 0
        plain = SchedulingState.place

        def place(*of: Any, plain: Any = plain) -> object:
            nonlocal calls
            calls += 1
            return plain(*of)

        monkeypatch.setattr(SchedulingState, "place", place)
        cluster = _spread_by_host(pods)
        decide(cluster.world(), policy(*cluster.groups), Memory(), NOW)
        monkeypatch.undo()
        asked.append(calls)
    assert 0 < asked[1] <= 2 * asked[0]


def _draft(cluster: MixedCluster) -> tuple[Draft, list[tuple[int, int]]]:
    world, rules = cluster.world(), policy(*cluster.groups)
    draft = View.of(world, rules, Memory(), NOW, Work(10**9)).draft()
    demands = pending_demand(world, waiting_pods(world), draft.state, rules.policy.pods, NOW).demands
    return draft, [(demand.shape, len(demand.pods)) for demand in demands]


def _spread_by_host(pods: int, *, same: bool = False) -> MixedCluster:
    """So many pods of each of two shapes; `same` has the second one run under the name of the first."""
    cluster = MixedCluster(1)
    cluster.add_groups(MACHINES[:4], [0] * 4)
    first, second = cluster.add_apps(2)
    space = cluster.app(first).shape.namespace
    for app in (first, second):
        name = cluster.app(first if same else app).name
        spread = SpreadConstraint(topology_key=HOST, max_skew=1, selector=selector(app=name))
        cluster.change(app, namespace=space, labels=(("app", name),), spread=(spread,))
        cluster.wait(app, pods)
    return cluster
