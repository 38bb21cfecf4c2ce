"""The overlay for OpenShift on a real API server with its controllers: our account does what it is meant to do, and no more."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.kube.connection.transport import connect
from reconciler.providers.contract import RemovalState
from reconciler.rendering.manifests.bounds_manifest import BOUNDS_NAME, bound_key
from tests.deploy.attempt import Attempt, Guarded, Object, deleted, forced, merge
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, Installed
from tests.deploy.rendered import deployment, of_kind, overlay, with_component
from tests.openshift.live_bench import MachineSetBench, node_of
from tests.testbed.api import ApiError
from tests.testbed.control_plane import MASTERS
from tests.testbed.machine_api import MachineApi

MARK = "machine.openshift.io/delete-machine"
OLD_MARK = "machine.openshift.io/cluster-api-delete-machine"
ROLE = "machine.openshift.io/cluster-api-machine-role"


@pytest.fixture(scope="module")
def guarded(machine_api: MachineApi) -> Iterator[Guarded]:
    """The overlay in force; our account is an administrator besides, as if our code and RBAC held nothing back."""
    installed = Installed(machine_api.plane, "openshift")
    ours = installed.user(MASTERS)
    installed.wait_for_policies()
    yield Guarded(ours, installed.user(MASTERS, name="somebody"))
    installed.remove()


@pytest.fixture
def bounds(machine_api: MachineApi, guarded: Guarded, tmp_path: Path) -> Iterator[Object]:
    """The component `bounds` beside it, with its empty ConfigMap."""
    parts = [one for one in with_component("openshift", "bounds", tmp_path) if one["metadata"]["name"].startswith(BOUNDS_NAME)]
    assert guarded.ours
    installed = Installed(machine_api.plane, "openshift", parts)
    yield next(one for one in parts if one["kind"] == "ConfigMap")
    installed.remove()


@pytest.fixture
def bench(machine_api: MachineApi) -> Iterator[MachineSetBench]:
    """A set of two nodes whose replicas are ours."""
    made = MachineSetBench(machine_api, 2)
    made.until_nodes(2)
    yield made
    made.gone()


def test_no_user_id_is_asked_for() -> None:
    """The platform gives each namespace its own; that none may be root stays. Its monitoring may read the metrics."""
    objects = overlay("openshift")
    spec = deployment(objects)["spec"]["template"]["spec"]
    assert {"runAsUser", "runAsGroup", "fsGroup"} & spec["securityContext"].keys() == set()
    assert spec["securityContext"]["runAsNonRoot"]
    assert not any("runAsUser" in one.get("securityContext", {}) for one in spec["containers"])
    (policy,) = of_kind(objects, "NetworkPolicy")
    labels = {"kubernetes.io/metadata.name": "openshift-user-workload-monitoring"}
    assert {"namespaceSelector": {"matchLabels": labels}} in policy["spec"]["ingress"][0]["from"]


def test_our_account_resizes_drains_and_cancels(guarded: Guarded, bench: MachineSetBench) -> None:
    """With the rights of the overlay alone, through its admission policies."""
    assert guarded.ours
    nodes = bench.until_nodes(2)
    port = bench.port_over(connect(bench.plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS), environment={}))
    port.observe()
    assert port.remove_node(bench.target, nodes[0], 1, bench.bound()).done
    (ended,) = bench.removed(1, port)
    assert (ended.state, ended.code) == (RemovalState.FINISHED, "")
    assert bench.until_nodes(1) == [nodes[1]]
    bench.launches(launch="Fail")
    assert port.resize(bench.target, 2, bench.bound()).done
    machines = bench.until(lambda found: any(item.get("status", {}).get("errorReason") for item in found), "a failed Machine")
    failed = tuple(item["metadata"]["name"] for item in machines if not node_of(item))
    assert port.cancel(bench.target, failed, 1, bench.bound()).done
    assert bench.until_nodes(1) == [nodes[1]]


def test_nothing_but_replicas_of_a_set(guarded: Guarded, bench: MachineSetBench) -> None:
    """Neither by its other fields nor by `scale`, and not over what another manager declares."""
    item = bench.object
    guarded.refused(merge(item, {"spec": {"deletePolicy": "Newest"}}), "only spec.replicas of a target may be changed")
    guarded.refused(merge(item, {"metadata": {"labels": {"a": "b"}}}), "labels, finalizers and owners of a target")
    guarded.refused(merge(item, {"spec": {"replicas": 5}}, "/scale"), "the reconciler writes no objects of this kind")
    guarded.refused(deleted(item), "the reconciler writes no objects of this kind")
    guarded.allowed(merge(item, {"spec": {"replicas": 3}}))
    bench.applied_by("argocd-controller", 2)
    guarded.refused(forced(item, {"spec": {"replicas": 3}}), "replicas belong to another field manager")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"metadata": {"annotations": {"autoscaling.openshift.io/machineautoscaler": "a/b"}}},
            "a MachineAutoscaler sizes this set",
        ),
        ({"metadata": {"labels": {"hive.openshift.io/machine-pool": "w"}}}, "Hive sizes this set"),
        ({"metadata": {"labels": {"hive.openshift.io/managed": "true"}}}, "Hive sizes this set"),
        ({"spec": {"template": {"metadata": {"labels": {ROLE: "master"}}}}}, "this set makes machines of the control plane"),
    ],
)
def test_who_sizes_a_set_is_its_owner(guarded: Guarded, bench: MachineSetBench, change: Object, why: str) -> None:
    """The set says who: our account may not write its replicas, whatever our code thinks; all others may."""
    bench.testbed.merge(bench.object, change)
    guarded.refused(merge(bench.object, {"spec": {"replicas": 3}}), why)


def test_a_set_keeps_within_its_bounds(guarded: Guarded, bench: MachineSetBench, bounds: Object) -> None:
    """Under the key that the renderer gives it, with the API group of its kind; without one it keeps its size."""
    refusals: list[str] = []

    def sized(replicas: int) -> str:
        try:
            merge(bench.object, {"spec": {"replicas": replicas}}).by(guarded.ours)
        except ApiError as error:
            return str(error)
        return ""

    def until(replicas: int, said: str) -> None:
        def holds(_: object) -> bool:
            refusals.append(sized(replicas))
            return said in refusals[-1] if said else not refusals[-1]

        bench.testbed.wait("/api/v1/namespaces", holds, f"{replicas} replicas being answered by {said or 'yes'}")

    until(3, "says nothing of this target")
    bench.testbed.apply({**bounds, "data": {bound_key(bench.target): "1-3"}}, "gitops")
    until(3, "")
    assert "says 1-3 of this target, and the reconciler asks for 4 replicas" in sized(4)


def test_machines_bear_our_marks_and_nothing_else(guarded: Guarded, bench: MachineSetBench) -> None:
    """Both spellings; somebody else's stay, a running one is not deleted."""
    first, second = bench.machines()

    def marked(value: str | None, mark: str = MARK) -> Callable[[], Attempt]:
        return lambda: merge(first, {"metadata": {"annotations": {mark: value}}})

    for mark in (MARK, OLD_MARK):
        guarded.allowed(marked("nodegroup-reconciler.prod.g1.r2", mark))
    guarded.refused(marked("2026-11-22", OLD_MARK), "a delete mark that somebody else has set")
    guarded.refused(marked("x", "team"), "only the delete mark of a Machine may be changed")
    hooks = {"spec": {"lifecycleHooks": {"preDrain": [{"name": "backup", "owner": "dba"}]}}}
    guarded.refused(lambda: merge(second, hooks), "only the delete mark of a Machine may be changed")
    guarded.refused(deleted(second), "only a Machine that never became a node may be deleted")
    bench.testbed.merge(first, {"metadata": {"annotations": {MARK: "2026-11-22 00:00:00"}}})
    guarded.refused(marked(None), "a delete mark that somebody else has set")
