"""What a preview says of a change of mode: each side is what happens under it."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import Mode, PolicySet
from reconciler.rendering.documents.preview.change_figures import change_figures
from reconciler.rendering.documents.preview.consequences.all import consequences
from tests.builders import NOW, ClusterBuilder, node_group, policy


@pytest.fixture
def world() -> World:
    """Group `busy` needs two more nodes, `calm` none."""
    cluster = ClusterBuilder()
    cluster.group("busy", nodes=1)
    cluster.pods("full", 1, cpu="4", on="busy-1")
    cluster.pods("web", 2, cpu="4", node_selector={"pool": "busy"})
    cluster.group("calm", nodes=1)
    cluster.pods("calm", 1, cpu="3", on="calm-1")
    return cluster.world()


def _policy(mode: Mode, own: Mode | None = None) -> PolicySet:
    return policy(node_group("busy", max=9, mode=own), node_group("calm", max=9), mode=mode)


def _preview(world: World, before: PolicySet, after: PolicySet) -> Preview:
    side = PreviewSide(source="x")
    return compare(world, NOW, (side, before), (side, after), DEFAULT_WORK_BUDGET)


def _sentences(shown: Preview) -> list[str]:
    return [one.message for one in consequences(shown)]


def test_observe_to_enforce_shows_what_begins(world: World) -> None:
    """Today nothing is written: the two nodes come because of the change."""
    shown = _preview(world, _policy(Mode.OBSERVE), _policy(Mode.ENFORCE))
    assert shown.comparison is not None
    (busy,) = (pair for pair in shown.comparison.groups if pair.either.name == "busy")
    assert busy.before is not None
    assert busy.after is not None
    assert (busy.before.desired, busy.before.settled, busy.after.desired) == (1, 1, 3)
    assert [pair.before for pair in shown.comparison.actions] == [None]
    assert len(shown.impact_before.waiting) == 2
    assert shown.impact_after.waiting == ()
    assert _sentences(shown)[0] == (
        "This turns writing on, mode Observe -> Enforce. 1 action follows now. Until the steady state, 2 nodes added."
    )
    assert "4 nodes in steady state instead of 2." in _sentences(shown)


def test_enforce_to_observe_shows_what_ends(world: World) -> None:
    shown = _preview(world, _policy(Mode.ENFORCE), _policy(Mode.OBSERVE))
    assert shown.plan.actions == ()
    assert _sentences(shown) == [
        "This turns writing off for busy, calm, mode Enforce -> Observe.",
        "2 more pods have nowhere to run (0 -> 2): shop/web-* (2).",
        "2 nodes in steady state instead of 4.",
    ]


@pytest.mark.parametrize("mode", list(Mode))
def test_the_same_mode_on_both_sides_differs_in_nothing(world: World, mode: Mode) -> None:
    """In Observe both sides are shown as they would act, so that a change of values can be judged before it counts."""
    shown = _preview(world, _policy(mode), _policy(mode))
    assert not shown.changed
    assert consequences(shown) == ()
    assert shown.untouched == ("busy", "calm")


def test_one_group_that_begins_to_write(world: World) -> None:
    shown = _preview(world, _policy(Mode.ENFORCE, own=Mode.OBSERVE), _policy(Mode.ENFORCE))
    assert _sentences(shown)[0].startswith("This turns writing on for busy, mode Observe -> Enforce. 1 action follows now.")
    assert shown.untouched == ("calm",)


def test_what_only_waits_longer_is_no_alarm(world: World) -> None:
    """`humanHoldTime` 1h -> 2h in Observe: the steady state is the same, however far it is from now."""
    before = _policy(Mode.OBSERVE)
    after = msgspec.structs.replace(before, policy=msgspec.structs.replace(before.policy, human_hold_time_seconds=7200))
    assert consequences(_preview(world, before, after)) == ()


def test_a_group_that_observes_beside_others_is_held_on_both_sides(world: World) -> None:
    """The loop writes to `calm` and not to `busy`, whatever else changes of them: what `busy` would do is said, and not done."""
    before = policy(node_group("busy", max=9, mode=Mode.OBSERVE), node_group("calm", max=9), mode=Mode.ENFORCE)
    after = policy(node_group("busy", max=9, mode=Mode.OBSERVE), node_group("calm", min=2, max=9), mode=Mode.ENFORCE)
    shown = _preview(world, before, after)
    assert {action.group for action in shown.plan.actions} == {"calm"}
    (busy,) = (line for line in shown.plan.groups if line.name == "busy")
    assert (busy.held, busy.current, busy.settled, busy.wanted) == (True, 1, 1, 3)
    assert len(shown.impact_before.waiting) == len(shown.impact_after.waiting) == 2


def test_a_group_that_gets_another_target(world: World) -> None:
    """`busy` goes to the target of `calm`: its own one keeps its one node, which nobody sizes any more."""
    other = msgspec.structs.replace(node_group("busy", max=9), target=node_group("calm").target)
    shown = _preview(world, policy(node_group("busy", max=1)), policy(other))
    left = "MachineDeployment prod/busy of busy leaves the policy: its target keeps its size, and nothing scales it."
    assert left in _sentences(shown)
    assert "MachineDeployment prod/calm of busy comes into the policy, which sizes it from now on." in _sentences(shown)
    nodes = change_figures(shown)[0]
    assert (nodes.today, nodes.after) == (2, 2)


def test_two_groups_that_change_their_targets(world: World) -> None:
    """No target leaves, none comes."""
    names = {"busy": "calm", "calm": "busy"}
    swapped = [msgspec.structs.replace(node_group(name, max=1), target=node_group(other).target) for name, other in names.items()]
    shown = _preview(world, policy(node_group("busy", max=1), node_group("calm", max=1)), policy(*swapped))
    assert not any("leave" in told or "come" in told for told in _sentences(shown))
    assert (change_figures(shown)[0].today, change_figures(shown)[0].after) == (2, 2)
