"""What the API server lets our service account change on targets when no code of ours looks after it.

Every write is tried twice: as our service account, which is an administrator here, and as another administrator.
"""

import copy
import json
from collections.abc import Callable, Iterator

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.kube.connection.transport import connect
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.writing.provider import ClusterApiTargets
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.ownership_guard import judged_now
from tests.deploy.attempt import Attempt, Guarded, Object, deleted, forced, json_patch, merge, replaced
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS
from tests.live.ownership import NO_NODES
from tests.testbed.api import collection
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, machine_deployment, machine_template
from tests.testbed.control_plane import MASTERS
from tests.testbed.work_cluster import NAME, WorkCluster, replicas_owners

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OTHERS = "replicas belong to another field manager"
SPEC = "only spec.replicas of a target may be changed"
METADATA = "labels, finalizers and owners of a target may not be changed"
ANNOTATIONS = "only annotations reconciler.dev/* but the hold may be changed"
CLAIMS = "entries of other field managers may lose nothing but replicas"
NOTHING_ELSE = "the reconciler writes no objects of this kind"


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A Cluster whose Machines become no nodes."""
    made = WorkCluster(cluster_api.api, "admission")
    made.api.create(machine_template(made.namespace, "g", NO_NODES))
    yield made
    made.delete()


@pytest.fixture(scope="module")
def topology(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A Cluster whose topology declares replicas of one group and leaves those of the other."""
    groups = [Group("fixed", replicas=1), Group("free", min_size=1, max_size=5)]
    made = WorkCluster(cluster_api.api, "admission-topology", topology=groups, shape=NO_NODES)
    yield made
    made.delete()


@pytest.fixture(scope="module")
def free(cluster: WorkCluster) -> Object:
    """A MachineDeployment whose replicas nobody owns, with a person's hold, an annotation and a finalizer."""
    body = machine_deployment(cluster.namespace, NAME, Group("free", labels={"team": "a"}), "g")
    body["metadata"]["annotations"] = {"team": "a", "reconciler.dev/hold": "a person's; until 2099-01-01T00:00:00Z"}
    return cluster.api.apply(body, "kubectl")


@pytest.fixture(scope="module")
def declared(cluster: WorkCluster) -> Object:
    """A MachineDeployment whose replicas an applier declares."""
    return cluster.api.apply(machine_deployment(cluster.namespace, NAME, Group("declared", replicas=0), "g"), "argocd-controller")


@pytest.fixture(scope="module")
def fixed(topology: WorkCluster) -> Object:
    """The MachineDeployment whose replicas the topology declares."""
    return topology.topology_deployment("fixed")


def targets_of_ours(cluster_api: ClusterApi) -> ClusterApiTargets:
    """The product's own writer, as our service account, with every right."""
    return ClusterApiTargets(connect(cluster_api.plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS, MASTERS), environment={}))


def bound(targets: ClusterApiTargets, ref: TargetRef) -> Bound:
    """What a decision would bind its write to."""
    facts = targets.read(ref).facts
    return Bound(
        resource_version=facts.resource_version, replicas=facts.replicas or 0, owner_digest=judged_now(facts).digest,
        policy_digest="",
    )  # fmt: skip


def done(write: Callable[[], WriteResult]) -> None:
    """Write again while the object moves under us, as the loop does from turn to turn."""
    result = write()
    for _ in range(50):
        if result.code != WriteCode.STALE:
            break
        result = write()
    assert result.done, result


def ref_of(item: Object) -> TargetRef:
    metadata = item["metadata"]
    return TargetRef(kind=item["kind"], namespace=metadata["namespace"], name=metadata["name"])


def test_replicas_of_nobody_may_be_applied(guarded: Guarded, free: Object) -> None:
    """The product's own path: an apply of replicas alone."""
    assert guarded.allowed(forced(free, {"spec": {"replicas": 3}}))["spec"]["replicas"] == 3


def test_the_product_adopts_and_resizes_what_an_updater_left(
    guarded: Guarded, cluster_api: ClusterApi, cluster: WorkCluster
) -> None:
    """Both steps of an adoption pass: the claim of the former writer goes, then the new value is ours alone."""
    item = cluster.api.create(machine_deployment(cluster.namespace, NAME, Group("updated", replicas=0), "g"))[0]
    targets = targets_of_ours(cluster_api)
    ref = ref_of(item)
    done(lambda: targets.adopt(ref, 0, bound(targets, ref)))
    done(lambda: targets.resize(ref, 2, bound(targets, ref), {"reconciler.dev/reason": "demand"}))
    after = cluster.api.read(item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (2, [("nodegroup-reconciler", "Apply", "")])
    assert after["metadata"]["annotations"]["reconciler.dev/reason"] == "demand"


def test_the_product_adopts_what_a_client_side_apply_declared(
    guarded: Guarded, cluster_api: ClusterApi, cluster: WorkCluster
) -> None:
    """The last applied manifest may lose its replicas, as Go wrote it: sorted, escaped, with a newline at its end."""
    body = machine_deployment(cluster.namespace, NAME, Group("client-side", replicas=0), "g")
    body["metadata"]["annotations"]["note"] = "a < b & c"
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026") + "\n"
    body["metadata"]["annotations"][LAST_APPLIED] = text
    path = f"{collection(body)}?fieldManager=kubectl-client-side-apply"
    item = cluster.api.call("POST", path, body)
    targets = targets_of_ours(cluster_api)
    ref = ref_of(item)
    done(lambda: targets.adopt(ref, 0, bound(targets, ref)))
    after = cluster.api.read(item)
    assert "replicas" not in json.loads(after["metadata"]["annotations"][LAST_APPLIED])["spec"]
    assert replicas_owners(after) == [("nodegroup-reconciler", "Apply", "")]


def test_the_product_releases_what_it_had(guarded: Guarded, cluster_api: ClusterApi, cluster: WorkCluster) -> None:
    """Our annotations and our claim may go; the value stays."""
    item = cluster.api.apply(machine_deployment(cluster.namespace, NAME, Group("released"), "g"), "kubectl")
    targets = targets_of_ours(cluster_api)
    ref = ref_of(item)
    done(lambda: targets.resize(ref, 2, bound(targets, ref), {"reconciler.dev/reason": "demand"}))
    done(lambda: targets.release(ref, bound(targets, ref)))
    after = cluster.api.read(item)
    assert (after["spec"]["replicas"], replicas_owners(after)) == (2, [])
    assert "reconciler.dev/reason" not in after["metadata"].get("annotations", {})


def test_replicas_that_a_topology_leaves_may_be_applied(guarded: Guarded, topology: WorkCluster) -> None:
    """An object of a topology that does not declare replicas is like any other."""
    item = topology.topology_deployment("free")
    assert guarded.allowed(forced(item, {"spec": {"replicas": 3}}))["spec"]["replicas"] == 3


@pytest.mark.parametrize("way", [
    lambda item: forced(item, {"spec": {"replicas": 3}}),
    lambda item: merge(item, {"spec": {"replicas": 3}}),
    lambda item: json_patch(item, {"op": "replace", "path": "/spec/replicas", "value": 3}),
    lambda item: replaced({**item, "spec": {**item["spec"], "replicas": 3}}),
], ids=["forced apply", "merge patch", "JSON patch", "update"])  # fmt: skip
@pytest.mark.parametrize("owner", ["fixed", "declared"])
def test_replicas_of_others_may_not_be_written(guarded: Guarded, request: pytest.FixtureRequest, owner: str, way) -> None:
    """What a topology or an applier declares is refused by every way on the object itself."""
    item = request.getfixturevalue(owner)
    guarded.refused(lambda: way(guarded.somebody.read(item)), OTHERS)


@pytest.mark.parametrize("owner", ["fixed", "free"])
def test_the_scale_subresource_is_closed(guarded: Guarded, request: pytest.FixtureRequest, owner: str) -> None:
    """`/scale` checks no owner and leaves no trace: refused even where replicas would be ours."""
    guarded.refused(merge(request.getfixturevalue(owner), {"spec": {"replicas": 3}}, "/scale"), NOTHING_ELSE)


def test_replicas_without_the_topologys_entry_may_not_be_written(guarded: Guarded, topology: WorkCluster) -> None:
    """Where somebody has stripped the field managers, a topology's object tells no more whose its replicas are."""
    item = topology.topology_deployment("free")
    topology.pause(paused=True)
    try:
        topology.api.merge(item, {"metadata": {"managedFields": [{}]}})
        guarded.refused(
            merge(item, {"spec": {"replicas": 3}}), "who holds the replicas of an object of a topology cannot be told"
        )
    finally:
        topology.pause(paused=False)


def test_replicas_of_a_controlled_machine_set_may_not_be_written(guarded: Guarded, cluster: WorkCluster) -> None:
    """The set of a MachineDeployment is sized by that one, whoever is recorded on the field."""
    deployment = cluster.api.apply(machine_deployment(cluster.namespace, NAME, Group("parent"), "g"), "kubectl")
    owner = {"apiVersion": deployment["apiVersion"], "kind": deployment["kind"], "controller": True}
    owner |= {key: deployment["metadata"][key] for key in ("name", "uid")}
    body = machine_deployment(cluster.namespace, NAME, Group("child"), "g") | {"kind": "MachineSet"}
    body["metadata"]["ownerReferences"] = [owner]
    item = cluster.api.apply(body, "kubectl")
    guarded.refused(merge(item, {"spec": {"replicas": 3}}), "a controller sets the replicas of this object")


@pytest.mark.parametrize(("change", "why"), [
    ({"spec": {"template": {"spec": {"version": "v1.35.0"}}}}, SPEC),
    ({"spec": {"template": {"metadata": {"labels": {"x": "y"}}}}}, SPEC),
    ({"spec": {"replicas": 3, "paused": True}}, SPEC),
    ({"spec": {"deletion": {"order": "Oldest"}}}, SPEC),
    ({"metadata": {"labels": {"x": "y"}}}, METADATA),
    ({"metadata": {"labels": {"team": None}}}, METADATA),
    ({"metadata": {"finalizers": ["example.org/x"]}}, METADATA),
    ({"metadata": {"ownerReferences": []}}, METADATA),
    ({"metadata": {"annotations": {"x": "y"}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {"team": "b"}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {"team": None}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {"reconciler.dev/hold": None}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {"reconciler.dev/hold": "ours"}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}, ANNOTATIONS),
    ({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}, "the last applied manifest may lose its replicas and nothing else"),
], ids=str)  # fmt: skip
def test_nothing_else_of_a_target_may_be_written(guarded: Guarded, cluster: WorkCluster, free: Object, change, why) -> None:
    """Template, pause, labels, finalizers, owners, annotations that are not ours, the hold."""
    if change.get("metadata", {}).get("ownerReferences") == []:
        cluster.api.wait(
            cluster.path("machinedeployments"),
            lambda items: any(one["metadata"]["name"] == "free" and one["metadata"].get("ownerReferences") for one in items),
            "the owner being recorded",
        )
    guarded.refused(merge(free, change), why)


@pytest.mark.parametrize(
    "change", [{"reconciler.dev/reason": "x", "reconciler.dev/revision": "abc"}, {"reconciler.dev/reason": None}]
)
def test_annotations_of_ours_may_be_written(guarded: Guarded, free: Object, change: Object) -> None:
    """Set and removed."""
    guarded.allowed(merge(free, {"metadata": {"annotations": change}}))


def test_annotations_of_ours_do_not_go_onto_a_topologys_object(guarded: Guarded, fixed: Object) -> None:
    """What a topology owns is annotated in the Cluster."""
    change = {"metadata": {"annotations": {"reconciler.dev/reason": "x"}}}
    guarded.refused(merge(fixed, change), "annotations on an object of a topology belong into the Cluster")


def without_claim(item: Object, manager: str, *fields: str) -> Object:
    """The merge patch that takes fields of the spec (all: the entry) out of the entries of one manager."""
    entries = copy.deepcopy(item["metadata"]["managedFields"])
    for entry in entries:
        if entry["manager"] == manager and "f:spec" in entry["fieldsV1"]:
            for field in fields:
                entry["fieldsV1"]["f:spec"].pop(field)
    if not fields:
        entries = [entry for entry in entries if entry["manager"] != manager]
    version = item["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version, "managedFields": entries or [{}]}}


def test_an_adoption_takes_replicas_from_an_applier(guarded: Guarded, declared: Object) -> None:
    """An applier's claim on replicas may go."""
    read = guarded.somebody.read
    guarded.allowed(lambda: merge(declared, without_claim(read(declared), "argocd-controller", "f:replicas")))


@pytest.mark.parametrize("fields", [("f:replicas", "f:template"), ()], ids=["and more", "the whole entry"])
def test_an_adoption_takes_nothing_but_replicas(guarded: Guarded, declared: Object, fields: tuple[str, ...]) -> None:
    """An applier's claim on the template may not go, nor its entry as a whole."""
    read = guarded.somebody.read
    guarded.refused(lambda: merge(declared, without_claim(read(declared), "argocd-controller", *fields)), CLAIMS)


def test_the_claim_of_a_topology_may_not_be_taken(guarded: Guarded, fixed: Object) -> None:
    """Not even its claim on replicas alone."""
    read = guarded.somebody.read
    guarded.refused(lambda: merge(fixed, without_claim(read(fixed), "capi-topology", "f:replicas")), CLAIMS)


def test_a_target_is_neither_made_nor_deleted(guarded: Guarded, cluster: WorkCluster, free: Object) -> None:
    """Only its size is ours."""
    body = machine_deployment(cluster.namespace, NAME, Group("new"), "g")
    guarded.refused(Attempt("POST", collection(body), body), NOTHING_ELSE)
    guarded.refused(deleted(free), NOTHING_ELSE)


def test_the_status_of_a_target_is_not_ours(guarded: Guarded, free: Object) -> None:
    """Subresources are closed."""
    guarded.refused(merge(free, {"status": {"replicas": 9}}, "/status"), NOTHING_ELSE)


def test_the_older_version_of_the_api_is_guarded_as_well(guarded: Guarded, declared: Object) -> None:
    """The same object under v1beta1."""
    older = declared | {"apiVersion": "cluster.x-k8s.io/v1beta1"}
    guarded.refused(merge(older, {"spec": {"replicas": 3}}), OTHERS)
    guarded.refused(merge(older, {"spec": {"paused": True}}), SPEC)
