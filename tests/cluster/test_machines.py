"""Machines and instances behind targets."""

from typing import Any

import pytest

from reconciler.cluster.target import Machine, TargetRef
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from tests.cluster.objects import CAPI, Object, node, obj, owner, scalable, world_of

DEPLOYMENT = TargetRef(kind=MACHINE_DEPLOYMENT, namespace="capi", name="pool")
SET = TargetRef(kind=MACHINE_SET, namespace="capi", name="pool-1")


def machine(
    name: str = "m", *, meta: Object | None = None, spec: Object | None = None, version: str = "v1beta2", **status: Any
) -> Object:
    owned = {"ownerReferences": [owner("MachineSet", "pool-1")], **(meta or {})}
    return obj("Machine", f"{CAPI}/{version}", name, "capi", meta=owned, spec=spec or {}, status=status)


def machine_set(*, controlled: bool, by: str = "MachineDeployment") -> Object:
    references = [owner(by, "pool")] if controlled else []
    return scalable("MachineSet", "pool-1", meta={"ownerReferences": references})


def only(*objects: Object) -> Machine:
    (found,) = world_of(*objects).machines
    return found


IN_PLACE = "in-place-updates.internal.cluster.x-k8s.io"


@pytest.mark.parametrize(
    ("annotations", "conditions", "updating"),
    [
        ({}, [], False),
        ({f"{IN_PLACE}/update-in-progress": ""}, [], True),
        ({f"{IN_PLACE}/pending-acknowledge-move": ""}, [], True),
        ({}, [{"type": "Updating", "status": "True", "reason": "InPlaceUpdating"}], True),
        ({}, [{"type": "Updating", "status": "False", "reason": "NotUpdating"}], False),
    ],
)
def test_an_update_in_place(annotations: dict[str, str], conditions: list[Object], updating: bool) -> None:
    """It begins with an annotation, before the condition is there."""
    assert only(machine(meta={"annotations": annotations}, conditions=conditions)).updating is updating


def test_row() -> None:
    """A Machine that became a node."""
    item = machine(
        spec={"providerID": "x:///a/i-1", "failureDomain": "old"},
        meta={"creationTimestamp": "1970-01-01T00:00:09Z"},
        nodeRef={"name": "n1"},
        phase="Running",
        failureDomain="z",
    )
    assert only(item, machine_set(controlled=True)) == Machine(
        namespace="capi",
        name="m",
        target=DEPLOYMENT,
        node="n1",
        provider_id="x:///a/i-1",
        created_seconds=9,
        phase="Running",
        zone="z",
    )


def test_a_pool_beside_a_set_of_its_name() -> None:
    """Machines of the set are none of the pool's: that has its instances by the nodes that it names."""
    pool = scalable("MachinePool", "pool-1", status={"nodeRefs": [{"name": "n1"}]})
    found = world_of(pool, machine_set(controlled=False), machine(), node("n1")).machines
    pools = TargetRef(kind=MACHINE_POOL, namespace="capi", name="pool-1")
    assert sorted((str(one.target), one.name, one.node) for one in found) == [(str(pools), "n1", "n1"), (str(SET), "m", "")]


def test_when_it_was_made() -> None:
    """Long ago, where nothing says it."""
    item = machine()
    del item["metadata"]["creationTimestamp"]
    assert only(item, machine_set(controlled=True)).created_seconds == 0


@pytest.mark.parametrize(
    ("spec", "status", "zone"),
    [
        ({"failureDomain": "a"}, {}, "a"),
        ({}, {"failureDomain": "b"}, "b"),
        ({"failureDomain": "a"}, {"failureDomain": "b"}, "b"),
        ({}, {}, ""),
    ],
)
def test_zone_and_provider_id(spec: Object, status: Object, zone: str) -> None:
    """Where it was placed, else where it was to be; one that was not made yet has no id."""
    found = only(machine(spec=spec, **status), machine_set(controlled=True))
    assert (found.zone, found.provider_id) == (zone, "")


@pytest.mark.parametrize(
    ("references", "labels", "others", "target"),
    [
        ([owner("MachineSet", "pool-1")], {}, [machine_set(controlled=True)], DEPLOYMENT),
        ([owner("MachineSet", "pool-1")], {}, [machine_set(controlled=False)], SET),
        ([owner("MachineSet", "pool-1")], {}, [machine_set(controlled=True, by="Another")], SET),
        ([owner("MachineSet", "pool-1")], {f"{CAPI}/deployment-name": "pool"}, [scalable()], DEPLOYMENT),
        ([owner("MachineSet", "pool-1")], {f"{CAPI}/deployment-name": "pool"}, [], SET),
        ([owner("MachinePool", "p")], {}, [], TargetRef(kind=MACHINE_POOL, namespace="capi", name="p")),
        ([owner("KubeadmControlPlane", "cp", "controlplane.cluster.x-k8s.io/v1beta2")], {}, [], None),
        ([], {}, [], None),
    ],
    ids=[
        "deployment",
        "set alone",
        "set of another kind",
        "set not captured",
        "nothing captured",
        "pool",
        "control plane",
        "nobody",
    ],
)
def test_target(references: list[Object], labels: dict[str, str], others: list[Object], target: TargetRef | None) -> None:
    """The target is found through the owners; a label stands in where the set between was not captured."""
    assert only(machine(meta={"ownerReferences": references, "labels": labels}), *others).target == target


def test_marks() -> None:
    """A Machine that is going, and one that was chosen to go; of the mark only the key counts."""
    gone = only(machine(meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    chosen = only(machine(meta={"annotations": {f"{CAPI}/delete-machine": ""}}))
    assert (gone.deleting, gone.delete_marked) == (True, False)
    assert (chosen.deleting, chosen.delete_marked) == (False, True)


FAILED_STEP = {
    "type": "InfrastructureReady",
    "status": "False",
    "reason": "InstanceProvisionFailed",
    "message": "no capacity in z-a",
}
WAITING = {"type": "InfrastructureReady", "status": "False", "reason": "WaitingForInfrastructure", "message": "soon"}


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        ({"failureReason": "CreateError", "failureMessage": "quota"}, "CreateError: quota"),
        ({"deprecated": {"v1beta1": {"failureMessage": "quota"}}}, "quota"),
        ({"phase": "Failed", "conditions": [FAILED_STEP]}, "InstanceProvisionFailed: no capacity in z-a"),
        ({"phase": "Failed"}, "phase Failed"),
        ({"conditions": [{**WAITING, "severity": "Error"}]}, "WaitingForInfrastructure: soon"),
        ({"conditions": [{**WAITING, "reason": "InternalError"}]}, ""),
        ({"conditions": [WAITING]}, ""),
        ({"conditions": [FAILED_STEP], "nodeRef": {"name": "n1"}}, ""),
        ({}, ""),
    ],
    ids=[
        "v1beta1",
        "deprecated",
        "phase and condition",
        "phase",
        "severity",
        "internal",
        "waiting",
        "has a node",
        "nothing",
    ],
)
def test_failure_in_its_own_words(status: Object, failed: str) -> None:
    """Why a Machine will not become a node, as its provider says it; waiting is no failure."""
    assert only(machine(**status)).failed == failed


@pytest.mark.parametrize("phase", ["Pending", "Provisioning", "Provisioned"])
@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"conditions": [FAILED_STEP]}, "InstanceProvisionFailed: no capacity in z-a"),
        ({"conditions": [WAITING]}, ""),
    ],
)
def test_an_error_of_a_machine_that_is_still_made_is_no_failure(phase: str, status: Object, error: str) -> None:
    """Its provider tries again, until the phase is Failed."""
    found = only(machine(phase=phase, **status))
    assert (found.failed, found.last_error) == ("", error)
    if error:
        failed = only(machine(phase="Failed", **status))
        assert (failed.failed, failed.last_error) == (error, "")


@pytest.mark.parametrize("phase", ["Pending", "Provisioning", "Provisioned"])
def test_a_terminal_failure_needs_no_phase(phase: str) -> None:
    """Cluster API 1.14 leaves the phase at Provisioning when a provider reports `failureReason`."""
    found = only(machine(phase=phase, conditions=[FAILED_STEP], failureReason="OutOfStock", failureMessage="no machine left"))
    assert (found.failed, found.last_error) == ("OutOfStock: no machine left", "")


def test_node_by_provider_id() -> None:
    """Before the reference is written, the node that bears the Machine's provider id is its node."""
    item = machine(spec={"providerID": "x:///zone/i-1"})
    assert only(item, node("n1", spec={"providerID": "x:////i-1"})).node == "n1"
    assert only(item, node("n1", spec={"providerID": "x:///zone/i-2"})).node == ""


def test_ambiguous_provider_id() -> None:
    """Two nodes with one id are nobody's guess."""
    nodes = [node(name, spec={"providerID": "x:///zone/i-1"}) for name in ("n1", "n2")]
    assert only(machine(spec={"providerID": "x:///zone/i-1"}), *nodes).node == ""


def test_pool_instances() -> None:
    """A MachinePool without Machines: its node references, and the instances that are no node yet."""
    pool = scalable(
        "MachinePool",
        "p",
        spec={"providerIDList": ["x:///z/i-1", "x:///z/i-2"]},
        status={"nodeRefs": [{"name": "n1"}]},
    )
    world = world_of(pool, node("n1", spec={"providerID": "x:///z/i-1"}))
    assert [(item.name, item.node, item.provider_id) for item in world.machines] == [
        ("i-2", "", "x:///z/i-2"),
        ("n1", "n1", "x:///z/i-1"),
    ]


def test_canonical_order() -> None:
    """Machines by namespace and name."""
    assert [item.name for item in world_of(machine("b"), machine("a")).machines] == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        (("i-1",), "i-1"),
        (("i-1.eu-central-1.compute.internal",), "i-1.eu-central-1.compute.internal"),
        (("i-1.a", "i-1.b"), ""),
        (("i-10",), ""),
    ],
)
def test_a_node_without_provider_id_is_known_by_its_name(names: tuple[str, ...], joined: str) -> None:
    """The first part of it, where that is the id of exactly one machine and the name of exactly one node."""
    assert only(machine(spec={"providerID": "x:///a/i-1"}), *(node(name) for name in names)).node == joined


def test_a_name_that_two_machines_have() -> None:
    """Nobody can tell which of them it is."""
    twins = [machine(name, spec={"providerID": f"x:///{name}/i-1"}) for name in ("a", "b")]
    assert [one.node for one in world_of(*twins, node("i-1")).machines] == ["", ""]


def test_a_provider_id_wins_over_a_name() -> None:
    """A node that is called like another one's machine is not taken for it."""
    known = node("n", spec={"providerID": "x:///a/i-1"})
    assert only(machine(spec={"providerID": "x:///a/i-1"}), known, node("i-1")).node == "n"
