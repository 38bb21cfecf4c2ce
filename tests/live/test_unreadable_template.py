"""A tenant's MachineDeployment with an infrastructure template of a kind that the loop may not read."""

from pathlib import Path

import pytest

from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE, Installed
from tests.kube.objects import definition
from tests.live.reconciler_process import Reconciler, policy_text
from tests.live.run_cluster import group, pod_spec
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

KINDS = "other.kube-tests.dev"


def test_the_others_are_decided(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its group is held, with the server's reason. A pod that waits for another group gets its node."""
    cluster = new_cluster()
    control_plane.api.apply(definition(KINDS, "OtherMachineTemplate", "othermachinetemplates", "v1beta1"), "kubectl", force=True)
    general = group(cluster, "general")
    foreign = group(cluster, "foreign")
    path = f"{cluster.path('machinedeployments')}/{foreign['metadata']['name']}"
    reference = {"apiGroup": KINDS, "kind": "OtherMachineTemplate", "name": "x"}
    cluster.api.call(
        "PATCH", path, {"spec": {"template": {"spec": {"infrastructureRef": reference}}}}, "application/merge-patch+json"
    )
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", cluster.namespace, {"general": (0, 3), "foreign": (0, 3)}))
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads-sim-templates"}}
    subject = {"kind": "ServiceAccount", "name": "reconciler", "namespace": NAMESPACE}
    named = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads-sim-templates"}
    rule = {
        "apiGroups": ["infrastructure.cluster.x-k8s.io"],
        "resources": ["simmachinetemplates"],
        "verbs": ["get", "list", "watch"],
    }
    control_plane.api.apply({**role, "rules": [rule]}, "kubectl", force=True)
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": named, "subjects": [subject]}
    control_plane.api.apply(binding, "kubectl", force=True)
    installed = Installed(control_plane, "enforce")
    request.addfinalizer(installed.remove)
    account = control_plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS)
    with Reconciler(account, file, f"--namespace={NAMESPACE}", "--period=1") as process:
        # A kind that was just defined answers 429 at first.
        plan = process.plan(lambda plan: "403 Forbidden" in str(plan["groups"]))
        held = {line["name"]: line["owner"]["evidence"] for line in plan["groups"] if line["held"]}
        assert list(held) == ["foreign"]
        assert held["foreign"][0].startswith("OtherMachineTemplate cannot be read: waiting (403 Forbidden")
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": cluster.namespace}}
        cluster.api.create({**body, "spec": pod_spec(cluster, "1")})
        machines = cluster.path("machinedeployments")
        name = general["metadata"]["name"]
        cluster.api.wait(
            machines,
            lambda items: any(one["metadata"]["name"] == name and one["spec"]["replicas"] == 1 for one in items),
            "the group growing",
        )
