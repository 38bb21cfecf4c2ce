"""What a capture reads of two clusters, and how it is laid out; the servers are tables of lists."""

import json
from collections.abc import Mapping

import msgspec
import pytest
import yaml

from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.control.capture import NO_CLOUDS, Capture, Clouds, Clusters, Unread, capture, capture_targets
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import WORKLOAD, cluster_api
from reconciler.policy.documents import DefaultConstraint, RequestReading, RequestsFrom, SchedulerRules
from reconciler.providers.cloud_answers import CloudAnswer, CloudQuestion
from tests.policies import policy

NOW = 1_800_000_000
CAPI = "/apis/cluster.x-k8s.io/v1beta2"
INFRA = "infrastructure.cluster.x-k8s.io"
QUOTAS_GROUP, GROUPS_PATH = "/apis/autoscaling.x-k8s.io", "/apis/scheduling.k8s.io"
NOT_SERVED = ApiError(404, "NotFound", "no such group")
Object = dict[str, object]


class _Server:
    """Answers lists by path, page by page; an error in place of a page is raised. Everything else is an empty list."""

    def __init__(self, lists: Mapping[str, list[list[Object] | ApiError]] | None = None, **answers: object) -> None:
        self.lists = {path: list(pages) for path, pages in (lists or {}).items()}
        self.answers = {"/version": {"gitVersion": "v1.36.3"}, QUOTAS_GROUP: NOT_SERVED, GROUPS_PATH: NOT_SERVED, **answers}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.asked.append((path, dict(query or {})))
        answer = self.answers.get(path)
        if isinstance(answer, ApiError):
            raise answer
        if isinstance(answer, bytes):
            return answer
        if answer is not None:
            return json.dumps(answer).encode()
        pages = self.lists.get(path, [])
        page = pages.pop(0) if pages else []
        if isinstance(page, ApiError):
            raise page
        return json.dumps({"metadata": {"continue": f"after-{len(pages)}" if pages else ""}, "items": page or None}).encode()


def _clusters(workload: _Server, management: _Server | None = None, namespaces: tuple[str, ...] = ()) -> Clusters:
    return Clusters(
        workload=workload, management=management or workload, served=(cluster_api(version="v1beta2"),), namespaces=namespaces  # type: ignore[arg-type]
    )  # fmt: skip


def _item(name: str, namespace: str = "", **fields: object) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "managedFields": [{"manager": "x"}]}, **fields}


def _target(name: str, namespace: str = "prod", reference: Object | None = None) -> Object:
    machine = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": reference or {}}
    return _item(name, namespace, spec={"clusterName": "c", "template": {"spec": machine}})


def _names(found: Capture, file: str) -> list[str]:
    (listing,) = (item for item in found.listings if item.file == file)
    return [item["metadata"]["name"] for item in listing.items]


def test_no_cloud_is_asked_unless_it_is_said() -> None:
    assert Clouds(policies=(), own=False, environment={}) == NO_CLOUDS


def test_one_cluster_is_one_folder() -> None:
    """A list a kind, sorted by namespace and name; who owns which field is kept of targets alone."""
    server = _Server(
        {
            "/api/v1/pods": [[_item("b", "y"), _item("a", "y"), _item("c", "x")]],
            f"{CAPI}/machinedeployments": [[_target("md")]],
            f"{CAPI}/machines": [[_item("m", "prod")]],
        }
    )
    found = capture(_clusters(server), "prod-eu", NOW)

    assert _names(found, "pods") == ["c", "a", "b"]
    files = found.files()
    assert set(files) == {"snapshot.yaml", *(f"{item.file}.json" for item in found.listings)}
    assert len(files) == len(found.listings) + 1 == len(list(files))
    assert {f"{kind.plural}.json" for kind in WORKLOAD} < set(files)
    assert {"machinedeployments.json", "machines.json"} < set(files)
    assert "managedFields" not in json.loads(files["pods.json"])["items"][0]["metadata"]
    assert "managedFields" not in json.loads(files["machines.json"])["items"][0]["metadata"]
    assert json.loads(files["machinedeployments.json"])["items"][0]["metadata"]["managedFields"] == [{"manager": "x"}]
    assert json.loads(files["pods.json"])["kind"] == "PodList"
    assert (found.captured_seconds, found.capi_group, found.templates, found.unread) == (NOW, "cluster.x-k8s.io", (), ())


QUOTAS_PATH = f"{QUOTAS_GROUP}/v1alpha1/capacityquotas"
GROUP_ANSWER = {"preferredVersion": {"version": "v1alpha1"}, "versions": [{"version": "v1alpha1"}]}


def test_quotas_are_captured() -> None:
    """In the version that the server prefers; the file is read as it was written."""
    limits = {"resources": {"nodes": 3, "cpu": "8"}}
    zone = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}
    quotas = [_item("small", spec={"limits": limits, "selector": zone}), _item("odd", spec={"limits": limits, "secret": "x"})]
    server = _Server({QUOTAS_PATH: [quotas]}, **{QUOTAS_GROUP: GROUP_ANSWER})
    found = capture(_clusters(server), "", NOW)
    assert _names(found, "capacityquotas") == ["odd", "small"]
    assert [(one.name, one.max, bool(one.problem)) for one in found.world().quotas] == [
        ("odd", (), True),
        ("small", (("cpu", 8000), ("nodes", 3)), False),
    ]
    hidden = found.redacted(Pseudonyms(b"salt"))
    assert hidden.world().quotas[1] == found.world().quotas[1]
    assert (hidden.world().quotas[0].max, bool(hidden.world().quotas[0].problem)) == ((), True)
    assert b"secret" not in hidden.files()["capacityquotas.json"]


@pytest.mark.parametrize(("status", "captured"), [(404, True), (403, False)])
def test_quotas_that_cannot_be_captured(status: int, captured: bool) -> None:
    """A server without the kind has none. Whoever may not list them does not know."""
    server = _Server({QUOTAS_PATH: [ApiError(status, "No", "no")]}, **{QUOTAS_GROUP: GROUP_ANSWER})
    found = capture(_clusters(server), "", NOW)
    assert ("CapacityQuota" in found.world().captured, found.world().quotas) == (captured, ())
    assert [one.kind for one in found.unread] == ([] if captured else ["CapacityQuota"])


BUFFER = _item("spare", "shop", spec={"podTemplateRef": {"name": "small"}, "replicas": 2})
SMALL = _item("small", "shop", template={"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}})


@pytest.mark.parametrize(("versions", "found_at"), [(("v1alpha1",), "v1alpha1"), (("v1", "v1beta1", "v1alpha1"), "v1beta1")])
def test_buffers_are_captured(versions: tuple[str, ...], found_at: str) -> None:
    """In the first version that has them: another kind of the group may be older. Who writes their status stays."""
    group = {"preferredVersion": {"version": versions[0]}, "versions": [{"version": one} for one in versions]}
    served = {"resources": [{"name": "capacitybuffers", "kind": "CapacityBuffer"}]}
    at = {f"{QUOTAS_GROUP}/{one}": served if one != "v1" else {"resources": []} for one in versions}
    lists = {f"{QUOTAS_GROUP}/{found_at}/capacitybuffers": [[BUFFER]], "/api/v1/podtemplates": [[SMALL]]}
    found = capture(_clusters(_Server(lists, **{QUOTAS_GROUP: group}, **at)), "", NOW)
    assert [(one.key, one.count) for one in found.world().buffers] == [("shop/spare", 2)]
    (listing,) = (item for item in found.listings if item.file == "capacitybuffers")
    assert listing.items[0]["metadata"]["managedFields"] == [{"manager": "x"}]


def test_buffers_that_no_policy_reads_are_not_captured() -> None:
    """Nobody needs the right to list them."""
    server = _Server(**{QUOTAS_GROUP: GROUP_ANSWER})
    clouds = Clouds(policies=(policy(),), own=False, environment={})
    found = capture(_clusters(server), "", NOW, clouds=clouds)
    assert not any("podtemplates" in path or "resourcequotas" in path for path, _ in server.asked)
    assert "CapacityBuffer" not in found.world().captured


def test_requests_are_captured_where_a_policy_answers_them() -> None:
    """With their templates, and who writes their status."""
    pod_sets = [{"podTemplateRef": {"name": "small"}, "count": 2}]
    item = _item("train", "shop", spec={"provisioningClassName": "check-capacity.reconciler.dev", "podSets": pod_sets})
    served = {"resources": [{"name": "provisioningrequests", "kind": "ProvisioningRequest"}]}
    group = {"preferredVersion": {"version": "v1"}, "versions": [{"version": "v1"}]}
    lists = {f"{QUOTAS_GROUP}/v1/provisioningrequests": [[item]], "/api/v1/podtemplates": [[SMALL]]}
    for reading, found_keys in ((RequestReading.READ, ["shop/train"]), (RequestReading.IGNORE, [])):
        rules = policy(requests_from=RequestsFrom(provisioning_requests=reading))
        server = _Server(lists, **{QUOTAS_GROUP: group, f"{QUOTAS_GROUP}/v1": served})
        found = capture(_clusters(server), "", NOW, clouds=Clouds(policies=(rules,), own=False, environment={}))
        assert [one.key for one in found.world().provisioning_requests if one.count == 2] == found_keys
        assert ("ProvisioningRequest" in found.world().captured) == bool(found_keys)
    assert item["metadata"]["managedFields"] == [{"manager": "x"}]


SLICES, RESOURCE_CLAIMS = "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/resourceclaims"
CLAIM_TEMPLATES = "/apis/resource.k8s.io/v1/resourceclaimtemplates"


def test_devices_are_captured_and_never_shared() -> None:
    """Slices, claims and their templates are in a snapshot. A redacted one lacks them, and says that they were not captured."""
    one = _item("s", spec={"driver": "d", "pool": {"name": "secret-pool"}, "allNodes": True, "devices": [{"name": "gpu-0"}]})
    claims = [_item("c", "shop", spec={"devices": {"requests": []}})]
    asked = {"name": "r", "exactly": {"deviceClassName": "secret-class"}}
    templates = [_item("t", "shop", spec={"spec": {"devices": {"requests": [asked]}}})]
    lists = {SLICES: [[one]], RESOURCE_CLAIMS: [claims], CLAIM_TEMPLATES: [templates]}
    found = capture(_clusters(_Server(lists)), "", NOW)
    world = found.world()
    assert [(item.name, item.requests[0].alternatives[0].device_class) for item in world.claim_templates] == [
        ("t", "secret-class")
    ]
    assert [(item.name, item.devices[0].name) for item in world.resource_slices] == [("s", "gpu-0")]
    assert [(item.namespace, item.name) for item in world.resource_claims] == [("shop", "c")]
    hidden = found.redacted(Pseudonyms(b"salt"))
    kinds = {"ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}
    assert kinds & set(hidden.world().captured) == {"DeviceClass"}
    assert not any(b"secret-" in text for text in hidden.files().values())


@pytest.mark.parametrize(("path", "kind"), [(SLICES, "ResourceSlice"), (CLAIM_TEMPLATES, "ResourceClaimTemplate")])
@pytest.mark.parametrize(("status", "captured"), [(404, True), (403, False)])
def test_devices_that_cannot_be_captured(status: int, captured: bool, path: str, kind: str) -> None:
    """A server without the kind has none. Whoever may not list them does not know."""
    found = capture(_clusters(_Server({path: [ApiError(status, "No", "no")]})), "", NOW)
    assert (kind in found.world().captured) is captured
    assert [one.kind for one in found.unread] == ([] if captured else [kind])


def test_pod_groups_are_captured_and_shared() -> None:
    """The redacted ones say the same of their pods, under other names."""
    gang = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    groups = [
        _item("secret-train", "shop", spec=gang),
        _item("secret-rack", "shop", spec={**gang, "schedulingConstraints": {"topology": [{"key": "secret-key"}]}}),
    ]
    of_group: dict[str, object] = {"containers": []}
    pods = [
        _item("a", "shop", spec=of_group | {"schedulingGroup": {"podGroupName": "secret-train"}}),
        _item("b", "shop", spec=of_group | {"schedulingGroup": {"podGroupName": "secret-rack"}}),
        _item("c", "shop", spec=of_group | {"schedulingGroup": {"podGroupName": "secret-train", "secret-part": 1}}),
    ]
    where, group = GROUPS_PATH, {"preferredVersion": {"version": "v1"}}
    versions = [{"version": version} for version in ("v1", "v1beta1")]
    server = _Server(
        {"/api/v1/pods": [pods], f"{where}/v1beta1/podgroups": [groups]},
        **{
            where: {**group, "versions": versions},
            f"{where}/v1": {"resources": [{"name": "priorityclasses", "kind": "PriorityClass"}]},
            f"{where}/v1beta1": {"resources": [{"name": "podgroups", "kind": "PodGroup"}]},
        },
    )
    found = capture(_clusters(server), "", NOW)
    assert [(one.name, one.min_count, one.not_modelled) for one in found.world().pod_groups] == [
        ("secret-rack", 1, ("schedulingConstraints",)),
        ("secret-train", 3, ()),
    ]
    hidden = found.redacted(Pseudonyms(b"salt"))
    world = hidden.world()
    known = {one.name: (one.min_count, bool(one.problem or one.not_modelled)) for one in world.pod_groups}
    assert sorted((known.get(one.pod_group), one.not_modelled) for one in world.pod_shapes if one.pod_group) == [
        ((1, True), ()),
        ((3, False), ()),
    ]
    assert [one.not_modelled for one in world.pod_shapes if not one.pod_group] == [("schedulingGroup",)]
    assert not any(b"secret-" in text for text in hidden.files().values())


@pytest.mark.parametrize("version", ["v1.36.3", ""])
def test_the_manifest_says_what_was_captured(version: str) -> None:
    """When, of which cluster and version, and every kind, also where nothing is there."""
    server = _Server(**{"/version": {"gitVersion": version}})
    found = capture(_clusters(server), 'the "blue" one', NOW)

    manifest = yaml.safe_load(found.files()["snapshot.yaml"])
    kinds = manifest.pop("kinds")
    assert manifest == {
        "formatVersion": "1.0", "capturedAt": "2027-01-15T08:00:00Z", "cluster": 'the "blue" one',
    } | ({"kubernetesVersion": version} if version else {})  # fmt: skip
    assert kinds == sorted(set(kinds))
    assert {item.kind for item in WORKLOAD} | {"MachineDeployment", "Machine", "Cluster"} <= set(kinds)
    assert (found.world().name, found.world().captured_seconds) == ('the "blue" one', NOW)


def test_the_manifest_has_feature_gates_that_the_server_reports() -> None:
    """Those that decide where pods run, of the workload cluster."""
    lines = [f'kubernetes_feature_enabled{{name="{name}",stage="BETA"}} 1' for name in ("VolumeLimitScaling", "Other")]
    found = capture(_clusters(_Server(**{"/metrics": "\n".join(lines).encode()})), "", NOW)

    assert yaml.safe_load(found.files()["snapshot.yaml"])["featureGates"] == {"VolumeLimitScaling": True}
    assert found.world().feature_gates == (("VolumeLimitScaling", True),)
    assert found.world().release.drivers_required


def test_two_clusters_are_two_folders() -> None:
    """Pods and nodes of the one, targets of the other, and the version of the one that runs the pods."""
    workload = _Server({"/api/v1/nodes": [[_item("n")]]}, **{"/version": {"gitVersion": "v1.35.0"}})
    management = _Server({f"{CAPI}/machinedeployments": [[_target("md")]]})
    found = capture(_clusters(workload, management), "", NOW)

    assert _names(found, "workload/nodes") == ["n"]
    assert _names(found, "management/machinedeployments") == ["md"]
    assert {item.file.partition("/")[0] for item in found.listings} == {"workload", "management"}
    assert found.version == "v1.35.0"
    assert "/api/v1/pods" not in [path for path, _ in management.asked]
    assert not any(path.startswith(CAPI) for path, _ in workload.asked)


def test_targets_only() -> None:
    """What belongs to targets, without pods; or the targets themselves alone. Neither asks for a version."""
    server = _Server({f"{CAPI}/machinedeployments": [[_target("md")]], f"{CAPI}/machines": [[_item("m", "prod")]]})
    found = capture(_clusters(server), "", NOW, targets_only=True)
    assert _names(found, "machines") == ["m"]
    assert found.version == ""
    assert not any(path.startswith("/api/v1") for path, _ in server.asked)

    server = _Server({f"{CAPI}/machinedeployments": [[_target("md")]], f"{CAPI}/machines": [[_item("m", "prod")]]})
    found = capture_targets(_clusters(server), NOW)
    assert _names(found, "machinedeployments") == ["md"]
    assert {item.kind for item in found.listings} == {"MachineDeployment", "MachineSet", "MachinePool"}
    assert (found.captured_seconds, found.cluster, found.version) == (NOW, "", "")


def test_what_we_may_not_list_is_named() -> None:
    """A kind that is not served is left out; any other refusal is an error."""
    server = _Server(
        {
            "/apis/policy/v1/poddisruptionbudgets": [ApiError(403, "Forbidden", "may not list")],
            "/apis/resource.k8s.io/v1/deviceclasses": [ApiError(404, "NotFound", "no such path")],
        }
    )
    found = capture(_clusters(server), "", NOW)
    assert found.unread == (Unread(kind="PodDisruptionBudget", why="may not list"),)
    assert not {"PodDisruptionBudget", "DeviceClass"} & set(found.kinds)

    with pytest.raises(ApiError, match="500"):
        capture(_clusters(_Server({"/api/v1/nodes": [ApiError(500, "Internal", "broken")]})), "", NOW)


def test_some_namespaces() -> None:
    """One list a kind; one namespace that we may not list leaves the kind out, and is named."""
    paths = [f"{CAPI}/namespaces/{namespace}/machinedeployments" for namespace in ("blue", "green")]
    server = _Server({paths[0]: [[_target("b", "blue")]], paths[1]: [[_target("a", "green")]]})
    assert _names(capture(_clusters(server, namespaces=("blue", "green")), "", NOW), "machinedeployments") == ["b", "a"]

    refused: list[list[Object] | ApiError] = [ApiError(403, "Forbidden", "not yours")]
    server = _Server({paths[0]: [[_target("b", "blue")]], paths[1]: refused})
    found = capture_targets(_clusters(server, namespaces=("blue", "green")), NOW)
    assert found.unread == (Unread(kind="MachineDeployment in green", why="not yours"),)
    assert "MachineDeployment" not in found.kinds


def test_pages() -> None:
    """500 objects at a time; a list that the server forgot half-way is read anew from its beginning."""
    server = _Server({"/api/v1/pods": [[_item("a", "x")], [_item("b", "x")]]})
    assert _names(capture(_clusters(server), "", NOW), "pods") == ["a", "b"]
    assert [query for path, query in server.asked if path == "/api/v1/pods"] == [
        {"limit": "500"},
        {"limit": "500", "continue": "after-1"},
    ]

    gone = ApiError(410, "Expired", "too old")
    server = _Server({"/api/v1/pods": [[_item("a", "x")], gone, [_item("a", "x"), _item("b", "x")]]})
    assert _names(capture(_clusters(server), "", NOW), "pods") == ["a", "b"]
    assert [query for path, query in server.asked if path == "/api/v1/pods"][2] == {}
    with pytest.raises(ApiError, match="410"):
        capture(_clusters(_Server({"/api/v1/pods": [gone]})), "", NOW)


def test_templates_that_targets_refer_to() -> None:
    """Each kind once, in a file that names its group, since two groups may call it the same."""
    reference = {"apiGroup": INFRA, "kind": "DockerMachineTemplate", "name": "t"}
    server = _Server(
        {
            f"{CAPI}/machinedeployments": [[_target("a", reference=reference), _target("b", reference=reference)]],
            f"/apis/{INFRA}/v1beta2/dockermachinetemplates": [[_item("t", "prod")]],
        },
        **{
            f"/apis/{INFRA}": {"preferredVersion": {"version": "v1beta2"}, "versions": []},
            f"/apis/{INFRA}/v1beta2": {"resources": [{"name": "dockermachinetemplates", "kind": "DockerMachineTemplate"}]},
        },
    )
    found = capture(_clusters(server), "", NOW)

    assert found.templates == ((INFRA, "dockermachinetemplates"),)
    assert _names(found, f"dockermachinetemplates.{INFRA}") == ["t"]
    assert [path for path, _ in server.asked].count(f"/apis/{INFRA}/v1beta2/dockermachinetemplates") == 1


def test_templates_of_some_namespaces() -> None:
    """They are read where the targets are."""
    reference = {"apiGroup": INFRA, "kind": "DockerMachineTemplate", "name": "t"}
    server = _Server(
        {
            f"{CAPI}/namespaces/blue/machinedeployments": [[_target("a", "blue", reference)]],
            f"/apis/{INFRA}/v1beta2/namespaces/blue/dockermachinetemplates": [[_item("t", "blue")]],
            f"/apis/{INFRA}/v1beta2/namespaces/green/dockermachinetemplates": [[_item("u", "green")]],
        },
        **{
            f"/apis/{INFRA}": {"preferredVersion": {"version": "v1beta2"}, "versions": []},
            f"/apis/{INFRA}/v1beta2": {"resources": [{"name": "dockermachinetemplates", "kind": "DockerMachineTemplate"}]},
        },
    )
    found = capture(_clusters(server, namespaces=("blue", "green")), "", NOW)
    assert _names(found, f"dockermachinetemplates.{INFRA}") == ["t", "u"]


def test_files_are_encoded_when_they_are_asked_for() -> None:
    """Equal objects give equal bytes but for the instant."""
    first, later = (capture(_clusters(_Server({"/api/v1/nodes": [[_item("n")]]})), "", NOW + late) for late in (0, 60))
    assert first.files() != later.files()
    assert first.files() == msgspec.structs.replace(later, captured_seconds=NOW).files()


def test_clouds_are_told_which_machines_the_nodes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their provider ids, by which the groups of this cluster are found; a node that has none yet is no machine."""
    questions: list[CloudQuestion] = []

    def asked(question: CloudQuestion, environment: Mapping[str, str]) -> CloudAnswer:
        questions.append(question)
        assert environment == {"AWS_REGION": "eu-west-1"}
        return CloudAnswer()

    monkeypatch.setattr("reconciler.control.capture.ask_clouds", asked)
    nodes = [_item("a", spec={"providerID": "aws:///eu-west-1a/i-1"}), _item("b", spec={}), _item("c", spec=None)]
    clouds = Clouds(own=True, environment={"AWS_REGION": "eu-west-1"})
    capture(_clusters(_Server({"/api/v1/nodes": [nodes]})), "c", NOW, clouds=clouds)
    assert [(question.own, question.provider_ids) for question in questions] == [(True, ("aws:///eu-west-1a/i-1", "", ""))]


@pytest.mark.parametrize(("action", "read"), [("DoNotSchedule", True), ("ScheduleAnyway", False), ("", True)])
def test_services_are_read_where_a_policy_needs_them(action: str, read: bool) -> None:
    """Without a policy they are, too: the capture is for policies that nobody has written yet."""
    constraint = DefaultConstraint(max_skew=1, topology_key="kubernetes.io/hostname", when_unsatisfiable=action)
    rules = policy(scheduler=SchedulerRules(default_constraints=(constraint,)))
    server = _Server({"/api/v1/services": [[_item("web", "shop", spec={"selector": {"app": "web"}})]]})
    found = capture(_clusters(server), "prod", NOW, clouds=Clouds(policies=(rules,) if action else ()))
    assert [one.name for one in found.world().services] == (["web"] if read else [])
    assert ("Service" in found.kinds) is read
