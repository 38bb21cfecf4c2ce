"""Windows that change when nodes may be removed, and windows between two dates. Now is Friday, 2027-01-15T08:00:00Z."""

import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Consolidation, PodWeight, ScaleDown, Size, Toggle, Window
from reconciler.policy.documents.group_fields import GROUP_FIELDS
from reconciler.policy.field import rooted, walk
from reconciler.policy.group_value import group_value
from reconciler.policy.pace import Pace
from reconciler.simulation.timers import next_timer_seconds
from tests.builders import NOW, ClusterBuilder, node_group, policy

HOUR = 3600
CALM = Pace(delay_after_add_seconds=0, delay_after_delete_seconds=0, delay_after_failure_seconds=0)
QUICK = ScaleDown(unneeded_time_seconds=60)
BUILT_IN = ScaleDown()


def _window(scale_down: ScaleDown[None], start: str = "0 8", hours: int = 2, **dates: int) -> Window:
    return Window(name="night", schedule=f"{start} * * *", duration_seconds=hours * HOUR, scale_down=scale_down, **dates)


def _decided(*windows: Window, now: int = NOW, own: ScaleDown[None] = BUILT_IN) -> tuple[str, list[str], int | None]:
    """When the only, empty node that is unneeded for five minutes may go, why it waits, and the next timer."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world, rules = cluster.world(), policy(node_group("general", windows=windows, scale_down=own), pace=CALM)
    plan, after = decide(world, rules, Memory(unneeded_since={"general-1": now - 300}), now)
    (line,) = plan.nodes
    return line.removable_at or "", [one.code for one in line.blockers], next_timer_seconds(plan, after, rules.policy, now)


def test_an_open_window_shortens_the_time() -> None:
    """Ten minutes by default, of which five are over; one minute while the window is open."""
    assert _decided()[0] == "2027-01-15T08:05:00Z"
    assert _decided(_window(QUICK))[1] == []
    assert _decided(_window(QUICK, start="0 9"))[0] == "2027-01-15T08:05:00Z"


def test_an_open_window_comes_before_the_group_itself() -> None:
    """The group says two hours; the window replaces that value and no other one."""
    own = ScaleDown(unneeded_time_seconds=2 * HOUR, utilization_threshold_percent=20)
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    rules = policy(node_group("general", windows=(_window(QUICK),), scale_down=own))
    (group,) = effective_groups(cluster.world(), rules, NOW)
    assert (group.scale_down.unneeded_time_seconds, group.scale_down.utilization_threshold_percent) == (60, 20)
    chain = group.chains["scaleDown.unneededTime"]
    assert [origin.value for origin in chain] == ["1m", "2h", "10m"]
    assert chain[0].source.endswith("(window night, open until 2027-01-15T10:00:00Z)")
    (later,) = effective_groups(cluster.world(), rules, NOW + 2 * HOUR)
    assert later.scale_down.unneeded_time_seconds == 2 * HOUR


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_open_windows_the_strictest_value_counts(turned: bool) -> None:
    """Value by value, whichever window comes first; money is compared as an amount."""
    loose = ScaleDown(consolidation=Consolidation(mode=Toggle.ENABLED, min_saving_per_moved_pod="0.50"), unneeded_time_seconds=60,
                      utilization_threshold_percent=20)  # fmt: skip
    strict = ScaleDown(consolidation=Consolidation(mode=Toggle.DISABLED, min_saving_per_moved_pod="0.5"), unneeded_time_seconds=7,
                       utilization_threshold_percent=90, mode=Toggle.DISABLED)  # fmt: skip
    windows = (_window(loose), _window(strict))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    rules = policy(node_group("general", windows=windows[::-1] if turned else windows))
    (group,) = effective_groups(cluster.world(), rules, NOW)
    found = group.scale_down
    assert (found.mode, found.consolidation.mode) == (Toggle.DISABLED, Toggle.DISABLED)
    assert (found.unneeded_time_seconds, found.utilization_threshold_percent) == (60, 20)
    assert found.consolidation.min_saving_per_moved_pod in ("0.50", "0.5")
    assert [origin.value for origin in group.chains["scaleDown.unneededTime"]] == ["1m", "7s", "10m"]


def test_every_value_of_a_window_has_a_strictest_one() -> None:
    """Else two open windows could contradict each other."""
    (scale_down,) = (field for field in GROUP_FIELDS if field.yaml_key == "scaleDown")
    paths = [one.path for one in walk(rooted(scale_down, "scaleDown")) if not one.children]
    scalars = [path for path in paths if not path.startswith("scaleDown.consolidation.podWeights")]
    assert [path for path in scalars if not group_value(path).ordered] == []


@pytest.mark.parametrize("turned", [False, True])
def test_pod_weights_of_two_open_windows_are_added_together(turned: bool) -> None:
    """They replace those of the group, and the largest weight for a pod counts, whichever window comes first."""
    five, nine, two = (PodWeight(labels=(("app", app),), weight=weight) for app, weight in (("db", 5), ("db", 9), ("web", 2)))
    listed = [_window(ScaleDown(consolidation=Consolidation(pod_weights=(one,)))) for one in (five, nine)]
    own = ScaleDown(consolidation=Consolidation(pod_weights=(two,)))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    found = []
    for windows in (listed[::-1] if turned else listed, listed[:1], []):
        rules = policy(node_group("general", windows=tuple(windows), scale_down=own))
        (group,) = effective_groups(cluster.world(), rules, NOW)
        found.append(group.scale_down.consolidation.pod_weights)
    assert found == [(five, nine), (five,), (two,)]
    assert [origin.value for origin in group.chains["scaleDown.consolidation.podWeights"]] == ["2 x app=web", "none"]


def test_a_window_that_turns_removals_off_when_the_node_is_due() -> None:
    """Due at 08:05, but from 08:03 on nothing is removed for two hours."""
    off = _window(ScaleDown(mode=Toggle.DISABLED), start="3 8")
    when, codes, timer = _decided(off)
    assert (when, codes, timer) == ("2027-01-15T10:03:00Z", ["RemovalsOffByWindow"], NOW + 2 * HOUR + 180)
    assert _decided(_window(QUICK, start="3 8"), off)[1] == ["RemovalsOffByWindow"]  # the first does not set the mode
    assert _decided(_window(ScaleDown(mode=Toggle.ENABLED), start="3 8"), off)[1] == ["RemovalsOffByWindow"]


@pytest.mark.parametrize(
    ("begins", "ends", "minimum"),
    [(0, 1, 3), (-1, 0, 1), (1, 2, 1), (-1, 1, 3)],
    ids=["from now", "until now", "from later", "from before"],
)
def test_a_window_between_two_dates(begins: int, ends: int, minimum: int) -> None:
    """In hours from now: its first instant is in it, its last one is not."""
    window = Window(from_seconds=NOW + begins * HOUR, until_seconds=NOW + ends * HOUR, size=Size(min=3))
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    (group,) = effective_groups(cluster.world(), policy(node_group("general", min=1, windows=(window,))), NOW)
    assert group.min_size == minimum
    if minimum == 3:
        (open_now,) = [reason.message for reason in group.reasons if reason.code == "WindowOpen"]
        assert open_now == f"window #1 (from 2027-01-15T0{8 + begins}:00:00Z) is open until 2027-01-15T0{8 + ends}:00:00Z"


@pytest.mark.parametrize(
    ("dates", "minimum", "until"),
    [
        ({"from_seconds": NOW}, 3, "10:00"),  # the schedule opened it at that very instant
        ({"from_seconds": NOW + 1}, 1, ""),
        ({"until_seconds": NOW + HOUR}, 3, "09:00"),  # the date is earlier than the end of the span
        ({"until_seconds": NOW}, 1, ""),
        ({"from_seconds": NOW - HOUR, "until_seconds": NOW + 5 * HOUR}, 3, "10:00"),
    ],
)
def test_dates_limit_a_schedule(dates: dict[str, int], minimum: int, until: str) -> None:
    """Daily from 08:00 for two hours."""
    window = Window(schedule="0 8 * * *", duration_seconds=2 * HOUR, size=Size(min=3), **dates)
    cluster = ClusterBuilder()
    cluster.group("general", nodes=3)
    (group,) = effective_groups(cluster.world(), policy(node_group("general", min=1, windows=(window,))), NOW)
    assert group.min_size == minimum
    messages = [reason.message for reason in group.reasons if reason.code == "WindowOpen"]
    assert [message[-9:-4] for message in messages] == ([until] if until else [])
