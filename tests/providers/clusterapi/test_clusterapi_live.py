"""Writes of replicas on a real API server, with Cluster API's webhooks and controllers at work."""

import msgspec
import pytest

from reconciler.platforms.clusterapi.kinds import MACHINE_SET
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import Reading
from tests.providers.conftest import NewBench

OURS = ("nodegroup-reconciler", "Apply", "")


def test_a_resize_is_recorded_as_ours(new_bench: NewBench) -> None:
    """On a field that nobody owns the apply succeeds, and the API server names us as the owner."""
    bench = new_bench(1)
    bench.until_nodes(1)
    assert bench.port.resize(bench.target, 3, bench.bound()).done
    assert (bench.replicas(), bench.owners()) == (3, [OURS])
    bench.until_nodes(3)


def test_a_second_resize_by_us_meets_nobody(new_bench: NewBench) -> None:
    """What we own we may write again, to zero and back; the generation is the object's."""
    bench = new_bench(0)
    for replicas in (1, 0, 2):
        result = bench.port.resize(bench.target, replicas, bench.bound())
        assert (result.done, result.generation) == (True, bench.now()["metadata"]["generation"])
    assert bench.replicas() == 2


def test_growth_to_the_minimum_is_one_write(new_bench: NewBench) -> None:
    """From one to a minimum of four the generation moves by one."""
    bench = new_bench(1, min_size=4)
    before = bench.now()["metadata"]["generation"]
    result = bench.port.resize(bench.target, 4, bench.bound())
    assert (result.generation, bench.replicas()) == (before + 1, 4)


@pytest.mark.parametrize("manager", ["argocd-controller", "kustomize-controller", "helm", "kubectl"])
def test_what_another_manager_applied_is_not_written(new_bench: NewBench, manager: str) -> None:
    """Conflict, with the manager's name, and nothing changes."""
    bench = new_bench(1, owner=manager)
    result = bench.port.resize(bench.target, 2, bench.bound())
    assert (result.done, result.code) == (False, WriteCode.CONFLICT)
    assert f'conflict with "{manager}"' in result.message
    assert (bench.replicas(), bench.owners()) == (1, [(manager, "Apply", "")])


def test_the_server_refuses_what_the_guard_overlooked(new_bench: NewBench) -> None:
    """With the judgement left out, the server itself meets the owner and names it."""
    bench = new_bench(1)
    targets = ClusterApiTargets(bench.api)
    bench.applied_by("argocd-controller", 1)

    def unguarded(reading: Reading) -> WriteResult:
        owner = msgspec.structs.replace(reading.facts.owner, owners=())
        return targets.apply(Reading(msgspec.structs.replace(reading.facts, owner=owner), reading.body), 2)

    result = targets.judged(bench.target, unguarded)
    assert (result.code, bench.replicas()) == (WriteCode.CONFLICT, 1)
    assert 'conflict with "argocd-controller": .spec.replicas' in result.message


def test_adoption_keeps_the_value_and_leaves_us_the_only_owner(new_bench: NewBench) -> None:
    """A value that somebody edited by hand becomes ours unchanged, and can be written afterwards."""
    bench = new_bench(1)
    bench.edited_by("kubectl-edit", 2)
    assert bench.owners() == [("kubectl-edit", "Update", "")]
    before = bench.now()["metadata"]["generation"]
    assert bench.port.adopt(bench.target, 2, bench.bound()).done
    assert (bench.replicas(), bench.owners(), bench.now()["metadata"]["generation"]) == (2, [OURS], before)
    assert bench.port.resize(bench.target, 3, bench.bound()).done


def test_adoption_from_an_applier_leaves_its_other_fields(new_bench: NewBench) -> None:
    """Its next apply of a manifest without replicas changes nothing."""
    bench = new_bench(2, owner="argocd-controller")
    assert bench.port.adopt(bench.target, 2, bench.bound()).done
    assert bench.owners() == [OURS]
    body = {key: bench.object[key] for key in ("apiVersion", "kind")}
    metadata = {"name": bench.name, "namespace": bench.cluster.namespace, "labels": {"team": "web"}}
    bench.cluster.api.apply({**body, "metadata": metadata}, "argocd-controller")
    assert (bench.replicas(), bench.owners()) == (2, [OURS])


def test_adoption_after_client_side_apply_takes_replicas_out_of_the_manifest(new_bench: NewBench) -> None:
    """The last-applied manifest declares the value no more, so that dropping it there removes nothing."""
    bench = new_bench(1)
    key = "kubectl.kubernetes.io/last-applied-configuration"
    manifest = '{"metadata":{"name":"x"},"spec":{"clusterName":"work","replicas":2}}'
    change = {"metadata": {"annotations": {key: manifest}}, "spec": {"replicas": 2}}
    bench.cluster.api.merge(bench.object, change, "kubectl-client-side-apply")
    assert bench.port.adopt(bench.target, 2, bench.bound()).done
    assert bench.annotations()[key] == '{"metadata":{"name":"x"},"spec":{"clusterName":"work"}}'
    assert bench.facts().owner.last_applied_replicas is None
    assert bench.port.resize(bench.target, 3, bench.bound()).done


def test_an_update_of_our_own_is_no_obstacle(new_bench: NewBench) -> None:
    """Under our name but not by apply: the server would name us as the conflict; the claim clears it."""
    bench = new_bench(1)
    bench.edited_by("nodegroup-reconciler", 2)
    assert bench.port.resize(bench.target, 3, bench.bound()).done
    assert (bench.replicas(), bench.owners()) == (3, [OURS])


def test_release_takes_all_our_marks_and_keeps_the_value(new_bench: NewBench) -> None:
    """Annotations and ownership are gone, replicas and generation stay."""
    bench = new_bench(1, annotations={"reconciler.dev/reason": "PendingPods", "reconciler.dev/revision": "abc"})
    bench.port.resize(bench.target, 2, bench.bound())
    assert bench.annotations()["reconciler.dev/reason"] == "PendingPods"
    before = bench.now()["metadata"]["generation"]
    assert bench.port.release(bench.target, bench.bound()).done
    assert (bench.replicas(), bench.owners(), bench.now()["metadata"]["generation"]) == (2, [], before)
    assert not [key for key in bench.annotations() if key.startswith("reconciler.dev/")]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}, "paused"),
        ({"spec": {"paused": True}}, "paused"),
        ({"metadata": {"annotations": {"reconciler.dev/hold": "recovering"}}}, "recovering"),
    ],
)
def test_paused_and_held_targets_are_not_written(new_bench: NewBench, change: dict, word: str) -> None:
    """Refused, with what says so."""
    bench = new_bench(1)
    bench.cluster.api.merge(bench.object, change)
    result = bench.port.resize(bench.target, 2, bench.bound())
    assert (result.code, bench.replicas()) == (WriteCode.REFUSED, 1)
    assert word in result.message


def test_a_machine_set_of_its_own_is_a_target(new_bench: NewBench) -> None:
    """Grown by the same write."""
    bench = new_bench(1, kind=MACHINE_SET)
    assert bench.port.resize(bench.target, 2, bench.bound()).done
    bench.until_nodes(2)
