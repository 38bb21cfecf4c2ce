"""The shape of a pod: everything that scheduling looks at, once for all pods that are alike."""

import copy
from typing import Any

import pytest

from reconciler.cluster.pods.pod import AffinityTerm, HostPort, PodShape, SpreadConstraint, Toleration, VolumeUse
from reconciler.cluster.snapshots.snapshot import SnapshotError
from reconciler.cluster.values.selection import NodeSelectorTerm
from reconciler.cluster.world import World
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.cluster.objects import Object, container, obj, pod, world_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def shape(meta: Object | None = None, **spec: Any) -> PodShape:
    return world_of(pod(meta=meta, **spec)).pod_shapes[0]


def node_affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def test_alike_pods_share_a_shape() -> None:
    """Pods of one template are one shape whatever their names, nodes and service account tokens."""
    first, second = pod("a", nodeName="n1"), pod("b")
    for number, item in enumerate((first, second)):
        item["spec"]["volumes"] = [{"name": f"kube-api-access-{number}", "projected": {"sources": []}}]
    assert len(world_of(first, second).pod_shapes) == 1


def test_order_of_writing_does_not_matter() -> None:
    """Equal pods that list labels, tolerations and terms in another order are one shape."""
    first = pod(
        "a",
        meta={"labels": {"x": "1", "y": "2"}},
        nodeSelector={"k": "v", "j": "w"},
        tolerations=[{"key": "a", "operator": "Exists"}, {"key": "b", "value": "c"}],
        affinity=node_affinity(
            {"matchExpressions": [{"key": "z", "operator": "In", "values": ["2", "1"]}]}, {"matchExpressions": []}
        ),
    )
    second = pod(
        "b",
        meta={"labels": {"y": "2", "x": "1"}},
        nodeSelector={"j": "w", "k": "v"},
        tolerations=[{"key": "b", "operator": "Equal", "value": "c"}, {"key": "a", "operator": "Exists"}],
        affinity=node_affinity({}, {"matchExpressions": [{"key": "z", "operator": "In", "values": ["1", "2"]}]}),
    )
    assert len(world_of(first, second).pod_shapes) == 1


SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}


@pytest.mark.parametrize(
    "change",
    [
        {"nodeSelector": {"a": "b"}},
        {"affinity": node_affinity({"matchExpressions": [{"key": "z", "operator": "Exists"}]})},
        {"tolerations": [{"operator": "Exists"}]},
        {"topologySpreadConstraints": [SPREAD]},
        {"schedulerName": "other"},
        {"priority": 7},
        {"overhead": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"initContainers": [container("1")]},
        {"hostNetwork": True},
        {"hostNetwork": True, "hostUsers": False},
        {"resourceClaims": [{"name": "gpu"}]},
        {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"volumes": [{"name": "d", "iscsi": {"iqn": "i"}}]},
        {"containers": [container("101m", "64Mi")]},
        {"containers": [container("100m", "64Mi", ports=[{"containerPort": 80, "hostPort": 80}])]},
    ],
    ids="+".join,
)
def test_what_scheduling_reads_makes_another_shape(change: Object) -> None:
    """Two pods that differ in anything that scheduling reads never share a shape."""
    plain = {"containers": [container("100m", "64Mi", ports=[{"containerPort": 80}])]}
    assert len(world_of(pod("a", **plain), pod("b", **plain)).pod_shapes) == 1
    assert len(world_of(pod("a", **plain), pod("b", **{**plain, **change})).pod_shapes) == 2


def test_a_resize_under_way_makes_another_shape() -> None:
    """Of two pods of one template the one that is being resized holds more."""
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "4"}}}]}
    resized = pod("a", nodeName="n1", status=status)
    assert len(world_of(resized, pod("b", nodeName="n1", status={"phase": "Running"})).pod_shapes) == 2


def test_namespace_and_labels_belong_to_the_shape() -> None:
    """Selectors of other pods see namespace and labels."""
    assert len(world_of(pod("a"), pod("a", "other"), pod("b", meta={"labels": {"app": "x"}})).pod_shapes) == 3


def test_node_affinity() -> None:
    """Required terms are canonical; preferred ones are left out."""
    affinity = node_affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "a", "b"]}]})
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 1, "preference": {}}]
    found = shape(affinity=affinity)
    assert found.required_terms == (NodeSelectorTerm((Requirement("zone", "In", ("a", "b")),)),)
    assert not found.host_name_bound


def test_no_required_affinity_is_not_an_empty_one() -> None:
    """None: nothing required. Empty: no node matches."""
    assert shape().required_terms is None
    assert shape(affinity=node_affinity()).required_terms == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"kubernetes.io/hostname": "n1"}},
        {
            "affinity": node_affinity(
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1"]}]}
            )
        },
        {"affinity": node_affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]})},
    ],
    ids=["selector", "expression", "field"],
)
def test_host_name_bound(spec: Object) -> None:
    """A pod that names a host is told apart, since its verdict differs between nodes of one shape."""
    assert shape(**spec).host_name_bound


def test_hard_spread_with_own_labels_folded_in() -> None:
    """`matchLabelKeys` become requirements with the pod's own values, as the API server writes them at creation."""
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash", "absent"],
    }
    soft = {**constraint, "whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "host"}
    found = shape({"labels": {"app": "web", "pod-template-hash": "h"}}, topologySpreadConstraints=[constraint, soft])
    wanted = LabelSelector((Requirement("app", "In", ("web",)), Requirement("pod-template-hash", "In", ("h",))))
    assert found.spread == (SpreadConstraint(topology_key="zone", max_skew=2, min_domains=1, selector=wanted),)


def test_other_terms_of_a_spread() -> None:
    """How many domains there must be, and which nodes count."""
    (found,) = shape(
        topologySpreadConstraints=[{**SPREAD, "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}]
    ).spread
    assert (found.min_domains, found.node_affinity_policy, found.node_taints_policy) == (3, "Ignore", "Honor")


def test_folding_twice_changes_nothing() -> None:
    """A pod that the API server has treated already keeps its selector."""
    folded = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "hash", "operator": "In", "values": ["h"]}]}
    raw = {"matchLabels": {"app": "web"}}
    made = [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": item,
            "matchLabelKeys": ["hash"],
        }
        for item in (folded, raw)
    ]
    labels = {"labels": {"app": "web", "hash": "h"}}
    assert shape(labels, topologySpreadConstraints=made[:1]) == shape(labels, topologySpreadConstraints=made[1:])


def test_inter_pod_terms() -> None:
    """Terms get their own namespace where none is named; label keys are left alone, since the API server has folded them
    into the selector when it created the pod and kube-scheduler reads nothing but the selector."""
    term = {
        "topologyKey": "host",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash"],
        "mismatchLabelKeys": ["tenant"],
    }
    other = {
        "topologyKey": "zone",
        "labelSelector": {},
        "namespaces": ["b", "a", "b"],
        "namespaceSelector": {"matchLabels": {"t": "1"}},
    }
    labels = {"labels": {"hash": "h", "tenant": "t"}}
    found = shape(labels, affinity={"podAffinity": {REQUIRED: [term]}, "podAntiAffinity": {REQUIRED: [other]}})
    requirements = (Requirement("app", "In", ("web",)),)
    assert found.affinity == (AffinityTerm(topology_key="host", selector=LabelSelector(requirements), namespaces=("shop",)),)
    assert found.anti_affinity == (
        AffinityTerm(
            topology_key="zone",
            selector=LabelSelector(),
            namespaces=("a", "b"),
            namespace_selector=LabelSelector((Requirement("t", "In", ("1",)),)),
        ),
    )


def test_missing_selector_is_not_an_empty_one() -> None:
    """No selector matches no pod, an empty one matches every pod."""
    found = shape(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "host"}]}})
    assert found.affinity[0].selector is None


def test_any_namespace_by_an_empty_selector() -> None:
    """An empty namespace selector means all namespaces, so that the pod's own is not added."""
    term = {"topologyKey": "host", "labelSelector": {}, "namespaceSelector": {}}
    found = shape(affinity={"podAffinity": {REQUIRED: [term]}}).affinity[0]
    assert (found.namespaces, found.namespace_selector) == ((), LabelSelector())


def test_tolerations() -> None:
    """The default operator is Equal; how long a toleration lasts does not concern scheduling."""
    found = shape(
        tolerations=[{"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 300}, {"operator": "Exists"}]
    )
    assert found.tolerations == (Toleration("", "Exists", "", ""), Toleration("a", "Equal", "b", "NoExecute"))


def test_host_ports() -> None:
    """Host ports of containers and sidecars count; on the host's network container ports are host ports."""
    ports = [{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81}]
    init = container(
        name="side", restartPolicy="Always", ports=[{"containerPort": 9, "hostPort": 9, "hostIP": "10.0.0.1", "protocol": "UDP"}]
    )
    plain = container(name="init", ports=[{"containerPort": 7, "hostPort": 7}])
    found = shape(containers=[container(ports=ports)], initContainers=[init, plain])
    assert found.host_ports == (HostPort(9, "UDP", "10.0.0.1"), HostPort(8080))
    assert shape(containers=[container(ports=ports)], hostNetwork=True).host_ports == (HostPort(81), HostPort(8080))


def test_volumes_that_take_part_in_scheduling() -> None:
    """Claims, claims made for the pod, and disks named in the pod; nothing else."""
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "c", "gcePersistentDisk": {"pdName": "pd", "readOnly": True}},
        {"name": "d", "rbd": {"monitors": ["m2", "m1"], "image": "i"}},
        {"name": "e", "emptyDir": {}},
        {"name": "f", "projected": {"sources": []}},
        {"name": "g", "configMap": {"name": "x"}},
    ]
    assert shape(volumes=volumes).volumes == (
        VolumeUse(kind="GCEPersistentDisk", identity="pd", read_only=True),
        VolumeUse(kind="PersistentVolumeClaim", claim="data", read_only=True),
        VolumeUse(kind="PersistentVolumeClaim", claim="web-1-b", ephemeral=True),
        VolumeUse(kind="RBD", identity="m1 rbd/i"),
        VolumeUse(kind="RBD", identity="m2 rbd/i"),
    )


def test_pods_with_volumes_of_their_own_do_not_share_a_shape() -> None:
    """A claim made for a pod bears the pod's name."""
    volumes = [{"name": "b", "ephemeral": {"volumeClaimTemplate": {}}}]
    assert len(world_of(pod("a", volumes=volumes), pod("b", volumes=volumes)).pod_shapes) == 2


def test_resource_claims() -> None:
    """Dynamic resource claims are named, so that whoever does not model them can say so."""
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    assert [use.name for use in shape(resourceClaims=claims).claims] == ["gpu"]


RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({"containers": [container(restartPolicyRules=[RULE])]}, ("RestartAllContainersOnContainerExits",)),
        ({"initContainers": [container(restartPolicyRules=[RULE])]}, ("RestartAllContainersOnContainerExits",)),
        ({"containers": [container(restartPolicyRules=[{**RULE, "action": "Restart"}])]}, ()),
        ({"hostNetwork": True, "hostUsers": False}, ("UserNamespacesHostNetworkSupport",)),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostUsers": False}, ()),
    ],
    ids=["container", "init container", "another action", "user namespace", "host users", "own network"],
)
def test_required_features(spec: Object, needed: tuple[str, ...]) -> None:
    """What a pod needs of its kubelet, as the scheduler infers it."""
    assert shape(**spec).required_features == needed


def priorities(*objects: Object) -> list[int]:
    world: World = world_of(*objects)
    return [world.pod_shapes[index].priority for index in world.pods.shape]


def test_priority_of_the_pod_wins() -> None:
    """The number on the pod is what the API server resolved."""
    low = obj("PriorityClass", "scheduling.k8s.io/v1", "low", value=-5)
    assert priorities(low, pod("a", priorityClassName="low", priority=3)) == [3]


def test_priority_by_class_default_and_nothing() -> None:
    """Without a number: by the class name, else by the global default, else 0."""
    low = obj("PriorityClass", "scheduling.k8s.io/v1", "low", value=-5)
    usual = obj("PriorityClass", "scheduling.k8s.io/v1", "usual", value=10, globalDefault=True)
    pods = [pod("a", priorityClassName="low"), pod("b"), pod("c", priorityClassName="system-node-critical")]
    assert priorities(low, usual, *copy.deepcopy(pods)) == [-5, 10, 2_000_001_000]
    assert priorities(*pods)[1] == 0


def test_daemon_pods_tolerate_what_their_controller_adds() -> None:
    """A DaemonSet's pods get the controller's tolerations on top of the template's, and its labels and requests."""
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [container("50m")], "hostNetwork": True}}
    world = world_of(obj("DaemonSet", "apps/v1", "agent", "kube-system", spec={"template": template}))
    (daemon,) = world.daemon_pods
    found = world.pod_shapes[daemon.shape]
    assert (daemon.namespace, daemon.name, found.labels, found.requests.cpu_milli) == (
        "kube-system",
        "agent",
        (("app", "agent"),),
        50,
    )
    assert [item.key.removeprefix("node.kubernetes.io/") for item in found.tolerations] == [
        "disk-pressure",
        "memory-pressure",
        "network-unavailable",
        "not-ready",
        "pid-pressure",
        "unreachable",
        "unschedulable",
    ]


def test_unknown_operator_is_refused() -> None:
    """An operator that does not exist is refused with the pod's name."""
    affinity = node_affinity({"matchExpressions": [{"key": "z", "operator": "Near", "values": []}]})
    with pytest.raises(SnapshotError, match=r"item 1 \(Pod shop/web-1\).*'Near'"):
        shape(affinity=affinity)
