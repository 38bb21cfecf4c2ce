"""A burst of pods is bought once, however its nodes come."""

from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.policy.documents import PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import MachineBehaviour
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")


class _InForce:
    def __init__(self, rules: PolicySet) -> None:
        self._rules = rules

    def current(self) -> PolicySet:
        return self._rules


def test_pods_that_are_seen_in_many_turns_are_bought_for_once() -> None:
    """Nodes join Ready and carry Cluster API's taint for eight seconds more. A turn a second: replicas rise once."""
    rules = policy(node_group("general", max=40))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=0, cpu="4")
    cluster.pods("web", 40, cpu="1")
    simulated = SimulatedCluster(cluster.world(), rules, NOW, otherwise=MachineBehaviour(join_seconds=5, taint_seconds=8))
    simulated.advance_to(NOW)
    loop = ControlLoop(SimulatedPort(simulated), _InForce(rules), InMemoryStore())
    wanted = []
    for second in range(30):
        simulated.advance_to(NOW + second)
        loop.turn()
        wanted.append(simulated.objects.targets[GENERAL].replicas)
    assert wanted == [10] * 30
    assert all(pod.node >= 0 for pod in simulated.world().pods)
