"""Capacity curves as demand: what is read, and where it is refused."""

import pytest

from reconciler.simulation.replays.curve import TraceError, read_curve
from reconciler.simulation.replays.trace import DemandStep

MIDNIGHT = 1_730_419_200  # 2024-11-01T00:00:00Z, by `date -ud 2024-11-01 +%s`


def test_a_curve_without_heading_is_cores():
    """As the capacity dataset prints it: 129.6 cores are 130 pods of one core; the last value lasts one step more."""
    trace = read_curve("pool", "2024-11-01 00:00:00,129.600000\n2024-11-01 00:00:30,187.20001\n")
    assert trace.start_seconds == MIDNIGHT
    assert trace.end_seconds == MIDNIGHT + 60
    assert trace.steps == (DemandStep(MIDNIGHT, ((0, 130),)), DemandStep(MIDNIGHT + 30, ((0, 188),)))


def test_pods_are_as_described():
    """Sizes of all curves and of one; 10 cores are 5 pods of two cores, 3Gi are 6 of 512Mi."""
    described = "# pod: cpu=2 memory=4Gi toleration=spot\n# pod api: memory=512Mi spread=zone kind=Job\n"
    trace = read_curve("two", f"{described}time,cpu:web,memory:api\n0,10,3Gi\n")
    web, api = trace.sources
    assert trace.steps[0].changes == ((0, 5), (1, 6))
    assert (web.shape.requests.cpu_milli, web.shape.requests.memory_bytes) == (2000, 4 << 30)
    assert (api.shape.requests.cpu_milli, api.shape.requests.memory_bytes) == (2000, 512 << 20)
    assert [toleration.key for toleration in api.shape.tolerations] == ["spot"]
    assert (web.zone_spread, api.zone_spread) == (False, True)
    assert api.traits.controller is not None
    assert api.traits.controller.kind == "Job"


def test_nodes_are_pods_that_share_none():
    """Each of them has a node to itself."""
    source = read_curve("n", "time,nodes\n0,3\n").sources[0]
    assert [term.topology_key for term in source.shape.anti_affinity] == ["kubernetes.io/hostname"]


def test_steps_that_say_nothing_new_are_left_out():
    """Three lines, two different values."""
    assert [step.at_seconds for step in read_curve("n", "time,pods\n0,3\n10,3\n20,4\n").steps] == [0, 20]


def test_a_span_keeps_its_peak():
    """Spans of 60: the peak of 9 at 30 s stays; what still holds at the beginning of a span counts in it too."""
    trace = read_curve("n", "time,pods\n0,1\n30,9\n90,2\n200,5\n", 60)
    assert [(step.at_seconds, step.changes[0][1]) for step in trace.steps] == [(0, 1 + 8), (120, 2), (180, 5)]


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", (1, 1), "no line with a time"),
        ("time,cpu\n0,1\n0,2\n", (3, 1), "not after"),
        ("time,cpu\n0,x\n", (2, 3), "quantity"),
        ("time,cpu\n0,-1\n", (2, 3), "below zero"),
        ("time,cpu\n0,1,2\n", (2, 1), "3 values"),
        ("time,cores\n0,1\n", (1, 6), "unknown column 'cores'"),
        ("time,cpu:a,pods:a\n0,1,1\n", (1, 12), "two curves"),
        ("time,cpu\nyesterday,1\n", (2, 1), "instant"),
        ("time,cpu\n0,9000000\n", (2, 3), "9000000 pods"),
        ("# pod: cpu=1 size=3\ntime,cpu\n0,1\n", (1, 14), "'size=3': not known"),
        ("# pod: memory=0\ntime,cpu\n0,1\n", (1, 8), "above zero"),
        ("# pod web: cpu=1\ntime,cpu:api\n0,1\n", (1, 11), "unknown curve 'web'"),
        ("time,cpu\n0,1\n# pod: cpu=1\n", (3, 1), "above the first value"),
        ("0,1,2\n", (1, 1), "no heading"),
    ],
)
def test_a_bad_trace_is_refused_with_its_place(text: str, place: tuple[int, int], says: str):
    """Line and column from 1, and what to write instead."""
    with pytest.raises(TraceError, match=says) as caught:
        read_curve("bad", text)
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.hint


def test_a_trace_older_than_the_cluster_keeps_weekday_and_hour():
    """A Friday's midnight of 2024 comes on a Friday's midnight after the capture, at least an hour later."""
    from tests.builders import ClusterBuilder

    world = ClusterBuilder(now=MIDNIGHT + 10 * 604_800 - 1_000).world()
    assert read_curve("n", "2024-11-01T00:00:00Z,1\n").at_same_hour(world, 3_600).start_seconds == MIDNIGHT + 11 * 604_800
    assert read_curve("n", "2024-11-01T00:00:00Z,1\n").at_same_hour(world, 0).start_seconds == MIDNIGHT + 10 * 604_800
