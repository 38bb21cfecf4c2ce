"""All machines of a target go on a real Cluster API: one write with the mark in it, and a process that ends around it."""

import pytest

from reconciler.control.live.live_port import LivePort
from reconciler.providers.contract import RemovalState
from tests.providers.conftest import NewBench
from tests.providers.live_bench import KilledAt, KilledError, LiveBench
from tests.testbed.cluster_api import ClusterApi

KEY = "reconciler.dev/emptied"
COUNT = 8


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


@pytest.mark.parametrize("after", [False, True])
def test_a_process_that_ends_at_the_write_is_continued(new_bench: NewBench, cluster_api: ClusterApi, *, after: bool) -> None:
    """The next process comes to the same end, and neither writes to a Machine."""
    bench = new_bench(COUNT)
    _drained(bench)
    machines = {one["metadata"]["name"] for one in bench.cluster.machines(bench.name)}
    with pytest.raises(KilledError):
        _empty(bench, bench.port_over(KilledAt(bench.api, 1, after=after)))
    assert (KEY in bench.annotations(), bench.replicas()) == (after, 0 if after else COUNT)
    ended = bench.removed(COUNT, bench.port_over(bench.api)) if not after else []
    assert [one.state for one in ended] == [RemovalState.FINISHED] * len(ended)
    assert bench.until_nodes(0) == []
    assert _named(bench) == machines
    assert [one for one in cluster_api.plane.audit("reconciler") if one.resource == "machines" and one.name in machines] == []


def test_a_later_process_tells_the_end(new_bench: NewBench) -> None:
    """Lowered by a process that ended: the next one reads it off the target, and a group that grows again is its own."""
    bench = new_bench(COUNT)
    _drained(bench)
    with pytest.raises(KilledError):
        _empty(bench, bench.port_over(KilledAt(bench.api, 1, after=True)))
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


def _named(bench: LiveBench) -> set[str]:
    """The machines that the target's mark names, which is one of ours."""
    proof, _, names = bench.annotations()[KEY].partition(" ")
    assert proof.startswith("nodegroup-reconciler.test.g")
    start, _, ends = names.removesuffix("}").partition("{")
    return {f"{start}{end}" for end in ends.split(",")}


@pytest.mark.parametrize("manager", ["nodegroup-reconciler", "kubectl-annotate"])
def test_a_mark_that_an_update_has_set(new_bench: NewBench, manager: str) -> None:
    """Our apply may not overrule it, whoever it was: it is written over by itself, and the replicas follow. It outlives the next
    sizes, and goes with a release."""
    bench = new_bench(COUNT)
    _drained(bench)
    old = {KEY: "nodegroup-reconciler.test.g1.r3 old{1,2,3}"}
    bench.cluster.api.merge(bench.object, {"metadata": {"annotations": old}}, manager)
    machines = {one["metadata"]["name"] for one in bench.cluster.machines(bench.name)}
    _empty(bench, bench.port)
    assert _named(bench) == machines
    for replicas in (1, 0):
        assert bench.port_over(bench.api).resize(bench.target, replicas, bench.bound()).done
        assert _named(bench) == machines
    assert bench.port_over(bench.api).release(bench.target, bench.bound()).done
    assert KEY not in bench.annotations()
