"""MachineSets on OpenShift's own controllers: what goes is what was chosen, and nothing else is written."""

import itertools
import os
import time

import pytest

from reconciler.providers.contract import RemovalState, WriteCode
from tests.openshift.conftest import NewSet
from tests.openshift.live_bench import MARKS, MachineSetBench, node_of, phase
from tests.openshift.objects import machine_autoscaler
from tests.testbed.api import Object, path_of

# Sizes from 3 to 20 with 0 to 3 Failed Machines beside: some of them always, all with RECONCILER_MACHINE_SETS=all. Above 12 the
# platform sorts in another way.
SETS = [(3, 0), (3, 1), (4, 3), (12, 2), (20, 3)]
# At so many looks, a fifth of a second apart, a phase that was written has to stand.
_STANDS = 5
if os.environ.get("RECONCILER_MACHINE_SETS") == "all":
    SETS = list(itertools.product(range(3, 21), range(4)))


def fail(bench: MachineSetBench, count: int) -> list[str]:
    """So many Machines that its cloud refuses, beside those that are there."""
    before = {item["metadata"]["name"] for item in bench.machines()}
    bench.launches(launch="Fail")
    bench.testbed.apply(
        {
            **{key: bench.object[key] for key in ("apiVersion", "kind")},
            "metadata": {"name": bench.name, "namespace": bench.namespace},
            "spec": {"replicas": bench.replicas() + count},
        },
        "nodegroup-reconciler",
        force=True,
    )

    def there(machines: list[Object]) -> bool:
        return sum(phase(item) == "Failed" for item in machines) == count

    machines = bench.until(there, f"{count} failed Machines")
    bench.launches()
    return sorted({item["metadata"]["name"] for item in machines} - before)


def test_up_from_zero(new_set: NewSet) -> None:
    """By an apply of replicas alone; Machines become nodes."""
    bench = new_set(0)
    assert bench.port.resize(bench.target, 2, bench.bound()).done
    assert len(bench.until_nodes(2)) == 2
    (owner,) = bench.facts().owner.owners
    assert (owner.manager, owner.operation, owner.subresource) == ("nodegroup-reconciler", "Apply", "")


@pytest.mark.parametrize(("size", "failed"), SETS)
def test_exactly_the_chosen_machines_go(new_set: NewSet, size: int, failed: int) -> None:
    """Two of `size`, drained by us, marked with both keys, replicas lowered by as many. Not while Failed Machines are beside
    them: these are cancelled first, together and without harm to a running one."""
    bench = new_set(size)
    nodes = bench.until_nodes(size)
    chosen = [nodes[0], nodes[size // 2]]
    if failed:
        _cancelled(bench, fail(bench, failed), chosen[0])
        assert bench.until_nodes(size) == nodes
    bench.port.observe()
    for number, node in enumerate(chosen, 1):
        assert bench.port.remove_node(bench.target, node, size - number, bench.bound()).done
    ended = bench.removed(2)
    assert {(one.node, one.state) for one in ended} == {(node, RemovalState.FINISHED) for node in chosen}
    assert bench.until_nodes(size - 2) == sorted(set(nodes) - set(chosen))
    assert bench.replicas() == size - 2


def _cancelled(bench: MachineSetBench, names: list[str], node: str) -> None:
    assert bench.facts().keeps_nodes
    bench.port.observe()
    refused = bench.port.remove_node(bench.target, node, bench.replicas() - 1, bench.bound())
    assert (refused.done, refused.code) == (False, WriteCode.REFUSED)
    assert "failed" in refused.message
    if len(names) > 1:
        # One of several alone might leave another one to go.
        partly = bench.port.cancel(bench.target, (names[0],), bench.replicas() - 1, bench.bound())
        assert (partly.done, partly.code) == (False, WriteCode.STALE)
    done = bench.port.cancel(bench.target, tuple(names), bench.replicas() - len(names), bench.bound())
    assert (done.done, done.code) == (True, "")


def test_both_marks_are_written(new_set: NewSet) -> None:
    """On a Machine that a lifecycle hook keeps: it no longer counts, and its removal is over."""
    bench = new_set(2)
    nodes = bench.until_nodes(2)
    chosen = next(item for item in bench.machines() if node_of(item) == nodes[0])
    hooks = {"spec": {"lifecycleHooks": {"preTerminate": [{"name": "backup", "owner": "dba"}]}}}
    bench.testbed.merge(chosen, hooks)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, nodes[0], 1, bench.bound()).done
    (ended,) = bench.removed()
    assert ended.state is RemovalState.FINISHED
    bench.until(lambda machines: any("deletionTimestamp" in item["metadata"] for item in machines), "the Machine going")
    kept = bench.testbed.read(chosen)
    assert set(MARKS) <= kept["metadata"]["annotations"].keys()
    world = bench.observe()
    (known,) = [item for item in world.machines if item.name == chosen["metadata"]["name"]]
    assert (known.deleting, known.delete_marked) == (True, True)
    assert "lifecycle hook backup of dba" in known.phase
    assert bench.replicas() == 1
    bench.testbed.merge(chosen, {"spec": {"lifecycleHooks": None}})
    assert bench.until_nodes(1) == [nodes[1]]


def test_a_machine_that_fails_during_the_drain_ends_the_removal(new_set: NewSet) -> None:
    """Nothing is lowered, no mark stays, and the node is open again."""
    bench = new_set(2)
    nodes = bench.until_nodes(2)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, nodes[0], 1, bench.bound()).done
    fail(bench, 1)
    (ended,) = bench.removed()
    assert (ended.state, ended.code, bench.replicas()) == (RemovalState.FAILED, WriteCode.REFUSED, 3)
    assert not any(key in (item["metadata"].get("annotations") or {}) for item in bench.machines() for key in MARKS)
    assert sorted(bench.nodes()) == nodes


def _fails(bench: MachineSetBench, machine: Object) -> None:
    """As its controller has it when the instance was ended by somebody else. A look of the controller that is under way writes
    Running over it; after that it looks no more."""
    path = f"{path_of(machine)}/status"
    status = {"phase": "Failed", "errorReason": "UpdateError", "errorMessage": "Can't find created instance."}
    stood = 0
    while stood < _STANDS:
        found = bench.testbed.read(machine)["status"]
        stood = stood + 1 if found.get("phase") == "Failed" and found.get("errorReason") else 0
        if not stood:
            bench.testbed.call("PATCH", path, {"status": status}, "application/merge-patch+json")
        time.sleep(0.2)


def test_a_machine_that_failed_as_a_node_is_removed_and_no_other(new_set: NewSet) -> None:
    """It is the one that goes, so that its own node may be drained; the others not before."""
    bench = new_set(3)
    nodes = bench.until_nodes(3)
    broken = next(item for item in bench.machines() if node_of(item) == nodes[1])
    _fails(bench, broken)
    assert bench.facts().keeps_nodes_but == (nodes[1],)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, nodes[0], 2, bench.bound()).code == WriteCode.REFUSED
    assert bench.port.remove_node(bench.target, nodes[1], 2, bench.bound()).done
    (ended,) = bench.removed()
    assert ended.state is RemovalState.FINISHED
    assert bench.until_nodes(2) == [nodes[0], nodes[2]]


@pytest.mark.parametrize("size", [4, 14])
def test_two_that_failed_as_nodes_go_and_no_other(new_set: NewSet, size: int) -> None:
    """Whatever their names: the platform takes of marked and failed ones which it likes, so that both nodes are emptied first and
    both go in one write. Above 12 it sorts in another way."""
    bench = new_set(size)
    nodes = bench.until_nodes(size)
    chosen = (nodes[0], nodes[-1])
    for item in bench.machines():
        if node_of(item) in chosen:
            _fails(bench, item)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, chosen[0], size - 1, bench.bound()).done
    bench.port.observe()
    (waits,) = bench.port.continue_removals()
    assert (waits.state, "failed too" in waits.message, bench.replicas()) == (RemovalState.DRAINING, True, size)
    bench.port.observe()
    assert bench.port.remove_node(bench.target, chosen[1], size - 2, bench.bound()).done
    assert {(one.node, one.state) for one in bench.removed(2)} == {(node, RemovalState.FINISHED) for node in chosen}
    assert bench.until_nodes(size - 2) == nodes[1:-1]
    assert bench.replicas() == size - 2


def test_a_machine_whose_node_went_with_its_instance_is_cancelled(new_set: NewSet) -> None:
    """The Node was deleted, as a cloud's controller does; replicas fall by exactly that Machine."""
    bench = new_set(3)
    nodes = bench.until_nodes(3)
    broken = next(item for item in bench.machines() if node_of(item) == nodes[1])
    _fails(bench, broken)
    name = broken["metadata"]["name"]
    assert bench.port.cancel(bench.target, (name,), 2, bench.bound()).code == WriteCode.STALE
    bench.testbed.call("DELETE", f"/api/v1/nodes/{nodes[1]}")
    assert bench.port.cancel(bench.target, (name,), 2, bench.bound()).done
    bench.until(lambda found: [node_of(item) for item in found] == [nodes[0], nodes[2]], "the Machine being gone")
    assert bench.replicas() == 2


def test_what_never_came_is_cancelled(new_set: NewSet) -> None:
    """Provisioning for ever, as without capacity: exactly those go, the running one stays."""
    bench = new_set(1)
    nodes = bench.until_nodes(1)
    bench.launches(launch="Stuck")
    assert bench.port.resize(bench.target, 3, bench.bound()).done
    machines = bench.until(lambda found: sum(phase(item) == "Provisioning" for item in found) == 2, "two stuck Machines")
    stuck = tuple(item["metadata"]["name"] for item in machines if not node_of(item))
    assert bench.port.cancel(bench.target, stuck, 1, bench.bound()).done
    assert bench.until_nodes(1) == nodes


def test_a_budget_holds_where_the_platform_would_skip_its_drain(new_set: NewSet) -> None:
    """The Machine says `exclude-node-draining`, so that its own controller would not ask a disruption budget. Ours does: while
    nothing may be evicted, nothing is marked and nothing lowered."""
    bench = new_set(2)
    nodes = bench.until_nodes(2)
    chosen = next(item for item in bench.machines() if node_of(item) == nodes[0])
    bench.testbed.merge(chosen, {"metadata": {"annotations": {"machine.openshift.io/exclude-node-draining": ""}}})
    (name,) = bench.pods(1, labels={"guarded": bench.name}, node=nodes[0])
    guard = {"minAvailable": 1, "selector": {"matchLabels": {"guarded": bench.name}}}
    metadata = {"name": bench.name, "namespace": bench.namespace}
    (budget,) = bench.testbed.create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": guard}
    )
    budgets = f"/apis/policy/v1/namespaces/{bench.namespace}/poddisruptionbudgets"
    bench.testbed.wait(budgets, lambda found: all(one.get("status", {}).get("expectedPods") for one in found), "the budget")
    bench.port.observe()
    assert bench.port.remove_node(bench.target, nodes[0], 1, bench.bound()).done
    for _ in range(5):
        bench.port.observe()
        (progress,) = bench.port.continue_removals()
        assert (progress.state, progress.remaining) == (RemovalState.DRAINING, 1)
    assert (bench.replicas(), bench.marks(), bench.tainted()) == (2, [], [nodes[0]])
    bench.testbed.delete(budget)
    (ended,) = bench.removed()
    assert ended.state is RemovalState.FINISHED
    assert bench.until_nodes(1) == [nodes[1]]
    pods = f"/api/v1/namespaces/{bench.namespace}/pods"
    assert name not in {one["metadata"]["name"] for one in bench.testbed.items(pods)}


def test_a_machine_autoscaler_holds(new_set: NewSet) -> None:
    """It is named, and not one request changes anything."""
    bench = new_set(1)
    bench.until_nodes(1)
    bound = bench.bound()
    (made,) = bench.testbed.create(
        machine_autoscaler(bench.name, bench.name, 1, 4) | {"metadata": {"name": bench.name, "namespace": bench.namespace}}
    )
    before = len(bench.plane.audit("reconciler"))
    result = bench.port.resize(bench.target, 2, bound)
    assert (result.done, result.code) == (False, WriteCode.CONFLICT)
    assert f"MachineAutoscaler {bench.namespace}/{bench.name}" in result.message
    assert len(bench.plane.audit("reconciler")) == before
    bench.testbed.delete(made)
