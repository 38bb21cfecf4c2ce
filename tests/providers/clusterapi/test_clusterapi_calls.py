"""What is asked of the API server that keeps Cluster API's objects, and what is made of each answer."""

from typing import Any, cast

import msgspec
import pytest

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Served
from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.live import LIVE
from reconciler.platforms.clusterapi.objects import OBJECTS
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion, newest, served_version
from reconciler.platforms.clusterapi.writing.target_readings import living_machines, read_machine, read_target
from reconciler.platforms.openshift.live import LIVE as OPENSHIFT
from reconciler.providers.findings import Check, State
from reconciler.providers.live_platforms import Surroundings
from reconciler.providers.machines.dialect import MachineReading
from tests.cluster.objects import CAPI, Object, owner, scalable
from tests.providers.scripted_api import ScriptedApi

V = ClusterApiVersion()
GROUP = f"/apis/{CAPI}"
HERE = f"{GROUP}/v1beta2/namespaces/capi"
MACHINE_API, AUTOSCALING = "machine.openshift.io", "autoscaling.openshift.io"


def api(answers: dict[str, Any] | None = None) -> tuple[Api, ScriptedApi]:
    found = ScriptedApi(answers)
    return cast(Api, found), found


def versions(*names: str) -> Object:
    return {"versions": [{"version": name} for name in names]}


@pytest.mark.parametrize(
    ("there", "preferred"),
    [
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1beta10", "v1beta9"), "v1beta10"),
        (("v1", "v1beta2"), "v1"),
        (("v1beta1", "v2alpha1"), "v1beta1"),
        (("v2", "v10", "v9beta1"), "v10"),
        (("v1alpha9", "v1beta1"), "v1beta1"),
        (("v2beta1", "v1beta2"), "v2beta1"),
        (("foo", "v1alpha1", "bar"), "v1alpha1"),
        (("foo", "bar10", "bar2"), "bar10"),
        (("v1beta", "other"), "other"),
        ((), ""),
    ],
)
def test_the_version_that_kubernetes_prefers(there: tuple[str, ...], preferred: str) -> None:
    """SOURCE: the priority of versions of CustomResourceDefinitions, with the order of its documentation."""
    assert (newest(there), newest(reversed(there))) == (preferred, preferred)


@pytest.mark.parametrize(
    ("environment", "answers", "found", "asked"),
    [
        ({}, {GROUP: versions("v1beta1", "v1beta2")}, ClusterApiVersion(CAPI, "v1beta2"), [GROUP]),
        ({}, {}, None, [GROUP]),
        ({}, {GROUP: versions()}, None, [GROUP]),
        ({"CAPI_GROUP": "x.dev"}, {"/apis/x.dev": versions("v1")}, ClusterApiVersion("x.dev", "v1"), ["/apis/x.dev"]),
        ({"CAPI_VERSION": "v1beta1"}, {}, ClusterApiVersion(CAPI, "v1beta1"), []),
        ({"CAPI_GROUP": "x.dev", "CAPI_VERSION": "v1"}, {}, ClusterApiVersion("x.dev", "v1"), []),
    ],
)
def test_the_version_that_is_spoken(
    environment: dict[str, str], answers: dict[str, Any], found: ClusterApiVersion | None, asked: list[str]
) -> None:
    """The one that is pinned, else the newest of those served; none where the server has no such group."""
    server, log = api(answers)
    assert served_version(server, environment) == found
    served = () if found is None else (Served(platform="clusterAPI", group=found.group, version=found.version),)
    assert LIVE.served(server, environment) == served
    assert [path for path, _ in log.asked] == asked * 2


def test_a_server_that_does_not_say() -> None:
    """Whether it has Cluster API is not known then."""
    with pytest.raises(ApiError):
        served_version(api({GROUP: 403})[0], {})


CLUSTER: Object = {"metadata": {"name": "c1", "namespace": "capi"}, "spec": {"paused": True}}


@pytest.mark.parametrize(
    ("kind", "plural", "rollout", "sets"),
    [
        ("MachineDeployment", "machinedeployments", False, False),
        ("MachineDeployment", "machinedeployments", True, True),
        ("MachineSet", "machinesets", True, False),
        ("MachinePool", "machinepools", True, False),
    ],
)
def test_one_target(kind: str, plural: str, *, rollout: bool, sets: bool) -> None:
    """With its Cluster and, where it may roll out, its MachineSets by the label that they bear."""
    item = scalable(kind)
    server, log = api({
        f"{HERE}/{plural}/pool": item, f"{HERE}/clusters/c1": CLUSTER, f"{HERE}/machinesets": {"items": []}
    })  # fmt: skip
    reading = read_target(server, V, TargetRef(kind=kind, namespace="capi", name="pool"), rollout=rollout)
    listed = [(f"{HERE}/machinesets", {"labelSelector": f"{CAPI}/deployment-name=pool"})] if sets else []
    assert log.asked == [(f"{HERE}/{plural}/pool", {}), (f"{HERE}/clusters/c1", {}), *listed]
    assert reading.facts.owner.paused == "spec.paused of the Cluster capi/c1"
    assert (reading.facts.replicas, reading.facts.rolling_out) == (3, False)


def test_a_rollout_under_way() -> None:
    """An older MachineSet of it has machines still; the name of the Cluster may stand in a label alone."""
    revision = "machinedeployment.clusters.x-k8s.io/revision"
    item = scalable(meta={"labels": {f"{CAPI}/cluster-name": "c2"}, "annotations": {revision: "2"}}, spec={"clusterName": ""})
    old = scalable(
        "MachineSet", "old", meta={"annotations": {revision: "1"}, "ownerReferences": [owner("MachineDeployment", "pool")]}
    )
    server, log = api({f"{HERE}/machinedeployments/pool": item, f"{HERE}/machinesets": {"items": [old]}})
    target = TargetRef(kind="MachineDeployment", namespace="capi", name="pool")
    assert read_target(server, V, target, rollout=True).facts.rolling_out
    assert (f"{HERE}/clusters/c2", {}) in log.asked


def test_a_target_without_a_cluster() -> None:
    """None is asked for; one that may not be read stands against every write."""
    item = scalable(spec={"clusterName": ""})
    target = TargetRef(kind="MachineDeployment", namespace="capi", name="pool")
    server, log = api({f"{HERE}/machinedeployments/pool": item})
    read_target(server, V, target)
    assert len(log.asked) == 1
    with pytest.raises(ApiError):
        read_target(api({f"{HERE}/machinedeployments/pool": scalable(), f"{HERE}/clusters/c1": 403})[0], V, target)


def machine(name: str, *, owned_by: Object | None = None, going: bool = False, **rest: Any) -> Object:
    meta: Object = {"name": name, "namespace": "capi", "resourceVersion": "7", **rest.pop("meta", {})}
    if owned_by is not None:
        meta["ownerReferences"] = [owned_by]
    if going:
        meta["deletionTimestamp"] = "2026-11-21T00:16:25Z"
    return {"metadata": meta, "spec": {}, **rest}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (machine("m"), MachineReading(name="m", resource_version="7", deleting=False, mark=None, node="")),
        (
            machine("m", going=True, status={"nodeRef": {"name": "n1"}}),
            MachineReading(name="m", resource_version="7", deleting=True, mark=None, node="n1"),
        ),
        (
            machine("m", meta={"annotations": {f"{CAPI}/delete-machine": "x", "other": "y"}}, status={}),
            MachineReading(name="m", resource_version="7", deleting=False, mark="x", node=""),
        ),
        (404, None),
    ],
)
def test_one_machine(there: Object | int, expected: MachineReading | None) -> None:
    """Whether it is going, what its mark says, and its node; one that is not there is gone."""
    assert read_machine(api({f"{HERE}/machines/m": there})[0], V, "capi", "m") == expected


def test_a_machine_that_may_not_be_read() -> None:
    """Nobody knows whether it is gone."""
    with pytest.raises(ApiError):
        read_machine(api({f"{HERE}/machines/m": 403})[0], V, "capi", "m")


@pytest.mark.parametrize(
    ("kind", "label", "names"),
    [
        ("MachineDeployment", f"{CAPI}/deployment-name=pool", {"a", "b", "c", "d"}),
        ("MachineSet", f"{CAPI}/cluster-name=c1", {"a"}),
        ("MachinePool", f"{CAPI}/cluster-name=c1", {"b"}),
    ],
)
def test_the_machines_of_a_target(kind: str, label: str, names: set[str]) -> None:
    """By the label of the deployment; of a set or pool, whose label may be hashed, by its owner. None that goes."""
    machines = [
        machine("a", owned_by=owner("MachineSet", "pool")),
        machine("b", owned_by=owner("MachinePool", "pool")),
        machine("c", owned_by=owner(kind, "another")),
        machine("d"),
        machine("e", owned_by=owner(kind, "pool"), going=True),
    ]
    server, log = api({f"{HERE}/machines": {"items": machines}})
    facts = TargetFacts(ref=TargetRef(kind=kind, namespace="capi", name="pool"), replicas=1, cluster_name="c1")
    assert living_machines(server, V, facts) == names
    assert log.asked == [(f"{HERE}/machines", {"labelSelector": label})]


def checks(answers: dict[str, Any], *served: Served) -> list[Check]:
    return list(LIVE.checks(Surroundings(management=api(answers)[0], served=served)))


SERVED = Served(platform="clusterAPI", group=CAPI, version="v1beta2")
NEEDED = ("MachineDeployment", "MachineSet", "Machine", "Cluster")


def resources(*kinds: str) -> Object:
    return {"resources": [{"name": f"{kind.lower()}s", "kind": kind} for kind in kinds]}


def test_doctor_on_cluster_api() -> None:
    """What is needed is there, or which of it is not; MachinePools need not be."""
    there = f"{GROUP}/v1beta2"
    passed = Check(code="ClusterAPI", state=State.PASS, message=f"the server has {CAPI}/v1beta2")
    assert checks({there: resources(*NEEDED)}, SERVED) == [passed]
    lacking = Check(
        code="ClusterAPI",
        state=State.FAIL,
        message=f"{CAPI}/v1beta2 has no MachineSet, Cluster",
        advice="set CAPI_VERSION to a version that has them",
    )
    assert checks({there: resources("MachineDeployment", "Machine")}, SERVED) == [lacking]
    assert checks({}) == []
    with pytest.raises(ApiError):
        checks({there: 403}, SERVED)


@pytest.mark.parametrize(
    ("answers", "groups"),
    [
        ({MACHINE_API: versions("v1beta1"), AUTOSCALING: versions("v1", "v1beta1")}, [MACHINE_API, AUTOSCALING]),
        ({MACHINE_API: versions("v1beta1"), AUTOSCALING: versions("v1")}, [MACHINE_API]),
        ({MACHINE_API: versions("v1beta1")}, [MACHINE_API]),
        ({MACHINE_API: versions("v1"), AUTOSCALING: versions("v1beta1")}, []),
        ({AUTOSCALING: versions("v1beta1")}, []),
        ({}, []),
    ],
)
def test_openshift_is_there(answers: dict[str, Any], groups: list[str]) -> None:
    """With its machines; its autoscalers' group alone sizes nothing."""
    server, _ = api({f"/apis/{group}": found for group, found in answers.items()})
    served = tuple(Served(platform="openshift", group=group, version="v1beta1") for group in groups)
    assert OPENSHIFT.served(server, {}) == served
    told = [
        Check(code="MachineAPI", state=State.PASS, message="the server has " + " and ".join(f"{one}/v1beta1" for one in groups))
    ]
    assert list(OPENSHIFT.checks(Surroundings(management=server, served=served))) == told


def test_openshift_does_not_say() -> None:
    """Whether it has machines is not known then."""
    with pytest.raises(ApiError):
        OPENSHIFT.served(api({f"/apis/{MACHINE_API}": 403})[0], {})


@pytest.mark.parametrize(
    ("reference", "referred"),
    [
        ({"apiGroup": "infra.dev", "kind": "XMachineTemplate", "name": "t"}, ("infra.dev", "XMachineTemplate")),
        ({"apiVersion": "infra.dev/v1", "kind": "XMachineTemplate", "name": "t"}, ("infra.dev", "XMachineTemplate")),
        ({"apiGroup": "infra.dev", "kind": "XMachinePool", "name": "t"}, None),
        ({"kind": "XMachineTemplate", "name": "t"}, None),
        ({}, None),
    ],
)
def test_the_template_that_a_target_refers_to(reference: Object, referred: tuple[str, str] | None) -> None:
    """It is watched, whichever provider's it is."""
    item = msgspec.convert(
        {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"infrastructureRef": reference}}}}, wire.Scalable
    )
    found = OBJECTS.referred(item)
    assert (None if found is None else (found.group, found.kind, found.name)) == (None if referred is None else (*referred, "t"))
