"""What holds over time, added up and told in steps: against what can be told by hand."""

import msgspec
import pytest

from reconciler.cluster.values.resources import Resources
from reconciler.plan.replay import ReplaySeries
from reconciler.simulation.figures.sampled_series import MOST_STEPS, SeriesSampler

CORE = Resources(cpu_milli=1_000, memory_bytes=2 << 30, pods=1)
NODE = Resources(cpu_milli=4_000, memory_bytes=16 << 30, pods=110)


def test_node_time_pod_time_and_cost_are_added_up_once():
    """An hour of 240 steps of 15 s. One node of 7.20 an hour (1 cent in 5 s) for all of it, another from 600 s to 1,800 s: 4,800
    node seconds are 9.60. One pod waits from 100 s, is bound at 130 s and leaves at 1,130 s; another waits from 3,000 s on."""
    sampler = SeriesSampler(0, 3_600, {"t": 7_200_000})
    sampler.node_joined(0, "t", NODE)
    sampler.pod_came(100, CORE, waits=True)
    sampler.pod_bound(130)
    sampler.node_joined(600, "t", NODE)
    sampler.pod_went(1_130, CORE, waited=False)
    sampler.node_went(1_800, "t", NODE)
    sampler.pod_came(3_000, CORE, waits=True)
    series = sampler.close(3_600)
    assert sampler.node_seconds == {"t": 4_800}
    assert (sampler.unplaced_pod_seconds, sampler.placed_pod_seconds) == (30 + 600, 1_000)
    assert series.cost is not None
    assert (series.cost[0], series.cost[40], series.cost[-1]) == ("0.03", "1.26", "9.60")


@pytest.mark.parametrize("seconds", [1, 59, 240, 241, 86_400 * 60])
def test_any_length_is_told_in_at_most_240_steps(seconds: int):
    """A pod a second before the end, and a node at the very end: both are in the last step."""
    sampler = SeriesSampler(1_000, 1_000 + seconds, {"t": 3_600})
    sampler.node_joined(1_000, "t", NODE)
    sampler.pod_came(1_000 + seconds - 1, CORE, waits=True)
    sampler.node_joined(1_000 + seconds, "t", NODE)
    series = sampler.close(1_000 + seconds)
    assert len(series.nodes) <= MOST_STEPS
    assert (len(series.nodes) - 1) * series.step_seconds < seconds <= len(series.nodes) * series.step_seconds
    assert (series.pending_pods[-1], series.nodes[-1], series.demand_cpu_milli[-1]) == (1, 2, 1_000)


def sampled(nodes: dict[str, int]) -> ReplaySeries:
    """So many nodes of each target for a minute."""
    sampler = SeriesSampler(0, 60, {})
    for target, number in nodes.items():
        for _ in range(number):
            sampler.node_joined(0, target, NODE)
    return sampler.close(60)


def test_the_largest_targets_are_told_by_name():
    """Of ten targets six; the others are in the total. Equal ones go by name, and those that nobody sizes count as one."""
    series = sampled({f"t{number}": 1 + number // 2 for number in range(9)} | {"": 7})
    assert [line.target for line in series.targets] == ["", "t8", "t6", "t7", "t4", "t5"]
    assert set(series.nodes) == {7 + 1 + 1 + 2 + 2 + 3 + 3 + 4 + 4 + 5}


def test_what_lasts_no_time_counts_only_as_a_peak_of_nodes():
    """A pod that comes and goes in the same second was never pending; a node that joins as another goes makes the peak."""
    sampler = SeriesSampler(0, 240, {})
    sampler.node_joined(0, "t", NODE)
    sampler.pod_came(100, CORE, waits=True)
    sampler.pod_went(100, CORE, waited=True)
    sampler.node_joined(200, "t", NODE)
    sampler.node_went(200, "t", NODE)
    series = sampler.close(240)
    assert max(series.pending_pods) == max(series.demand_cpu_milli) == 0
    assert [second for second, nodes in enumerate(series.nodes) if nodes == 2] == [200]
    assert set(series.capacity_cpu_milli) == {4_000}


def test_values_are_frozen():
    """Nobody changes a series."""
    series = sampled({"t": 1})
    with pytest.raises(AttributeError):
        series.step_seconds = 1  # type: ignore[misc]
    assert msgspec.structs.replace(series, step_seconds=1).nodes == series.nodes
