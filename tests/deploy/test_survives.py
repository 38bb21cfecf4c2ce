"""What is left when a delivery tool prunes what the controller's application no longer renders, or deletes the application: the
definitions (with every NodeGroup) and the namespace (with state and groups) stay, by each tool's own marks.

The tools are doubles: what they keep is written down from their documentation, and no controller of theirs ran.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.deploy.rendered import CHART, DEPLOY, OVERLAYS, VALUES, Object, chart, overlay


def _marked(item: Object, key: str, *words: str) -> bool:
    said = (item["metadata"].get("annotations") or {}).get(key, "")
    return set(words) <= {word.strip() for word in said.split(",")}


_KEEPS: dict[str, Callable[[Object], bool]] = {
    # SOURCE: Argo CD, Sync Options: "No Prune Resources" and "No Resource Deletion"; several are separated by commas.
    "Argo CD prunes": lambda item: _marked(item, "argocd.argoproj.io/sync-options", "Prune=false"),
    "Argo CD deletes the application": lambda item: _marked(item, "argocd.argoproj.io/sync-options", "Delete=false"),
    # SOURCE: Flux, Kustomization, "Controlling the apply behavior of resources": no garbage collection, on prune or deletion.
    "Flux": lambda item: _marked(item, "kustomize.toolkit.fluxcd.io/prune", "disabled"),
    # SOURCE: Helm, Chart Development Tips and Tricks, "Tell Helm Not To Uninstall a Resource".
    "helm": lambda item: _marked(item, "helm.sh/resource-policy", "keep"),
}
_HOLDING = ("CustomResourceDefinition", "Namespace")


@pytest.mark.parametrize("event", _KEEPS)
@pytest.mark.parametrize("name", [*OVERLAYS, "observe-custom-resources", "enforce-custom-resources", "chart"])
def test_definitions_and_namespace_stay(name: str, event: str, tmp_path: Path) -> None:
    """Everything else goes: rights, Deployment, admission policies."""
    objects = chart(VALUES["enforce"], tmp_path) if name == "chart" else overlay(name)
    left = {(item["kind"], item["metadata"]["name"]) for item in objects if _KEEPS[event](item)}
    expected = {(item["kind"], item["metadata"]["name"]) for item in objects if item["kind"] in _HOLDING}
    assert left == expected
    assert len(expected) == 2 + (name != "chart")


def test_the_definitions_that_the_command_prints_are_marked_too() -> None:
    """Who applies `reconciler schema crds` by hand hands them to a tool later."""
    for file in (CHART / "crds").glob("*.yaml"):
        assert _KEEPS["Flux"](yaml.safe_load(file.read_text()))


def test_policies_outlive_their_own_application() -> None:
    """No finalizer of Argo CD, so that deleting the Application leaves its objects; Flux neither prunes nor deletes."""
    for file in sorted((DEPLOY / "argocd").glob("*.yaml")):
        for item in yaml.safe_load_all(file.read_text()):
            assert not (item.get("metadata") or {}).get("finalizers"), (file.name, item["metadata"]["name"])
    for file in sorted((DEPLOY / "flux").glob("*.yaml")):
        for item in yaml.safe_load_all(file.read_text()):
            if item["kind"] == "Kustomization" and item["metadata"]["name"] in ("node-group-policies", "clusters"):
                assert (item["spec"]["prune"], item["spec"]["deletionPolicy"]) == (False, "Orphan"), file.name
