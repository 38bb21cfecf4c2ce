"""The chart refuses values that mean nothing."""

import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.admission_bounds import AdmissionBounds, TargetBound
from reconciler.rendering.manifests.bounds_manifest import bounds_manifest, person_tools
from tests.deploy.rendered import SOURCE, VALUES, chart, deployment, helm_template, of_kind, with_component
from tests.deploy.test_manifests import by_identity


@pytest.mark.parametrize(("change", "place"), [
    ({"rights": "Admin"}, "/rights"),
    ({"rights": None}, "rights"),
    ({"replicas": 0}, "/replicas"),
    ({"replicas": "two"}, "/replicas"),
    ({"replica": 2}, "replica"),
    ({"image": "nodegroup-reconciler"}, "/image"),
    ({"image": "nodegroup-reconciler:latest"}, "/image"),
    ({"targetNamespaces": "prod"}, "/targetNamespaces"),
    ({"targetNamespaces": ["a", "a"]}, "/targetNamespaces"),
    ({"targetNamespaces": ["A_b"]}, "/targetNamespaces/0"),
    ({"policy": {**SOURCE, "url": ""}}, "/policy/url"),
    ({"policy": {**SOURCE, "url": "file:///etc"}}, "/policy/url"),
    ({"policy": {**SOURCE, "url": "--upload-pack=x"}}, "/policy/url"),
    ({"policy": {**SOURCE, "ref": "-x"}}, "/policy/ref"),
    ({"policy": {**SOURCE, "path": "/etc"}}, "/policy/path"),
    ({"policy": {**SOURCE, "name": ""}}, "/policy/name"),
    ({"policy": {**SOURCE, "branch": "main"}}, "branch"),
    ({"resources": {"requests": {"cpu": "much"}}}, "/resources/requests/cpu"),
    ({"extraArguments": ["rm"]}, "/extraArguments/0"),
    ({"admissionPolicies": "yes"}, "/admissionPolicies"),
    ({"workloadCluster": {"enabled": "yes"}}, "/workloadCluster/enabled"),
    ({"kubeconfigSecrets": [{"names": ["eu-reconciler-kubeconfig"]}]}, "/kubeconfigSecrets/0"),
    ({"kubeconfigSecrets": [{"namespace": "clusters", "names": []}]}, "/kubeconfigSecrets/0/names"),
    ({"admissionBounds": "yes"}, "/admissionBounds"),
], ids=str)  # fmt: skip
def test_nonsense_is_refused_with_its_place(change: dict[str, Any], place: str, tmp_path: Path) -> None:
    """helm ends with an error that names the value."""
    done = helm_template({**VALUES["observe"], **change}, tmp_path)
    assert done.returncode != 0
    assert place in done.stderr


def test_the_defaults_alone_ask_for_a_policy(tmp_path: Path) -> None:
    """Where the policy is cannot be guessed."""
    done = helm_template({}, tmp_path)
    assert done.returncode != 0
    assert "/policy/url" in done.stderr


def test_every_target_namespace_has_its_bindings_and_its_argument(tmp_path: Path) -> None:
    """Two namespaces: three RoleBindings in each, and nothing about targets is bound cluster-wide."""
    objects = chart({**VALUES["namespaced"], "targetNamespaces": ["a", "b"]}, tmp_path)
    bound = sorted((item["metadata"]["namespace"], item["metadata"]["name"]) for item in of_kind(objects, "RoleBinding"))
    names = ("reconciler-targets-read", "reconciler-targets-write", "reconciler-templates-read")
    assert bound == sorted([*((where, name) for where in ("a", "b") for name in names), ("reconciler", "reconciler-own")])
    assert not {item["metadata"]["name"] for item in of_kind(objects, "ClusterRoleBinding")} & set(names)
    arguments = deployment(objects)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert [one for one in arguments if "target" in one] == ["--target-namespace=a", "--target-namespace=b"]


def test_the_admission_policies_can_be_left_to_others(tmp_path: Path) -> None:
    """A cluster that manages its policies elsewhere turns them off. In Observe only Events are written, and guarded."""
    assert of_kind(chart({**VALUES["enforce"], "admissionPolicies": False}, tmp_path), "ValidatingAdmissionPolicy") == []
    assert len(of_kind(chart(VALUES["enforce"], tmp_path), "ValidatingAdmissionPolicy")) == 6
    watching = of_kind(chart(VALUES["observe"], tmp_path), "ValidatingAdmissionPolicy")
    assert [one["metadata"]["name"] for one in watching] == ["reconciler-events"]


def test_bounds_are_asked_for_by_name(tmp_path: Path) -> None:
    """Component and value say the same; without Enforce, or without the other policies, there are none."""
    left, right = (
        {key: item for key, item in by_identity(objects).items() if key[2].startswith("reconciler-bounds")}
        for objects in (
            with_component("enforce", "bounds", tmp_path),
            chart({**VALUES["enforce"], "admissionBounds": True}, tmp_path),
        )
    )
    assert len(left) == 12
    assert left == right
    for values in ({}, {"admissionBounds": True, "admissionPolicies": False}, {"admissionBounds": True, "rights": "Observe"}):
        assert "reconciler-bounds" not in str(chart({**VALUES["enforce"], **values}, tmp_path))


def test_bounds_are_renewed_by_another_account_unless_that_is_left_to_others(tmp_path: Path) -> None:
    """Its own account, under every source of the loop; without it the ConfigMap is somebody else's to write."""
    values = {**VALUES["enforce"], "admissionBounds": True}
    without = [
        item["kind"]
        for item in chart({**values, "boundsRenewal": {"enabled": False}}, tmp_path)
        if "reconciler-bounds" in str(item)
    ]
    assert sorted(set(without)) == ["ConfigMap", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    for source in ({"source": "CustomResources"}, {"source": "Flux", "fluxSource": "flux-system/policies"}, {}):
        objects = chart({**values, "policy": {**VALUES["enforce"]["policy"], **source}}, tmp_path)
        loop, renewal = sorted(of_kind(objects, "Deployment"), key=lambda item: item["metadata"]["name"])
        own, theirs = (item["spec"]["template"]["spec"]["containers"][0]["args"] for item in (renewal, loop))
        first = [one for one in theirs if one.startswith(("--git", "--ref", "--path", "--name=", "--custom", "--flux"))]
        assert own[1 : 1 + len(first)] == first
        assert renewal["spec"]["template"]["spec"]["serviceAccountName"] == "reconciler-bounds"


@pytest.mark.parametrize(("component", "option"), [
    ("custom-resources", "--custom-resources"), ("flux-source", "--flux-source=flux-system/policies"),
])  # fmt: skip
def test_a_component_gives_both_the_same_source(component: str, option: str, tmp_path: Path) -> None:
    """The loop and what renews its bounds: two policies would be worse than none."""
    objects = with_component("enforce", ("bounds", component), tmp_path)
    found = [item["spec"]["template"]["spec"]["containers"][0]["args"][1] for item in of_kind(objects, "Deployment")]
    assert found == [option, option]
    bound = [item for item in objects if item["kind"].endswith("RoleBinding") and "reconciler-bounds" in str(item["subjects"])]
    assert {item["roleRef"]["name"] for item in bound} - {"reconciler-bounds", "reconciler-bounds-targets"} == {
        "reconciler-policies-read" if component == "custom-resources" else "reconciler-source"
    }


def test_what_is_rendered_is_a_patch_of_the_empty_bounds(tmp_path: Path) -> None:
    """One ConfigMap comes of both, with what the policy says and the labels of what is installed."""
    target = TargetRef(kind="MachineDeployment", namespace="prod", name="general-a")
    bounds = AdmissionBounds(
        policy="prod", targets=(TargetBound(target=target, lowest=2, highest=40),), adopt_from=("a", "b"), blocked_namespaces=()
    )
    objects = with_component("enforce", "bounds", tmp_path, bounds_manifest(bounds, "reconciler"))
    (found,) = [one for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"] == "reconciler-bounds"]
    assert found["data"] == {
        "adoptFrom": "a\nb", "blockedNamespaces": "", "MachineDeployment_prod_general-a": "2-40", **person_tools()
    }  # fmt: skip
    assert found["metadata"]["labels"]["app.kubernetes.io/name"] == "nodegroup-reconciler"


def test_bounds_have_no_names_of_their_own(tmp_path: Path) -> None:
    """Whose claim may be taken stands in the ConfigMap alone: a list in the policy would be a second one."""
    (policy,) = [
        item
        for item in of_kind(with_component("enforce", "bounds", tmp_path), "ValidatingAdmissionPolicy")
        if item["metadata"]["name"] == "reconciler-bounds-targets"
    ]
    (claimed,) = [one["expression"] for one in policy["spec"]["variables"] if one["name"] == "claimed"]
    # kubectl apply is named only together with a manifest that leaves the replicas out.
    assert set(re.findall('"([^"]*)"', claimed)) - {"kubectl-client-side-apply", "\\"} == {
        "nodegroup-reconciler", "f:replicas", "f:spec", "Update", "", "scale"
    }  # fmt: skip


@pytest.mark.parametrize(("component", "policy"), [
    ("custom-resources", {"source": "CustomResources"}),
    ("flux-source", {"source": "Flux", "fluxSource": "flux-system/policies"}),
])  # fmt: skip
def test_another_source_of_policy_says_the_same_both_ways(component: str, policy: dict[str, str], tmp_path: Path) -> None:
    """The component on top of an overlay, and the value of the chart: equal Deployments and roles."""
    left = with_component("namespaced", component, tmp_path)
    right = chart({**VALUES["namespaced"], "policy": {**SOURCE, **policy}}, tmp_path)
    assert deployment(left)["spec"] == deployment(right)["spec"]
    roles = [
        {(item["metadata"]["namespace"], item["metadata"]["name"]): item["rules"] for item in of_kind(objects, "Role")}
        for objects in (left, right)
    ]
    assert roles[0] == roles[1]
    arguments = deployment(left)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not any(one.startswith("--git") for one in arguments)
    assert f"--{component}" in {one.partition("=")[0] for one in arguments}


def test_a_source_of_flux_must_be_named(tmp_path: Path) -> None:
    """Without a name there is nothing to follow."""
    done = helm_template({**VALUES["observe"], "policy": {**SOURCE, "source": "Flux"}}, tmp_path)
    assert done.returncode != 0
    assert "/policy/fluxSource" in done.stderr
