"""The forms of `run --fleet`: overlay and chart give what the code asks for, and no more."""

import re
from itertools import product
from pathlib import Path

import pytest
import yaml

from reconciler.cli.processes.fleet_loop import MOST_OBJECTS, _owners
from reconciler.control.fleet.fleet_process import SECRET_SECONDS
from reconciler.control.fleet.shares import ROLLOUT_SECONDS, URGENT_SHARE
from reconciler.control.pages.fleet_metrics import fleet_exposition
from reconciler.control.pages.fleet_pages import ShownLoop, fleet_routes
from reconciler.kube.connection.line_stream import LONGEST_LINE_BYTES
from reconciler.kube.connection.secret_kubeconfig import SUFFIXES
from reconciler.kube.leading.lease import Timing
from reconciler.kube.leading.loop_name import LoopName
from reconciler.rendering.documents.fleet.status import FleetStatusDocument
from tests.deploy.rendered import DEPLOY, SOURCE, VALUES, Object, chart, deployment, helm_template, notes, of_kind, overlay
from tests.docs.test_documents import ROOT

FLEET = VALUES["fleet"]
SCALED: Object = {**FLEET, "fleet": {"enabled": True, "autoscaling": {"enabled": True}}}
WATCHED: Object = {"serviceMonitor": {"enabled": True}}


def container(objects: list[Object]) -> Object:
    found: Object
    (found,) = deployment(objects)["spec"]["template"]["spec"]["containers"]
    return found


def test_an_instance_knows_its_pod_and_its_version() -> None:
    """By the downward API: the names are those that the code reads."""
    fields = {
        one["name"]: one["valueFrom"].get("fieldRef", {}).get("fieldPath")
        for one in container(overlay("fleet"))["env"]
        if "valueFrom" in one
    }
    assert {name: fields[name] for name in ("POD_NAME", "POD_UID", "POD_TEMPLATE_HASH")} == {
        "POD_NAME": "metadata.name", "POD_UID": "metadata.uid", "POD_TEMPLATE_HASH": "metadata.labels['pod-template-hash']",
    }  # fmt: skip
    (owner,) = _owners({"POD_NAME": "reconciler-1", "POD_UID": "u1"})
    assert owner == {"apiVersion": "v1", "kind": "Pod", "name": "reconciler-1", "uid": "u1"}
    code = (ROOT / "reconciler/cli/processes/fleet_loop.py").read_text(encoding="utf-8")
    assert '"POD_TEMPLATE_HASH"' in code
    assert "POD_UID" not in str(container(overlay("enforce")))


def test_a_rolling_update_brings_the_new_one_first() -> None:
    """So that loops are handed to an instance of the new version; of all instances at most one is drained at a time."""
    objects = overlay("fleet")
    spec = deployment(objects)["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    assert "--fleet" in container(objects)["args"]
    (budget,) = of_kind(objects, "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1
    assert "minAvailable" not in budget["spec"]


def test_certificates_have_a_place() -> None:
    """The client library writes certificates of each cluster to files, and nothing else is writable."""
    objects = overlay("fleet")
    assert container(objects)["securityContext"]["readOnlyRootFilesystem"] is True
    assert {"name": "tmp", "mountPath": "/tmp"} in container(objects)["volumeMounts"]
    assert {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}} in deployment(objects)["spec"]["template"]["spec"]["volumes"]


def test_instances_are_scaled_by_the_loops_that_they_hold(tmp_path: Path) -> None:
    """On the metric that each exports. Then nobody else sets the replicas, or two would write one field."""
    objects = chart(SCALED, tmp_path)
    assert "replicas" not in deployment(objects)["spec"]
    (scaler,) = of_kind(objects, "HorizontalPodAutoscaler")
    spec = scaler["spec"]
    assert spec["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": deployment(objects)["metadata"]["name"],
    }
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 5)
    (metric,) = spec["metrics"]
    assert metric == {
        "type": "Pods",
        "pods": {"metric": {"name": "reconciler_fleet_loops"}, "target": {"type": "AverageValue", "averageValue": "50"}},
    }
    assert b"\nreconciler_fleet_loops 0.0\n" in fleet_exposition({}, clusters=(), instances=1)
    down = spec["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] >= ROLLOUT_SECONDS
    assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 300}]
    assert deployment(chart({**FLEET, "replicas": 4}, tmp_path))["spec"]["replicas"] == 4
    assert of_kind(chart(FLEET, tmp_path), "HorizontalPodAutoscaler") == []


def test_a_single_loop_is_not_scaled(tmp_path: Path) -> None:
    """One leads, however many there are."""
    objects = chart({**VALUES["enforce"], "fleet": {"enabled": False, "autoscaling": {"enabled": True}}}, tmp_path)
    assert of_kind(objects, "HorizontalPodAutoscaler") == []
    assert deployment(objects)["spec"] == deployment(overlay("enforce"))["spec"]


def test_prometheus_keeps_the_label_of_the_cluster(tmp_path: Path) -> None:
    """A label of the same name that is added to every target would move ours to `exported_cluster`, which no alert reads."""
    found = {
        name: monitor["spec"]["endpoints"][0].get("honorLabels")
        for name in ("fleet", "enforce")
        for monitor in of_kind(chart({**VALUES[name], **WATCHED}, tmp_path), "ServiceMonitor")
    }
    assert found == {"fleet": True, "enforce": None}


@pytest.mark.parametrize("rights", ["Observe", "Enforce"])
def test_nothing_of_a_workload_cluster_is_granted_in_the_management_cluster(rights: str, tmp_path: Path) -> None:
    """No nodes, no pods, and of Secrets those that are named."""
    secrets = [{"namespace": "clusters", "names": ["eu-kubeconfig"]}]
    objects = chart({**FLEET, "rights": rights, "kubeconfigSecrets": secrets}, tmp_path)
    rules = [
        (right, rule.get("resourceNames"))
        for kind in ("Role", "ClusterRole")
        for role in of_kind(objects, kind)
        for rule in role.get("rules") or ()
        for right in product(rule.get("verbs", ()), rule.get("resources", ()))
    ]
    asked = {resource for (_, resource), _ in rules}
    assert not asked & {"nodes", "pods", "pods/eviction", "services", "jobs", "*"}
    assert [(right, names) for right, names in rules if right[1] == "secrets"] == [(("get", "secrets"), ["eu-kubeconfig"])]
    assert ("list", "leases") in {right for right, _ in rules}


def test_an_account_in_a_workload_cluster_is_that_of_any_loop(tmp_path: Path) -> None:
    """`workloadCluster` does not depend on how the loop elsewhere runs."""
    account = {"policy": SOURCE, "rights": "Enforce", "workloadCluster": {"enabled": True}}
    assert chart({**account, "fleet": {"enabled": True}}, tmp_path) == chart(account, tmp_path)


@pytest.mark.parametrize(("change", "place"), [
    ({"rights": "ReadOnly"}, "/rights"),
    ({"admissionBounds": True}, "/admissionBounds"),
    ({"policy": {**SOURCE, "source": "CustomResources"}}, "/policy/source"),
    ({"fleet": {"enabled": "yes"}}, "/fleet/enabled"),
    ({"fleet": {"enabled": True, "autoscaling": {"enabled": True, "loopsPerInstance": 0}}}, "/autoscaling/loopsPerInstance"),
    ({"fleet": {"enabled": True, "autoscaling": {"enabled": True, "maxReplicas": 21}}}, "/fleet/autoscaling/maxReplicas"),
    ({"fleet": {"enabled": True, "shards": 2}}, "shards"),
    ({"fleet": {"enabled": False}, "replicas": 6}, "/replicas"),
    ({"fleet": {"enabled": False}, "policy": {**SOURCE, "name": ""}}, "/policy/name"),
], ids=str)  # fmt: skip
def test_what_does_not_go_with_a_fleet_is_refused(change: Object, place: str, tmp_path: Path) -> None:
    """As `run --fleet` refuses it, and before anything is installed."""
    done = helm_template({**FLEET, **change}, tmp_path)
    assert done.returncode != 0
    assert place in done.stderr


def test_all_policies_of_the_tree_count_where_none_is_named(tmp_path: Path) -> None:
    """An empty name chooses nothing."""
    objects = chart({**FLEET, "policy": {**SOURCE, "name": ""}}, tmp_path)
    (source,) = [one["data"] for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"] == "reconciler-policy-source"]
    assert source["name"] == ""


def test_the_notes_name_the_commands_of_a_fleet(tmp_path: Path) -> None:
    """And what is missing before it reaches any cluster."""
    said = notes(FLEET, tmp_path)
    assert "reconciler status --fleet --namespace reconciler" in said
    assert "--cluster NAMESPACE/NAME" in said
    assert "kubeconfigSecrets" in said
    assert "kubeconfigSecrets" not in notes({**FLEET, "kubeconfigSecrets": [{"namespace": "clusters"}]}, tmp_path)


PAGE = ROOT / "docs" / "how-to" / "run-a-fleet.md"


def test_the_values_of_the_page_install_a_fleet(tmp_path: Path) -> None:
    """All policies of a tree, and the Secrets of two clusters."""
    (values,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    objects = chart(yaml.safe_load(values), tmp_path)
    assert "--fleet" in container(objects)["args"]
    (role,) = [one for one in of_kind(objects, "Role") if one["metadata"]["name"] == "reconciler-kubeconfigs"]
    assert role["rules"][0]["resourceNames"] == [f"{name}{SUFFIXES[0]}" for name in ("eu", "us")]


def test_the_page_names_what_is_there() -> None:
    """Alerts, the Lease of a loop, times and limits, as rules and code have them."""
    text = PAGE.read_text(encoding="utf-8")
    alerts = (DEPLOY / "monitoring" / "alerts.yaml").read_text(encoding="utf-8")
    named = re.findall(r"`(Reconciler\w+)`", text)
    assert len(named) == 5
    assert all(f"alert: {name}\n" in alerts for name in named)
    assert f"`{LoopName('prod', 'clusters', 'eu').lease}`" in text
    lasts = Timing().duration_seconds
    assert f"free for {lasts * URGENT_SHARE:.0f} s of its {lasts} s" in text
    assert f"read again every {SECRET_SECONDS:.0f} s" in text
    assert f"{MOST_OBJECTS:,} objects" in text
    assert f"{LONGEST_LINE_BYTES >> 20} MiB" in text
    paths = {route.path for route in fleet_routes(NoFleet())}
    assert {"/", "/fleet", "/metrics", "/clusters/"} <= paths
    assert all(f"| `{path}" in text for path in ("/`", "/fleet`", "/metrics`", "/clusters/"))


class NoFleet:
    """A `ShownFleet` that nobody asks."""

    def status(self) -> FleetStatusDocument:
        raise NotImplementedError

    def loops(self) -> dict[tuple[str, str], ShownLoop]:
        raise NotImplementedError

    def stuck(self) -> str:
        raise NotImplementedError

    def unready(self) -> str:
        raise NotImplementedError
