"""The two forms in which Argo CD and Flux deliver it: what is installed follows what is delivered."""

from typing import Any

import pytest
import yaml

from tests.deploy.rendered import DEPLOY, deployment, kustomized

FORMS = [(tool, form) for tool in ("argocd", "flux") for form in ("policy-from-git", "policy-as-custom-resources")]
_CONTROLLER, _POLICIES = "nodegroup-reconciler", "node-group-policies"


def _delivered(tool: str, form: str) -> dict[str, dict[str, Any]]:
    items = yaml.safe_load_all((DEPLOY / tool / f"{form}.yaml").read_text())
    return {item["metadata"]["name"]: item["spec"] for item in items}


def _overlay(spec: dict[str, Any]) -> str:
    path = spec["path"] if "path" in spec else spec["source"]["path"]
    return str(path).removeprefix("./").removeprefix("examples/deploy/")


@pytest.mark.parametrize(("tool", "form"), FORMS)
def test_the_loop_follows_what_is_delivered(tool: str, form: str) -> None:
    """Who delivers NodeGroups installs a loop that follows them, since nobody else writes their status; and vice versa."""
    delivered = _delivered(tool, form)
    objects = list(yaml.safe_load_all(kustomized(_overlay(delivered[_CONTROLLER]))))
    arguments = deployment(objects)["spec"]["template"]["spec"]["containers"][0]["args"]
    as_objects = form == "policy-as-custom-resources"
    assert (_POLICIES in delivered, "--custom-resources" in arguments) == (as_objects, as_objects)
    assert any(one.startswith("--git=") for one in arguments) is not as_objects
    (source,) = (item["data"] for item in objects if item["metadata"]["name"] == "reconciler-policy-source")
    assert "--name=$(POLICY_NAME)" in arguments
    assert source["name"], "the policy that it waits for"


@pytest.mark.parametrize("tool", ["argocd", "flux"])
def test_the_first_installation_waits_for_no_policy(tool: str) -> None:
    """Policies come after the controller, which is ready without them; and a sync that comes too early is tried again."""
    spec = _delivered(tool, "policy-as-custom-resources")[_POLICIES]
    if tool == "flux":
        assert (spec["dependsOn"], spec["wait"], bool(spec["retryInterval"])) == ([{"name": _CONTROLLER}], True, True)
    else:
        assert spec["syncPolicy"]["retry"]["limit"] > 0
        assert "SkipDryRunOnMissingResource=true" in spec["syncPolicy"]["syncOptions"]
