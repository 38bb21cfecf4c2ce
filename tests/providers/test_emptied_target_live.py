"""All machines of a target go on a real Cluster API: one mark on the target, one write, and a process that ends around each."""

import pytest

from reconciler.control.live.live_port import LivePort
from reconciler.providers.contract import RemovalState
from tests.providers.conftest import NewBench
from tests.providers.live_bench import KilledAt, KilledError, LiveBench
from tests.testbed.cluster_api import ClusterApi

KEY = "reconciler.dev/emptied"
COUNT = 8
# After the taints of all nodes: our mark on the target, and its replicas.
POINTS = [(write, after) for write in (1, 2) for after in (False, True)]


def _drained(bench: LiveBench) -> list[str]:
    """Nodes that all carry our taint, in a process that has ended since."""
    nodes = bench.until_nodes(COUNT)
    bench.port.observe()
    for left, node in enumerate(reversed(nodes)):
        assert bench.port.remove_node(bench.target, node, left, bench.bound()).done
    return nodes


def _empty(bench: LiveBench, port: LivePort) -> None:
    for _ in range(1000):
        port.observe()
        port.continue_removals()
        if bench.replicas() == 0:
            return
    raise AssertionError("the target was not lowered")


@pytest.mark.parametrize(("write", "after"), POINTS)
def test_a_process_that_ends_at_any_write_is_continued(
    new_bench: NewBench, cluster_api: ClusterApi, write: int, *, after: bool
) -> None:
    """The next process comes to the same end, and neither writes to a Machine."""
    bench = new_bench(COUNT)
    _drained(bench)
    machines = {one["metadata"]["name"] for one in bench.cluster.machines(bench.name)}
    with pytest.raises(KilledError):
        _empty(bench, bench.port_over(KilledAt(bench.api, write, after=after)))
    lowered = (write, after) == (2, True)
    assert (KEY in bench.annotations(), bench.replicas()) == (write == 2 or after, 0 if lowered else COUNT)
    ended = bench.removed(COUNT, bench.port_over(bench.api)) if not lowered else []
    assert [one.state for one in ended] == [RemovalState.FINISHED] * len(ended)
    assert bench.until_nodes(0) == []
    proof, _, names = bench.annotations()[KEY].partition(" ")
    start, _, ends = names.removesuffix("}").partition("{")
    assert proof.startswith("nodegroup-reconciler.test.g")
    assert {f"{start}{end}" for end in ends.split(",")} == machines
    assert [one for one in cluster_api.plane.audit("reconciler") if one.resource == "machines" and one.name in machines] == []


def test_a_later_process_tells_the_end(new_bench: NewBench) -> None:
    """Lowered by a process that ended: the next one reads it off the target, and a group that grows again is its own."""
    bench = new_bench(COUNT)
    _drained(bench)
    with pytest.raises(KilledError):
        _empty(bench, bench.port_over(KilledAt(bench.api, 2, after=True)))
    port = bench.port_over(bench.api)
    port.observe()
    told = port.continue_removals()
    assert {one.state for one in told} <= {RemovalState.FINISHED}
    bench.until_nodes(0)
    assert port.resize(bench.target, 1, bench.bound()).done
    (node,) = bench.until_nodes(1)
    port.observe()
    assert port.continue_removals() == ()
    assert port.remove_node(bench.target, node, 0, bench.bound()).done
    (ended,) = bench.removed(port=port)
    assert (ended.state, bench.replicas()) == (RemovalState.FINISHED, 0)
