"""A second writer is told from the second undone write on, with the pods that keep asking."""

import pytest

from reconciler.decisions.memory import ConflictState, Memory
from reconciler.plan.plan import Plan
from reconciler.plan.reason import Reason
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of

TARGET = "MachineDeployment prod/general"


def _plan(times: int, pods: int) -> Plan:
    cluster = ClusterBuilder()
    cluster.pods("full", 1, cpu="4", on=cluster.group("general", nodes=1)[0])
    cluster.pods("web", pods, cpu="4")
    state = ConflictState(count=times, last_seconds=NOW - 60, writer="terraform", ours=6, theirs=1)
    return plan_of(cluster.world(), policy(node_group("general")), Memory(conflicts={TARGET: state}))


def _reasons(plan: Plan) -> list[Reason]:
    return [reason for reason in group(plan, "general").reasons if reason.code == "Conflict"]


@pytest.mark.parametrize(("times", "said", "held"), [(1, False, False), (2, True, False), (3, True, True)])
def test_said_from_the_second_time_and_held_from_the_third(times: int, said: bool, held: bool) -> None:
    """Once may be an accident; twice is a conflict; three times ends our writes."""
    plan = _plan(times, 1)
    assert (bool(_reasons(plan)), group(plan, "general").held) == (said, held)
    assert bool(plan.actions) is not held


def test_the_pods_that_keep_asking_are_named_and_counted() -> None:
    """Five pods: three by name."""
    (reason,) = _reasons(_plan(3, 5))
    assert reason.message == (
        "terraform undid our writes 3 times, the last from 6 to 1, while shop/web-1, shop/web-2, shop/web-3 and 2 more keep "
        "requesting 6. Nothing is written until that stops and the group has been held and released"
    )


def test_without_pods_nobody_asks() -> None:
    """The sentence names the writer and the values alone."""
    (reason,) = _reasons(_plan(2, 0))
    assert reason.message == "terraform undid our writes 2 times, the last from 6 to 1. Writes stop after 3 times"


def test_few_pods_are_all_named() -> None:
    """Three: nobody else asks."""
    (reason,) = _reasons(_plan(3, 3))
    assert "shop/web-1, shop/web-2, shop/web-3 keep requesting 6" in reason.message
    assert (reason.data["asking"], reason.data["moreAsking"]) == (("shop/web-1", "shop/web-2", "shop/web-3"), 0)
