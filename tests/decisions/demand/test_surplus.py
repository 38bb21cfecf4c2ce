"""Pods above the replicas of their controller add no nodes: the controller deletes those without a node first."""

import pytest

from reconciler.plan.plan import PodOutcome
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, plan_of


def _outcomes(pending: int, running: int, replicas: int | None, owner: str = "ReplicaSet") -> tuple[int, int, int]:
    """Pods that ask for a node, pods that are about to be deleted, and the desired size of the group."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    places = ["general-1"] * running + [None] * pending
    cluster.pods("web", len(places), cpu="1", on=places, owner=owner)
    cluster.controller("web", owner, replicas)
    plan = plan_of(cluster.world(), policy(node_group("general")))
    above = [line for line in plan.pods if "AboveReplicas" in codes(line)]
    assert all(line.outcome is PodOutcome.DELAYED for line in above)
    return len(plan.pods) - len(above), len(above), plan.groups[0].desired


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param(0, (0, 8, 1), id="scaled to nothing"),
        pytest.param(4, (0, 8, 1), id="those that run are enough"),
        pytest.param(6, (2, 6, 2), id="two more are asked for: a node has room for four"),
        pytest.param(12, (8, 0, 3), id="all are asked for"),
        pytest.param(None, (8, 0, 3), id="nobody knows"),
    ],
)
def test_of_eight_pending_pods_next_to_four_that_run(replicas: int | None, expected: tuple[int, int, int]):
    assert _outcomes(8, 4, replicas) == expected


def test_a_stateful_set_deletes_by_ordinal():
    """Which of its pods go does not follow from their numbers, unless none is asked for."""
    assert _outcomes(2, 4, 4, "StatefulSet")[0] == 2
    assert _outcomes(2, 0, 0, "StatefulSet") == (0, 2, 1)
