"""A real API server takes the custom resource definitions, and judges objects by them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.schemas.conftest import ROOT, documents
from tests.testbed.api import Api, ApiError
from tests.testbed.control_plane import ControlPlane

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OURS = "/apis/reconciler.dev/v1alpha1"
STRICT = "?dryRun=All&fieldValidation=Strict"


def established(items: list[dict[str, Any]]) -> bool:
    ours = [item for item in items if item["spec"]["group"] == "reconciler.dev"]
    # Right after the POST `status.conditions` can be null.
    conditions = [{c["type"]: c["status"] for c in item.get("status", {}).get("conditions") or ()} for item in ours]
    return len(ours) == 2 and all(found.get("Established") == "True" for found in conditions)


def ensure(api: Api, item: dict[str, Any]) -> None:
    """Create an object; that other tests of the session have made it before is as good."""
    try:
        api.create(item)
    except ApiError as error:
        if error.body.get("reason") != "AlreadyExists":
            raise


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    """The API server with both definitions established and a namespace for groups."""
    for path in sorted((ROOT / "schemas" / "crds").glob("*.yaml")):
        ensure(control_plane.api, yaml.safe_load(path.read_text(encoding="utf-8")))
    ensure(control_plane.api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "reconciler"}})
    control_plane.api.wait(DEFINITIONS, established, "both definitions being established")
    return control_plane.api


def send(api: Api, document: dict[str, Any]) -> None:
    """Let the server judge one object as `kubectl apply --dry-run=server --validate=strict` would. Others use it, too, and
    may have made one of that name."""
    namespaced = document["kind"] == "NodeGroup"
    document["metadata"].pop("namespace", None)
    document["metadata"]["name"] = f"judged-{document['metadata']['name']}"
    path = f"{OURS}/namespaces/reconciler/nodegroups" if namespaced else f"{OURS}/nodegrouppolicies"
    api.call("POST", path + STRICT, document)


def test_definitions_are_structural(api: Api):
    """The server found nothing to say about either schema and accepted the names."""
    for item in api.items(DEFINITIONS):
        if item["spec"]["group"] == "reconciler.dev":
            conditions = {entry["type"]: entry["status"] for entry in item["status"]["conditions"]}
            assert conditions.get("NonStructuralSchema", "False") == "False"
            assert conditions["NamesAccepted"] == "True"


SOUND = [
    *sorted((ROOT / "policies").glob("*.yaml")),
    ROOT / "tests" / "fixtures" / "policy" / "complete.yaml",
]


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_documents_of_this_repository_are_accepted(api: Api, path: Path):
    """What `validate` takes, the server takes, with unknown fields refused."""
    found = [document for document in documents(path.read_bytes()) if document]
    assert found
    for document in found:
        send(api, document)


def group(**spec: Any) -> dict[str, Any]:
    target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod", "name": "a"}}
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "NodeGroup",
        "metadata": {"name": "a"},
        "spec": {"policyRef": {"name": "prod"}, "target": target, **spec},
    }


def policy(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroupPolicy", "metadata": {"name": "a"}, "spec": spec}


def divided(**consumes: Any) -> dict[str, Any]:
    """A device with one kind of partitions. `int` and `string` are values of its attribute."""
    values = {key: consumes.pop(key) for key in ("int", "string") if key in consumes}
    part: dict[str, Any] = {"name": "1g", "consumesCounters": consumes}
    if values:
        part["attributes"] = [{"name": "profile", **values}]
    return {"devices": [{"name": "gpu", "driver": "gpu.example.com", "counters": {"slices": 7}, "partitions": [part]}]}


MACHINE_SET = {"namespace": "a", "machineSet": "b"}
WINDOW = {"schedule": "0 7 * * *", "duration": "1h"}


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (group(size={"min": 3, "max": 2}), "min is above max"),
        (group(windows=[WINDOW | {"size": {"min": 3, "max": 2}}]), "min is above max"),
        (group(target={}), "exactly one of clusterAPI, aws, openshift, crusoe"),
        (group(target={"openshift": MACHINE_SET, "crusoe": {"nodePool": "c", "location": "l"}}), "exactly one of"),
        (group(headroom={"nodes": 1, "nodesPerZone": 1}), "at most one of nodes, nodesPerZone, pods"),
        (group(size={"min": -1}), "should be greater than or equal to 0"),
        (group(size={"mni": 1}), 'unknown field "spec.size.mni"'),
        (group(scaleDown={"unneededTime": "1d"}), "should match"),
        (group(pricePerHour="1,5"), "should match"),
        (group(nodes={}), "should have at least 1 propert"),
        (group(template={"capacity": {"cpu": "lots"}}), "should match"),
        (group(template={"capacity": {"cpu": -1}}), "should be greater than or equal to 0"),
        (group(template=divided(slices="40GB")), "should match"),
        (group(template=divided(slices=-1)), "should be greater than or equal to 0"),
        (group(template=divided(**{f"c{number}": 1 for number in range(33)})), "must have at most 32 items"),
        (group(template=divided()), "should have at least 1 propert"),
        (group(template=divided(int=1, string="x", slices=1)), "exactly one of string, int, bool, version"),
        (policy(tiers=[{"name": "a", "defaults": {"template": divided(int=1, string="x", slices=1)}}]), "one and only one"),
        (policy(budgets=[{"nodes": "101%"}]), "should match"),
        (policy(budgets=[{"nodes": -1}]), "should be greater than or equal to 0"),
        (policy(budgets=[{"nodes": 1, "schedule": "0 7 * * *"}]), "schedule and duration go together"),
        (policy(tiers=[{"name": "a"}, {"name": "a"}]), "Duplicate value"),
        (policy(adoptFrom=["a", "a"]), "Duplicate value"),
        (policy(expanders=["Cheapest"]), "Unsupported value"),
        (policy(tiers=[{"name": "a", "defaults": {"size": {"min": 2, "max": 1}}}]), "min is above max"),
        (policy(discovery=[{"name": "a"}]), "exactly one of clusterAPI, aws"),
    ],
)  # fmt: skip
def test_faults_are_refused(api: Api, document: dict[str, Any], says: str):
    """Rules across fields, bounds, patterns, sets and map lists hold at the server as they do in `validate`."""
    with pytest.raises(ApiError) as refusal:
        send(api, document)
    assert refusal.value.status in (400, 422)
    assert says in str(refusal.value)


def test_partitions_of_devices_are_accepted(api: Api):
    """At both levels, with amounts as numbers and as texts."""
    template = divided(slices=1, memory="10Gi", string="1g")
    send(api, group(template=template))
    send(api, policy(tiers=[{"name": "a", "defaults": {"template": template}}]))


def test_nothing_is_defaulted(api: Api):
    """What was not written stays unwritten, so that tiers and policy defaults keep their say."""
    document = policy(pods={"newPodDelay": "5s"})
    stored = api.call("POST", f"{OURS}/nodegrouppolicies{STRICT}", document)
    assert stored["spec"] == document["spec"]


def test_status_is_written_apart(api: Api):
    """The status of the generated schema is taken by its subresource and ignored in the object itself."""
    made = api.call("POST", f"{OURS}/namespaces/reconciler/nodegroups", group() | {"status": {"current": 7}})
    assert "status" not in made
    path = f"{OURS}/namespaces/reconciler/nodegroups/a"
    api.call(
        "PATCH",
        f"{path}/status?fieldValidation=Strict",
        {"status": {"current": 3, "owner": "Ours"}},
        "application/merge-patch+json",
    )
    assert api.get(path)["status"] == {"current": 3, "owner": "Ours"}
    api.call("DELETE", path)
