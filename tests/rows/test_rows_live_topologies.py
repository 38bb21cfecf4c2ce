"""The five arrangements of management and workload cluster, each by `reconciler run` as a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.live.reconciler_process import Reconciler, policy_text
from tests.live.run_cluster import replicas
from tests.live.topologies import Identity, Side, as_pod, by_file
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import running_control_plane

ON_TARGETS = {"patch machinedeployments", "patch machines"}
ON_NODES = {"patch nodes", "create pods/eviction"}


class Case(msgspec.Struct, frozen=True):
    """One arrangement: whether management and workload are two clusters, and the side on which the process runs as a pod."""

    two: bool
    pod_in: str = ""


CASES = {
    "joined-in-pod": Case(two=False, pod_in="workload"),
    "in-the-workload-cluster": Case(two=True, pod_in="workload"),
    "in-the-management-cluster": Case(two=True, pod_in="management"),
    "two-files": Case(two=True),
    "one-file": Case(two=False),
}


@pytest.fixture(scope="module")
def sides(cluster_api: ClusterApi) -> Iterator[dict[bool, Side]]:
    """A Cluster whose nodes are where its Machines are, and one whose nodes are on a control plane of their own. Each case has
    two groups: one to shrink, with a pod on each of its two nodes, and one to grow from zero."""
    with running_control_plane() as second:
        found = {False: Side(cluster_api, cluster_api.plane, "topology-one"), True: Side(cluster_api, second, "topology-two")}
        for name, case in CASES.items():
            found[case.two].group(f"{name}-down", 2)
            found[case.two].group(f"{name}-up", 0)
        for name, case in CASES.items():
            for node in found[case.two].nodes(f"{name}-down", 2):
                found[case.two].pod(f"{name}-down", f"on-{node}", "1", node)
        yield found
        found[False].cluster.delete()
        found[True].cluster.delete()
        # Cluster API takes a Cluster apart through the cluster of its nodes, which goes next.
        path = found[True].cluster.path("clusters")
        cluster_api.api.wait(path, lambda items: not items, "deletion of the Cluster")


@pytest.mark.parametrize("name", CASES)
def test_s117_five_topologies_of_kubeconfigs(sides: dict[bool, Side], name: str, tmp_path: Path) -> None:
    """Nodes and pods are read, closed and evicted in the workload cluster, targets read and written in the management cluster,
    and neither is asked for what belongs to the other: one group grows for a pod, one loses a node whose pod is evicted."""
    case, (down, up) = CASES[name], (f"{name}-down", f"{name}-up")
    side = sides[case.two]
    place = side.cluster.namespace
    side.pod(up, f"{name}-pending", "3")
    identity = {
        part: as_pod(plane, place, name, tmp_path) if case.pod_in == part else by_file(plane, f"topology-{name}-{part}")
        for part, plane in (("workload", side.workload), ("management", side.management))
        if case.two or part == "workload"
    }
    workload, management = identity["workload"], identity.get("management", identity["workload"])
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text(name, place, {down: (0, 5), up: (0, 5)}, unneeded="0s"))
    options = [f"--namespace={place}", "--period=1", *_options(workload, management)]
    environment = {**workload.environment, **management.environment, "HOME": str(tmp_path), "KUBECONFIG": ""}
    program = "tests.live.in_pod" if case.pod_in else "reconciler"
    with Reconciler(workload.kubeconfig, policy, *options, program=program, environment=environment) as process:
        assert process.said("Resize")["group"] == up
        (removed,) = process.said("RemovalFinished")["nodes"]
        assert side.until_bound(f"{name}-pending") in side.nodes(up, 1)
    assert removed not in side.nodes(down, 1)
    assert (replicas(side.cluster, up), replicas(side.cluster, down)) == (1, 1)
    assert workload.wrote() >= ON_NODES
    assert management.wrote() >= ON_TARGETS | {"create leases", "create configmaps"}
    if case.two:
        assert not workload.wrote() & (ON_TARGETS | {"create leases", "create configmaps"})
        assert not management.wrote() & ON_NODES
        assert {"nodes", "pods"} <= workload.read()
        assert not {"machinedeployments", "machines"} & workload.read()
        assert {"machinedeployments", "machines"} <= management.read()
        assert not {"nodes", "pods"} & management.read()


def _options(workload: Identity, management: Identity) -> list[str]:
    """What names the management cluster: nothing where it is the same."""
    if management is workload:
        return []
    return [f"--management-kubeconfig={management.kubeconfig or 'in-cluster'}"]
