"""First fit on traces that are small enough to follow by hand, and the bound below it."""

import shutil

import pytest

from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace
from tests.benchmarks.decisions.arrivals import bound_micros, day, machine_types
from tests.benchmarks.decisions.first_fit import FirstFit, MachineType, first_fit
from tests.testbed.missing import not_run

HOUR = 3600
SMALL = MachineType(1_000_000, Resources(cpu_milli=4_000))
BIG = MachineType(3_000_000, Resources(cpu_milli=16_000))


@pytest.fixture(autouse=True)
def compiler() -> None:
    if shutil.which("cc") is None:
        not_run("cc", "there is no C compiler")


def placed(*steps: tuple[int, dict[int, int]], sources: tuple[int, ...]) -> FirstFit:
    """Pods that ask for so many millicores, over four hours; steps say at which hour how many of which are wanted."""
    found = first_fit(
        Trace(
            name="by hand",
            start_seconds=0,
            end_seconds=4 * HOUR,
            sources=tuple(
                DemandSource(shape=PodShape(namespace="a", requests=Resources(cpu_milli=milli)), traits=PodTraits(namespace="a"))
                for milli in sources
            ),
            steps=tuple(DemandStep(hour * HOUR, tuple(changes.items())) for hour, changes in steps),
            present=(0,) * len(sources),
        ),
        [BIG, SMALL],
        repetitions=2,
    )
    assert found is not None
    return found


def test_a_node_lasts_from_its_first_pod_to_its_last() -> None:
    """Five pods of 2 cores: three nodes of 4 cores for an hour. Then one pod is left, so one node lasts two hours more: 3 + 2."""
    found = placed((0, {0: 5}), (1, {0: 1}), (3, {0: 0}), sources=(2_000,))
    assert (found.cost_micros, found.placed, found.refused) == (5_000_000, 5, 0)


def test_the_cheapest_type_that_has_room_is_bought() -> None:
    """One pod of 6 cores needs the node of 3, which then takes two more of 4 cores; 20 cores fit nowhere."""
    found = placed((0, {0: 1}), (1, {1: 2, 2: 1}), sources=(6_000, 4_000, 20_000))
    assert (found.cost_micros, found.placed, found.refused) == (12_000_000, 3, 1)


def test_who_leaves_makes_room_in_the_same_step() -> None:
    """A pod of 1 core stays beside one of 3 cores, which another one of 3 cores follows: one node for four hours."""
    found = placed((0, {0: 1, 2: 1}), (2, {1: 1, 2: 0}), sources=(1_000, 3_000, 3_000))
    assert (found.cost_micros, found.placed) == (4_000_000, 3)


def test_first_fit_of_the_day_costs_at_least_the_bound() -> None:
    """It lets no pod wait, so the bound holds for it."""
    found = first_fit(day(), machine_types())
    assert found is not None
    assert found.refused == 0
    assert found.cost_micros >= bound_micros() > 0
