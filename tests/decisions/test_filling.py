"""Options worked out in whole passes are those of asking pod by pod."""

from array import array

import msgspec
import pytest

from reconciler.decisions.demand.pending import pending_demand
from reconciler.decisions.growth.filling import Filling
from reconciler.decisions.growth.options import _option, options_of
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.scheduling.packing import label_keys
from tests.benchmarks.mixed.apps import Rules
from tests.benchmarks.mixed.clusters import MixedCluster
from tests.benchmarks.mixed.machines import MACHINES
from tests.builders import NOW, policy


@pytest.mark.parametrize("seed", range(6))
def test_options_equal_those_of_one_shape_at_a_time(seed: int) -> None:
    """Anti-affinity on the host, host ports and pools, over eight machine types with DaemonSets."""
    cluster = MixedCluster(seed, Rules(apart=30, host_ports=20, pinned_pool=10))
    cluster.add_groups(MACHINES[seed : seed + 8], [1, 0] * 4)
    for app in cluster.add_apps(20, scale=2.0):
        cluster.wait(app, cluster.rng.choice((1, 5, 40)))
    world, rules = cluster.world(), policy(*cluster.groups)
    draft = View.of(world, rules, Memory(), NOW, Work(10**9)).draft()
    demands = pending_demand(world, draft.state, rules.policy.pods, NOW).demands
    waiting = [(demand.shape, len(demand.pods)) for demand in demands]
    filling = Filling(draft)
    assert filling.covers(waiting)
    keys = label_keys(world.pod_shapes, [group.group.template for group in draft.groups if group.group.template])
    found = options_of(draft, draft.groups, waiting, keys, filling)
    again = options_of(draft, draft.groups, waiting, keys, filling)
    assert len(found) == 8
    for option, kept in zip(found, again, strict=True):
        group = draft.groups[option.position]
        assert group.group.template is not None
        plain = _option(draft, group, waiting, draft.room(group, group.group.template)[0])
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
