"""The embedded cluster goes on by itself: machines join, drains honour budgets, controllers make pods again."""

from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import Durations, MachineBehaviour, Shortage
from reconciler.simulation.embedded.field_owner import Via
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")


def _start(cluster: ClusterBuilder, **options: object) -> SimulatedCluster:
    groups = [node_group(facts.ref.name) for facts in cluster.world().targets]
    simulated = SimulatedCluster(cluster.world(), policy(*groups), NOW, **options)
    simulated.advance_to(NOW)
    return simulated


def _scale(cluster: SimulatedCluster, replicas: int) -> None:
    cluster.write_replicas(GENERAL, replicas, "kubectl", Via.PATCH)


def test_start_without_events_shows_the_world_it_started_from():
    """Nothing under way: the view equals the capture."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 3, on=["general-1", "general-2", "general-2"])
    world = cluster.world()
    simulated = _start(cluster)
    assert simulated.world() == world


def test_machines_join_after_their_time_with_labels_and_daemon_pods():
    """Two more replicas: two nodes of the template 90 s later, each with its DaemonSet pod."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, labels={"zone": "a"})
    cluster.daemonset("agent")
    simulated = _start(cluster)
    _scale(simulated, 3)
    simulated.advance_to(NOW + 89)
    assert len(simulated.world().nodes) == 1
    simulated.advance_to(NOW + 90)
    world = simulated.world()
    assert [node.name for node in world.nodes] == ["general-1", "general-2", "general-3"]
    assert world.node_shapes[world.nodes[1].shape] == world.node_shapes[world.nodes[0].shape]
    assert [pod.name for pod in world.pods] == ["agent-general-1", "agent-general-2", "agent-general-3"]


def test_machine_on_its_way_joins_in_its_time():
    """A machine that was asked for 60 s before the capture joins 30 s after it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.machine("general-x", GENERAL, created=NOW - 60)
    simulated = _start(cluster)
    simulated.advance_to(NOW + 29)
    assert len(simulated.world().nodes) == 1
    simulated.advance_to(NOW + 30)
    assert [node.name for node in simulated.world().nodes] == ["general-1", "general-x"]


def test_failing_machines_stay_failed():
    """The first machine fails instead of joining; the second joins."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    simulated = _start(cluster, otherwise=MachineBehaviour(join_seconds=10, fail_first=1))
    _scale(simulated, 2)
    simulated.advance_to(NOW + 60)
    assert [(machine.node, bool(machine.failed)) for machine in simulated.world().machines] == [("", True), ("general-2", False)]


def test_shortage_delays_the_join_until_it_ends():
    """Out of stock for 5 minutes: the machine joins its join time after the end."""
    shortage = Shortage(from_seconds=NOW - 10, until_seconds=NOW + 300)
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0)
    simulated = _start(cluster, otherwise=MachineBehaviour(join_seconds=60, shortages=(shortage,)))
    _scale(simulated, 1)
    simulated.advance_to(NOW + 359)
    assert simulated.world().nodes == ()
    simulated.advance_to(NOW + 360)
    assert len(simulated.world().nodes) == 1


def test_devices_show_late():
    """The node is Ready at once, its GPUs come four minutes later."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, gpu=4)
    simulated = _start(cluster, otherwise=MachineBehaviour(join_seconds=10, device_seconds=240))
    _scale(simulated, 1)
    gpus = []
    for instant in (NOW + 10, NOW + 249, NOW + 250):
        simulated.advance_to(instant)
        world = simulated.world()
        gpus.append(world.node_shapes[world.nodes[0].shape].allocatable.get("nvidia.com/gpu"))
    assert gpus == [0, 0, 4]


def test_lowering_replicas_drains_the_youngest_node():
    """Cluster API drains the machine that it deletes; the pods come back elsewhere."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 2, cpu="1", on=["general-1", "general-1"])
    simulated = _start(cluster)
    _scale(simulated, 1)
    simulated.advance_to(NOW + 300)
    world = simulated.world()
    assert [node.name for node in world.nodes] == ["general-2"]
    assert [(pod.phase, pod.node) for pod in world.pods] == [(PodPhase.RUNNING, 0)] * 2


def test_drain_waits_for_the_budget():
    """minAvailable 2 of 2 until a third replica runs elsewhere: the node stays until then."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 2, cpu="1", on="general-1")
    cluster.budget("web", min_available="2", allowed=0, healthy=2, desired=2, expected=2)
    simulated = _start(cluster)
    _scale(simulated, 1)
    simulated.advance_to(NOW + 600)
    assert len(simulated.world().nodes) == 2
    web = simulated.workloads.named("shop", "web")
    assert web is not None
    simulated.workloads.scale(web, 3)
    simulated.advance_to(NOW + 900)
    assert [node.name for node in simulated.world().nodes] == ["general-2"]


def test_evicted_statefulset_pod_comes_back_under_its_name():
    """A StatefulSet waits until the old pod is gone, then makes the same name again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("db", 2, on="general-1", owner="StatefulSet")
    simulated = _start(cluster)
    simulated.pods.evict(simulated.objects.pods["shop", "db-2"])
    simulated.advance_to(NOW)
    assert [pod.name for pod in simulated.world().pods] == ["db-1", "db-2"]
    assert simulated.world().pods[1].deletion_seconds == NOW + 30
    simulated.advance_to(NOW + 40)
    assert (simulated.world().pods[1].created_seconds, simulated.world().pods[1].deletion_seconds) == (NOW + 30, 0)


def test_evicted_pod_without_controller_is_gone():
    """Nobody makes it again."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("lonely", 1, on="general-1", owner=None)
    simulated = _start(cluster)
    simulated.pods.evict(simulated.objects.pods["shop", "lonely-1"])
    simulated.advance_to(NOW + 60)
    assert len(simulated.world().pods) == 0


def test_topology_puts_back_what_others_write():
    """Within a second the declared value is there again, owned by the topology controller."""
    topology = FieldOwner(manager="capi-topology", operation="Apply", time_seconds=NOW - 60)
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, evidence=OwnerEvidence(owners=(topology,), topology_owned=True, topology_replicas=2))
    simulated = _start(cluster)
    _scale(simulated, 4)
    assert simulated.world().targets[0].replicas == 4
    simulated.advance_to(NOW + 1)
    facts = simulated.world().targets[0]
    assert (facts.replicas, facts.generation) == (2, 3)
    assert [owner.manager for owner in facts.owner.owners] == ["capi-topology"]


def test_every_write_moves_the_resource_version():
    """What was judged before is recognizably old."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    simulated = _start(cluster)
    seen = {simulated.world().targets[0].resource_version}
    for replicas in (2, 3, 2):
        _scale(simulated, replicas)
        seen.add(simulated.world().targets[0].resource_version)
    assert len(seen) == 4


def test_pods_of_an_unready_node_move_after_their_toleration():
    """Five minutes after the node stopped being Ready its pods are given up and made again elsewhere."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, on="general-1")
    simulated = _start(cluster)
    simulated.set_ready("general-1", ready=False)
    simulated.advance_to(NOW + 299)
    assert [pod.node for pod in simulated.world().pods] == [0]
    simulated.advance_to(NOW + 360)
    world = simulated.world()
    assert [(pod.node, pod.ready) for pod in world.pods] == [(1, True)]


def test_dead_node_is_replaced():
    """The machine behind a node dies: replicas stand, so a new one is made."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    simulated = _start(cluster)
    simulated.kill_node("general-1")
    simulated.advance_to(NOW + 90)
    assert [node.name for node in simulated.world().nodes] == ["general-2", "general-3"]


def test_same_calls_give_the_same_world():
    """Two runs of the same history are equal in every byte that a decision reads."""

    def history() -> SimulatedCluster:
        cluster = ClusterBuilder()
        cluster.group("general", nodes=3)
        cluster.pods("web", 8, cpu="500m", on=["general-1", "general-2", "general-3", None] * 2)
        simulated = _start(cluster, durations=Durations(pod_start_seconds=7))
        _scale(simulated, 5)
        simulated.advance_to(NOW + 200)
        _scale(simulated, 2)
        simulated.advance_to(NOW + 500)
        return simulated

    assert history().world() == history().world()
