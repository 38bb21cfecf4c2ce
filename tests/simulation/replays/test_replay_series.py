"""The series of a replay: against traces that can be told by hand, and against the figures of any trace."""

import secrets
from random import Random

from reconciler.plan.replay import ReplayFigures
from reconciler.policy.documents import Size
from reconciler.simulation.figures.sampled_series import MOST_STEPS, MOST_TARGETS
from reconciler.simulation.replays.replay import replay
from reconciler.simulation.replays.trace import Trace
from tests.builders import ClusterBuilder
from tests.policies import node_group, policy
from tests.simulation.replays.test_replay import FOUR_CORES, HOUR, QUICK, curve, figures, rules

COLUMNS = (
    "demand_cpu_milli", "demand_memory_bytes", "capacity_cpu_milli", "capacity_memory_bytes", "pending_pods", "nodes",
    "evictions",
)  # fmt: skip


def test_growth_step_by_step():
    """Four hours in 240 steps of a minute. Four pods of a core more come at 1 h, wait 90 s for a second node of four cores, at a
    dollar an hour: so they are pending in the minutes 60 and 61, and the node is there from the minute 61 on.

    After the minute 59 an hour of one node is paid, after the minute 61 3,720 s of one and 30 s of the other: 1.0417.
    """
    side = figures(replay([("a", rules())], curve((0, 4), (HOUR, 8))))
    series = side.series
    assert series.step_seconds == 60
    assert series.demand_cpu_milli == (4_000,) * 60 + (8_000,) * 180
    assert series.pending_pods == (0,) * 60 + (4, 4) + (0,) * 178
    assert series.capacity_cpu_milli == (4_000,) * 61 + (8_000,) * 179
    assert series.capacity_memory_bytes == (16 << 30,) * 61 + (32 << 30,) * 179
    assert series.nodes == (1,) * 61 + (2,) * 179
    assert [(line.target, line.nodes) for line in series.targets] == [("MachineDeployment prod/general", series.nodes)]
    assert series.evictions == (0,) * 240
    assert series.cost is not None
    assert (series.cost[0], series.cost[59], series.cost[61], series.cost[-1]) == ("0.02", "1.00", "1.04", "6.98")


def test_memory_follows_the_pods():
    """A pod of a curve requests 2Gi where the curve says nothing else."""
    memory = figures(replay([("a", rules())], curve((0, 4), (HOUR, 8), (2 * HOUR, 2)))).series.demand_memory_bytes
    assert (memory[0], memory[100], memory[-1]) == (8 << 30, 16 << 30, 4 << 30)


def test_an_eviction_is_in_its_minute():
    """As `test_what_eviction_loses` has it: the pod ran since 90 s into the hour before, and goes two hours later, at 3,690 s."""
    series = figures(replay([("a", rules())], curve((0, 5), (HOUR, 4)))).series
    assert [minute for minute, pods in enumerate(series.evictions) if pods] == [61]
    assert sum(series.evictions) == 1


def test_without_a_price_there_is_no_cost():
    """None, as in the figures."""
    assert figures(replay([("a", rules(price_per_hour=None))], curve((0, 4)))).series.cost is None


def test_pods_of_the_cluster_are_demand_and_those_of_daemonsets_are_not():
    """Two pods of three cores, two of a DaemonSet, and a curve of two cores: eight cores are demand, of two nodes with ten."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="5", memory="16Gi")
    cluster.pods("web", 2, cpu="3", on=["general-1", "general-2"])
    cluster.pods("agent", 2, cpu="500m", owner="DaemonSet", namespace="kube-system", on=["general-1", "general-2"])
    world = cluster.world()
    trace = curve((0, 2)).at_same_hour(world, HOUR)
    series = figures(replay([("a", policy(node_group("general", min=2)))], trace, world)).series
    assert set(series.demand_cpu_milli) == {8_000}
    assert set(series.capacity_cpu_milli) == {10_000}
    assert set(series.nodes) == {2}


def check(side: ReplayFigures) -> None:
    """What a series has to keep to, whatever the trace."""
    series, seconds = side.series, 4 * HOUR
    steps = len(series.nodes)
    assert 1 <= steps <= MOST_STEPS
    assert (steps - 1) * series.step_seconds < seconds <= steps * series.step_seconds
    for name in COLUMNS:
        column = getattr(series, name)
        assert len(column) == steps, name
        assert all(isinstance(value, int) and value >= 0 for value in column), name
    assert max(series.nodes) == side.peak_nodes
    assert series.nodes[0] >= side.start_nodes
    assert sum(series.evictions) == side.evictions
    assert len(series.targets) <= MOST_TARGETS
    assert [sum(column) for column in zip(*(line.nodes for line in series.targets), strict=True)] in ([], list(series.nodes))
    assert sum(nodes * series.step_seconds for nodes in series.nodes) >= side.node_seconds
    assert sum(pods * series.step_seconds for pods in series.pending_pods) >= side.unplaced_pod_seconds
    assert (max(series.pending_pods) > 0) == (side.unplaced_pod_seconds > 0 or side.pods_pending > 0)
    assert series.pending_pods[-1] >= side.pods_pending
    if series.cost is not None:
        cents = [round(float(amount) * 100) for amount in series.cost]
        assert len(cents) == steps
        assert cents == sorted(cents)
        assert series.cost[-1] == side.cost


def random_trace(random: Random) -> Trace:
    """Demand that comes and goes at any second of four hours, up to thirty pods."""
    instants = sorted(random.sample(range(1, 4 * HOUR), random.randint(1, 40)))
    return curve((0, random.randint(0, 30)), *((at, random.randint(0, 30)) for at in instants))


def test_series_and_figures_agree_on_any_trace():
    """Random demand on two groups, one of which may be too small, with and without prices; twice the same."""
    for _ in range(6):
        seed = secrets.randbits(32)
        random = Random(seed)
        price = random.choice(("1", "0.333", None))
        groups = (
            node_group("a", template=FOUR_CORES, price_per_hour=price, scale_down=QUICK, size=Size(max=random.randint(0, 9))),
            node_group("b", template=FOUR_CORES, price_per_hour=price, scale_down=QUICK, size=Size(max=random.randint(0, 9))),
        )
        trace = random_trace(random)
        try:
            side = figures(replay([("x", policy(*groups))], trace))
            check(side)
            assert figures(replay([("x", policy(*groups))], trace)) == side
        except AssertionError:
            print(f"seed {seed}")
            raise
