"""Machines that somebody has marked for deletion and then left alone.

Source: kubernetes/autoscaler#3034 and gardener/autoscaler#64. Cluster API deletes a marked Machine first when replicas fall, and
does nothing before.
"""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.decisions.removal.called_off import called_off
from reconciler.plan.plan import NodeState, Plan, PodOutcome
from reconciler.policy.documents import ScaleDown
from reconciler.policy.pace import Pace
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, node, plan_of, pod

LIFT = "kubectl annotate machine general-1 -n prod cluster.x-k8s.io/delete-machine-"
RULES = policy(
    node_group("general", min=0, max=9, scale_down=ScaleDown(unneeded_time_seconds=0)), pace=Pace(delay_after_add_seconds=0)
)


def _marked(cluster: ClusterBuilder, **changes: object) -> World:
    world = cluster.world()
    machines = tuple(
        msgspec.structs.replace(one, **{"delete_marked": True, **changes}) if one.node == "general-1" else one
        for one in world.machines
    )
    targets = tuple(msgspec.structs.replace(facts, api_group="cluster.x-k8s.io") for facts in world.targets)
    return msgspec.structs.replace(world, machines=machines, targets=targets)


def _cluster(replicas: int = 3, **target: object) -> ClusterBuilder:
    """Three nodes of 4 cpu: 3 are free on the first, and the others are full. One pod of 1 cpu waits."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3, replicas=replicas, **target)
    for number, cpu in enumerate(("1", "4", "4"), 1):
        cluster.pods(f"run-{number}", 1, cpu=cpu, on=f"general-{number}")
    cluster.pods("wait", 1, cpu="1")
    return cluster


def _plan(world: World) -> Plan:
    return plan_of(world, RULES)


def test_a_mark_alone_takes_no_node_from_pods() -> None:
    """Replicas are as many as machines, so nobody deletes any: kube-scheduler uses the room, and no node is added."""
    plan = _plan(_marked(_cluster()))
    assert (pod(plan, "shop/wait-1").outcome, pod(plan, "shop/wait-1").node) == (PodOutcome.FITS_EXISTING, "general-1")
    assert (group(plan, "general").desired, plan.actions) == (3, ())


@pytest.mark.parametrize(("replicas", "changes"), [(2, {}), (2, {"deleting": True})], ids=["replicas lowered", "deleted"])
def test_a_machine_that_goes_takes_no_pods(replicas: int, changes: dict[str, object]) -> None:
    """Replicas below machines: the marked one goes. So does one that has been deleted."""
    plan = _plan(_marked(_cluster(replicas), **changes))
    assert node(plan, "general-1").state is NodeState.LEAVING
    assert pod(plan, "shop/wait-1").outcome is PodOutcome.TRIGGERS_SCALE_UP


def _idle() -> ClusterBuilder:
    """One node in use, and two that are empty."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    cluster.pods("run", 1, cpu="1", on="general-1")
    return cluster


def test_nothing_is_removed_next_to_a_mark_and_the_reason_says_how_to_lift_it() -> None:
    """Fewer replicas would delete general-1 with its pod. Without the mark both empty nodes leave."""
    assert group(_plan(_idle().world()), "general").desired == 1
    plan = _plan(_marked(_idle()))
    assert (group(plan, "general").desired, plan.actions) == (3, ())
    for name in ("general-1", "general-2", "general-3"):
        (reason,) = (one for one in node(plan, name).blockers if one.code == "MachineMarked")
        assert "Machine general-1 (node general-1)" in reason.message
        assert LIFT in reason.message


def test_a_failed_machine_is_not_taken_back_next_to_a_mark() -> None:
    """It would be marked, too, and replicas would fall by one: the platform may take either."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.pods("run", 1, cpu="3", on="general-1")
    cluster.machine("late", cluster.world().targets[0].ref, failed="quota")
    assert group(_plan(cluster.world()), "general").desired == 1
    assert group(_plan(_marked(cluster)), "general").desired == 2


def test_a_drain_ends_when_another_machine_is_marked() -> None:
    """general-2 has our taint. When somebody marks general-1, the drain would end with the wrong machine."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    shape = msgspec.structs.replace(cluster.shape_of("general-2"))
    cluster.node("general-2", labels=dict(shape.labels), taints=("reconciler.dev/deleting=prod.1:NoSchedule",))
    assert called_off(cluster.world(), RULES, Memory(), NOW) == ()
    (ended,) = called_off(_marked(cluster), RULES, Memory(), NOW)
    assert (ended.node, ended.why.code) == ("general-2", "MachineMarked")
