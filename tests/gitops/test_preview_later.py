"""What a change does later: windows that open and holds that end within a day."""

import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import Hold, NodeGroup, PolicySet, ScaleDown, Size, Window
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Consequence
from reconciler.rendering.documents.preview.headline import headline
from reconciler.values.instant import instant_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

HOUR = 3600


@pytest.fixture
def world() -> World:
    """Three nodes, each with a pod of 1 of its 4 CPUs: no node is underutilized, and one would do."""
    cluster = ClusterBuilder()
    cluster.group("calm", nodes=3)
    for number in (1, 2, 3):
        cluster.pods(f"web{number}", 1, cpu="1", on=f"calm-{number}")
    return cluster.world()


def _group(**fields: object) -> NodeGroup:
    return node_group("calm", scale_down=ScaleDown(utilization_threshold_percent=10), **fields)  # type: ignore[arg-type]


def _preview(world: World, before: PolicySet, after: PolicySet) -> Preview:
    side = PreviewSide(source="x")
    return compare(world, NOW, (side, before), (side, after), DEFAULT_WORK_BUDGET)


def _later(shown: Preview) -> list[Consequence]:
    return [one for one in consequences(shown) if one.code == "Later"]


def _window(hours: int, most: int | None = 1, least: int | None = None) -> Window:
    """Opens so many hours after NOW, to the minute, every day."""
    clock = instant_text(NOW + hours * HOUR)[11:16].split(":")
    return Window(schedule=f"{int(clock[1])} {int(clock[0])} * * *", duration_seconds=HOUR, size=Size(min=least, max=most))


def test_a_window_that_removes_at_night(world: World) -> None:
    """Now nothing happens. Six hours from now the group may have one node: two go, one after the other, and a
    pod of the first moves on with that of the second."""
    before, after = policy(_group(max=3)), policy(_group(max=3, windows=(_window(6),)))
    shown = _preview(world, before, after)
    assert shown.impact_after.nodes_gone == ()
    (told,) = _later(shown)
    assert (told.grade, told.data["at"], told.data["groups"]) == ("caution", instant_text(NOW + 6 * HOUR), ("calm",))
    assert len(told.data["nodes"]) == 2  # type: ignore[arg-type]
    assert "2 more nodes are removed, of calm, with 3 more evictions" in told.message
    assert plain_sentence(headline(shown)).endswith(" of calm is added: within a day 2 more nodes are removed")
    assert _later(_preview(world, after, before)) == []
    assert _later(_preview(world, after, after)) == []


def test_a_hold_that_ends_sooner(world: World) -> None:
    """The group is above its maximum; until the hold ends nothing is done about it."""
    holds = [Hold(reason="a", until_seconds=NOW + hours * HOUR) for hours in (48, 6)]
    before, after = (policy(_group(max=2, hold=hold)) for hold in holds)
    (told,) = _later(_preview(world, before, after))
    assert told.data["at"] == instant_text(NOW + 6 * HOUR)
    assert "1 more node is removed, of calm, with 1 more eviction" in told.message
    assert _later(_preview(world, after, before)) == []


def test_what_happens_now_is_told_once(world: World) -> None:
    """Two nodes go now; the window asks for no more."""
    before, after = policy(_group(max=3)), policy(_group(max=1, windows=(_window(6),)))
    shown = _preview(world, before, after)
    assert len(shown.impact_after.nodes_gone) == 2
    assert _later(shown) == []


def test_nodes_that_come_later_are_a_note(world: World) -> None:
    before = policy(_group(max=9))
    after = policy(_group(max=9, windows=(_window(6, None, least=5),)))
    shown = _preview(world, before, after)
    (told,) = _later(shown)
    assert (told.grade, told.message) == (
        "note", f"At {instant_text(NOW + 6 * HOUR)}, with the pods of now: 2 more nodes are added.",
    )  # fmt: skip
    assert plain_sentence(headline(shown)) == "Window 0 14 * * * of calm is added: within a day 2 more nodes are added"


def test_a_window_beyond_the_day_is_not_looked_at(world: World) -> None:
    """It opens on one day of the year, half a year from now."""
    once = Window(schedule="0 0 15 7 *", duration_seconds=HOUR, size=Size(max=1))
    assert _preview(world, policy(_group(max=3)), policy(_group(max=3, windows=(once,)))).later == ()
