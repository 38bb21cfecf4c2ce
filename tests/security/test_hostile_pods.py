"""A tenant whose pods have as many constraints as the API server takes delays its own pods. Steps are counted, not seconds."""

import secrets
import sys
import tracemalloc
from types import FrameType

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide_counted
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan
from reconciler.scheduling import topology_rules as rules
from reconciler.scheduling.state import SchedulingState
from tests.builders import NOW, node_group, policy
from tests.security.hostile_pods import KINDS, TENANT, hostile_world

_CALLS_OF_A_POD = 200
"""Those that a pod takes in which nothing is written but its name."""


def _counted(world: World) -> tuple[Plan, int]:
    """The plan, and how many calls of Python functions it took."""
    return _charged(world)[:2]


def _charged(world: World) -> tuple[Plan, int, Work]:
    """The same with the work that was counted, within no bound."""
    calls, work = 0, Work(1 << 60)

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        plan, _ = decide_counted(world, policy(node_group("general", min=1, max=200)), Memory(), NOW, work)
    finally:
        sys.setprofile(before)
    return plan, calls, work


def _remembered(world: World) -> int:
    """How much a state holds that was asked about every pod, in bytes."""
    tracemalloc.start()
    try:
        state = SchedulingState(world)
        for shape in range(state.shape_count):
            state.verdict(shape, 0)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_a_pod_can_ask_for_costs_as_many_steps_as_there_is(
    kind: str, running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the pods with so many terms, ports or volumes each take about twice the calls; pairwise it was four times as many.

    Rules of pods that wait are forgotten from the first on, not only from one of the two numbers on.
    """
    if not running:
        monkeypatch.setattr(rules, "_MOST_BYTES", 0)
    seed = secrets.randbits(32)
    # More than two to a node, where they run.
    many = 240 if running else 60
    (_, some), (plan, twice) = (_counted(hostile_world(seed, (kind,), pods, 100, running=running)) for pods in (many, 2 * many))

    assert twice < 2.5 * some, seed
    ordinary = [line.reasons[0].code for line in plan.pods if not line.pod.startswith(f"{TENANT}/")]
    # kube-scheduler lets nobody near pods that run and keep all namespaces away.
    kept_away = running and kind == "other namespaces"
    assert ordinary == ["NoGroupFits" if kept_away else "RoomOnNode"] * 100


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_written_in_a_pod_is_charged(kind: str, running: bool) -> None:
    """The steps that are booked stand for the calls that are made, whatever is written: a field that nobody charges for would
    let its namespace take more than its share."""
    seed = secrets.randbits(32)
    worlds = (hostile_world(seed, (kind,), pods, 100, running=running) for pods in (0, 40))
    (before, free), (calls, work) = ((calls, work.spent) for _, calls, work in map(_charged, worlds))

    assert calls - before < 2 * (work - free) + 40 * _CALLS_OF_A_POD, seed


def test_a_plan_does_not_repeat_all_that_is_written_in_pods() -> None:
    """A pod with a thousand labels in its node selector is told why no group takes it in a text that somebody can read."""
    seed = secrets.randbits(32)
    plan, _ = _counted(hostile_world(seed, ("node selector",), 2, 10))

    texts = [reason.message for line in plan.pods for reason in line.reasons]
    assert any("characters more" in text for text in texts), seed
    assert max(map(len, texts)) < 3_000, seed


@pytest.mark.parametrize("kind", ["anti-affinity", "affinity", "spread", "own sets", "own domains", "own keys"])
def test_what_is_remembered_of_terms_is_bounded(kind: str) -> None:
    """Of 400 pods with fifty terms each: a list of watchers a shape took 200 MB, four times as much for twice the pods."""
    seed = secrets.randbits(32)

    assert _remembered(hostile_world(seed, (kind,), 400, 0)) < 48 << 20, seed
