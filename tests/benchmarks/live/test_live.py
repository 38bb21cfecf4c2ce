"""A small `make bench-live` on a control plane of its own, without a clock: what it fills, and what the loop then asks for."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.benchmarks.live import objects
from tests.benchmarks.live.bench import Figure, measured
from tests.benchmarks.live.fill import fill
from tests.benchmarks.live.stored import copied
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane, running_control_plane
from tests.testbed.missing import not_run
from tests.testbed.reset_sockets import close_reset_sockets
from tests.testbed.toolchain import NotAvailableError

NODES, PODS, WAITING = 100, 1_000, 5
_BENCH = f"/api/v1/namespaces/{objects.NAMESPACE}"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    close_reset_sockets()
    try:
        context = running_control_plane()
        started = context.__enter__()
    except NotAvailableError as error:
        not_run("testbed", str(error))
    try:
        yield started
    finally:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def names(plane: ControlPlane) -> list[str]:
    return fill(plane, NODES, PODS, WAITING)


@pytest.fixture(scope="module")
def pods(plane: ControlPlane, names: list[str]) -> dict[str, Object]:
    found = {item["metadata"]["name"]: item for item in plane.api.items(f"{_BENCH}/pods")}
    assert len(found) == PODS + WAITING
    return {name: found[name] for name in names}


def test_a_copy_is_stored_as_the_server_stores_one(plane: ControlPlane, pods: dict[str, Object]) -> None:
    """A pod that was copied differs from one that the server made in what belongs to one pod alone."""
    copy = pods["app-000-01"]
    place = copy["spec"]["nodeName"]
    item = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "namespace": objects.NAMESPACE}, "spec": copy["spec"]}
    item["metadata"] |= {key: copy["metadata"][key] for key in ("ownerReferences",)} | {"labels": {"app": "app-000"}}
    made = plane.api.call("POST", f"{_BENCH}/pods?dryRun=All", item)
    assert made["spec"] == copy["spec"]
    assert made["metadata"]["labels"] == copy["metadata"]["labels"]
    assert made["metadata"]["labels"]["topology.kubernetes.io/zone"] == objects.zone_of(place)
    assert made["metadata"].keys() - {"resourceVersion"} == copy["metadata"].keys() - {"resourceVersion"}


def test_every_pod_runs_on_a_node_of_kwok(plane: ControlPlane, pods: dict[str, Object]) -> None:
    """All nodes are kwok's and Ready, and each has its ten running pods."""
    nodes = {item["metadata"]["name"]: item for item in plane.api.items("/api/v1/nodes")}
    assert {item["metadata"]["annotations"]["kwok.x-k8s.io/node"] for item in nodes.values()} == {"fake"}
    ready = [one["status"] for item in nodes.values() for one in item["status"]["conditions"] if one["type"] == "Ready"]
    assert ready == ["True"] * NODES
    assert Counter(pod["spec"]["nodeName"] for pod in pods.values()) == dict.fromkeys(nodes, PODS // NODES)
    assert {pod["status"]["phase"] for pod in pods.values()} == {"Running"}


def test_every_pod_has_its_owner_and_a_uid_of_its_own(plane: ControlPlane, pods: dict[str, Object]) -> None:
    """Owners are there under the uid that their pods name, with as many pods as they have replicas."""
    owners = list(plane.api.items(f"{_BENCH}/replicationcontrollers"))
    wanted = {item["metadata"]["uid"]: item["spec"]["replicas"] for item in owners}
    assert Counter(pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods.values()) == wanted
    assert len({pod["metadata"]["uid"] for pod in pods.values()}) == PODS


def test_every_node_has_its_machine(plane: ControlPlane, names: list[str]) -> None:
    """A Machine names the node by name and provider id, and belongs to the MachineSet of the node's group."""
    top = f"/apis/{objects.MACHINE_GROUP}/v1beta2/namespaces/{objects.NAMESPACE}"
    machines = list(plane.api.items(f"{top}/machines"))
    providers = {item["metadata"]["name"]: item["spec"]["providerID"] for item in plane.api.items("/api/v1/nodes")}
    assert {item["status"]["nodeRef"]["name"]: item["spec"]["providerID"] for item in machines} == providers
    replicas = {item["metadata"]["uid"]: item["spec"]["replicas"] for item in plane.api.items(f"{top}/machinesets")}
    assert Counter(item["metadata"]["ownerReferences"][0]["uid"] for item in machines) == replicas


def test_an_idle_loop_lists_nothing(plane: ControlPlane, names: list[str]) -> None:
    """Once synced the loop asks the server for no list, and it needs less memory than is asked at thirty times this size."""
    figures = {figure.name: figure for figure in measured(plane, names)}
    assert figures["list calls in 7 idle loops"].value == 0
    assert 0 < figures["peak memory (VmHWM)"].value < 400


def test_a_word_of_another_length_is_refused() -> None:
    """The stored form says how long a text is, so that a longer one in its place would break it."""
    assert copied(b"\x06node-1\x01", {"node-1": "node-2"}) == b"\x06node-2\x01"
    with pytest.raises(ValueError, match="not as long"):
        copied(b"\x06node-1\x01", {"node-1": "node-10"})
    with pytest.raises(ValueError, match="not in what is stored"):
        copied(b"\x06node-1\x01", {"node-3": "node-2"})


def test_a_missed_bound_is_said() -> None:
    """A figure above its bound says so on its line, with its multiple of the yardstick; one at its bound does not."""
    over = Figure(name="first sync", value=10.5, bound=10.0, cpu_seconds=2.0)
    assert over.line(yardstick=0.25).split()[-6:] == ["8", "x", "asked", "10", "s", "missed"]
    assert not Figure(name="first sync", value=10.0, bound=10.0).missed
    assert not Figure(name="first loop", value=99.0).missed
