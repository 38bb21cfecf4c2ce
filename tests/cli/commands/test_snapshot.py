"""A redacted snapshot keeps what decisions read, and nothing else."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from reconciler.cli.outputs.saved_snapshot import checked_directory, write_snapshot
from reconciler.cluster.snapshots import redaction
from reconciler.cluster.snapshots.document import documents
from reconciler.cluster.snapshots.listing import Listing
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms, words_in

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
CAPI = "cluster.x-k8s.io/v1beta2"
Object = dict[str, Any]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in arguments], prog_name="reconciler", standalone_mode=False)


def listing(kind: str, *items: Object, api_version: str = "v1") -> Listing:
    return Listing(file=f"{kind.lower()}s", api_version=api_version, kind=kind, items=list(items))


WORDS = words_in("\n".join(path.read_text() for path in (ROOT / "policies").rglob("*.yaml")))
PSEUDONYMS = Pseudonyms(b"salt of the tests", WORDS, WORDS)


def redacted(listings: list[Listing]) -> list[Listing]:
    return redaction.redacted(listings, PSEUDONYMS)


def named(name: str, **parts: Any) -> Object:
    meta = {"name": name, "namespace": "n", **parts.pop("metadata", {})}
    return {"metadata": meta, **parts}


def one(kind: str, item: Object, api_version: str = "v1") -> Object:
    (found,) = redacted([listing(kind, item, api_version=api_version)])[0].items
    return found


def test_a_container_keeps_what_it_requests_and_nothing_else() -> None:
    """Image, environment, arguments and mounts are gone; requests and ports are there."""
    container = {
        "name": "c",
        "image": "registry/secret",
        "env": [{"name": "TOKEN", "value": "s3cret"}],
        "args": ["--password=s3cret"],
        "resources": {"requests": {"cpu": "1"}},
        "ports": [{"containerPort": 1, "hostPort": 1}],
    }
    found = one("Pod", named("p", spec={"containers": [container], "nodeName": "n1"}))
    (kept,) = found["spec"]["containers"]
    assert kept == {"name": PSEUDONYMS.word("c"), "resources": container["resources"], "ports": container["ports"]}
    assert found["spec"]["nodeName"] == PSEUDONYMS.word("n1")


def test_annotations_stay_that_decide_something() -> None:
    """safe-to-evict stays, a note of a person goes."""
    marks = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true", "example.com/contact": "jo@example.com"}
    found = one("Pod", named("p", metadata={"annotations": marks}, spec={"containers": []}))
    assert found["metadata"]["annotations"] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("incident 4711, ask Jo", "redacted"),
        ("incident 4711; until 2026-11-21T18:00:00Z", "redacted; until 2026-11-21T18:00:00Z"),
    ],
)
def test_a_hold_keeps_its_end_and_loses_its_words(text: str, kept: str) -> None:
    """What a person wrote is nobody else's business; that it holds, and until when, is."""
    item = named("g", metadata={"annotations": {"reconciler.dev/hold": text}}, spec={"replicas": 1})
    assert one("MachineDeployment", item, CAPI)["metadata"]["annotations"] == {"reconciler.dev/hold": kept}


def test_an_applied_manifest_keeps_its_replicas() -> None:
    """Whether a manifest declares replicas says who owns them; the rest of it is gone."""
    manifest = json.dumps({"spec": {"replicas": 3, "template": {"userData": "s3cret"}}})
    key = "kubectl.kubernetes.io/last-applied-configuration"
    found = one("MachineDeployment", named("g", metadata={"annotations": {key: manifest}}, spec={"replicas": 3}), CAPI)
    assert json.loads(found["metadata"]["annotations"][key]) == {"spec": {"replicas": 3}}


def test_field_sets_keep_who_owns_replicas() -> None:
    """The managers stay with the one field that is asked about."""
    entries = [
        {"manager": "a", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}, "f:selector": {}}}},
        {"manager": "b", "operation": "Update", "fieldsV1": {"f:metadata": {"f:annotations": {"f:private": {}}}}},
    ]
    found = one("MachineDeployment", named("g", metadata={"managedFields": entries}, spec={"replicas": 3}), CAPI)
    assert [entry["fieldsV1"] for entry in found["metadata"]["managedFields"]] == [{"f:spec": {"f:replicas": {}}}, {}]


def test_names_of_pods_go_and_their_order_stays() -> None:
    """Ties are broken by name: the new names sort as the old ones do, past ten as well."""
    old = sorted(f"web-{number}" for number in range(12))
    pods = [named(name, metadata={"uid": str(old.index(name))}, spec={"containers": []}) for name in old]
    (found,) = redacted([listing("Pod", *reversed(pods))])
    assert [item["metadata"]["uid"] for item in found.items] == [str(number) for number in range(12)]
    assert not any("web" in item["metadata"]["name"] for item in found.items)


def test_a_claim_made_for_a_pod_follows_its_name() -> None:
    """The claim of an ephemeral volume is called after the pod, and its volume refers to the claim."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u", "controller": True}
    pod = named("web", spec={"containers": [], "volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}]})
    claim = named("web-data", metadata={"ownerReferences": [owner]}, spec={})
    other = named("web-x", spec={})
    volume = {"metadata": {"name": "v"}, "spec": {"claimRef": {"namespace": "n", "name": "web-data"}}}
    lists = [
        listing("Pod", pod),
        listing("PersistentVolumeClaim", claim, other),
        listing("PersistentVolume", volume),
    ]
    pods, claims, volumes = redacted(lists)
    name = pods.items[0]["metadata"]["name"]
    assert {item["metadata"]["name"] for item in claims.items} == {f"{name}-{PSEUDONYMS.word('data')}", PSEUDONYMS.word("web-x")}
    assert volumes.items[0]["spec"]["claimRef"]["name"] == f"{name}-{PSEUDONYMS.word('data')}"


def test_a_kind_of_which_nothing_is_read_is_left_out() -> None:
    """Secrets that a file happens to hold do not leave the house."""
    assert redacted([listing("Secret", {"metadata": {"name": "s", "namespace": "n"}, "data": {"k": "djE="}})]) == []


def quickstart() -> list[Listing]:
    """The example cluster, one list a kind."""
    found: dict[tuple[str, str], Listing] = {}
    for path in sorted(QUICKSTART.glob("*.json")):
        for document in documents(path.name, path.read_bytes()):
            made = Listing(file=document.kind.lower(), api_version=document.api_version, kind=document.kind, items=[])
            kept = found.setdefault((document.api_version, document.kind), made)
            kept.items.extend(json.loads(bytes(item)) for item in document.items)
    return list(found.values())


def words(value: Any) -> set[str]:
    """Every text in it, and the words that texts are made of."""
    if isinstance(value, dict):
        return {word for pair in value.items() for part in pair for word in words(part)}
    if isinstance(value, list):
        return {word for part in value for word in words(part)}
    return {str(value), *re.split(r"[,=:;/\s]", str(value))}


def written(path: Path, listings: list[Listing]) -> Path:
    manifest = b'formatVersion: "1.0"\ncapturedAt: "2026-11-21T12:00:00Z"\ncluster: prod\n'
    write_snapshot(path, {"snapshot.yaml": manifest, **{f"{item.file}.json": item.encoded() for item in listings}}, zipped=False)
    return path


def test_a_field_of_a_pod_that_is_not_known_is_named_and_hidden() -> None:
    """The pod stays one that is not modelled; what it runs as goes."""
    spec = {"containers": [], "schedulingHint": {"name": "secret"}, "serviceAccountName": "secret"}
    assert one("Pod", named("a", spec=spec))["spec"] == {
        "containers": [],
        "schedulingHint": "redacted",
    }


def test_the_plan_of_a_redacted_cluster_is_the_same_but_for_names(tmp_path: Path) -> None:
    """Every group, action, node and reason; pods under their other names."""
    plans = []
    original = quickstart()
    pods = next(item for item in original if item.kind == "Pod")
    before = sorted((item["metadata"]["namespace"], item["metadata"]["name"]) for item in pods.items)
    cleaned = redacted(original)
    after = [(i["metadata"]["namespace"], i["metadata"]["name"]) for item in cleaned if item.kind == "Pod" for i in item.items]
    for name, listings in (("original", quickstart()), ("cleaned", cleaned)):
        result = run(
            "plan", "--policy", ROOT / "policies", "--cluster", written(tmp_path / name, listings), "--no-settled", "-o", "json"
        )
        assert result.exception is None
        plans.append(result.stdout)
    # What stands behind each pseudonym is put back: the rest must be equal as it stands, order included.
    hidden = {PSEUDONYMS.word(word): word for item in original for word in words(item.items)}
    plans[1] = re.sub(r"x-[0-9a-f]{16}", lambda found: hidden[found[0]], plans[1])
    text = plans[0]
    for (namespace, old), (_, new) in sorted(zip(before, after, strict=True), key=lambda pair: -len(pair[0][1])):
        text = text.replace(f'"{namespace}/{old}"', f'"{namespace}/{new}"').replace(f"{namespace}/{old} ", f"{namespace}/{new} ")
    expected, found = json.loads(text), json.loads(plans[1])
    assert len(expected["pods"]) > 10
    for plan in (expected, found):
        del plan["digest"]
    assert found == expected


NAMED = ("Node", "Namespace", "Machine", "MachineDeployment", "MachineSet", "Cluster", "StorageClass", "SimMachineTemplate")


def test_names_are_hidden_when_asked_and_the_plan_stays_the_same(tmp_path: Path) -> None:
    """No name of a node, namespace, target, machine or class stands in any file, but for words of Kubernetes (`batch`). Put
    back under them, every group, action and node is decided as before."""
    original = quickstart()
    names = {item["metadata"]["name"] for found in original if found.kind in NAMED for item in found.items}
    names |= {item["metadata"].get("namespace", "") for found in original for item in found.items}
    names -= {"", "kube-system", "default", "kube-public", "kube-node-lease", "batch"}
    hiding = Pseudonyms(b"salt of the tests", hides_names=True)
    cleaned = redaction.redacted(original, hiding)
    told = {word for found in cleaned for word in words(found.items)}
    assert {"capi", "spot", "big"} <= names
    assert names & told == set()
    plans = []
    for name, listings in (("original", quickstart()), ("cleaned", cleaned)):
        path = written(tmp_path / name, listings)
        plans.append(planned(tmp_path, path))
    back = {hiding.digest(word): word for item in original for word in words(item.items)}
    text = re.sub(r"n[0-9]+-([0-9a-f]{16})", lambda found: back[found[1]], plans[1])
    before, after = json.loads(plans[0]), json.loads(text)
    for part in ("groups", "actions", "nodes"):
        assert len(before[part]) == len(after[part]) > 0
    shown = ("name", "target", "current", "desired", "min", "max", "held")
    assert [{key: one[key] for key in shown} for one in after["groups"]] == [
        {key: one[key] for key in shown} for one in before["groups"]
    ]
    kept = ("node", "group", "state", "utilizationPermille", "removable")
    assert [[one[key] for key in kept] for one in after["nodes"]] == [[one[key] for key in kept] for one in before["nodes"]]
    acts = ("kind", "group", "from", "to", "nodes")
    assert [[one[key] for key in acts] for one in after["actions"]] == [[one[key] for key in acts] for one in before["actions"]]


def planned(directory: Path, cluster: Path) -> str:
    """The plan of a policy that discovers everything and names nothing."""
    file = directory / "everything.yaml"
    file.write_text(
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: p}\n"
        "spec: {mode: Enforce, adoptFrom: [kubectl], discovery: [{name: all, clusterAPI: {}}],\n"
        "  defaults: {size: {min: 0, max: 9}}}\n"
    )
    result = run("plan", "--policy", file, "--cluster", cluster, "--no-settled", "-o", "json")
    assert result.exception is None, result.exception
    return result.stdout


def test_names_that_a_readable_policy_has_stay() -> None:
    """And those that every cluster has; the others keep their order."""
    nodes = [{"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}} for name in ("b", "kept-1", "a-1", "c-1")]
    (found,) = redaction.redacted([listing("Node", *nodes)], Pseudonyms(b"s" * 16, ["kept-1"], hides_names=True))
    shown = [item["metadata"]["name"] for item in found.items]
    assert "kept-1" in shown
    assert [name[:3] for name in shown if name != "kept-1"] == ["n0-", "n1-", "n2-"]
    assert all(item["metadata"]["labels"] == {"kubernetes.io/hostname": item["metadata"]["name"]} for item in found.items)


def test_a_snapshot_is_replaced_only_when_asked(tmp_path: Path) -> None:
    """What is no snapshot is never replaced; one that is needs --force."""
    write_snapshot(tmp_path / "s", {"snapshot.yaml": b"x", "nodes.json": b"1"}, zipped=True)
    assert gzip.decompress((tmp_path / "s" / "nodes.json.gz").read_bytes()) == b"1"
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    for path, force, said in ((other, True, "is no snapshot"), (other, True, "not empty"), (tmp_path / "s", False, "--force")):
        with pytest.raises(Exception, match=said.replace("is no", "no")):
            checked_directory(path, force=force)
    checked_directory(tmp_path / "s", force=True)


def test_a_snapshot_and_a_live_cluster_are_two(tmp_path: Path) -> None:
    """Naming both is a mix-up, said before anything is read."""
    result = run("plan", "--cluster", tmp_path, "--context", "prod")
    assert result.exception is not None
    assert "give one" in str(result.exception)
