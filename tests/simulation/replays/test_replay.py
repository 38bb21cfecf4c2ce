"""Replays whose figures can be told by hand."""

import msgspec
import pytest

from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.policy.documents import Headroom, Hold, PolicySet, ScaleDown, Size, Template, Window
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.replay import figure_lines, note_words
from reconciler.simulation.replays.curve import read_curve
from reconciler.simulation.replays.replay import replay
from reconciler.simulation.replays.trace import Trace
from tests.builders import ClusterBuilder
from tests.policies import node_group, policy

HOUR = 3_600
FOUR_CORES = Template(capacity=(("cpu", 4_000), ("memory", 16 << 30), ("pods", 110)))
QUICK = ScaleDown(unneeded_time_seconds=60)


def rules(**fields: object) -> PolicySet:
    """One group of nodes with four cores for a dollar an hour, without anything held back."""
    group = node_group("general", template=FOUR_CORES, price_per_hour="1", scale_down=QUICK)
    return policy(msgspec.structs.replace(group, **fields))


def curve(*pods: tuple[int, int], until: int = 4 * HOUR) -> Trace:
    """Pods of a core: (seconds, pods)."""
    lines = "".join(f"{at},{count}\n" for at, count in pods)
    last = pods[-1][1]
    trace = read_curve("curve", f"time,pods\n{lines}{until},{last}\n")
    return msgspec.structs.replace(trace, end_seconds=trace.start_seconds + until)


def figures(found: Replay) -> ReplayFigures:
    return found.sides[0]


def test_what_pods_wait_and_nodes_cost():
    """Four pods fill a node; four more wait 90 s for another, which lasts until the end.

    One node for 4 h, one from 1 h + 90 s on: 4 h + 2 h 58.5 min = 6.975 node hours at a dollar. Waited: 4 x 90 s = 6 minutes.
    """
    side = figures(replay([("a", rules())], curve((0, 4), (HOUR, 8))))
    assert (side.pods_placed, side.wait_p50_seconds, side.wait_p99_seconds) == (4, 90, 90)
    assert side.unplaced_pod_seconds == 4 * 90
    assert side.node_seconds == 4 * HOUR + 3 * HOUR - 90
    assert side.cost == "6.98"
    assert (side.peak_nodes, side.grown_nodes, side.removed_nodes) == (2, 1, 0)
    # 4 pods x 4 h and 4 pods x 3 h were asked for; 360 s of that without a node.
    assert side.served_ppm == 1_000_000 * (28 * HOUR - 360) // (28 * HOUR)


def test_percentiles_by_nearest_rank():
    """Of twenty pods nineteen find room at once and one waits: p50 and p95 are 0, p99 is the wait."""
    spare = rules(size=Size(min=5, max=10))
    side = figures(replay([("a", spare)], curve((0, 0), (HOUR, 19), (HOUR + 30, 20), (2 * HOUR, 21))))
    assert side.pods_placed == 21
    assert (side.wait_p50_seconds, side.wait_p95_seconds, side.wait_p99_seconds, side.wait_max_seconds) == (0, 0, 90, 90)


def test_pods_that_never_get_a_node_count_until_the_end():
    """A limit of one node: four of eight pods wait three hours, and are pending at the end. Nobody knows how much longer they
    wait, so each figure that falls on one of them is the length of the replay, and is told as longer."""
    found = replay([("a", rules(size=Size(min=0, max=1)))], curve((0, 4), (HOUR, 8)))
    side = figures(found)
    assert (side.pods_pending, side.unplaced_pod_seconds) == (4, 4 * 3 * HOUR)
    assert (side.pods_placed, side.pods_never_placed) == (0, 4)
    assert (side.wait_p50_seconds, side.wait_max_seconds) == (4 * HOUR, 4 * HOUR)
    cells = {line.name: line.cells for line in figure_lines(found)}
    assert cells["time to schedule, longest"] == cells["time to schedule, p50"] == ("longer than 4h",)
    assert cells["pods that never got a node"] == ("4",)


def test_percentiles_count_pods_that_never_get_a_node_as_the_longest():
    """Room for ten pods more: of twelve ten find it at once. By nearest rank p50 is the 6th, at 0 s, and p95 the 12th, without a
    node. Two of them are taken back before the end, and never got one all the same."""
    spare = rules(size=Size(min=5, max=5))
    found = replay([("a", spare)], curve((0, 10), (HOUR, 22), (2 * HOUR, 20)))
    side = figures(found)
    assert (side.pods_placed, side.pods_pending, side.pods_never_placed) == (10, 0, 2)
    assert (side.wait_p50_seconds, side.wait_p95_seconds, side.wait_max_seconds) == (0, 4 * HOUR, 4 * HOUR)
    cells = {line.name: line.cells for line in figure_lines(found)}
    assert cells["time to schedule, p50"] == ("0s",)
    assert cells["time to schedule, p95"] == ("longer than 4h",)


def test_nodes_that_come_before_the_figures_begin_are_told():
    """Eight pods from the start need two nodes, which come in the hour before; then a third one comes, and the peak is three."""
    found = replay([("a", rules())], curve((0, 8), (HOUR, 9)))
    side = figures(found)
    assert (side.lead_grown_nodes, side.start_nodes, side.grown_nodes, side.peak_nodes) == (2, 2, 1, 3)
    cells = {line.name: line.cells for line in figure_lines(found)}
    assert cells["nodes grown before the figures begin"] == ("2",)
    assert cells["nodes when the figures begin"] == ("2",)


def test_groups_that_could_not_grow_are_named():
    """One is held in git, one has no node and nothing says what one would offer: no figure says anything about the policy."""
    cluster = ClusterBuilder()
    cluster.group("held", nodes=1)
    cluster.target("unknown", 0)
    held = msgspec.structs.replace(node_group("held"), hold=Hold(reason="a recovery"))
    world = cluster.world()
    both = policy(held, node_group("unknown"))
    found = replay([("a", both)], curve((0, 2)).at_same_hour(world, HOUR), world)
    side = figures(found)
    assert side.held_groups == ("held",)
    assert side.groups_without_template == ("unknown",)
    assert not side.could_grow
    assert tuple(map(plain_sentence, note_words(found)[:3])) == (
        "test: no group could grow, so the figures say nothing about this policy",
        "test: held all the time: held",
        "test: the capacity of a new node is unknown: unknown",
    )


def test_a_group_that_is_held_for_a_while_could_grow():
    """The hold ends an hour after the figures begin."""
    free = rules()
    until = curve((0, 2)).start_seconds + HOUR
    side = figures(replay([("a", rules(hold=Hold(reason="a recovery", until_seconds=until)))], curve((0, 2))))
    assert (side.held_groups, side.could_grow) == ((), True)
    assert figures(replay([("a", free)], curve((0, 2)))).could_grow


def test_unneeded_nodes_go():
    """Demand falls from eight pods to four: after a minute and the deletion one node is left."""
    side = figures(replay([("a", rules())], curve((0, 8), (HOUR, 4))))
    assert (side.grown_nodes, side.removed_nodes) == (0, 1)
    assert 4 * HOUR + HOUR + 60 <= side.node_seconds <= 4 * HOUR + HOUR + 60 + 120


def test_a_window_opens_although_nothing_happens():
    """From 02:05 on for an hour two nodes are the least: they are asked for in that turn, and go when it is over."""
    nightly = Window(schedule="5 2 * * *", duration_seconds=HOUR, size=Size(min=2))
    side = figures(replay([("a", rules(windows=(nightly,)))], curve((0, 0), until=4 * HOUR)))
    assert (side.peak_nodes, side.grown_nodes, side.removed_nodes) == (2, 2, 2)
    # From 02:05 to 03:05, less the 90 s that they take to come, plus the minute unneeded, rounding and deletion.
    assert 2 * (HOUR - 90) <= side.node_seconds <= 2 * (HOUR - 90 + 60 + 120)


def test_what_eviction_loses():
    """Five pods, four on one node and one on the other; one of the four goes, and the lonely one moves into its place.

    It had run since an hour before the figures begin plus the 90 s of its node. The one that went is gone 30 s after 01:00, a
    minute later the node is unneeded: 2 h. A pod is a quarter of a node at a dollar: 2 h x 0.25.
    """
    side = figures(replay([("a", rules())], curve((0, 5), (HOUR, 4))))
    assert (side.evictions, side.lost_pod_seconds, side.lost_cost) == (1, 2 * HOUR, "0.50")


def test_both_sides_pay_the_price_that_one_of_them_knows():
    """A policy that says nothing of prices is charged what the other says."""
    found = replay([("a", rules()), ("b", rules(price_per_hour=None))], curve((0, 4)))
    assert [side.cost for side in found.sides] == ["4.00", "4.00"]
    assert [side.unpriced for side in found.sides] == [(), ()]


def test_no_price_at_all():
    """Without any price the cost is unknown and the target is named."""
    side = figures(replay([("a", rules(price_per_hour=None))], curve((0, 4))))
    assert (side.cost, side.lost_cost, side.unpriced) == (None, None, ("MachineDeployment prod/general",))


def test_on_a_cluster_its_pods_stay():
    """Two nodes with a pod of three cores each: a curve of two cores takes one core of each, and nothing grows."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4", memory="16Gi")
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    world = cluster.world()
    trace = curve((0, 2)).at_same_hour(world, HOUR)
    side = figures(replay([("a", policy(node_group("general", min=2)))], trace, world))
    assert (side.grown_nodes, side.peak_nodes, side.pods_pending) == (0, 2, 0)


def test_same_inputs_same_figures():
    """Twice the same, with up and down and evictions in it."""
    trace = curve((0, 4), (600, 30), (1_200, 7), (5_000, 22), (9_000, 3))
    assert replay([("a", rules())], trace) == replay([("a", rules())], trace)


@pytest.mark.parametrize("headroom", [Headroom(), Headroom(nodes=1)])
def test_progress_ends_at_the_end(headroom: Headroom):
    """Whoever shows progress hears steps that never go back and end with everything done."""
    heard: list[tuple[int, int]] = []
    replay([("a", rules(headroom=headroom))], curve((0, 4), (HOUR, 9)), progress=lambda done, of: heard.append((done, of)))
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1] == (5 * HOUR, 5 * HOUR)
