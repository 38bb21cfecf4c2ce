"""Rows S115 to S129 but S117: what the Cluster API provider of the Cluster Autoscaler documents, on facts and values."""

import json
from collections.abc import Mapping

import pytest

from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from reconciler.cluster.world import World
from reconciler.decisions.groups.discovered_groups import discovered
from reconciler.kube.connection.api import ApiError
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.auto_discovery import discovery_of
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL
from reconciler.platforms.clusterapi.writing.api_version import ClusterApiVersion, newest, served_version
from reconciler.platforms.clusterapi.writing.provider import ClusterApiProvider
from reconciler.providers.contract import WriteCode
from tests.policies import policy
from tests.values import machine_deployment

GROUP = "cluster.x-k8s.io"
MIN = "cluster-api-autoscaler-node-group-min-size"
MAX = "cluster-api-autoscaler-node-group-max-size"
CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"


def _object(
    kind: str = "MachineDeployment",
    *,
    version: str = "v1beta2",
    group: str = GROUP,
    namespace: str = "prod",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: object,
) -> dict:
    metadata = {"name": "general", "namespace": namespace, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    return {
        "apiVersion": f"{group}/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": {"clusterName": "purple", "replicas": 1, **spec},
    }


def _world(*items: dict, group: str = GROUP) -> World:
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    return read_snapshot({"all.json": body}, group)


def _facts(*items: dict, group: str = GROUP) -> TargetFacts:
    return _world(*items, group=group).targets[0]


def _sizes(low: str = "1", high: str = "5", group: str = GROUP) -> dict[str, str]:
    return {f"{group}/{MIN}": low, f"{group}/{MAX}": high}


class _Groups:
    """A server that serves one version list of one group."""

    def __init__(self, group: str, *versions: str) -> None:
        self._group = group
        self._versions = versions

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if path != f"/apis/{self._group}":
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return json.dumps({"kind": "APIGroup", "versions": [{"version": version} for version in self._versions]}).encode()


@pytest.mark.parametrize("version", ["v1alpha3", "v1alpha4", "v1beta1", "v1beta2"])
def test_s115_every_version_of_cluster_api_is_read(version: str) -> None:
    """Size, cluster and bounds of a MachineDeployment, whatever version the file or the server speaks."""
    facts = _facts(_object(version=version, annotations=_sizes()))
    assert (facts.replicas, facts.cluster_name, facts.min_size, facts.max_size) == (1, "purple", 1, 5)


def test_s116_discovery_mixes_namespace_cluster_name_and_labels() -> None:
    """`namespace=staging,clusterName=purple,owner=jim`: all three, or it is not taken."""
    item = discovery_of("clusterapi:namespace=staging,clusterName=purple,owner=jim")
    rules = policy(discovery=(item,)).policy
    right = {"namespace": "staging", "labels": {"owner": "jim"}, "annotations": _sizes()}
    assert discovered(rules, _facts(_object(**right))) is item
    for wrong in ({"namespace": "prod"}, {"labels": {"owner": "joe"}}, {"labels": {}}, {"clusterName": "green"}):
        assert discovered(rules, _facts(_object(**{**right, **wrong}))) is None


@pytest.mark.parametrize("kind", ["MachineDeployment", "MachineSet", "MachinePool"])
def test_s118_both_size_annotations_or_none(kind: str) -> None:
    """On all three kinds; one alone is not used, and the reason says which is missing."""
    assert (_facts(_object(kind, annotations=_sizes())).min_size, _facts(_object(kind, annotations=_sizes())).max_size) == (1, 5)
    for present, missing in ((MIN, MAX), (MAX, MIN)):
        facts = _facts(_object(kind, annotations={f"{GROUP}/{present}": "1"}))
        assert (facts.min_size, facts.max_size) == (None, None)
        assert any(f"{GROUP}/{missing} is missing" in problem for problem in facts.problems)


def test_s119_from_zero_needs_a_known_node() -> None:
    """A group at zero with minimum 0: without template or annotations nothing is known of its nodes, with them it is."""
    empty = _facts(_object(annotations=_sizes("0"), replicas=0))
    known = {f"{CAPACITY}cpu": "4", f"{CAPACITY}memory": "16Gi"}
    filled = _facts(_object(annotations={**_sizes("0"), **known}, replicas=0))
    assert empty.template.capacity is None
    assert filled.template.capacity is not None


def test_s120_a_pool_needs_machines_for_removals() -> None:
    """Without Machines a node of it cannot be chosen: its removal is refused unless that is allowed."""
    pool = _object("MachinePool", annotations=_sizes())
    assert not _facts(pool).selectable
    owner = {"apiVersion": f"{GROUP}/v1beta2", "kind": "MachinePool", "name": "general", "uid": "u", "controller": True}
    machine = {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": "prod", "ownerReferences": [owner]},
        "spec": {"clusterName": "purple"},
    }
    assert _facts(pool, machine).selectable
    api = _Groups(GROUP)
    provider = ClusterApiProvider(api, ClusterApiVersion(), "test")
    target = machine_deployment("general").__class__(kind=MACHINE_POOL, namespace="prod", name="general")
    bound = Bound(resource_version="1", replicas=1, owner_digest="", policy_digest="")
    assert provider.may_begin(target, "", "node-1", bound).code == WriteCode.REFUSED


def test_s121_capacity_annotations_overlay_the_infrastructure_template() -> None:
    """What both say is the annotation's; what one says is taken from it; two targets of one set are not added up."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "XMachineTemplate", "name": "t"}
    template = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1",
        "kind": "XMachineTemplate",
        "metadata": {"name": "t", "namespace": "prod"},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi"}},
    }
    machine = {"spec": {"infrastructureRef": reference}}
    facts = _facts(_object(annotations={f"{CAPACITY}cpu": "4"}, template=machine), template)
    assert facts.template.capacity is not None
    assert (facts.template.capacity.cpu_milli, facts.template.capacity.memory_bytes) == (4000, 32 << 30)


def test_s122_the_documented_example_is_read_to_the_byte() -> None:
    """16 cpu, 128G (which is not 128Gi), 100Gi of disk, two GPUs, 200 pods."""
    written = {"cpu": "16", "memory": "128G", "ephemeral-disk": "100Gi", "gpu-type": "nvidia.com/gpu", "gpu-count": "2"}
    annotations = {f"{CAPACITY}{key}": text for key, text in {**written, "maxPods": "200"}.items()}
    capacity = _facts(_object(annotations=annotations)).template.capacity
    assert capacity is not None
    assert [capacity.get(name) for name in (CPU, MEMORY, EPHEMERAL_STORAGE, "nvidia.com/gpu", PODS)] == [
        16_000,
        128_000_000_000,
        107_374_182_400,
        2,
        200,
    ]


def test_s123_110_pods_unless_something_says_otherwise() -> None:
    """The default of maxPods."""
    capacity = _facts(_object(annotations={f"{CAPACITY}cpu": "2", f"{CAPACITY}memory": "4Gi"})).template.capacity
    assert capacity is not None
    assert capacity.pods == 110


def test_s125_labels_and_taints_with_the_position_of_a_bad_item() -> None:
    """Lists are read; an item that is none is named by its position and left out."""
    annotations = {
        f"{CAPACITY}cpu": "2",
        f"{CAPACITY}memory": "4Gi",
        f"{CAPACITY}labels": "k1=v1,broken,k2=v2",
        f"{CAPACITY}taints": "k=v:NoSchedule,k=v:NoExecute,k=v:Never",
    }
    facts = _facts(_object(annotations=annotations))
    assert {("k1", "v1"), ("k2", "v2")} <= set(facts.template.labels)
    assert [(taint.key, taint.effect) for taint in facts.template.taints] == [("k", "NoExecute"), ("k", "NoSchedule")]
    assert any('labels: item 2 ("broken")' in problem for problem in facts.problems)
    assert any('taints: item 3 ("k=v:Never")' in problem for problem in facts.problems)


def test_s126_options_of_one_group_with_their_origin() -> None:
    """The five documented options, in the units of the policy's fields."""
    prefix = f"{GROUP}/autoscaling-options-"
    written = {
        "scaledownutilizationthreshold": "0.5",
        "scaledowngpuutilizationthreshold": "0.5",
        "scaledownunneededtime": "10m0s",
        "scaledownunreadytime": "20m0s",
        "maxnodeprovisiontime": "20m0s",
    }
    facts = _facts(_object(annotations={f"{prefix}{key}": text for key, text in written.items()}))
    assert {option.origin.removeprefix(prefix): option.value for option in facts.options} == {
        "scaledownutilizationthreshold": 50,
        "scaledowngpuutilizationthreshold": 50,
        "scaledownunneededtime": 600,
        "scaledownunreadytime": 1200,
        "maxnodeprovisiontime": 1200,
    }


def test_s127_the_architecture_of_a_node_from_zero() -> None:
    """What the labels annotation says is the architecture of the template."""
    annotations = {f"{CAPACITY}cpu": "2", f"{CAPACITY}memory": "4Gi", f"{CAPACITY}labels": "kubernetes.io/arch=arm64"}
    assert _facts(_object(annotations=annotations)).template.architecture == "arm64"


def test_s128_another_group_changes_every_key() -> None:
    """Bounds, the delete mark and paths follow the group; keys of the usual group are not read then."""
    other = "machine.openshift.io"
    facts = _facts(_object("MachineSet", group=other, version="v1beta1", annotations=_sizes(group=other)), group=other)
    assert (facts.min_size, facts.max_size) == (1, 5)
    usual = _facts(_object("MachineSet", group=other, version="v1beta1", annotations=_sizes()), group=other)
    assert (usual.min_size, usual.max_size) == (None, None)
    version = ClusterApiVersion(other, "v1beta1")
    assert version.delete_machine == "machine.openshift.io/delete-machine"
    assert version.path("MachineSet", "ns", "a") == "/apis/machine.openshift.io/v1beta1/namespaces/ns/machinesets/a"


def test_s129_a_pinned_version_or_the_newest_served() -> None:
    """Stable before beta before alpha, higher before lower; a pin wins; no default where nothing is served."""
    assert newest(["v1alpha1", "v1beta1"]) == "v1beta1"
    assert newest(["v1alpha4", "v1beta1", "v1beta2", "v1alpha3"]) == "v1beta2"
    assert newest(["v1beta10", "v1beta2", "v1", "other"]) == "v1"
    api = _Groups(GROUP, "v1alpha1", "v1beta1")
    assert served_version(api, {}) == ClusterApiVersion(GROUP, "v1beta1")
    assert served_version(api, {"CAPI_VERSION": "v1alpha1"}) == ClusterApiVersion(GROUP, "v1alpha1")
    assert served_version(api, {"CAPI_GROUP": "machine.openshift.io"}) is None
