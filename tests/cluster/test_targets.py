"""The facts of Cluster API targets."""

import json
from typing import Any

import pytest

from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.target import FieldOwner, TargetFacts, TargetOption, TargetRef
from reconciler.cluster.values.resources import Resources
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from tests.cluster.objects import CAPI, MANAGED, MAX, MIN, Object, obj, owner, scalable, world_of

CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
OPTION = f"{CAPI}/autoscaling-options-"


def facts(item: Object, *others: Object) -> TargetFacts:
    name = item["metadata"]["name"]
    return next(target for target in world_of(item, *others).targets if target.ref.name == name)


def annotated(**annotations: str) -> TargetFacts:
    return facts(scalable(annotations=annotations))


def infrastructure(capacity: Object | None = None, info: Object | None = None, name: str = "t") -> Object:
    return obj("XMachineTemplate", "infra.example.com/v1", name, "capi", status={"capacity": capacity, "nodeInfo": info})


def cluster(**spec: Any) -> Object:
    meta = spec.pop("meta", {})
    return obj("Cluster", f"{CAPI}/v1beta2", "c1", "capi", meta=meta, spec=spec)


def topology(*entries: Object, key: str = "machineDeployments") -> Object:
    return cluster(topology={"workers": {key: list(entries)}})


def test_identity_and_size() -> None:
    """Who the target is, and how many nodes were asked for."""
    item = scalable(meta={"uid": "u", "resourceVersion": "7", "generation": 2, "labels": {"b": "1", "a": "2"}})
    found = facts(item)
    assert found.ref == TargetRef(kind=MACHINE_DEPLOYMENT, namespace="capi", name="pool")
    assert (found.uid, found.resource_version, found.generation, found.replicas) == ("u", "7", 2, 3)
    assert (found.labels, found.cluster_name, found.problems) == ((("a", "2"), ("b", "1")), "c1", ())


def test_missing_replicas() -> None:
    """A target that does not say its size is told as such, not counted as 0 or 1."""
    item = scalable()
    del item["spec"]["replicas"]
    found = facts(item)
    assert found.replicas is None
    assert "spec.replicas is missing" in found.problems[0]


def test_bounds() -> None:
    """Both annotations together, with their origin."""
    found = annotated(**{MIN: "2", MAX: "10"})
    assert (found.min_size, found.max_size, found.size_origin) == (2, 10, f"annotations {MIN} and {MAX}")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cluster.x-k8s.io/cluster-autoscaler-node-group-min-size", MIN),
        ("cluster.x-k8s.io/cluster-api-autoscaler-nodegroup-max-size", MAX),
        ("cluster.x-k8.io/cluster-api-autoscaler-node-group-max-size", MAX),
        (f"{CAPACITY}maxpods", f"{CAPACITY}maxPods"),
        (f"{CAPACITY}gpu-typ", f"{CAPACITY}gpu-type"),
    ],
)
def test_misspelt_key(wrong: str, right: str) -> None:
    """A key that is almost one that is read is told, with the one that was probably meant."""
    assert annotated(**{wrong: "1"}).problems == (f"{wrong} is not read: did you mean {right}?",)


@pytest.mark.parametrize(
    "key",
    ["cluster.x-k8s.io/cluster-name", "machinedeployment.clusters.x-k8s.io/revision", f"{CAPI}/paused", "reconciler.dev/mode"],
)
def test_other_keys_are_nobodys_business(key: str) -> None:
    """Keys that belong to somebody else are no slips."""
    assert annotated(**{key: "1"}).problems == ()


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("scaledownutilizationthreshold", "0.5", "scaleDown.utilizationThresholdPercent", 50),
        ("scaledowngpuutilizationthreshold", "0.75", "scaleDown.gpuUtilizationThresholdPercent", 75),
        ("scaledownutilizationthreshold", "1", "scaleDown.utilizationThresholdPercent", 100),
        ("scaledownunneededtime", "10m0s", "scaleDown.unneededTime", 600),
        ("scaledownunreadytime", "1h30m", "scaleDown.unreadyTime", 5400),
        ("maxnodeprovisiontime", "900s", "scaleUp.maxNodeProvisionTime", 900),
        ("maxnodestartuptime", "15m", "scaleUp.maxNodeStartupTime", 900),
        ("ignoredaemonsetsutilization", "true", "scaleDown.daemonSetUtilization", 1),
        ("ignoredaemonsetsutilization", "T", "scaleDown.daemonSetUtilization", 1),
        ("ignoredaemonsetsutilization", "false", "scaleDown.daemonSetUtilization", 0),
        ("ignoredaemonsetsutilization", "0", "scaleDown.daemonSetUtilization", 0),
    ],
)
def test_option(name: str, text: str, key: str, value: int) -> None:
    """Each option feeds one policy field, in that field's unit."""
    found = annotated(**{OPTION + name: text})
    assert (found.options, found.problems) == ((TargetOption(key=key, value=value, origin=OPTION + name),), ())


@pytest.mark.parametrize(
    ("name", "text", "value", "told"),
    [
        ("scaledownutilizationthreshold", "0.505", 51, '"0.505" is finer than one percent and is used as 51 percent'),
        ("scaledownunneededtime", "1500ms", 2, '"1500ms" is finer than one second and is used as 2 s'),
    ],
)
def test_option_finer_than_its_unit(name: str, text: str, value: int, told: str) -> None:
    """A value that the unit cannot hold is rounded, and told."""
    found = annotated(**{OPTION + name: text})
    assert [option.value for option in found.options] == [value]
    assert found.problems == (f"{OPTION}{name}: {told}",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scaledownutilizationthreshold", "half"),
        ("scaledownutilizationthreshold", "50"),
        ("scaledownutilizationthreshold", "-0.1"),
        ("scaledownunneededtime", "10"),
        ("scaledownunneededtime", "-5m"),
        ("ignoredaemonsetsutilization", "yes"),
        ("ignoredaemonsetsutilization", "Ignore"),
        ("zeroormaxnodescaling", "true"),
        ("scaledownuneededtime", "5m"),
    ],
)
def test_option_that_is_not_used(name: str, text: str) -> None:
    """A value that makes no sense, or an option that does not exist here, is left out and told."""
    found = annotated(**{OPTION + name: text})
    assert found.options == ()
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"{OPTION}{name}: ")


def test_capacity_from_annotations() -> None:
    """cpu, memory, disk and a device, with 110 pods where nothing says how many."""
    found = annotated(
        **{
            f"{CAPACITY}{key}": text
            for key, text in (
                ("cpu", "16"),
                ("memory", "128G"),
                ("ephemeral-disk", "100Gi"),
                ("gpu-type", "nvidia.com/gpu"),
                ("gpu-count", "2"),
            )
        }
    ).template
    assert found.capacity == Resources(
        cpu_milli=16_000, memory_bytes=128 * 10**9, ephemeral_bytes=100 << 30, pods=110, extended=(("nvidia.com/gpu", 2),)
    )
    assert found.origins == ("capacity annotations",)


def test_annotations_lie_over_the_infrastructure_template() -> None:
    """The template's capacity and node information, where annotations do not say otherwise."""
    template = infrastructure(
        {"cpu": "4", "memory": "16Gi", "pods": "58", "example.com/x": "1"}, {"architecture": "arm64", "operatingSystem": "linux"}
    )
    found = facts(scalable(annotations={f"{CAPACITY}memory": "8Gi"}), template).template
    assert found.capacity == Resources(cpu_milli=4000, memory_bytes=8 << 30, pods=58, extended=(("example.com/x", 1),))
    assert (found.architecture, found.labels) == ("arm64", (("kubernetes.io/os", "linux"),))
    assert found.origins == ("status of XMachineTemplate t", "capacity annotations")


def test_reference_of_the_older_version() -> None:
    """v1beta1 refers by apiVersion and namespace."""
    reference = {"apiVersion": "infra.example.com/v1", "kind": "XMachineTemplate", "name": "t", "namespace": "capi"}
    found = facts(scalable(template={"spec": {"infrastructureRef": reference}}), infrastructure({"cpu": "4", "memory": "16Gi"}))
    assert found.template.capacity == Resources(cpu_milli=4000, memory_bytes=16 << 30, pods=110)


def test_template_in_another_namespace() -> None:
    """The namespace that v1beta1 writes into the reference counts, not that of the target."""
    reference = {"apiVersion": "infra.example.com/v1", "kind": "XMachineTemplate", "name": "t", "namespace": "shared"}
    elsewhere = infrastructure({"cpu": "4", "memory": "16Gi"})
    elsewhere["metadata"]["namespace"] = "shared"
    found = facts(scalable(template={"spec": {"infrastructureRef": reference}}), elsewhere)
    assert found.template.capacity is not None


def test_incomplete_capacity_is_none() -> None:
    """Without cpu or memory nobody knows what a new node offers, and it is said what is missing."""
    found = annotated(**{f"{CAPACITY}cpu": "4"})
    assert found.template.capacity is None
    assert found.problems == ("the capacity of a new node is unknown: memory is missing in capacity annotations",)


def test_device_needs_type_and_count() -> None:
    """One of the two device annotations alone is ignored, and told."""
    assert "gpu-count is ignored" in annotated(**{f"{CAPACITY}gpu-count": "2"}).problems[0]
    assert "gpu-type is ignored" in annotated(**{f"{CAPACITY}gpu-type": "x"}).problems[0]


def test_labels_and_taints_by_annotation() -> None:
    """Lists with surrounding spaces; a taint may have no value."""
    found = annotated(**{f"{CAPACITY}labels": "a=b, c=", f"{CAPACITY}taints": "k=v:NoSchedule, x:NoExecute"}).template
    assert found.labels == (("a", "b"), ("c", ""))
    assert found.taints == (Taint("k", "v", "NoSchedule"), Taint("x", "", "NoExecute"))


@pytest.mark.parametrize(
    ("key", "text", "told"),
    [
        ("labels", "a=b,c,d=e", f'{CAPACITY}labels: item 2 ("c") is not a label key=value'),
        (
            "taints",
            "a=b:NoSchedule,c=d:Never",
            f'{CAPACITY}taints: item 2 ("c=d:Never") is not a taint key=value:Effect '
            "with NoSchedule, PreferNoSchedule, NoExecute",
        ),
        ("cpu", "many", f'{CAPACITY}cpu: invalid quantity "many". Write a number such as 2, 500m, 1.5Gi or 1e3'),
        ("maxPods", "13Mi", f'{CAPACITY}maxPods: "13Mi" is not a whole number of at least 0'),
        ("memory", "-1Gi", f'{CAPACITY}memory: "-1Gi" is negative'),
        (
            "csi-driver",
            "a.csi=25,b.csi",
            f'{CAPACITY}csi-driver: item 2 ("b.csi") is not a limit driver=number: "" is not a whole number of at least 0',
        ),
    ],
)
def test_bad_annotation_value(key: str, text: str, told: str) -> None:
    """A value that cannot be read is told with its position; the others of a list still count."""
    found = annotated(**{CAPACITY + key: text})
    assert found.problems == (told,)
    if key == "labels":
        assert found.template.labels == (("a", "b"), ("d", "e"))


def test_how_many_pods_is_stated_or_guessed() -> None:
    """As upstream 110, where neither the annotation nor the infrastructure template says how many."""
    sized = {f"{CAPACITY}cpu": "4", f"{CAPACITY}memory": "16Gi"}
    for more, pods, guessed in (({}, 110, True), ({f"{CAPACITY}maxPods": "58"}, 58, False)):
        found = annotated(**sized, **more).template
        assert found.capacity is not None
        assert (found.capacity.pods, found.pods_guessed) == (pods, guessed)
    assert not annotated().template.pods_guessed


def test_attach_limits_by_annotation() -> None:
    """As the Cluster Autoscaler writes them for Cluster API; they say nothing of cpu and memory, which nodes may tell."""
    found = annotated(**{f"{CAPACITY}csi-driver": "ebs.csi.aws.com=25, disk.csi.azure.com=16"})
    assert found.template.attach_limits == (("disk.csi.azure.com", 16), ("ebs.csi.aws.com", 25))
    assert (found.template.capacity, found.problems) == (None, ())


def test_template_taints_labels_and_zone() -> None:
    """Machine labels that Cluster API copies to nodes, taints of the machine template, and the failure domain as zone."""
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io": "no domain",
        "x-node.cluster.x-k8s.io/team": "another domain",
        "node.cluster.x-k8s.io/pool": "a",
        "x.node-restriction.kubernetes.io/team": "b",
        "example.com/not-copied": "c",
        "plain": "d",
    }
    taints = [{"key": "t", "value": "v", "effect": "NoSchedule", "propagation": "Always"}, {"key": "o", "effect": "NoExecute"}]
    template = {"metadata": {"labels": labels}, "spec": {"failureDomain": "z1", "taints": taints}}
    found = facts(scalable(template=template, annotations={f"{CAPACITY}taints": "t=other:NoSchedule"})).template
    assert found.labels == (
        ("node-role.kubernetes.io/worker", ""),
        ("node.cluster.x-k8s.io/pool", "a"),
        ("topology.kubernetes.io/zone", "z1"),
        ("x.node-restriction.kubernetes.io/team", "b"),
    )
    assert found.taints == (Taint("o", "", "NoExecute"), Taint("t", "other", "NoSchedule"))
    assert found.zone == "z1"


def managed(manager: str, operation: str, fields: Object, **rest: Any) -> Object:
    return {"manager": manager, "operation": operation, "fieldsV1": fields, **rest}


REPLICAS: Object = {"f:spec": {"f:replicas": {}}}


def test_owners_of_replicas() -> None:
    """Every entry that holds spec.replicas, also through a subresource and without a time; no other entry."""
    entries = [
        managed("kubectl", "Apply", REPLICAS, time="1970-01-01T00:00:30Z"),
        managed("exp", "Update", REPLICAS, subresource="scale"),
        managed("manager", "Update", {"f:status": {"f:replicas": {}}}, subresource="status"),
        managed("other", "Apply", {"f:spec": {"f:template": {}}, "f:status": {"f:replicas": {}}}),
    ]
    found = facts(scalable(meta={"managedFields": entries})).owner
    assert found.owners == (
        FieldOwner(manager="exp", operation="Update", subresource="scale"),
        FieldOwner(manager="kubectl", operation="Apply", time_seconds=30),
    )
    assert found.managed_fields_present


@pytest.mark.parametrize("entries", [None, []])
def test_stripped_managed_fields(entries: list[Object] | None) -> None:
    """An object without any entries tells nobody's ownership."""
    assert not facts(scalable(meta={"managedFields": entries})).owner.managed_fields_present


@pytest.mark.parametrize("fields", [{"f:spec": "f:replicas"}, ["f:replicas"], {"f:spec": ["f:replicas"]}])
def test_unreadable_field_set(fields: Any) -> None:
    """A field set that names replicas in a form that does not exist leaves ownership unknown, and is told."""
    found = facts(scalable(meta={"managedFields": [managed("x", "Apply", fields)]}))
    assert not found.owner.managed_fields_present
    assert found.owner.unreadable == found.problems
    assert "the owner of spec.replicas is unknown" in found.problems[0]


@pytest.mark.parametrize(("text", "replicas"), [('{"spec":{"replicas":4}}', 4), ('{"spec":{}}', None), ("{}", None)])
def test_last_applied(text: str, replicas: int | None) -> None:
    """The replicas of a client-side applied manifest, or that it leaves them out; the manifest itself is not kept."""
    found = annotated(**{"kubectl.kubernetes.io/last-applied-configuration": text})
    assert (found.owner.last_applied_replicas, found.annotations) == (replicas, ())
    assert bool(found.owner.applied_without_replicas) is (replicas is None)
    assert not annotated().owner.applied_without_replicas


def test_broken_last_applied() -> None:
    """A manifest that cannot be read may hold replicas: ownership is unknown."""
    found = annotated(**{"kubectl.kubernetes.io/last-applied-configuration": '{"spec":'})
    assert not found.owner.managed_fields_present
    assert not found.owner.applied_without_replicas
    assert "last-applied" in found.owner.unreadable[0]


@pytest.mark.parametrize(
    ("meta", "tracking"),
    [
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "shop:cluster.x-k8s.io/MachineDeployment:capi/pool"}},
            ("argocd:shop",),
        ),
        ({"labels": {"argocd.argoproj.io/instance": "shop"}}, ("argocd:shop",)),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "infra"}}, ("flux:infra",)),
        (
            {"labels": {"helm.toolkit.fluxcd.io/name": "r"}, "annotations": {"meta.helm.sh/release-name": "r"}},
            ("flux:r", "helm:r"),
        ),
        ({"labels": {"app.kubernetes.io/instance": "x"}}, ()),
    ],
)
def test_tracking(meta: Object, tracking: tuple[str, ...]) -> None:
    """The tools that keep an object from git say so on it; a label that anybody sets says nothing."""
    assert facts(scalable(meta=meta)).owner.tracking == tracking


OWNED = {"labels": {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/deployment-name": "w"}}


@pytest.mark.parametrize(
    ("others", "read", "replicas"),
    [
        ([topology({"name": "w", "replicas": 4})], True, 4),
        ([topology({"name": "w"})], True, None),
        ([topology({"name": "x", "replicas": 4})], False, None),
        ([cluster()], False, None),
        ([], False, None),
    ],
    ids=["declared", "left open", "no entry", "no topology", "no Cluster"],
)
def test_topology(others: list[Object], *, read: bool, replicas: int | None) -> None:
    """What the Cluster's topology declares for the deployment, and whether that could be read at all."""
    found = facts(scalable(meta=OWNED), *others).owner
    assert (found.topology_owned, found.topology_deployment) == (True, "w")
    assert (found.topology_read, found.topology_replicas) == (read, replicas)


def test_no_topology() -> None:
    """A target without the label is none of the topology's, whatever the Cluster holds."""
    found = facts(scalable(), topology({"name": "", "replicas": 9})).owner
    assert (found.topology_owned, found.topology_read, found.topology_replicas) == (False, True, None)


def test_pool_of_a_topology() -> None:
    """MachinePools have entries of their own."""
    labels = {"topology.cluster.x-k8s.io/owned": "", "topology.cluster.x-k8s.io/pool-name": "p"}
    found = facts(
        scalable("MachinePool", meta={"labels": labels}), topology({"name": "p", "replicas": 2}, key="machinePools")
    ).owner
    assert (found.topology_deployment, found.topology_replicas) == ("p", 2)


@pytest.mark.parametrize(
    ("item", "others", "told"),
    [
        (scalable(annotations={f"{CAPI}/paused": "false"}), [], f"annotation {CAPI}/paused on the MachineDeployment"),
        (scalable(spec={"paused": True}), [], "spec.paused of the MachineDeployment"),
        (scalable(), [cluster(paused=True)], "spec.paused of the Cluster capi/c1"),
        (scalable(), [cluster(meta={"annotations": {f"{CAPI}/paused": ""}})], f"annotation {CAPI}/paused on the Cluster capi/c1"),
        (scalable(), [cluster()], ""),
    ],
    ids=["annotation", "spec", "cluster spec", "cluster annotation", "nothing"],
)
def test_paused(item: Object, others: list[Object], told: str) -> None:
    """A pause on the object or on its Cluster; of the annotation only the key counts, as Cluster API reads it."""
    assert facts(item, *others).owner.paused == told


def test_hold_and_deletion() -> None:
    """Our own hold, and an object on its way out."""
    item = scalable(annotations={"reconciler.dev/hold": "until Monday"}, meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    item["metadata"]["annotations"] = {"reconciler.dev/hold": "until Monday"}
    found = facts(item).owner
    assert (found.hold, found.deleting) == ("until Monday", True)


def test_controlled_machine_set() -> None:
    """A MachineSet that a MachineDeployment controls names it; one of its own does not."""
    owned = scalable("MachineSet", "pool-1", meta={"ownerReferences": [owner("MachineDeployment", "pool")]})
    alone = scalable("MachineSet", "alone", meta={"ownerReferences": [{**owner("Cluster", "c1"), "controller": False}]})
    assert facts(owned).owner.controller == "MachineDeployment capi/pool"
    assert facts(alone).owner.controller == ""


def test_pool_that_somebody_else_sizes() -> None:
    """A MachinePool whose replicas are left to an external autoscaler says so in an annotation."""
    found = facts(scalable("MachinePool", annotations={f"{CAPI}/replicas-managed-by": "external-autoscaler"})).owner
    assert found.controller == f"annotation {CAPI}/replicas-managed-by: external-autoscaler"


def revision(number: int, replicas: int, running: int | None = None) -> Object:
    meta = {
        "annotations": {"machinedeployment.clusters.x-k8s.io/revision": str(number)},
        "ownerReferences": [owner("MachineDeployment", "pool")],
    }
    return scalable(
        "MachineSet",
        f"pool-{number}",
        meta=meta,
        spec={"replicas": replicas},
        status={"replicas": replicas if running is None else running},
    )


ROLLING = {"conditions": [{"type": "RollingOut", "status": "True"}]}


@pytest.mark.parametrize(
    ("sets", "rolling"),
    [
        ([], False),
        ([revision(1, 3)], False),
        ([revision(1, 0), revision(2, 3)], False),
        ([revision(1, 1), revision(2, 2)], True),
        ([revision(1, 0, 1), revision(2, 3)], True),
        ([revision(9, 1), revision(10, 2)], True),
    ],
    ids=["no sets", "one", "old one empty", "old one asked for", "old one still there", "numbers, not texts"],
)
def test_rolling_out(sets: list[Object], *, rolling: bool) -> None:
    """An older revision with machines is a rollout; the condition of that name alone is not."""
    assert facts(scalable(status=ROLLING), *sets).rolling_out is rolling


@pytest.mark.parametrize(
    ("text", "rolling"),
    [(None, True), ("", True), ("x", True), ("²", True), ("0", True), ("1", False), ("9" * 18, False), ("9" * 19, True)],
)
def test_revisions_that_are_no_numbers(text: str | None, *, rolling: bool) -> None:
    """Each counts as older than any; what is no number of 64 bits is none."""
    other, newest = revision(7, 1), revision(1, 0)
    if text is None:
        del other["metadata"]["annotations"]
    else:
        other["metadata"]["annotations"]["machinedeployment.clusters.x-k8s.io/revision"] = text
    item = scalable()
    del item["metadata"]["annotations"]
    world = world_of(item, other, newest)
    assert [one.rolling_out for one in world.targets if one.ref.kind == "MachineDeployment"] == [rolling]


@pytest.mark.parametrize(
    "meta",
    [
        {"namespace": "another"},
        {"ownerReferences": [owner("MachineDeployment", "another")]},
        {"ownerReferences": [owner("Another", "pool")]},
        {"ownerReferences": [{**owner("MachineDeployment", "pool"), "controller": False}]},
        {"ownerReferences": []},
    ],
)
def test_sets_of_others_are_no_rollout(meta: Object) -> None:
    """Of another namespace, another owner, or nobody's."""
    older = revision(1, 1)
    older["metadata"] |= meta
    world = world_of(scalable(), older, revision(2, 2))
    assert [one.rolling_out for one in world.targets if one.ref.kind == "MachineDeployment"] == [False]


def test_a_cluster_that_only_a_label_names() -> None:
    """As Cluster API looks for it: by the spec, else by the label; a pause of the one that is meant pauses."""
    label = {"labels": {f"{CAPI}/cluster-name": "c1"}}
    for spec, meta, paused in (
        ({"clusterName": ""}, label, True),
        ({"clusterName": "c1"}, {}, True),
        ({"clusterName": "c2"}, label, False),
    ):
        found = facts(scalable(spec=spec, meta=meta), cluster(paused=True)).owner.paused
        assert found == ("spec.paused of the Cluster capi/c1" if paused else "")


def test_who_keeps_the_replicas_of_a_deployment() -> None:
    """The annotation of another autoscaler is one of pools."""
    annotations = {f"{CAPI}/replicas-managed-by": "x"}
    for kind in ("MachineDeployment", "MachineSet"):
        assert facts(scalable(kind, annotations=annotations)).owner.controller == ""
    made = scalable("MachinePool", annotations=annotations, meta={"ownerReferences": [owner("Maker", "m")]})
    made["metadata"]["annotations"] = annotations
    assert facts(made).owner.controller == "Maker capi/m", "who controls the object is told first"


def test_pool_without_machines_cannot_choose() -> None:
    """Whoever shrinks a MachinePool without Machines cannot say which node goes."""
    machine = obj("Machine", f"{CAPI}/v1beta2", "m", "capi", meta={"ownerReferences": [owner("MachinePool", "pool")]}, spec={})
    assert not facts(scalable("MachinePool")).selectable
    assert facts(scalable("MachinePool"), machine).selectable


@pytest.mark.parametrize(("domains", "zone"), [(["a"], "a"), (["a", "b"], ""), ([], "")])
def test_zone_of_a_pool(domains: list[str], zone: str) -> None:
    """A pool over several failure domains does not say where the next node comes up."""
    assert facts(scalable("MachinePool", spec={"failureDomains": domains})).template.zone == zone


def test_older_version() -> None:
    """Objects of v1beta1 read alike."""
    item = json.loads(json.dumps(scalable(meta={"managedFields": MANAGED})).replace("v1beta2", "v1beta1"))
    assert facts(item) == facts(scalable())


@pytest.mark.parametrize(
    ("replicas", "rolling", "pace"),
    [
        (10, None, (1, 0)),
        (10, {"maxSurge": 3, "maxUnavailable": 2}, (3, 2)),
        (10, {"maxSurge": "25%", "maxUnavailable": "25%"}, (3, 2)),
        (2, {"maxSurge": "1%", "maxUnavailable": "25%"}, (1, 0)),
        (2, {"maxSurge": "0%", "maxUnavailable": "1%"}, (0, 1)),
        (10, {"maxSurge": 0, "maxUnavailable": 0}, (0, 1)),
        (10, {"maxSurge": "many", "maxUnavailable": "-1%"}, (1, 0)),
    ],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_pace_of_a_rollout(replicas: int, rolling: Object | None, pace: tuple[int, int], version: str) -> None:
    """As `ResolveFenceposts` of Cluster API works it out, examples of its comment included. A surge is rounded up, what is
    unavailable down, and both 0 let one be missing. Without values it is 1 and 0, as the webhook writes. Values that no API
    server accepts count as none."""
    strategy = {"type": "RollingUpdate", **({"rollingUpdate": rolling} if rolling is not None else {})}
    item = scalable()
    item["spec"] |= {
        "replicas": replicas,
        **({"strategy": strategy} if version == "v1beta1" else {"rollout": {"strategy": strategy}}),
    }
    found = facts(item).rollout
    assert found is not None
    assert (found.surge, found.unavailable, found.on_delete) == (*pace, False)


def test_the_pace_where_nothing_is_written() -> None:
    found = facts(scalable()).rollout
    assert found is not None
    assert (found.surge, found.unavailable, found.origin) == (1, 0, "maxSurge 1, maxUnavailable 0")


def test_the_pace_of_a_target_that_waits_for_deletions() -> None:
    item = scalable()
    item["spec"]["rollout"] = {"strategy": {"type": "OnDelete"}}
    found = facts(item).rollout
    assert found is not None
    assert (found.surge, found.unavailable, found.on_delete, found.origin) == (0, 1, True, "strategy OnDelete")


def test_other_kinds_do_not_say_their_pace() -> None:
    assert facts(scalable("MachineSet")).rollout is None
