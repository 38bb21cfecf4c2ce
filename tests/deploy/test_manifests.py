"""kustomize and helm say the same, and what they say is what the product promises about its own pods."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import main
from tests.deploy.installed import NAMESPACE, Installed
from tests.deploy.rendered import CHART, OVERLAYS, VALUES, Object, chart, deployment, of_kind, overlay
from tests.testbed.api import path_of
from tests.testbed.control_plane import ControlPlane

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas" / "crds"


def identity(item: Object) -> tuple[str, str, str]:
    return item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]


def without_packaging(item: Object) -> Object:
    """An object but for the labels that only helm sets, and without those that only a pod selector needs."""
    labels = {
        key: value
        for key, value in (item["metadata"].get("labels") or {}).items()
        if key not in ("helm.sh/chart", "app.kubernetes.io/managed-by")
    }
    return {**item, "metadata": {**item["metadata"], "labels": labels}}


def by_identity(objects: list[Object], *left_out: str) -> dict[tuple[str, str, str], Object]:
    return {identity(item): without_packaging(item) for item in objects if item["kind"] not in left_out}


@pytest.mark.parametrize("name", OVERLAYS)
def test_kustomize_and_helm_give_equal_objects(name: str, tmp_path: Path) -> None:
    """All but the Namespace, which helm leaves to its user, and labels on definitions, which helm never touches."""
    left = by_identity(overlay(name), "Namespace", "CustomResourceDefinition")
    right = by_identity(chart(VALUES[name], tmp_path), "CustomResourceDefinition")
    assert sorted(left) == sorted(right)
    assert [key for key in left if left[key] != right[key]] == []


def test_helm_gives_the_definitions_that_kustomize_gives(tmp_path: Path) -> None:
    """Both, with equal specs."""
    left, right = (
        {item["metadata"]["name"]: item["spec"] for item in of_kind(objects, "CustomResourceDefinition")}
        for objects in (overlay("observe"), chart(VALUES["observe"], tmp_path))
    )
    assert left == right
    assert len(left) == 2


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.yaml")), ids=lambda path: path.name)
def test_the_definitions_are_the_generated_ones(path: Path) -> None:
    """When this fails: cp schemas/crds/*.yaml examples/deploy/chart/crds/."""
    assert (CHART / "crds" / path.name).read_text() == path.read_text()


def test_another_namespace_reaches_every_object(tmp_path: Path) -> None:
    """The chart names the namespace of its release in bindings and admission policies as well."""
    text = str(chart(VALUES["enforce"], tmp_path, "elsewhere"))
    assert "system:serviceaccount:elsewhere:reconciler" in text
    assert "system:serviceaccount:reconciler:" not in text
    assert "'namespace': 'reconciler'" not in text


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_arguments_are_those_of_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option that the Deployment gives is one that `reconciler run` has."""
    with pytest.raises(SystemExit):
        main(["run", "--help-all"])
    known = capsys.readouterr().out
    (container,) = deployment(overlay(name))["spec"]["template"]["spec"]["containers"]
    command, *options = container["args"]
    assert command == "run"
    assert [option for option in options if f"{option.partition('=')[0]} " not in known] == []


def test_only_read_only_says_so() -> None:
    """A variant without rights to write is told not to try, and the others are not held back."""
    said = {
        name: "--read-only" in deployment(overlay(name))["spec"]["template"]["spec"]["containers"][0]["args"] for name in OVERLAYS
    }
    assert said == {name: name == "read-only" for name in OVERLAYS}


@pytest.mark.parametrize("name", OVERLAYS)
def test_probes_have_a_port_of_their_own(name: str) -> None:
    """One that the Service does not show and the NetworkPolicy opens to nobody: the kubelet needs no leave."""
    objects = overlay(name)
    (container,) = deployment(objects)["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {f"--listen=:{ports['http']}", f"--probes=:{ports['probes']}"} <= set(container["args"])
    assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {"probes"}
    (service,) = of_kind(objects, "Service")
    assert [port["targetPort"] for port in service["spec"]["ports"]] == ["http"]
    (policy,) = of_kind(objects, "NetworkPolicy")
    assert policy["spec"]["podSelector"] == deployment(objects)["spec"]["selector"]
    assert [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]] == ["http"]
    assert all(rule["from"] for rule in policy["spec"]["ingress"])


def test_a_certificate_is_mounted_where_the_argument_says(tmp_path: Path) -> None:
    """And Prometheus is told to scrape over TLS."""
    template = deployment(chart({**VALUES["observe"], "tls": {"secretName": "pages"}}, tmp_path))["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "tls"]
    assert f"--tls-certificate={mount['mountPath']}" in container["args"]
    (volume,) = [volume for volume in template["spec"]["volumes"] if volume["name"] == "tls"]
    assert volume["secret"]["secretName"] == "pages"
    assert template["metadata"]["annotations"]["prometheus.io/scheme"] == "https"


def test_the_pods_keep_their_node() -> None:
    """S48: the annotation that the Cluster Autoscaler and the reconciler itself take for an absolute no."""
    template = deployment(overlay("enforce"))["spec"]["template"]
    assert template["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


def test_two_replicas_stand_apart_under_a_budget() -> None:
    """One leads, one stands by, on different hosts where there are some; one of them always stays."""
    objects = overlay("enforce")
    (budget,) = of_kind(objects, "PodDisruptionBudget")
    spec = deployment(objects)["spec"]
    assert (spec["replicas"], budget["spec"]["minAvailable"]) == (2, 1)
    assert budget["spec"]["selector"] == spec["selector"]
    spread = spec["template"]["spec"]["topologySpreadConstraints"]
    assert [one["topologyKey"] for one in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


@pytest.fixture
def everything(control_plane: ControlPlane) -> Iterator[list[Object]]:
    """The overlay enforce, server-side applied with what runs; gone afterwards, pods included."""
    api, objects = control_plane.api, overlay("enforce")
    installed = Installed(control_plane, "enforce")
    running = [item for item in objects if item["kind"] in ("Deployment", "Service", "PodDisruptionBudget")]
    for item in running:
        api.apply(item, "kubectl")
    yield objects
    for item in running:
        api.call("DELETE", path_of(item), {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0})
    installed.remove()
    api.wait(f"/api/v1/namespaces/{NAMESPACE}/pods", lambda items: not items, "the pods being gone")


def test_the_api_server_takes_everything_and_makes_the_pods(everything: list[Object], control_plane: ControlPlane) -> None:
    """Applied for real: both pods are made, which the namespace's restricted Pod Security level would refuse otherwise."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    pods = control_plane.api.wait(path, lambda items: len(items) == 2, "the pods being made")
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"reconciler"}
    level = control_plane.api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert level["pod-security.kubernetes.io/enforce"] == "restricted"
