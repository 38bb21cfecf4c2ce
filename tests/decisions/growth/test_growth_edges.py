"""Purchases at their edges: who shares them, what is told of the groups that offered nothing, what is waited for."""

import msgspec
import pytest

from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.growth.requests import replacements
from reconciler.decisions.memory import BackoffState, Memory, SizeState
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import Expander, Hold, Tier
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.decisions.deciding import group, plan_of

REF = machine_deployment("general")
TARGET = str(REF)


def test_a_sibling_gets_only_nodes_whose_pods_all_run_there() -> None:
    """Nodes of 4 and of 2 cores share three pods of 3 cores: the small ones take none; of pods of 2 cores they take turns."""
    for cpu, expected in (("3", {"large": 3, "small": 0}), ("2", {"large": 1, "small": 1})):
        cluster = ClusterBuilder()
        cluster.group("large", nodes=0, cpu="4")
        cluster.group("small", nodes=0, cpu="2")
        cluster.pods("web", 3, cpu=cpu)
        rules = policy(*(node_group(name, balance_with="all") for name in ("large", "small")), expanders=(Expander.LEAST_NODES,))
        assert {line.name: line.desired for line in plan_of(cluster.world(), rules).groups} == expected


def test_why_other_groups_offered_nothing() -> None:
    """Each by the code of what stands in its way, the first five by name."""
    cluster = ClusterBuilder()
    for name in ("a-held", "b-full", "d-failed", "f-late", "taken"):
        cluster.group(name, nodes=0)
    cluster.target("c-unknown", 0)
    cluster.group("e-other", nodes=0, taints=("dedicated=x:NoSchedule",))
    cluster.pods("web", 1, cpu="4")
    tiers = (Tier(name="first"), Tier(name="second"))
    groups = [
        node_group("a-held", hold=Hold(reason="x"), tier="first"),
        node_group("b-full", max=0, tier="first"),
        node_group("c-unknown", tier="first"),
        node_group("d-failed", tier="first"),
        node_group("e-other", tier="first"),
        node_group("f-late", tier="second"),
        node_group("taken", tier="first"),
    ]
    memory = Memory(backoffs={"d-failed": BackoffState(failures=1, failed_seconds=NOW - 1, until_seconds=NOW + 1)})
    plan = plan_of(cluster.world(), policy(*groups, tiers=tiers), memory)
    (told,) = [reason.message for reason in group(plan, "taken").reasons]
    assert told == (
        "1 pending pod on 1 new node. No other group can grow for them now: a-held (held), b-full (at its maximum), "
        "c-unknown (capacity unknown), d-failed (backed off), e-other (untolerated taint), 1 more"
    )
    fewer = [one for one in groups if one.name in ("e-other", "f-late", "taken")]
    (told,) = [reason.message for reason in group(plan_of(cluster.world(), policy(*fewer, tiers=tiers)), "taken").reasons]
    assert told.endswith(": e-other (untolerated taint), f-late (lower tier)")


def _world(replicas: int, *machines: Machine) -> World:
    """Two nodes and their machines, and other machines."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, replicas=replicas)
    world = cluster.world()
    return msgspec.structs.replace(world, machines=tuple(sorted((*world.machines, *machines))))


def _machine(name: str, **fields: object) -> Machine:
    return Machine(namespace="prod", name=name, target=REF, **fields)


@pytest.mark.parametrize(
    ("world", "waits"),
    [
        (_world(2), {}),
        (_world(3), {f"{TARGET} at 3": NOW}),
        (_world(3, _machine("x", created_seconds=NOW - 5)), {f"{TARGET}/x": NOW - 5}),
        (_world(3, _machine("x")), {f"{TARGET}/x": NOW}),
        (_world(4, _machine("x")), {f"{TARGET}/x": NOW, f"{TARGET} at 4": NOW}),
        (_world(3, _machine("x", created_seconds=NOW - 5, deleting=True)), {f"{TARGET} at 3": NOW}),
        (_world(2, _machine("x", node="general-9")), {}),
    ],
)
def test_what_is_waited_for_since_its_first_sight(world: World, waits: dict[str, int]) -> None:
    """Machines that are no nodes yet, by their age where they say it, and replicas without a machine: since the first sight."""
    rules = policy(node_group("general"))
    found = decide(world, rules, Memory(waiting_since={"gone": 1}), NOW)[1]
    assert found.waiting_since == waits
    again = decide(world, rules, found, NOW + 60)[1]
    assert again.waiting_since == waits


@pytest.mark.parametrize(("replicas", "since", "size_before"), [(2, 7, None), (3, NOW, 2)])
def test_since_when_a_target_has_its_size(replicas: int, since: int, size_before: int | None) -> None:
    """Another size begins anew, and the one before is remembered; targets that are gone are forgotten."""
    before = Memory(sizes={TARGET: SizeState(replicas=2, since_seconds=7), "gone": SizeState(replicas=1, since_seconds=7)})
    found = decide(_world(replicas), policy(node_group("general")), before, NOW)[1]
    assert found.sizes == {TARGET: SizeState(replicas=replicas, since_seconds=since, before=size_before)}


@pytest.mark.parametrize(
    ("fields", "rolling_out", "told"),
    [
        ({"created_seconds": 1_061}, False, True),
        ({"created_seconds": 1_060}, False, False),
        ({"created_seconds": 1_061}, True, False),
        ({"created_seconds": 1_061, "deleting": True}, False, False),
        ({"created_seconds": 1_061, "node": "general-1"}, False, False),
    ],
)
def test_machines_made_although_the_size_did_not_change(fields: dict[str, object], rolling_out: bool, told: bool) -> None:
    """A minute after the size was first seen all machines of it are there; what comes later stands in for one that somebody took.
    A rollout makes new ones by itself."""
    cluster = ClusterBuilder()
    cluster.target("general", 1, rolling_out=rolling_out)
    world = msgspec.structs.replace(cluster.world(), machines=(_machine("late", **fields),))
    memory = Memory(sizes={TARGET: SizeState(replicas=1, since_seconds=1_000)})
    draft = View.of(world, policy(node_group("general")), memory, NOW, Work(1_000)).draft()
    found = replacements(draft, draft.groups[0])
    assert (found is not None) is told
    assert found is None or (found.machines, found.replicas, found.since) == (("late",), 1, "1970-01-01T00:16:40Z")


def test_a_target_whose_size_was_never_seen_replaces_nothing() -> None:
    """It says none."""
    cluster = ClusterBuilder()
    cluster.target("general", None)
    world = msgspec.structs.replace(cluster.world(), machines=(_machine("late", created_seconds=9),))
    draft = View.of(world, policy(node_group("general")), Memory(), NOW, Work(1_000)).draft()
    assert replacements(draft, draft.groups[0]) is None
