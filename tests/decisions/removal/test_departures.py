"""What left is counted in spans of ten minutes, each until a day after its end; and what a process that ended had begun."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Departures, Memory
from reconciler.decisions.removal.approval_ceiling import departed, lasting
from reconciler.decisions.removal.under_way import intending, recovered
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, Consolidation, ScaleDown, Toggle
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy, taint
from tests.decisions.deciding import of_kind

TARGET = "MachineDeployment prod/general"
OTHERS: Departures = {"other": ((1200, 4),)}
THREE: Departures = {"a": ((1200, 2), (1800, 1))}


@pytest.mark.parametrize(
    ("before", "nodes", "now", "after"),
    [
        ({}, 2, 0, {"a": ((600, 2),)}),
        ({}, 2, 599, {"a": ((600, 2),)}),
        ({}, 2, 600, {"a": ((1200, 2),)}),
        (THREE, 1, 1300, {"a": ((1200, 2), (1800, 2))}),
        (THREE, 1, 1900, {"a": ((1200, 2), (1800, 1), (2400, 1))}),
        (THREE, 0, 1900, THREE),
        (THREE, -1, 1900, {"a": ((1200, 2),)}),
        (THREE, -2, 1900, {"a": ((1200, 1),)}),
        (THREE, -3, 1900, {}),
        (THREE, -9, 1900, {}),
        (OTHERS, 1, 0, {"a": ((600, 1),), **OTHERS}),
        ({**OTHERS, **THREE}, -3, 1900, OTHERS),
        ({}, -1, 0, {}),
    ],
)
def test_what_began_to_leave_and_what_stayed(before: Departures, nodes: int, now: int, after: Departures) -> None:
    """Of those that stayed after all the last ones are taken off; other targets are as before."""
    assert departed(before, "a", nodes, now) == after


def test_what_counts_for_a_day_after_its_end() -> None:
    """A span that ended exactly a day ago counts no more; a target without any is forgotten."""
    counted = {"b": ((600, 2), (1200, 1)), "a": ((600, 1),)}
    assert lasting(counted, 86_999) == {"a": ((600, 1),), "b": ((600, 2), (1200, 1))}
    assert lasting(counted, 87_000) == {"b": ((1200, 1),)}
    assert lasting(counted, 87_600) == {}


def _world(**changes: object) -> World:
    """Two nodes; the first, or its machine (`machine`), or its shape (`taints`) as told, or not there (`gone`)."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    world = cluster.world()
    first, second = world.nodes
    machine, other = world.machines
    if changes.pop("gone", False):
        return msgspec.structs.replace(world, nodes=(second,))
    machines = (msgspec.structs.replace(machine, **changes.pop("machine", {})), other)
    marked = msgspec.structs.replace(world.node_shapes[0], taints=tuple(taint(text) for text in changes.pop("taints", ())))
    nodes = (msgspec.structs.replace(first, shape=1, **changes), second)
    return msgspec.structs.replace(world, machines=machines, node_shapes=(*world.node_shapes, marked), nodes=nodes)


@pytest.mark.parametrize(
    ("world", "begun"),
    [
        (_world(), False),
        (_world(gone=True), True),
        (_world(deleting=True), True),
        (_world(machine={"deleting": True}), True),
        (_world(machine={"delete_marked": True}), True),
        (_world(taints=("reconciler.dev/deleting=test.1:NoSchedule",)), True),
        (_world(taints=("ToBeDeletedByClusterAutoscaler=1:NoSchedule",)), True),
        (_world(taints=("dedicated=x:NoSchedule",)), False),
    ],
    ids=["stands", "gone", "deleted", "its machine deleted", "its machine marked", "our taint", "another's taint", "a taint"],
)
def test_a_removal_that_was_about_to_be_written(world: World, begun: bool) -> None:
    """It was, where the node shows it; whoever remembers it already counts it once."""
    memory = intending(Memory(), [(TARGET, "general-1")])
    found = recovered(memory, world, NOW)
    assert found.leaving == ({"general-1": NOW} if begun else {})
    assert found.departures == ({TARGET: ((NOW + 600, 1),)} if begun else {})
    assert (found.last_removed_seconds, found.intended) == (NOW if begun else 0, {})
    known = msgspec.structs.replace(memory, leaving={"general-1": NOW - 5})
    assert recovered(known, world, NOW) == Memory(leaving={"general-1": NOW - 5})


def test_all_groups_of_a_replacement_must_have_room_below_their_ceilings() -> None:
    """One node of `small`, one of `tiny`, and one each may leave within a day: not where `tiny` has lost one already."""
    cluster = ClusterBuilder()
    for name in ("small", "tiny"):
        cluster.group(name, nodes=1, cpu="4")
        cluster.pods(f"web-{name}", 1, cpu="3", on=f"{name}-1")
    cluster.group("mega", nodes=0, cpu="8")
    on = ScaleDown(unneeded_time_seconds=0, consolidation=Consolidation(mode=Toggle.ENABLED))
    prices = {"small": "0.20", "tiny": "0.20", "mega": "0.30"}
    groups = [node_group(name, price_per_hour=price, scale_down=on) for name, price in prices.items()]
    rules = policy(*groups, budgets=(Budget(nodes=100),), pace=Pace(require_approval_above=1))
    lost = Memory(departures={"MachineDeployment prod/tiny": ((NOW, 1),)})
    for memory, begins in ((Memory(), 1), (lost, 0)):
        assert len(of_kind(decide(cluster.world(), rules, memory, NOW)[0], ActionKind.REPLACE)) == begins
