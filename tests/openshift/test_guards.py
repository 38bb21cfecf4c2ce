"""The guards of every write on MachineSets, on a server in memory: what is refused, and what is written when it is not."""

import pytest

from reconciler.providers.contract import LeavingMachine, RemovalState, WriteCode
from tests.openshift.objects import GROUP, NAMESPACE, machine, machine_autoscaler
from tests.openshift.server import AUTOSCALERS, MACHINES, MARKS, SETS, TARGET, bound, provider, three


def test_replicas_are_applied_alone() -> None:
    """As a MachineSet of its group, under the uid and the resourceVersion that were read, by no other path."""
    server = three()
    judged = bound(server, 2)
    assert provider(server).resize(TARGET, 5, judged).done
    ((method, path, body),) = server.sent
    assert (method, path) == ("PATCH", SETS)
    assert body == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "a", "namespace": NAMESPACE, "uid": "uid-1", "resourceVersion": judged.resource_version},
        "spec": {"replicas": 5},
    }


def test_a_set_that_has_gone_is_not_made_anew() -> None:
    """It is deleted between our look and our write: an apply would make one of replicas alone, whatever version it names."""
    server = three()
    judged = bound(server, 2)
    server.between = lambda: server.remove(SETS)
    result = provider(server).resize(TARGET, 5, judged)
    assert (result.done, result.code, SETS in server.objects) == (False, WriteCode.NOT_FOUND, False)


def test_a_marked_machine_bears_both_marks() -> None:
    """Of its chosen Machine alone; replicas fall by one afterwards."""
    server = three()
    (ended,) = provider(server).step(TARGET, (LeavingMachine(machine="a-n1", node="n1"),), 0)
    assert (ended.state, ended.replicas) == (RemovalState.FINISHED, 1)
    assert [path for _, path, _ in server.sent] == [f"{MACHINES}/a-n1", SETS]
    assert sorted(server.sent[0][2]["metadata"]["annotations"]) == sorted(MARKS)
    assert len(set(server.sent[0][2]["metadata"]["annotations"].values())) == 1


@pytest.mark.parametrize("told", [{"error": "quota"}, {"phase": "Failed"}])
def test_nothing_is_lowered_beside_a_failed_machine(told: dict[str, str]) -> None:
    """Neither begun nor gone on with; a mark that was written goes again."""
    server = three(machine("a-0", "a", **told))
    refused = provider(server).may_begin(TARGET, "a-n1", "n1", bound(server, 3))
    assert (refused.done, refused.code, "a-0 failed" in refused.message) == (False, WriteCode.REFUSED, True)
    server.machines["a-n1"]["metadata"]["annotations"] = dict.fromkeys(MARKS, "nodegroup-reconciler.prod.g3.r3")
    (ended,) = provider(server).step(TARGET, (LeavingMachine(machine="a-n1", node="n1", marked=True),), 0)
    assert (ended.state, ended.code, server.set["spec"]["replicas"]) == (RemovalState.FAILED, WriteCode.REFUSED, 3)
    assert server.machines["a-n1"]["metadata"]["annotations"] == {}


def test_a_failed_machine_may_go_with_its_node() -> None:
    """Another one beside it may not."""
    server = three(machine("a-0", "a", error="quota", node="n0"))
    assert provider(server).may_begin(TARGET, "a-0", "n0", bound(server, 3)).done
    assert not provider(server).may_begin(TARGET, "a-n1", "n1", bound(server, 3)).done


def test_two_that_failed_as_nodes_go_together() -> None:
    """Either could go when replicas fall by one: nothing is marked before both nodes are empty; then one write is for both."""
    server = three(machine("a-0", "a", error="quota", node="n0"), machine("a-9", "a", error="quota", node="n9"))
    server.nodes("n0", "n9")
    first, second = LeavingMachine(machine="a-0", node="n0"), LeavingMachine(machine="a-9", node="n9")
    assert provider(server).may_begin(TARGET, "a-0", "n0", bound(server, 4)).done
    (waits,) = provider(server).step(TARGET, (first,), 0)
    assert (waits.state, waits.untouched, server.sent) == (RemovalState.DRAINING, True, [])
    assert "Machine a-9 of" in waits.message
    assert "could go instead: drain its node first" in waits.message
    ended = provider(server).step(TARGET, (first, second), 0)
    assert {(one.state, one.replicas) for one in ended} == {(RemovalState.FINISHED, 2)}
    *marks, lowered = [path for _, path, _ in server.sent]
    assert (sorted(marks), lowered) == ([f"{MACHINES}/a-0", f"{MACHINES}/a-9"], SETS)  # marks go out side by side


def test_one_that_failed_without_a_node_is_in_nobodys_way() -> None:
    """Whichever of the two goes, nothing ran there."""
    server = three(machine("a-0", "a", error="quota", node="n0"), machine("a-9", "a", error="quota"))
    (ended,) = provider(server).step(TARGET, (LeavingMachine(machine="a-0", node="n0"),), 0)
    assert (ended.state, ended.replicas) == (RemovalState.FINISHED, 3)


def test_a_failed_machine_whose_node_is_gone_is_cancelled() -> None:
    """While its Node is there it is not: pods may run there."""
    server = three(machine("a-0", "a", error="quota", node="n0"))
    server.nodes("n0")
    assert provider(server).cancel(TARGET, ("a-0",), 2, bound(server, 3)).code == WriteCode.STALE
    server.nodes()
    assert provider(server).cancel(TARGET, ("a-0",), 2, bound(server, 3)).done


def test_a_failed_machine_that_is_going_is_in_nobodys_way() -> None:
    """It no longer counts."""
    server = three()
    server.add(machine("a-0", "a", error="quota", deleting=True))
    assert provider(server).may_begin(TARGET, "a-n1", "n1", bound(server, 2)).done


def test_cancelled_alone() -> None:
    """Not while another Machine failed, or bears a mark: either might go instead. All that failed at once are fine."""
    server = three(machine("a-0", "a", error="quota"), machine("a-1", "a", error="quota"))
    partly = provider(server).cancel(TARGET, ("a-0",), 3, bound(server, 4))
    assert (partly.done, partly.code, "a-1" in partly.message, server.sent) == (False, WriteCode.STALE, True, [])
    server.machines["a-n1"]["metadata"]["annotations"] = {MARKS[1]: "2026-11-22T00:00:00Z"}
    marked = provider(server).cancel(TARGET, ("a-0", "a-1"), 2, bound(server, 4))
    assert (marked.done, "a-n1" in marked.message, server.sent) == (False, True, [])
    server.machines["a-n1"]["metadata"]["annotations"] = {}
    assert provider(server).cancel(TARGET, ("a-0", "a-1"), 2, bound(server, 4)).done
    assert server.set["spec"]["replicas"] == 2


def test_a_machine_that_became_a_node_is_not_cancelled() -> None:
    """Read again before the write."""
    server = three()
    result = provider(server).cancel(TARGET, ("a-n1",), 1, bound(server, 2))
    assert (result.code, server.sent) == (WriteCode.STALE, [])


def test_a_mark_of_others_in_either_spelling_is_left() -> None:
    """The Cluster Autoscaler writes both with a time; one that differs from ours counts."""
    server = three()
    for mark in MARKS:
        server.machines["a-n1"]["metadata"]["annotations"] = {mark: "2026-11-22T00:00:00Z"}
        refused = provider(server).may_begin(TARGET, "a-n1", "n1", bound(server, 2))
        assert (refused.code, "somebody else" in refused.message) == (WriteCode.REFUSED, True)
    ours = "nodegroup-reconciler.prod.g3.r2"
    server.machines["a-n1"]["metadata"]["annotations"] = {MARKS[0]: ours, MARKS[1]: "2026-11-22T00:00:00Z"}
    assert "somebody else" in provider(server).may_begin(TARGET, "a-n1", "n1", bound(server, 2)).message


def test_held_sets_are_not_written() -> None:
    """A MachineAutoscaler that came after the decision, Hive, another API: read again just before the write."""
    for change in (
        {"autoscaler": True},
        {"metadata": {"labels": {"hive.openshift.io/machine-pool": "w"}}},
        {"spec": {"authoritativeAPI": "ClusterAPI"}},
    ):
        server = three()
        judged = bound(server, 2)
        if "autoscaler" in change:
            server.put(f"{AUTOSCALERS}/ma", machine_autoscaler("ma", "a", 1, 3))
        for part in ("metadata", "spec"):
            server.set[part] |= change.get(part, {})
        writes = provider(server)
        results = (
            writes.resize(TARGET, 3, judged),
            writes.adopt(TARGET, 2, judged),
            writes.cancel(TARGET, (), 1, judged),
            writes.may_begin(TARGET, "a-n1", "n1", judged),
        )
        assert not any(result.done for result in results)
        (ended,) = provider(server).step(TARGET, (LeavingMachine(machine="a-n1", node="n1"),), 0)
        assert (ended.state, server.sent) == (RemovalState.FAILED, [])
