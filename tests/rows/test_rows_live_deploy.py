"""Rows S48, S130 and S131: what users of other autoscalers expect of the manifests. Rights and admission policies are proved in
tests/deploy."""

import json
from pathlib import Path

import pytest
from msgspec import Raw

from reconciler.kube.leaving_pods import leaving_pods
from tests.deploy.rendered import OVERLAYS, VALUES, Object, chart, deployment, of_kind, overlay

NAMESPACED = ("reconciler-targets-read", "reconciler-targets-write", "reconciler-templates-read")


@pytest.mark.parametrize("name", OVERLAYS)
def test_s48_our_own_pods_are_not_evicted(name: str) -> None:
    """Made of the Deployment's template, a pod blocks the drain of its node by the reconciler's own rule, as it does for the
    Cluster Autoscaler."""
    template = deployment(overlay(name))["spec"]["template"]
    pod = {
        "metadata": {"name": "reconciler-0", "namespace": "reconciler", "uid": "1", **template["metadata"]},
        "spec": {**template["spec"], "nodeName": "n1"},
        "status": {"phase": "Running"},
    }
    (leaving,) = leaving_pods([Raw(json.dumps(pod).encode())], None, 1795262400)
    assert 'safe-to-evict is "false"' in leaving.blocked


def test_s130_namespace_and_image_are_parameters(tmp_path: Path) -> None:
    """What the sample manifest of the Cluster Autoscaler takes from the environment are values of the chart."""
    objects = chart({**VALUES["enforce"], "image": "registry.example.org/x:1"}, tmp_path, "autoscaling")
    (container,) = deployment(objects)["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.org/x:1"
    assert {item["metadata"].get("namespace") for item in objects} == {"autoscaling", None}
    assert {one["namespace"] for item in objects for one in item.get("subjects", [])} == {"autoscaling"}


@pytest.mark.parametrize(
    ("name", "kind", "where"), [("enforce", "ClusterRoleBinding", None), ("namespaced", "RoleBinding", "clusters")]
)
def test_s131_targets_are_bound_cluster_wide_or_in_a_namespace(name: str, kind: str, where: str | None) -> None:
    """The same roles, bound once for all namespaces or only in one, and never both."""
    bindings = [
        item for item in overlay(name) if item["kind"].endswith("Binding") and item.get("roleRef", {}).get("name") in NAMESPACED
    ]
    assert sorted(item["roleRef"]["name"] for item in bindings) == sorted(NAMESPACED)
    assert {(item["kind"], item["metadata"].get("namespace")) for item in bindings} == {(kind, where)}
    assert _rules(overlay("enforce")) == _rules(overlay(name))


def _rules(objects: list[Object]) -> dict[str, object]:
    return {item["metadata"]["name"]: item.get("rules") for item in of_kind(objects, "ClusterRole")}
