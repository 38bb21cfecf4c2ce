"""Machines of OpenShift's Machine API whole: those that say everything, and those that say nothing, offline and on a server."""

import json
from collections.abc import Mapping

import pytest

from reconciler.cluster.target import Machine
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import Served
from reconciler.platforms.openshift.facts.kept_nodes import failed_beside
from reconciler.platforms.openshift.writing.dialect import MachineApiDialect
from reconciler.providers.machines.dialect import MachineReading
from tests.openshift.objects import GROUP, NAMESPACE, Object, machine, machine_set, world
from tests.openshift.server import TARGET

BARE: Object = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Machine", "metadata": {"name": "m", "namespace": NAMESPACE}}
HOOKS = {"preDrain": [{"name": "wait", "owner": "ops"}], "preTerminate": [{"name": "backup", "owner": "dba"}]}


def test_a_machine_that_says_everything() -> None:
    """Its set, node, place, and what keeps it: the first hook that holds it up."""
    item = machine("a-1", "a", node="n1", phase="Deleting", deleting=True, hooks=HOOKS, labels={f"{GROUP}/zone": "eu-1a"})
    item["spec"]["providerID"] = "aws:///eu-1a/i-1"  # type: ignore[index]
    assert world(machine_set("a"), item).machines == (
        Machine(
            namespace=NAMESPACE,
            name="a-1",
            target=TARGET,
            node="n1",
            provider_id="aws:///eu-1a/i-1",
            created_seconds=1_793_491_200,
            deleting=True,
            phase="Deleting, kept by lifecycle hook wait of ops",
            zone="eu-1a",
        ),
    )


def test_a_machine_that_says_nothing() -> None:
    """Nobody's, nowhere, and never made."""
    assert world(BARE).machines == (Machine(namespace=NAMESPACE, name="m", target=None),)


@pytest.mark.parametrize(
    ("kind", "group", "owned"),
    [("MachineSet", GROUP, True), ("ControlPlaneMachineSet", GROUP, False), ("MachineSet", "cluster.x-k8s.io", False)],
)
def test_whose_machine_it_is(kind: str, group: str, *, owned: bool) -> None:
    """A set of this API; machines of the control plane have another owner, which nobody sizes."""
    item = machine("a-1", "a")
    item["metadata"]["ownerReferences"][0] |= {"kind": kind, "apiVersion": f"{group}/v1beta1"}  # type: ignore[index]
    assert (world(machine_set("a"), item).machines[0].target == TARGET) is owned


@pytest.mark.parametrize(
    ("hooks", "deleting", "phase"),
    [(HOOKS, False, "Running"), ({}, True, "Running"), (None, True, "Running"), ({"preDrain": []}, True, "Running")],
)
def test_what_keeps_nothing(hooks: Object | None, phase: str, *, deleting: bool) -> None:
    """Hooks count while it is going, where there are any."""
    item = machine("a-1", "a", deleting=deleting, hooks=hooks)
    assert world(machine_set("a"), item).machines[0].phase == phase


@pytest.mark.parametrize(
    ("error", "node", "there", "kept"),
    [("quota", "n1", ("n2",), ""), ("quota", "n1", ("n1",), "n1"), ("quota", "n1", (), "n1"), ("", "n1", ("n2",), "n1")],
)
def test_a_node_that_went_with_its_instance(error: str, node: str, there: tuple[str, ...], kept: str) -> None:
    """Of a Machine that failed; of a snapshot without nodes nobody can tell, and one that runs may be older than its node."""
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": {}} for name in there]
    found = world(machine_set("a"), machine("a-1", "a", error=error, node=node), *nodes).machines
    assert [one.node for one in found] == [kept]


class Server:
    """One Machine, and the node `n1`; keeps what it is asked for."""

    def __init__(self, item: Object) -> None:
        self.item = item
        self.asked: list[str] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        del query
        self.asked.append(path.rpartition("/")[2])
        if path.startswith("/api/v1/nodes/") and not path.endswith("/n1"):
            raise ApiError(404, "NotFound", path)
        return json.dumps(self.item).encode()


@pytest.mark.parametrize(
    ("item", "node", "asked"),
    [
        (BARE, "", ["m"]),
        (machine("m", "a"), "", ["m"]),
        (machine("m", "a", node="n1"), "n1", ["m"]),
        (machine("m", "a", node="n9"), "n9", ["m"]),
        (machine("m", "a", error="quota"), "", ["m"]),
        (machine("m", "a", error="quota", node="n1"), "n1", ["m", "n1"]),
        (machine("m", "a", error="quota", node="n9"), "", ["m", "n9"]),
    ],
)
def test_the_node_of_a_machine_that_is_read(item: Object, node: str, asked: list[str]) -> None:
    """The server is asked for it where the Machine failed, and nowhere else."""
    server = Server(item)
    dialect = MachineApiDialect((Served(platform="openshift", group=GROUP, version="v1beta1"),))
    found = dialect.read_machine(server, NAMESPACE, "m")  # type: ignore[arg-type]
    assert found == MachineReading(name="m", resource_version="", deleting=False, mark=None, node=node)
    assert server.asked == asked


@pytest.mark.parametrize(
    ("names", "named"),
    [
        ("", ""),
        ("b a", "Machine a, b failed"),
        ("a b c", "Machine a, b, c failed"),
        ("a b c d", "Machine a, b, c and 1 more failed"),
    ],
)
def test_machines_that_failed_are_named(names: str, named: str) -> None:
    """Three at most, in their order, and how many more there are."""
    assert failed_beside(names.split()).startswith(named)
    assert bool(failed_beside(names.split())) is bool(names)
