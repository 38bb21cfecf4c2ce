"""Removals on the live cluster whose process ends between any two writes, and what the next one makes of what it finds."""

import pytest

from reconciler.control.live.live_port import LivePort
from reconciler.providers.contract import RemovalState, WriteCode
from tests.providers.conftest import NewBench
from tests.providers.live_bench import VERSION, KilledAt, KilledError, LiveBench, node_of

# Writes of one removal, in order: our taint on the Node, our mark on the Machine, replicas.
POINTS = [(write, after) for write in (1, 2, 3) for after in (False, True)]


def _machine(bench: LiveBench, node: str) -> dict:
    return next(item for item in bench.cluster.machines(bench.name) if node_of(item) == node)


def _removing(bench: LiveBench, port: LivePort, node: str) -> None:
    """What the loop does: begin, unless it has begun, and go on until the target is lowered."""
    port.observe()
    if bench.replicas() == 2 and node not in bench.taints():
        assert port.remove_node(bench.target, node, 1, bench.bound()).done
    for _ in range(1000):
        port.observe()
        port.continue_removals()
        if bench.replicas() < 2:
            return
    raise AssertionError("the removal did not end")


@pytest.mark.parametrize(("write", "after"), POINTS)
def test_a_process_that_ends_at_any_write_is_continued(new_bench: NewBench, write: int, *, after: bool) -> None:
    """The next process comes to the same end: one machine gone, the named one, replicas lower by one, no mark left."""
    bench = new_bench(2)
    kept, chosen = bench.until_nodes(2)
    api = KilledAt(bench.api, write, after=after)
    with pytest.raises(KilledError):
        _removing(bench, bench.port_over(api), chosen)
    if chosen in bench.nodes():
        _removing(bench, bench.port_over(bench.api), chosen)
    assert bench.until_nodes(1) == [kept]
    assert (bench.replicas(), bench.marks(), bench.taints()) == (1, {}, [])


def _begun(bench: LiveBench, count: int, mark: str | None) -> tuple[str, LivePort]:
    """A node that carries our taint and whose Machine carries `mark`, as a process left them, and the next process."""
    node = bench.until_nodes(count)[0]
    bench.port.observe()
    assert bench.port.remove_node(bench.target, node, 0, bench.bound()).done
    if mark is not None:
        _mark(bench, node, mark)
    return node, bench.port_over(bench.api)


def _mark(bench: LiveBench, node: str, mark: str) -> None:
    bench.cluster.api.merge(_machine(bench, node), {"metadata": {"annotations": {VERSION.delete_machine: mark}}})


def _generation(bench: LiveBench) -> int:
    return int(bench.now()["metadata"]["generation"])


def test_marked_and_not_lowered_is_lowered(new_bench: NewBench) -> None:
    """The target's generation is the mark's: nothing of its spec was written since."""
    bench = new_bench(1)
    _, port = _begun(bench, 1, f"nodegroup-reconciler.test.g{_generation(bench)}.r1")
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.replicas, bench.replicas()) == (RemovalState.FINISHED, 0, 0)


def test_marked_and_lowered_is_not_lowered_again(new_bench: NewBench) -> None:
    """The generation moved and replicas fell, and the platform has yet to follow: finished, and told once."""
    bench = new_bench(2)
    node, port = _begun(bench, 2, None)
    bench.lowered_and_not_followed(1)
    _mark(bench, node, f"nodegroup-reconciler.test.g{_generation(bench) - 1}.r2")
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.replicas, bench.replicas()) == (RemovalState.FINISHED, 1, 1)
    port.observe()
    assert port.continue_removals() == ()
    assert len(bench.marks()) == 1


def test_what_nobody_can_tell_is_given_up(new_bench: NewBench) -> None:
    """The generation moved and replicas did not fall: the mark goes, the node is open, nothing is lowered."""
    bench = new_bench(1)
    node, port = _begun(bench, 1, f"nodegroup-reconciler.test.g{_generation(bench) - 1}.r1")
    (ended,) = bench.removed(port=port)
    assert (ended.node, ended.state, ended.code) == (node, RemovalState.FAILED, WriteCode.STALE)
    assert (bench.replicas(), bench.marks(), bench.taints()) == (1, {}, [])


@pytest.mark.parametrize("mark", ["yes", "", "2026-11-21 00:18:54", "nodegroup-reconciler.other.g1.r1"])
def test_marks_of_others_are_kept(new_bench: NewBench, mark: str) -> None:
    """Another autoscaler's mark, and that of another reconciler: the removal is given up, the mark stays."""
    bench = new_bench(1)
    _, port = _begun(bench, 1, mark)
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.code) == (RemovalState.FAILED, WriteCode.REFUSED)
    assert (bench.replicas(), list(bench.marks().values()), bench.taints()) == (1, [mark], [])


def test_a_mark_without_taint_is_taken_off(new_bench: NewBench) -> None:
    """The drain was undone first; a mark for which replicas were lowered stays while its machine may go; others' stay."""
    bench = new_bench(3)
    nodes = bench.until_nodes(3)
    bench.lowered_and_not_followed(2)
    generation = _generation(bench)
    _mark(bench, nodes[0], f"nodegroup-reconciler.test.g{generation}.r2")
    _mark(bench, nodes[1], f"nodegroup-reconciler.test.g{generation - 1}.r3")
    _mark(bench, nodes[2], "yes")
    bench.port.observe()
    assert bench.port.continue_removals() == ()
    kept = {_machine(bench, node)["metadata"]["name"] for node in nodes[1:]}
    assert (set(bench.marks()), bench.replicas()) == (kept, 2)
    assert bench.said == [
        ("MarkTakenOff", f"our mark was removed from Machine {(_machine(bench, nodes[0]))['metadata']['name']} of {bench.target}")
    ]


def test_a_machine_that_was_passed_over_is_opened_again(new_bench: NewBench) -> None:
    """Somebody deletes another machine before ours is marked: Cluster API counts that one as the one that goes. The mark and the
    taint of ours are taken back, which is said after the end that was told, and replicas stay."""
    bench = new_bench(3)
    chosen, other, _ = bench.until_nodes(3)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, chosen, 2, bench.bound()).done
    leaving = _machine(bench, other)
    bench.kept(leaving)
    first, second = bench.removed(2)
    assert (first.node, first.state, first.replicas) == (chosen, RemovalState.FINISHED, 2)
    assert (second.node, second.state, second.code) == (chosen, RemovalState.FAILED, WriteCode.PASSED_OVER)
    assert "The platform took another one instead" in second.message
    assert (bench.replicas(), bench.marks(), bench.taints()) == (2, {}, [])
    bench.let_go(leaving)
    assert chosen in bench.until_nodes(2)


def test_a_mark_that_was_passed_over_is_taken_off_without_its_taint(new_bench: NewBench) -> None:
    """As a process left it that ended between the drain's end and this look."""
    bench = new_bench(1)
    (node,) = bench.until_nodes(1)
    _mark(bench, node, f"nodegroup-reconciler.test.g{_generation(bench) - 1}.r2")
    bench.port.observe()
    assert bench.port.continue_removals() == ()
    assert (bench.replicas(), bench.marks(), [code for code, _ in bench.said]) == (1, {}, ["MarkTakenOff"])


def test_a_machine_that_somebody_else_deletes_is_not_counted(new_bench: NewBench) -> None:
    """It is replaced by its set; replicas stay."""
    bench = new_bench(1)
    node, port = _begun(bench, 1, None)
    machine = _machine(bench, node)
    bench.kept(machine)
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.code, bench.replicas()) == (RemovalState.FAILED, WriteCode.REFUSED, 1)
    assert "is being deleted already" in ended.message
    bench.let_go(machine)


def test_a_machine_that_is_going_is_not_removed(new_bench: NewBench) -> None:
    """The removal does not begin: a second count of the same machine would take another one."""
    bench = new_bench(1)
    (node,) = bench.until_nodes(1)
    bench.port.observe()
    machine = _machine(bench, node)
    bench.kept(machine)
    result = bench.port.remove_node(bench.target, node, 0, bench.bound())
    assert (result.code, bench.taints(), bench.replicas()) == (WriteCode.REFUSED, [], 1)
    bench.let_go(machine)


def test_a_removal_never_goes_below_the_minimum(new_bench: NewBench) -> None:
    """Somebody lowered the group while its node drained: given up at the minimum."""
    bench = new_bench(2, min_size=2)
    _, port = _begun(bench, 2, None)
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.code, bench.replicas()) == (RemovalState.FAILED, WriteCode.REFUSED, 2)
    assert "must keep 2" in ended.message


def test_a_hold_ends_the_removals_that_have_begun(new_bench: NewBench) -> None:
    """The annotation on the target opens the node again."""
    bench = new_bench(1)
    _, port = _begun(bench, 1, None)
    bench.cluster.api.merge(bench.object, {"metadata": {"annotations": {"reconciler.dev/hold": "recovering"}}})
    (ended,) = bench.removed(port=port)
    assert (ended.state, ended.code, bench.taints(), bench.replicas()) == (RemovalState.FAILED, "Held", [], 1)
    assert "recovering" in ended.message


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", [1, 2])
def test_an_adoption_that_ends_at_any_write_is_continued(new_bench: NewBench, write: int, *, after: bool) -> None:
    """The value stays whatever happens; the next write of the next process makes the field ours."""
    bench = new_bench(1)
    bench.edited_by("kubectl-edit", 2)
    with pytest.raises(KilledError):
        bench.port_over(KilledAt(bench.api, write, after=after)).adopt(bench.target, 2, bench.bound())
    assert bench.replicas() == 2
    port = bench.port_over(bench.api)
    if bench.owners() == [("kubectl-edit", "Update", "")]:
        assert port.adopt(bench.target, 2, bench.bound()).done
    assert port.resize(bench.target, 3, bench.bound()).done
    assert (bench.replicas(), bench.owners()) == (3, [("nodegroup-reconciler", "Apply", "")])


def test_a_request_that_never_came_is_taken_back(new_bench: NewBench) -> None:
    """Exactly the Machine without node goes; a second time it is stale; one that became a node is never taken."""
    bench = new_bench(1)
    (node,) = bench.until_nodes(1)
    bench.cluster.annotate_template(bench.name, stock="1")
    assert bench.port.resize(bench.target, 2, bench.bound()).done
    bench.cluster.until_machines(
        lambda items: len([item for item in items if item["metadata"]["labels"].get("group") == bench.name]) == 2, "two machines"
    )
    (waiting,) = [item["metadata"]["name"] for item in bench.cluster.machines(bench.name) if not node_of(item)]
    running = _machine(bench, node)["metadata"]["name"]
    assert bench.port.cancel(bench.target, (running,), 1, bench.bound()).code == WriteCode.STALE
    assert bench.port.cancel(bench.target, (waiting,), 0, bench.bound()).code == WriteCode.STALE
    assert bench.port.cancel(bench.target, (waiting,), 1, bench.bound()).done
    assert bench.until_nodes(1) == [node]
    assert (bench.replicas(), bench.marks()) == (1, {})
