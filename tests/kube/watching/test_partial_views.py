"""What cannot be read, in every way in which that happens, stops what depends on it and nothing else."""

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.unread import Unread
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.watching.collection import DEVICES, WORKLOAD, Collection
from reconciler.kube.watching.live_world import IncompleteViewError, LiveWorld
from reconciler.kube.watching.stream_state import Phase
from reconciler.kube.watching.trust import PATIENCE_SECONDS
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.plan import OwnerState, Plan
from reconciler.policy.documents import BlockRule, Budget, DrainRules
from reconciler.policy.values.label_selector import Selector
from tests.kube import objects
from tests.kube.api_server import FakeApiServer, Watch
from tests.kube.cluster import eventually
from tests.policies import node_group, policy

NOW = 1_795_000_000
OWN, INFRA = f"/apis/{objects.GROUP}/v1beta2", f"/apis/{objects.INFRASTRUCTURE}/v1beta2"
FAULTS = ("403", "500", "unreachable", "garbage", "slow")


class Clock(RealPace):
    """A clock that only the test moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Silent(Watch):
    """A watch that is accepted and never says anything."""

    def _read(self) -> Iterator[bytes]:
        lines: queue.SimpleQueue[None] = self._lines  # type: ignore[assignment]
        lines.get()
        return iter(())

    def __enter__(self) -> Iterator[bytes]:
        return self._read()


class Server(FakeApiServer):
    """An API server of which some collections answer in one of `FAULTS`."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[str, str] = {}

    def get(self, path: str, query: Any = None) -> bytes:
        self._fail(path)
        return super().get(path, query)

    def stream(self, path: str, query: Any, *, silence_seconds: float) -> Watch:
        self._fail(path)
        if self.faults.get(path) == "slow":
            return Silent(self, path, dict(query), silence_seconds)
        if self.faults.get(path) == "garbage":
            watch = Watch(self, path, dict(query), silence_seconds)
            watch.say(b"<html>")
            return watch
        return super().stream(path, query, silence_seconds=silence_seconds)

    def _fail(self, path: str) -> None:
        match self.faults.get(path):
            case "403":
                raise ApiError(403, "Forbidden", f"{path} is forbidden")
            case "500":
                raise ApiError(500, "InternalError", "conversion webhook failed")
            case "unreachable":
                raise UnreachableError("connection refused")
            case _:
                return


@pytest.fixture
def server() -> Server:
    """One group in each of two namespaces, each with a template; one node and a pod that fits nowhere."""
    made = Server()
    for item in (
        *objects.definitions(),
        objects.definition(objects.INFRASTRUCTURE, "OtherMachineTemplate", "othermachinetemplates"),
    ):
        made.define(item)
    made.put("/api/v1/nodes/n1", objects.node("n1"))
    made.put("/api/v1/namespaces/shop", {"metadata": {"name": "shop"}})
    made.put("/api/v1/namespaces/shop/pods/big", objects.pod("shop", "big", cpu="7", nodeSelector={"x": "y"}))
    for namespace, name in (("ours", "general"), ("tenant", "other"), ("tenant", "foreign")):
        made.put(f"{OWN}/namespaces/{namespace}/clusters/c", _cluster(namespace))
        made.put(f"{OWN}/namespaces/{namespace}/machinedeployments/{name}", _group(namespace, name))
        made.put(f"{INFRA}/namespaces/{namespace}/testmachinetemplates/small", objects.machine_template(namespace, "small"))
    return made


def _cluster(namespace: str) -> dict[str, Any]:
    return {"kind": "Cluster", "metadata": {"namespace": namespace, "name": "c"}, "spec": {}}


def _group(namespace: str, name: str, replicas: int = 1, **reference: str) -> dict[str, Any]:
    item = objects.machine_deployment(namespace, name, replicas)
    item["metadata"]["managedFields"] = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {}}}]
    item["spec"]["template"]["spec"]["infrastructureRef"] |= reference
    return item


@contextmanager
def following(server: Server, clock: Clock, *, namespaces: tuple[str, ...] = ()) -> Iterator[LiveWorld]:
    world = LiveWorld(
        server, now_seconds=lambda: NOW, capi_group=objects.GROUP, pace=clock, namespaces=namespaces,
        workload_collections=(*WORKLOAD, *DEVICES),
    )  # fmt: skip
    world.start()
    try:
        yield world
    finally:
        clock.stop()
        assert world.stop()


def seen(world: LiveWorld, clock: Clock, *faulty: str) -> World:
    """The view once all but some kinds were asked for and read, after as long as a view waits at most for these."""

    def read() -> bool:
        world.doubts()
        states = {one.collection: one.phase for one in world.freshness()}
        # Templates are asked for once a target names them.
        whole = states.keys() >= set(faulty) and (len(faulty) > 1 or "TestMachineTemplate" in " ".join(states))
        return whole and all(phase in (Phase.SYNCED, Phase.ABSENT) for name, phase in states.items() if name not in faulty)

    eventually(read, f"a view of all but {faulty}", 20)
    clock.now += PATIENCE_SECONDS
    return world.observe()


OURS, THEIRS, FOREIGN = "MachineDeployment ours/general", "MachineDeployment tenant/other", "MachineDeployment tenant/foreign"
POLICY = policy(
    node_group("general", namespace="ours"), node_group("other", namespace="tenant"), node_group("foreign", namespace="tenant")
)


def plan_of(world: World) -> Plan:
    return decide(world, POLICY, Memory(), NOW)[0]


def held(plan: Plan) -> dict[str, str]:
    """Why each group that is held is so."""
    return {line.target: line.owner.evidence[0] for line in plan.groups if line.owner.state is not OwnerState.OURS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kind_of_template_that_a_tenant_names(server: Server, fault: str) -> None:
    """Only the group with that template is held, with the reason, and the view waits little for such a kind."""
    server.put(f"{OWN}/namespaces/tenant/machinedeployments/foreign", _group("tenant", "foreign", kind="OtherMachineTemplate"))
    server.faults[f"{INFRA}/othermachinetemplates"] = fault
    clock = Clock()
    with following(server, clock) as live:
        why = held(plan_of(seen(live, clock, "OtherMachineTemplate")))
        assert list(why) == [FOREIGN]
        assert why[FOREIGN].startswith("OtherMachineTemplate cannot be read: waiting")
        del server.faults[f"{INFRA}/othermachinetemplates"]


NEVER_DECIDED = {"Node", "Pod"}
REMOVALS_NEED = {"PodDisruptionBudget", "ReplicaSet"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("collection", [*WORKLOAD, *DEVICES], ids=str)
def test_each_kind_of_the_workload_cluster(server: Server, collection: Collection, fault: str) -> None:
    """Without nodes or pods there is no view. Each other kind counts as not captured; growth goes on, removals need some."""
    server.faults[collection.path] = fault
    clock = Clock()
    with following(server, clock) as live:
        if collection.kind in NEVER_DECIDED:
            with pytest.raises(IncompleteViewError, match=rf"^{collection.kind}: waiting"):
                seen(live, clock, collection.kind)
            return
        world = seen(live, clock, collection.kind)
        assert collection.kind not in world.captured
        plan = plan_of(world)
    assert held(plan) == {}
    assert bool([one for one in plan.problems if one.code == "RemovalsHalted"]) == (collection.kind in REMOVALS_NEED)
    told = collection.optional and fault == "403"
    assert [one.object for one in plan.problems if one.code == "Unread"] == ([] if told else [collection.kind])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", objects.KINDS)
def test_each_kind_of_the_management_cluster_in_one_namespace(server: Server, kind: str, fault: str) -> None:
    """The groups of the other namespace go on; so do those that are no pool, where pools cannot be read."""
    server.faults[f"{OWN}/namespaces/tenant/{objects.KINDS[kind]}"] = fault
    clock = Clock()
    with following(server, clock, namespaces=("ours", "tenant")) as live:
        why = held(plan_of(seen(live, clock, f"{kind} in tenant")))
    assert sorted(why) == ([] if kind == "MachinePool" else [FOREIGN, THEIRS])
    assert all(one.startswith(f"{kind} in tenant cannot be read: waiting") for one in why.values())


@pytest.mark.parametrize("fault", FAULTS)
def test_no_target_can_be_read(server: Server, fault: str) -> None:
    """Nothing is known of any group: there is no view, whatever else can be read."""
    kinds = ("MachineDeployment", "MachineSet", "MachinePool")
    server.faults = {f"{OWN}/{objects.KINDS[kind]}": fault for kind in kinds}
    clock = Clock()
    with following(server, clock) as live, pytest.raises(IncompleteViewError, match=r"^MachineDeployment: waiting"):
        seen(live, clock, *kinds)


@pytest.mark.parametrize(
    ("path", "item", "stopped"),
    [
        (f"{OWN}/namespaces/tenant/machinedeployments/foreign", {"spec": {"replicas": "many"}}, [FOREIGN]),
        (f"{OWN}/namespaces/tenant/machinedeployments/stranger", {"spec": {"replicas": "many"}}, []),
        (f"{OWN}/namespaces/tenant/machinepools/foreign", {"spec": 5}, []),
        (f"{OWN}/namespaces/tenant/machinesets/foreign-1", {"spec": {"replicas": "many"}}, [FOREIGN, THEIRS]),
        (f"{OWN}/namespaces/tenant/machines/foreign-1", {"spec": 5}, [FOREIGN, THEIRS]),
        (f"{OWN}/namespaces/tenant/clusters/c", {"spec": {"paused": "x"}}, [FOREIGN, THEIRS]),
        (f"{OWN}/namespaces/tenant/clusters/d", {"spec": {"paused": "x"}}, []),
        (f"{INFRA}/namespaces/tenant/testmachinetemplates/small", {"status": {"capacity": 5}}, [FOREIGN, THEIRS]),
        (f"{INFRA}/namespaces/tenant/testmachinetemplates/other", {"status": {"capacity": 5}}, []),
    ],
)
def test_one_object_of_a_platform(server: Server, path: str, item: dict[str, Any], stopped: list[str]) -> None:
    """Only the groups that depend on it are held, and what is in its namespace but not for them changes nothing."""
    namespace, _, name = path.split("/")[-3:]
    server.put(path, {"metadata": {"namespace": namespace, "name": name}, **item})
    clock = Clock()
    with following(server, clock) as live:
        assert sorted(held(plan_of(seen(live, clock)))) == stopped


MEMBERS = policy(
    node_group("general", namespace="ours", nodes=Selector(match_labels=(("pool", "kube-tests"),)), max=9),
    drain=DrainRules(unreplicated=BlockRule.ALLOW), budgets=(Budget(nodes=9),),
)  # fmt: skip
OF_CLUSTER = {
    "Namespace", "PersistentVolume", "PriorityClass", "StorageClass", "CSINode", "CSIDriver", "VolumeAttachment", "RuntimeClass",
    "DeviceClass", "ResourceSlice",
}  # fmt: skip
CONTROLLERS = ("ReplicaSet", "StatefulSet", "Job", "ReplicationController")
BY_KIND = {
    "PodDisruptionBudget": {"n1": ["NotEnoughPdb"], "n2": ["NotEnoughPdb"]},
    **{kind: {"n1": ["ControllerUnknown"]} for kind in CONTROLLERS},
}
KEEPERS = {"PodUnread", "RemovalsHalted", "NotEnoughPdb", "ControllerUnknown", "ControllerNotFound"}
EVERYWHERE = {node: ["RemovalsHalted"] for node in ("n1", "n2", "n4")}
"""The pods of the others have a place on n3."""


@pytest.mark.parametrize(
    ("kind", "spec", "kept"),
    [
        ("Pod", {"nodeName": "n1"}, {"n1": ["PodUnread"]}),
        ("Pod", {}, {}),
        ("Pod", {"nodeName": 5}, EVERYWHERE),
        *((one.kind, {}, BY_KIND.get(one.kind, {})) for one in (*WORKLOAD, *DEVICES) if one.kind not in NEVER_DECIDED),
    ],
)
def test_one_object_of_the_workload_cluster(server: Server, kind: str, spec: Any, kept: dict[str, list[str]]) -> None:
    """Only the nodes that it may concern are kept, with a reason: its own, or those with pods of its own or of its namespace. On
    n1 is a pod of its own, on n2 another pod of its namespace, on n3 one of another namespace, and n4 is empty. The object is
    named, and no group is held."""
    for number in range(1, 5):
        server.put(f"/api/v1/nodes/n{number}", objects.node(f"n{number}"))
    server.put(f"{OWN}/namespaces/ours/machinedeployments/general", _group("ours", "general", replicas=4))
    (where,) = (one for one in (*WORKLOAD, *DEVICES) if one.kind == kind)
    namespace = "" if kind in OF_CLUSTER else "shop"
    owned = objects.pod("shop", "own", nodeName="n1")
    if kind in CONTROLLERS:
        version = f"{where.group}/v1".strip("/")
        owned["metadata"]["ownerReferences"] = [
            {"apiVersion": version, "kind": kind, "name": "odd", "uid": "1", "controller": True}
        ]
    beside, far = objects.pod("shop", "beside", nodeName="n2"), objects.pod("bank", "far", nodeName="n3")
    for item in (owned, beside, far):
        item["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        server.put(f"/api/v1/namespaces/{item['metadata']['namespace']}/pods/{item['metadata']['name']}", item)
    collection = msgspec.structs.replace(where, namespace=namespace)
    metadata = {"name": "odd", "labels": 5, **({"namespace": namespace} if namespace else {})}
    server.put(f"{collection.path}/odd", {"metadata": metadata, "spec": spec})
    clock = Clock()
    with following(server, clock) as live:
        world = seen(live, clock)
    idle = Memory(unneeded_since={node.name: NOW - 3600 for node in world.nodes})
    plan, _ = decide(world, MEMBERS, idle, NOW)
    assert held(plan) == {}
    blockers = {line.node: sorted({one.code for one in line.blockers} & KEEPERS) for line in plan.nodes}
    assert {name: codes for name, codes in blockers.items() if codes} == kept
    (told,) = (one for one in plan.problems if one.code == "Unread")
    assert told.object == (f"{kind} shop/odd" if namespace else f"{kind} odd")


def test_one_node(server: Server) -> None:
    """It stays, takes no pods and counts as a node of its group, and the others are judged as always."""
    server.put(f"{OWN}/namespaces/ours/machinedeployments/general", _group("ours", "general", replicas=2))
    for number in (1, 2):
        server.put(f"/api/v1/nodes/n{number}", objects.node(f"n{number}"))
    odd = objects.node("n2")
    odd["status"]["capacity"] = 5
    server.put("/api/v1/nodes/n2", odd)
    server.put("/api/v1/namespaces/shop/pods/small", objects.pod("shop", "small", cpu="100m"))
    clock = Clock()
    with following(server, clock) as live:
        plan, _ = decide(seen(live, clock), MEMBERS, Memory(unneeded_since={"n1": NOW - 3600, "n2": NOW - 3600}), NOW)
        assert held(plan) == {}
        blockers = {line.node: [one.code for one in line.blockers if one.code in KEEPERS] for line in plan.nodes}
        assert blockers == {"n1": [], "n2": ["PodUnread"]}
        (line,) = plan.groups
        assert line.current == 2
        assert [one.object for one in plan.problems if one.code == "Unread"] == ["Node n2"]
        server.put("/api/v1/nodes/n2", objects.node("n2"))
        eventually(lambda: not live.observe().unread, "a Node that can be read again", 20)


def test_a_node_that_may_be_of_any_group(server: Server) -> None:
    """Its labels cannot be read: nobody knows which group it counts for, so nothing is decided."""
    odd = objects.node("n1")
    odd["metadata"]["labels"] = 5
    server.put("/api/v1/nodes/n1", odd)
    clock = Clock()
    with following(server, clock) as live, pytest.raises(IncompleteViewError, match=r"^Node: n1 cannot be read"):
        seen(live, clock)


def test_what_was_read_before_stays_known(server: Server) -> None:
    """A kind that cannot be read any more: its groups are held with their last size, and what is remembered of them stays."""
    clock = Clock()
    with following(server, clock) as live:
        _, memory = decide(seen(live, clock), POLICY, Memory(), NOW)
        server.faults[f"{OWN}/machinedeployments"] = "403"
        server.end(f"{OWN}/machinedeployments")
        eventually(lambda: bool(live.observe().unread), "the refusal", 20)
        plan, after = decide(live.observe(), POLICY, memory, NOW)
    assert {line.current for line in plan.groups} == {1}
    assert sorted(held(plan)) == [OURS, FOREIGN, THEIRS]
    assert (after.known_groups, after.claims) == (memory.known_groups, memory.claims)


@pytest.mark.parametrize("kind", ["CapacityBuffer", "ProvisioningRequest", "Service"])
def test_one_request_of_a_tenant(kind: str) -> None:
    """The kind counts as read without it; where all of the kind cannot be read, it does not."""
    whole = Intake()
    whole.unread = (Unread(kind=kind, namespace="shop", name="odd", why="x"),)
    assert whole.partly_read() == set()
    whole.unread = (Unread(kind=kind, namespace="shop", why="x"),)
    assert whole.partly_read() == {kind}
