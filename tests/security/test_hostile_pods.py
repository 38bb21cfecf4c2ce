"""A tenant whose pods have as many constraints as the API server takes delays its own pods. Steps are counted, not seconds."""

import secrets
import sys
from types import FrameType

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from tests.builders import NOW, node_group, policy
from tests.security.hostile_pods import hostile_world


def _counted(world: World) -> tuple[Plan, int]:
    """The plan, and how many calls of Python functions it took."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        plan, _ = decide(world, policy(node_group("general", min=1, max=200)), Memory(), NOW)
    finally:
        sys.setprofile(before)
    return plan, calls


@pytest.mark.parametrize("running", [False, True])
def test_host_ports_cost_as_many_steps_as_there_are(running: bool) -> None:
    """Twice the pods with a hundred host ports each take about twice the calls; compared pairwise it was four times as many."""
    seed = secrets.randbits(32)
    (_, some), (plan, twice) = (_counted(hostile_world(seed, ("host ports",), pods, 100, running=running)) for pods in (240, 480))

    assert twice < 2.5 * some, seed
    assert all(line.reasons[0].code == "RoomOnNode" for line in plan.pods)
