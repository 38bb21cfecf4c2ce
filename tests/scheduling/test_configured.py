"""Feature gates that the API server reports, or that the policy states."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import Toleration
from reconciler.cluster.world import World
from reconciler.policy.documents import FeatureGate, GateState, NodeGroupPolicy, SchedulerRules
from reconciler.scheduling.configured import configured
from reconciler.scheduling.state import SchedulingState
from tests.builders import ClusterBuilder, policy

COMPARES = "TaintTolerationComparisonOperators"
ON, OFF = GateState.ENABLED, GateState.DISABLED


def _rules(**gates: GateState) -> NodeGroupPolicy:
    written = tuple(FeatureGate(name=name, state=state) for name, state in gates.items())
    return policy(scheduler=SchedulerRules(feature_gates=written)).policy


def _world(told: dict[str, bool] | None = None) -> World:
    """A node with a taint of 5, and a pod that tolerates what is more than 3."""
    cluster = ClusterBuilder()
    cluster.node("n", taints=["example.com/failures=5:NoSchedule"])
    cluster.pods("web", 1, shape={"tolerations": (Toleration("example.com/failures", "Gt", "3", "NoSchedule"),)})
    return cluster.world(feature_gates=tuple(sorted((told or {}).items())), scheduler_version=(1, 37, 2))


@pytest.mark.parametrize(
    ("told", "written", "fits"),
    [
        ({}, {}, False),
        ({COMPARES: True}, {}, True),
        ({}, {COMPARES: ON}, True),
        ({COMPARES: False}, {COMPARES: ON}, False),
        ({COMPARES: True}, {COMPARES: OFF}, True),
    ],
)
def test_what_the_server_reports_counts_before_the_policy(
    told: dict[str, bool], written: dict[str, GateState], fits: bool
) -> None:
    """Without both, the default of the version: the gate is off."""
    world = configured(_world(told), _rules(**written))

    assert SchedulingState(world).fits(0, 0) is fits
    assert configured(world, _rules(**written)) == world


def test_a_policy_that_says_otherwise_is_named() -> None:
    """The policy keeps its word, and the plan says whose word counts."""
    world = configured(_world({COMPARES: False}), _rules(**{COMPARES: ON}))
    (problem,) = world.problems
    assert (problem.code, problem.object) == ("FeatureGateContradicted", f"feature gate {COMPARES}")
    assert problem.message == ("the API server has it off, and this counts. The policy says otherwise in scheduler.featureGates")


@pytest.mark.parametrize(
    ("gates", "named"),
    [
        ({"DRADeviceTaints": False}, ["FeatureGateNotFollowed"]),
        ({"DRADeviceTaints": True}, []),
        ({"DRADerivedAttributes": True}, ["FeatureGateNotFollowed"]),
        ({COMPARES: True}, []),
    ],
)
def test_gates_that_plans_do_not_follow_are_named(gates: dict[str, bool], named: list[str]) -> None:
    """If they are not as the version has them by default."""
    world = configured(_world(gates), _rules())
    assert [problem.code for problem in world.problems] == named


def test_a_world_without_gates_stays() -> None:
    """The usual case costs nothing."""
    world = _world()
    assert configured(world, _rules()) is world
    assert msgspec.structs.replace(world, feature_gates=()) == world
