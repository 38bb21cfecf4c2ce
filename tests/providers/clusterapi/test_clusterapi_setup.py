"""Cluster API's targets row by row: discovery, capacity that is said twice, failures of Machines, pools without Machines."""

from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.values.selection import label_pairs
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.kube.connection.api import ApiError
from reconciler.plan.finding import Finding
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL
from reconciler.platforms.clusterapi.lints import LINTS
from reconciler.platforms.clusterapi.manifests import MANIFESTS
from reconciler.platforms.clusterapi.rules import RULES, takes
from reconciler.policy.documents import Discovery
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from tests.cluster.objects import CAPI, MAX, MIN, Object, obj, owner, scalable, world_of
from tests.policies import policy
from tests.providers.clusterapi.test_clusterapi_pool import PATH, POOL, _provider, _Server, _step

PREFIX = "capacity.cluster-autoscaler.kubernetes.io/"
CPU, MEMORY = (f"{PREFIX}{name}" for name in ("cpu", "memory"))
SIZES = {MIN: "1", MAX: "5"}


@pytest.mark.parametrize(
    ("item", "annotations", "meta", "taken"),
    [
        ({}, SIZES, {}, True),
        ({}, {}, {}, False),
        ({"namespaces": ("capi", "x")}, SIZES, {}, True),
        ({"namespaces": ("x",)}, SIZES, {}, False),
        ({"cluster_name": "c1"}, SIZES, {}, True),
        ({"cluster_name": "c2"}, SIZES, {}, False),
        ({"labels": label_pairs({"team": "a"})}, SIZES, {"labels": {"team": "a", "b": "c"}}, True),
        ({"labels": label_pairs({"team": "a", "b": "x"})}, SIZES, {"labels": {"team": "a", "b": "c"}}, False),
        ({}, SIZES, {"ownerReferences": [owner("MachineDeployment", "d")]}, False),
    ],
)
def test_discovery(item: dict[str, Any], annotations: dict[str, str], meta: Object, *, taken: bool) -> None:
    """With both size annotations, of nobody, and with everything that the item says."""
    (facts,) = world_of(scalable("MachineSet", annotations=annotations, meta=meta)).targets
    assert takes(Discovery(name="d", provider="clusterAPI", **item), facts) is taken


def test_a_target_in_a_policy() -> None:
    """As it is written there; somebody may declare it in git, in a group that may have another name."""
    ref = TargetRef(kind="MachineSet", namespace="n", name="a")
    assert RULES.policy_value(ref) == {"clusterAPI": {"kind": "MachineSet", "namespace": "n", "name": "a"}}
    assert (RULES.declared_in_manifests, MANIFESTS.renamed) == (True, True)


def found(
    above: dict[str, str], below: dict[str, str], *, kind: str = "MachineDeployment", deployment: str = "pool"
) -> list[Finding]:
    made_by = {"ownerReferences": [owner(kind, "pool")]}
    sets = scalable("MachineSet", "pool-1", annotations=below, meta=made_by)
    pool = scalable("MachinePool", "pool", annotations={CPU: "64"})
    elsewhere = scalable(name="pool", annotations={CPU: "64"})
    elsewhere["metadata"]["namespace"] = "another"
    world = world_of(sets, pool, elsewhere, scalable(name=deployment, annotations=above))
    return list(LINTS.findings(View.of(world, policy(), Memory(), world.captured_seconds, Work(10_000))))


@pytest.mark.parametrize(
    ("above", "below", "differ"),
    [
        ({CPU: "4"}, {CPU: "8"}, "cpu"),
        ({CPU: "4"}, {CPU: "4"}, ""),
        ({CPU: "4"}, {}, ""),
        ({}, {CPU: "8"}, ""),
        ({CPU: "4", MEMORY: "8Gi"}, {CPU: "4", MEMORY: "9Gi"}, "memory"),
        ({CPU: "4", "other": "a"}, {CPU: "4", "other": "b"}, ""),
    ],
)
def test_capacity_said_twice(above: dict[str, str], below: dict[str, str], differ: str) -> None:
    """A MachineDeployment hands its annotations on: only a difference tells of a second writer."""
    expected = Finding(
        code="CapacitySaidTwice",
        object="MachineSet capi/pool-1",
        message=f"it and its MachineDeployment capi/pool have different values: {PREFIX}{differ}",
        advice="write capacity annotations on the MachineDeployment alone",
    )
    assert found(above, below) == ([expected] if differ else [])


def test_sets_of_nobody_that_is_known() -> None:
    """Of another kind, or of a MachineDeployment that was not captured."""
    assert found({CPU: "4"}, {CPU: "8"}, kind="Other") == []
    assert found({CPU: "4"}, {CPU: "8"}, deployment="another") == []


def machine(status: Object | None) -> Object:
    return obj(
        "Machine", f"{CAPI}/v1beta2", "m", "capi", meta={"ownerReferences": [owner("MachineSet", "s")]}, spec={}, status=status
    )


def condition(kind: str = "InfrastructureReady", status: str = "False", **rest: str) -> Object:
    return {"type": kind, "status": status, "reason": "", "message": "", **rest}


NODE = {"nodeRef": {"name": "n1"}}


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        (None, ""),
        ({"failureReason": "CreateError", "failureMessage": "no quota"}, "CreateError: no quota"),
        ({"failureMessage": "no quota"}, "no quota"),
        ({"deprecated": {"v1beta1": {"failureReason": "Old"}}}, "Old"),
        ({"deprecated": {}}, ""),
        ({"phase": "Failed"}, "phase Failed"),
        (
            {"phase": "Failed", "conditions": [condition(), condition("Ready", reason="R", message="m")], **NODE},
            "R: m",
        ),
        ({"phase": "Failed", "conditions": [condition("Ready", "True", reason="R", message="m")]}, "phase Failed"),
        ({"conditions": [condition(reason="CreateFailed", message="m")]}, "CreateFailed: m"),
        ({"conditions": [condition(reason="CreateError")]}, "CreateError"),
        ({"conditions": [condition(reason="InternalError", message="m")]}, ""),
        ({"conditions": [condition(reason="Waiting", severity="Error", message="m")]}, "Waiting: m"),
        ({"conditions": [condition(reason="Waiting", severity="Info", message="m")]}, ""),
        ({"conditions": [condition(status="Unknown", reason="CreateFailed")]}, ""),
        ({"conditions": [condition("Ready", reason="CreateFailed")]}, ""),
        ({"conditions": [condition("BootstrapReady", reason="CreateFailed")]}, "CreateFailed"),
        ({"conditions": [condition(reason="CreateFailed")], **NODE}, ""),
        ({"deprecated": {"v1beta1": {"conditions": [condition(reason="CreateFailed")]}}}, "CreateFailed"),
    ],
)
def test_why_a_machine_does_not_come(status: Object | None, failed: str) -> None:
    """SOURCE: Cluster API's contracts v1beta1 and v1beta2: reasons of failure, else a step that has failed and no node yet."""
    (read,) = world_of(scalable("MachineSet", "s"), machine(status)).machines
    assert read.failed == failed


@pytest.mark.parametrize(
    ("replicas", "status", "rolling"),
    [(1, {}, True), (0, {"replicas": 1}, True), (0, {"replicas": 0}, False), (0, None, False), (None, {"replicas": 2}, True)],
)
def test_an_older_set_that_has_machines(replicas: int | None, status: Object | None, *, rolling: bool) -> None:
    """Or is to have: the deployment rolls out."""
    revision = "machinedeployment.clusters.x-k8s.io/revision"
    made_by = {"ownerReferences": [owner("MachineDeployment", "pool")]}
    old = scalable(
        "MachineSet", "old", meta={**made_by, "annotations": {revision: "1"}}, spec={"replicas": replicas}, status=status
    )
    new = scalable("MachineSet", "new", meta={**made_by, "annotations": {revision: "2"}})
    targets = {facts.ref.name: facts for facts in world_of(scalable(), old, new).targets}
    assert targets["pool"].rolling_out is rolling


def test_a_topology_without_an_entry() -> None:
    """What it declares cannot be told then."""
    cluster = obj("Cluster", f"{CAPI}/v1beta2", "c1", "capi", spec={"topology": {"workers": {"machinePools": []}}})
    meta = {"labels": {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/deployment-name": "a"}}
    (facts,) = world_of(scalable(meta=meta), cluster).targets
    assert (facts.owner.topology_read, facts.owner.topology_replicas) == (False, None)


def begun(replicas: int) -> tuple[_Server, Any]:
    server = _Server(replicas)
    provider = _provider(server)
    assert provider.may_begin(POOL, "", "n1", server.bound()) == WriteResult(generation=1)
    return server, provider


@pytest.mark.parametrize(("floor", "goes"), [(2, True), (3, False)])
def test_a_pool_at_its_floor(floor: int, *, goes: bool) -> None:
    """One less may be the floor."""
    server, provider = begun(3)
    finished = TargetRemoval(state=RemovalState.FINISHED, replicas=2, generation=2)
    message = "MachinePool prod/pool has 3 replicas and must keep 3"
    failed = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.REFUSED, message=message)
    assert _step(provider, floor=floor) == (finished if goes else failed)
    assert server.replicas == (2 if goes else 3)


def test_a_pool_without_replicas() -> None:
    """It has none that could go."""
    server, provider = begun(1)
    server.change(replicas=None)
    assert _step(provider).state is RemovalState.FAILED


def test_a_pool_that_was_judged_otherwise() -> None:
    """Nothing begins on it, and nothing goes on that did not begin."""
    server = _Server(3)
    provider, bound = _provider(server), server.bound()
    server.change(replicas=4)
    assert provider.may_begin(POOL, "", "n1", bound).code == WriteCode.STALE
    assert _step(provider).code == WriteCode.UNKNOWN


@pytest.mark.parametrize(
    ("nodes", "replicas", "followed", "passed"),
    [
        (["n1"], 1, True, True),
        (["n1", "n2"], 1, True, False),
        (["n2"], 1, True, False),
        (["n1"], 1, False, False),
        ([], 0, True, False),
    ],
)
def test_which_instance_went(nodes: list[str], replicas: int, *, followed: bool, passed: bool) -> None:
    """Another one, where the pool has followed, has as few as are wanted and the drained node is among them."""
    server, provider = begun(2)
    assert _step(provider).replicas == 1
    server.change(replicas=replicas)
    server.followed(*nodes)
    if not followed:
        server.change(providerIDList=[])
    found = _step(provider)
    assert (found.state, found.code) == ((RemovalState.FAILED, WriteCode.PASSED_OVER) if passed else (RemovalState.FINISHED, ""))
    if not passed:
        assert found.generation == 2


@pytest.mark.parametrize(
    ("status", "state"), [(409, RemovalState.DRAINING), (403, RemovalState.FAILED), (503, RemovalState.DRAINING)]
)
def test_a_pool_that_is_not_lowered(status: int, state: RemovalState) -> None:
    """Tried again where nothing was done, given up where it will not be."""
    server, provider = begun(3)
    server.refused[PATH] = ApiError(status, "Refused", "no")
    assert _step(provider).state is state
    server.refused.clear()
    assert _step(provider).state is (RemovalState.FINISHED if state is RemovalState.DRAINING else RemovalState.FAILED)
    assert POOL.kind == MACHINE_POOL
