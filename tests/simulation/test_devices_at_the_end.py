"""Pods with claims in the steady state: simulated nodes have the devices of their template, and pods that move take others."""

import os
import random

import msgspec

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import PodOutcome
from reconciler.policy.documents import Template, TemplateDevices
from reconciler.simulation.settled import come_to_rest
from tests.builders import NOW, node_group, policy
from tests.decisions.deciding import group, plan_of
from tests.decisions.device_cluster import CARD, DRIVER, IMPLICIT, SERVING, DeviceCluster, request

_PLACED = {PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING, PodOutcome.TRIGGERS_SCALE_UP}


def test_new_nodes_run_the_pods_that_they_were_added_for() -> None:
    """17 pods with one device each, 8 devices per node: 3 nodes now and in the end, and no pod waits."""
    cluster = DeviceCluster()
    cluster.group("gpu", nodes=0, cpu="64", memory="256Gi")
    cluster.train("wait", 17)
    devices = Template(devices=(TemplateDevices(name="gpu", driver=DRIVER, count=8),))
    rules = policy(node_group("gpu", min=0, max=9, template=devices))

    rest = come_to_rest(cluster.world(), rules, Memory(), NOW, plan_of(cluster.world(), rules))

    assert group(rest.plan, "gpu").settled == 3
    assert rest.impact.waiting == ()


def test_pods_that_move_take_devices_elsewhere() -> None:
    """One of four devices is in use on each of three nodes: all fit on one."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=3, cpu="32", memory="128Gi"), 4)
    cluster.train("a", on={"gpu-1": ["gpu-0"], "gpu-2": ["gpu-0"], "gpu-3": ["gpu-0"]})
    rules = policy(node_group("gpu", min=0, max=9))

    rest = come_to_rest(cluster.world(), rules, Memory(), NOW, plan_of(cluster.world(), rules))

    assert group(rest.plan, "gpu").settled == 1
    assert len(rest.impact.evicted_settled) == 2
    assert rest.impact.waiting == ()


def test_extended_resources_that_a_class_serves() -> None:
    """Two of four devices are in use on one node. Of 9 pods that wait, two fit there: 2 more nodes now and in the end. One pod
    on each of three nodes: all three fit on one."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="32", memory="128Gi"), 4)
    cluster.cards("run", on={"gpu-1": ["gpu-0", "gpu-1"]})
    cluster.cards("wait", 9)
    rules, world = policy(node_group("gpu", min=0, max=9)), cluster.world(device_classes=(SERVING,))

    rest = come_to_rest(world, rules, Memory(), NOW, plan_of(world, rules))

    assert (group(rest.plan, "gpu").desired, group(rest.plan, "gpu").settled) == (3, 3)
    assert rest.impact.waiting == ()

    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=3, cpu="32", memory="128Gi"), 4)
    cluster.cards("a", on={"gpu-1": ["gpu-0"], "gpu-2": ["gpu-0"], "gpu-3": ["gpu-0"]}, **{CARD: 1})
    world = cluster.world(device_classes=(SERVING,))

    rest = come_to_rest(world, rules, Memory(), NOW, plan_of(world, rules))

    assert group(rest.plan, "gpu").settled == 1
    assert rest.impact.waiting == ()


def test_who_has_a_place_in_the_plan_runs_in_the_end() -> None:
    """Random pods with claims, extended resources or both, and room for all groups: with devices, a device plugin, and both. So
    only those wait at the end that no node can have."""
    served = 0
    for _ in range(int(os.environ.get("RECONCILER_RANDOM_RUNS", "12"))):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        cluster, groups = DeviceCluster(), []
        for name, listed, count in (("gpu", 0, 4), ("plugin", 3, 0), ("both", 2, 3)):
            there = chance.randrange(3)
            nodes = cluster.group(name, nodes=there, cpu="64", memory="256Gi", gpu=listed)
            if count and nodes:
                cluster.gpus(nodes, count)
            devices = Template(devices=(TemplateDevices(name="gpu", driver=DRIVER, count=count),) if count else ())
            groups.append(node_group(name, min=0, max=40, template=devices))
        for kind in range(chance.randint(1, 4)):
            amounts = {one: chance.randint(1, 3) for one in ("gpu", IMPLICIT) if chance.random() < 0.5}
            if chance.random() < 0.5 and amounts:
                cluster.pods(f"kind{kind}", chance.randint(1, 7), cpu="1", **amounts)
            else:
                cluster.train(f"kind{kind}", chance.randint(1, 7), request(chance.randint(1, 2)), **amounts)
        world = cluster.world(device_classes=(msgspec.structs.replace(SERVING, extended_resource="nvidia.com/gpu"),))
        rules = policy(*groups)
        plan = plan_of(world, rules)

        rest = come_to_rest(world, rules, Memory(), NOW, plan)

        nowhere = {line.pod for line in plan.pods if line.outcome is PodOutcome.UNPLACEABLE}
        assert {line.outcome for line in plan.pods} <= _PLACED | {PodOutcome.UNPLACEABLE}, seed
        assert set(rest.impact.waiting) <= nowhere, seed
        served += len(plan.pods) - len(nowhere)
    assert served > 20
