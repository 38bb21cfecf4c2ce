"""One turn after the other: what is done, what is skipped and why, and what is carried on."""

from collections.abc import Callable

import pytest

from reconciler.cluster.target import FieldOwner, TargetRef
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore, StoreUnavailableError
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Bound
from reconciler.policy.documents import Mode, PolicySet, ScaleDown
from reconciler.providers.contract import RemovalState, WriteResult
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import Via
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")
AT_ONCE = ScaleDown(unneeded_time_seconds=0)


class _Policy:
    def __init__(self, policy_set: PolicySet) -> None:
        self.value = policy_set

    def current(self) -> PolicySet:
        return self.value


class _MovingPort(SimulatedPort):
    """Something happens between the decision and the write: before the view that is read again."""

    def __init__(self, cluster: SimulatedCluster, between: Callable[[], None]) -> None:
        super().__init__(cluster)
        self._between = between
        self._views = 0

    def observe(self):
        self._views += 1
        if self._views == 2:
            self._between()
        return super().observe()


class _Bench:
    def __init__(
        self,
        cluster: ClusterBuilder,
        rules: PolicySet,
        port: Callable[[SimulatedCluster], SimulatedPort] = SimulatedPort,
    ) -> None:
        self.cluster = SimulatedCluster(cluster.world(), rules, NOW)
        self.cluster.advance_to(NOW)
        self.policy = _Policy(rules)
        self.store = InMemoryStore()
        self.port = port(self.cluster)
        self.loop = ControlLoop(self.port, self.policy, self.store)

    def turn(self, at: int = 0) -> LoopReport:
        self.cluster.advance_to(NOW + at)
        return self.loop.turn()

    def replicas(self, target: TargetRef = GENERAL) -> int | None:
        return self.cluster.objects.targets[target].replicas


def _hungry(owners: tuple[FieldOwner, ...] | None = None) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", owners=owners)
    cluster.pods("old", 1, cpu="3", on="general-1")
    cluster.pods("web", 3, cpu="3")
    return cluster


def _states(report: LoopReport) -> list[tuple[str, ResultState, str]]:
    return [(result.action.kind.value, result.state, result.code) for result in report.results]


def test_pending_pods_make_the_group_grow():
    """Three pods that fill a node each: one write from one to four."""
    bench = _Bench(_hungry(), policy(node_group("general")))
    assert _states(bench.turn()) == [("Resize", ResultState.DONE, "")]
    assert bench.replicas() == 4


def test_the_next_turn_does_not_buy_again():
    """Upcoming machines count for the pods that wait for them."""
    bench = _Bench(_hungry(), policy(node_group("general")))
    bench.turn()
    assert bench.turn(10).results == ()
    assert bench.turn(200).results == ()
    assert len(bench.cluster.world().nodes) == 4


def test_mode_observe_writes_nothing():
    """The plan is made; every action is skipped with that reason; the target is untouched."""
    bench = _Bench(_hungry(), policy(node_group("general"), mode=Mode.OBSERVE))
    before = bench.cluster.world().targets
    assert _states(bench.turn()) == [("Resize", ResultState.SKIPPED, "Observe")]
    assert bench.cluster.world().targets == before


def test_a_group_may_be_stricter_than_the_policy():
    """One group observes in a policy that enforces; the other one is written."""
    cluster = ClusterBuilder()
    for name in ("careful", "general"):
        cluster.group(name, nodes=1)
    bench = _Bench(cluster, policy(node_group("careful", min=2, mode=Mode.OBSERVE), node_group("general", min=2)))
    states = {result.action.group: (result.state, result.code) for result in bench.turn().results}
    assert states == {"careful": (ResultState.SKIPPED, "Observe"), "general": (ResultState.DONE, "")}
    assert (bench.replicas(), bench.replicas(machine_deployment("careful"))) == (2, 1)


def test_adoption_is_an_action_of_its_own_before_the_first_write():
    """The turn that takes the field over leaves growing to the next one."""
    once = FieldOwner(manager="kubectl-edit", operation="Update", time_seconds=NOW - 90_000)
    bench = _Bench(_hungry((once,)), policy(node_group("general")))
    assert _states(bench.turn()) == [("Adopt", ResultState.DONE, ""), ("Resize", ResultState.SKIPPED, "Deferred")]
    assert bench.replicas() == 1
    assert _states(bench.turn(10)) == [("Resize", ResultState.DONE, "")]
    assert bench.replicas() == 4


def test_replicas_that_moved_after_the_decision_are_not_overwritten():
    """Somebody writes between the decision and the write: the action is skipped and says so."""
    cluster = _hungry()
    bench = _Bench(
        cluster,
        policy(node_group("general")),
        lambda simulated: _MovingPort(simulated, lambda: simulated.write_replicas(GENERAL, 2, "kubectl", Via.PATCH) and None),
    )
    report = bench.turn()
    assert _states(report) == [("Resize", ResultState.SKIPPED, "Stale")]
    assert "has 2 replicas now, and 1 when the plan was made" in report.results[0].message
    assert bench.replicas() == 2


def test_owner_that_changed_after_the_decision_stops_the_write():
    """The same value, but another owner: judged evidence is gone."""
    bench = _Bench(
        _hungry(),
        policy(node_group("general")),
        lambda simulated: _MovingPort(
            simulated, lambda: simulated.write_replicas(GENERAL, 1, "argocd-controller", Via.APPLY) and None
        ),
    )
    report = bench.turn()
    assert _states(report) == [("Resize", ResultState.SKIPPED, "Stale")]
    assert "who owns the replicas" in report.results[0].message


def test_resource_version_that_moved_for_another_reason_is_taken_over():
    """A changed annotation is no reason to wait a turn."""

    def annotate(simulated: SimulatedCluster) -> None:
        import msgspec

        facts = simulated.objects.targets[GENERAL]
        simulated.store(msgspec.structs.replace(facts, annotations=(("note", "x"),)), "somebody")

    bench = _Bench(
        _hungry(), policy(node_group("general")), lambda simulated: _MovingPort(simulated, lambda: annotate(simulated))
    )
    assert _states(bench.turn()) == [("Resize", ResultState.DONE, "")]


def test_pod_that_was_bound_meanwhile_saves_its_node():
    """The node was empty when it was judged."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)

    def bind(simulated: SimulatedCluster) -> None:
        from reconciler.simulation.embedded.pod_object import PodObject

        shape = simulated.objects.pod_shape(_shape())
        traits = simulated.objects.traits(_traits())
        simulated.objects.add_pod(PodObject("shop", "new", "uid", shape, traits, NOW), simulated.objects.nodes["general-1"])

    bench = _Bench(
        cluster,
        policy(node_group("general", scale_down=AT_ONCE)),
        lambda simulated: _MovingPort(simulated, lambda: bind(simulated)),
    )
    report = bench.turn()
    assert _states(report) == [("RemoveNode", ResultState.SKIPPED, "Stale")]
    assert report.results[0].message == "shop/new was bound to node general-1 after it was judged"


def _shape():
    other = ClusterBuilder()
    other.pods("new", 1)
    return other.world().pod_shapes[0]


def _traits():
    other = ClusterBuilder()
    other.pods("new", 1)
    return other.world().pod_traits[0]


def test_without_a_view_nothing_is_decided():
    """No plan, no action, and the reason; the next turn goes on."""
    bench = _Bench(_hungry(), policy(node_group("general")))
    bench.port.outage = "the API server does not answer"
    report = bench.turn()
    assert (report.plan, report.results, report.unavailable) == (None, (), "the API server does not answer")
    assert bench.replicas() == 1
    bench.port.outage = ""
    assert bench.turn(10).changed


def test_without_a_place_for_the_memory_nothing_is_written():
    """What protects an act must be written before it."""

    class _Broken(InMemoryStore):
        def save(self, memory: Memory) -> None:
            raise StoreUnavailableError("the ConfigMap cannot be written")

    bench = _Bench(_hungry(), policy(node_group("general")))
    bench.loop = ControlLoop(bench.port, bench.policy, _Broken())
    report = bench.turn()
    assert (report.results, report.unavailable) == ((), "the ConfigMap cannot be written")
    assert bench.replicas() == 1


def test_an_action_that_breaks_does_not_stop_the_others():
    """A provider that raises is a failed action with its words; the next one is done."""

    class _Broken(SimulatedPort):
        def resize(self, target: TargetRef, replicas: int, bound: Bound) -> WriteResult:
            if target.name == "careful":
                raise RuntimeError("socket closed")
            return super().resize(target, replicas, bound)

    cluster = ClusterBuilder()
    for name in ("careful", "general"):
        cluster.group(name, nodes=1)
    bench = _Bench(cluster, policy(node_group("careful", min=2), node_group("general", min=2)), _Broken)
    report = bench.turn()
    assert [(result.action.group, result.state) for result in report.results] == [
        ("careful", ResultState.FAILED),
        ("general", ResultState.DONE),
    ]
    assert report.results[0].message == "RuntimeError: socket closed"
    assert bench.store.load().backoffs.keys() == {"careful"}


def test_removal_goes_from_mark_to_gone():
    """The empty node is marked, its machine goes, replicas fall, and the memory forgets it."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    bench = _Bench(cluster, policy(node_group("general", min=1, scale_down=AT_ONCE)))
    assert _states(bench.turn()) == [("RemoveNode", ResultState.DONE, "")]
    assert list(bench.store.load().leaving) == ["general-1"]
    bench.turn(10)
    assert bench.replicas() == 1
    bench.turn(60)
    assert [node.name for node in bench.cluster.world().nodes] == ["general-2"]
    assert bench.store.load().leaving == {}


def test_removal_that_was_given_up_frees_the_node():
    """The budget tightened during the drain: the node is open again and no longer leaving."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="500m", on="general-1")
    cluster.pods("rest", 1, cpu="3", on="general-2")
    cluster.budget("web", min_available="0", allowed=1, healthy=1, expected=1)
    bench = _Bench(cluster, policy(node_group("general", scale_down=AT_ONCE)))
    bench.turn()
    import msgspec

    key = ("shop", "web")
    budget = msgspec.structs.replace(
        bench.cluster.objects.budgets[key], min_available="1", disruptions_allowed=0, desired_healthy=1
    )
    bench.cluster.objects.budgets[key] = budget
    bench.cluster.objects.touch()
    bench.turn(610)
    assert bench.store.load().leaving == {}
    assert not any(shape.unschedulable for shape in _node_shapes(bench))
    assert bench.replicas() == 2


def _draining(lowest: int) -> _Bench:
    """Two nodes; a pod whose budget refuses its eviction keeps one of them in its drain."""
    import msgspec

    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("web", 1, cpu="500m", on="general-1")
    cluster.pods("rest", 1, cpu="3", on="general-2")
    cluster.budget("web", min_available="0", allowed=1, healthy=1, expected=1)
    bench = _Bench(cluster, policy(node_group("general", scale_down=AT_ONCE)))
    assert _states(bench.turn()) == [("RemoveNode", ResultState.DONE, "")]
    budgets = bench.cluster.objects.budgets
    key = ("shop", "web")
    budgets[key] = msgspec.structs.replace(budgets[key], min_available="1", disruptions_allowed=0, desired_healthy=1)
    bench.cluster.objects.touch()
    bench.policy.value = policy(node_group("general", min=lowest, scale_down=AT_ONCE))
    return bench


def test_a_drain_is_called_off_when_its_group_may_not_shrink_any_more():
    """The minimum was raised to what is there: the node is open again, nothing was evicted, and nothing grows."""
    bench = _draining(lowest=2)
    report = bench.turn(10)
    (progress,) = report.removals
    assert (progress.state, progress.code) == (RemovalState.FAILED, "CalledOff")
    assert progress.message == "MinSize: general would have fewer nodes than its minimum 2"
    assert report.plan is not None
    assert report.plan.actions == ()
    assert bench.store.load().leaving == {}
    assert not any(shape.unschedulable or shape.taints for shape in _node_shapes(bench))
    assert bench.replicas() == 2


def test_a_drain_goes_on_while_nothing_speaks_against_it():
    """The counter-check: the same drain with the minimum still below."""
    bench = _draining(lowest=1)
    assert [progress.state for progress in bench.turn(10).removals] == [RemovalState.DRAINING]


def test_a_hold_set_between_two_turns_keeps_the_empty_node():
    """The node is empty and its machine would go next; with the hold nothing of the target is written."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    bench = _Bench(cluster, policy(node_group("general", min=1, scale_down=AT_ONCE)))
    bench.turn()
    bench.cluster.hold(GENERAL, "repair")
    (progress,) = bench.turn(10).removals
    assert (progress.state, progress.code) == (RemovalState.FAILED, "CalledOff")
    assert bench.replicas() == 2
    assert not any(shape.unschedulable for shape in _node_shapes(bench))


def _node_shapes(bench: _Bench):
    world = bench.cluster.world()
    return [world.node_shapes[node.shape] for node in world.nodes]


def test_restart_between_two_turns_changes_nothing():
    """A new loop with the same store does what the old one would have done."""
    one, two = (_Bench(_hungry(), policy(node_group("general"))) for _ in range(2))
    for instant in range(0, 1_300, 50):
        two.loop = ControlLoop(two.port, two.policy, two.store)
        left, right = one.turn(instant), two.turn(instant)
        assert left == right
    assert one.store.load() == two.store.load()


@pytest.mark.parametrize("seconds", [10, 700])
def test_idle_turns_write_no_memory(seconds):
    """A cluster at rest causes no writes to the state object."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 1, cpu="3", on="general-1")
    bench = _Bench(cluster, policy(node_group("general")))
    bench.turn()
    writes = bench.store.writes
    bench.turn(seconds)
    assert bench.store.writes == writes
