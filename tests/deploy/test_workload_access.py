"""The account of a loop in a cluster where it does not run: its rights are those that the loop asks for there, and no others.

What a loop asks for has one source, `preflight.needed`, and the objects by which `RivalWatch` knows another autoscaler.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import yaml

from reconciler.cluster.workloads.autoscaler import NAME
from reconciler.control.needed_rights import RunMode, needed
from reconciler.kube.connection.secret_kubeconfig import read_secret
from reconciler.kube.connection.token_review import may
from reconciler.kube.connection.transport import DEFAULT_TIMEOUT_SECONDS, KubernetesApi, connect
from reconciler.kube.connection.workload_connection import WorkloadConnection
from reconciler.kube.leading.rival import STATUS
from reconciler.kube.watching.collection import BUFFERS, QUOTAS, REQUESTS, cluster_api
from reconciler.values.cluster_identity import ClusterIdentity
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE, Installed
from tests.deploy.rendered import ACCOUNTS, OVERLAYS, VALUES, Object, chart, kustomized, notes, of_kind, overlay, with_component
from tests.deploy.test_manifests import by_identity
from tests.deploy.test_renderings import EVERYTHING as EVERYTHING_OF_CHART
from tests.deploy.test_rights import CLUSTERS, EVERYTHING, NEVER, READ, Right
from tests.docs.shell_page import ROOT
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import ControlPlane
from tests.testbed.programs import program

PAGE = ROOT / "docs" / "how-to" / "workload-cluster-access.md"
MODES = {"workload-cluster": RunMode.ENFORCE, "workload-cluster-observe": RunMode.OBSERVE}
Named = tuple[str, str, str, str]
"""Verb, API group, resource with its subresource, name (empty: any)."""
METRICS: set[Named] = {("get", "", "/metrics", "")}
"""The feature gates that the API server has."""
RIVALS: set[Named] = {("get", "coordination.k8s.io", "leases", NAME), ("get", "", "configmaps", STATUS)}


def asked(mode: RunMode) -> set[Named]:
    """What a loop asks of a workload cluster in a mode, with everything that a policy may switch on."""
    rights = needed(mode, (cluster_api(version="v1beta2"),), NAMESPACE, services=True, apart=True)
    found = {(verb, one.group, one.resource, "") for one in rights if not one.management for verb in one.verbs}
    found |= {(verb, one.group, one.plural, "") for one in (QUOTAS, *BUFFERS, *REQUESTS) for verb in READ}
    if mode is RunMode.ENFORCE:
        # What became of the room that such an object asks for.
        found |= {("patch", one.group, f"{one.plural}/status", "") for one in (BUFFERS[0], REQUESTS[0])}
    return found | RIVALS | METRICS


def granted(objects: list[Object]) -> set[Named]:
    """What the ClusterRoles that are bound to our account say, one by one."""
    bindings = of_kind(objects, "ClusterRoleBinding")
    subject = {"kind": "ServiceAccount", "name": "reconciler", "namespace": NAMESPACE}
    assert all(one["subjects"] == [subject] for one in bindings)
    bound = {one["roleRef"]["name"] for one in bindings}
    rules = [rule for role in of_kind(objects, "ClusterRole") if role["metadata"]["name"] in bound for rule in role["rules"]]
    return {
        right
        for rule in rules
        for right in product(
            rule["verbs"],
            rule.get("apiGroups", [""]),
            rule.get("resources", []) + rule.get("nonResourceURLs", []),
            rule.get("resourceNames", [""]),
        )
    }


@pytest.mark.parametrize("name", ACCOUNTS)
def test_the_account_has_exactly_the_rights_that_a_loop_asks_for(name: str) -> None:
    """Nothing else is in the overlay but what restricts them: no Role, no role that nobody is bound to, nothing that runs."""
    objects = overlay(name)
    assert granted(objects) == asked(MODES[name])
    restricting = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    made = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    assert {item["kind"] for item in objects} == made | restricting
    assert len(of_kind(objects, "ClusterRole")) == len(of_kind(objects, "ClusterRoleBinding"))


def test_the_management_cluster_grants_named_secrets_alone(control_plane: ControlPlane, tmp_path: Path) -> None:
    """To get two Secrets of one namespace, and nothing else about Secrets anywhere."""
    control_plane.api.apply(namespace(CLUSTERS), "kubectl")
    installed = Installed(control_plane, "observe", with_component("observe", "fleet-access", tmp_path))
    api = connect(control_plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS), environment={})
    mine = ("get", "", "secrets", CLUSTERS, "eu-reconciler-kubeconfig")
    control_plane.api.wait("/api/v1/namespaces", lambda _: may(api, *mine), "the rights being in force")
    try:
        assert may(api, "get", "", "secrets", CLUSTERS, "us-reconciler-kubeconfig")
        assert not may(api, "get", "", "secrets", CLUSTERS, "other-kubeconfig")
        assert not may(api, "get", "", "secrets", "kube-system", "eu-reconciler-kubeconfig")
        verbs = ("get", "list", "watch", "create", "update", "patch", "delete")
        assert [one for one in product(verbs, (CLUSTERS, "")) if may(api, one[0], "", "secrets", one[1])] == []
        others = [verb for verb in verbs if verb != "get" and may(api, verb, "", "secrets", CLUSTERS, "eu-reconciler-kubeconfig")]
        assert others == []
    finally:
        installed.remove()
        control_plane.api.wait("/api/v1/namespaces", lambda _: not may(api, *mine), "the rights being gone")


def test_the_token_belongs_to_the_account() -> None:
    """Of the file that the page applies."""
    (item,) = yaml.safe_load_all((ROOT / "examples/deploy/components/account-token/token.yaml").read_text(encoding="utf-8"))
    (account,) = of_kind(overlay("workload-cluster"), "ServiceAccount")
    assert item["type"] == "kubernetes.io/service-account-token"
    assert item["metadata"]["annotations"] == {"kubernetes.io/service-account.name": account["metadata"]["name"]}
    assert item["metadata"]["namespace"] == account["metadata"]["namespace"]
    assert kustomized("overlays/workload-cluster").count("secrets") == 0


@pytest.mark.parametrize(("name", "rights"), [("workload-cluster", "Enforce"), ("workload-cluster-observe", "Observe")])
def test_the_chart_makes_the_same_account(name: str, rights: str, tmp_path: Path) -> None:
    """Whatever else is set, nothing more; with the token that the page applies."""
    group = "cluster.x-k8s.io"  # Events may be about targets, whose group it is.
    chosen = {**EVERYTHING_OF_CHART, "clusterAPIGroup": group, "rights": rights}
    chosen["workloadCluster"] = {"enabled": True, "token": False}
    left, right = by_identity(overlay(name), "Namespace"), by_identity(chart(chosen, tmp_path), "CustomResourceDefinition")
    assert left == right
    chosen["workloadCluster"] = {"enabled": True}
    more = by_identity(chart(chosen, tmp_path), "CustomResourceDefinition")
    token = yaml.safe_load((ROOT / "examples/deploy/components/account-token/token.yaml").read_text(encoding="utf-8"))
    assert {key: item for key, item in more.items() if key not in left} == by_identity([token])
    assert "jsonpath={.data.token}" in notes(chosen, tmp_path)


def test_the_chart_grants_the_same_secrets(tmp_path: Path) -> None:
    """As the component does; in a second namespace, too; of a namespace without names, all that are asked for by name."""
    names = {"namespace": CLUSTERS, "names": ["eu-reconciler-kubeconfig", "us-reconciler-kubeconfig"]}
    kinds = ("Role", "RoleBinding")
    roles = [item for item in with_component("observe", "fleet-access", tmp_path) if item["kind"] in kinds]
    made = [item for item in chart({**VALUES["observe"], "kubeconfigSecrets": [names]}, tmp_path) if item["kind"] in kinds]
    assert by_identity(made) == by_identity(roles)
    two = chart({**VALUES["observe"], "kubeconfigSecrets": [names, {"namespace": "more"}]}, tmp_path)
    (role,) = (item for item in of_kind(two, "Role") if item["metadata"]["namespace"] == "more")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    assert "secrets" not in str(of_kind(two, "ClusterRole"))


@pytest.mark.parametrize("name", [*ACCOUNTS, *OVERLAYS])
def test_no_role_lists_secrets(name: str) -> None:
    """Nor anything by a wildcard."""
    rules = [
        rule for kind in ("Role", "ClusterRole") for role in of_kind(overlay(name), kind) for rule in role.get("rules") or ()
    ]
    assert [rule for rule in rules if "secrets" in rule.get("resources", ()) or "*" in str(rule.get("resources"))] == []


def commands() -> list[str]:
    """The shell blocks of the page, in their order, without commands of ours: they are shown for another directory."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    return [block for block in blocks if not block.startswith("reconciler ")]


def kubeconfig(plane: ControlPlane, directory: Path) -> Path:
    """The contexts that the page names. Both are this control plane, as its administrator."""
    content = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    (context,) = content["contexts"]
    content["contexts"] = [{**context, "name": name} for name in ("eu", "management")]
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def reached(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesApi]:
    """The commands of the page, run in one shell; then the connection that a loop makes of the Secret."""
    directory = tmp_path_factory.mktemp("page")
    control_plane.api.apply(namespace(CLUSTERS), "kubectl")
    where = {**os.environ, "KUBECONFIG": str(kubeconfig(control_plane, directory)), "HOME": str(directory)}
    where["PATH"] = f"{program('kubectl').parent}{os.pathsep}{where['PATH']}"
    script = "\n".join(["set -eu", *commands()])
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, env=where, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    management = connect(control_plane.kubeconfig, environment={})
    cluster = ClusterIdentity(name="eu", namespace=CLUSTERS)
    api = WorkloadConnection(management, cluster).api.with_timeout(DEFAULT_TIMEOUT_SECONDS)
    control_plane.api.wait("/api/v1/namespaces", lambda _: may(api, "patch", "", "nodes", ""), "the rights being in force")
    yield api
    for item in of_kind(overlay("workload-cluster"), "ClusterRoleBinding"):
        control_plane.api.delete(item)
    control_plane.api.delete(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "eu-reconciler-kubeconfig", "namespace": CLUSTERS}}
    )
    control_plane.api.wait("/api/v1/namespaces", lambda _: not may(api, "patch", "", "nodes", ""), "the rights being gone")


def test_the_secret_of_the_page_reaches_the_cluster_with_these_rights(reached: KubernetesApi) -> None:
    """By the API server's own judgement of the token in it."""
    rights = asked(RunMode.ENFORCE) - METRICS
    assert [right for right in sorted(rights) if not may(reached, *right[:3], "", right[3])] == []
    assert b"kubernetes_feature_enabled" in reached.get("/metrics")


def test_nothing_else_is_allowed_there(reached: KubernetesApi) -> None:
    """Neither what a loop needs of the management cluster, nor what nobody needs."""
    mine = {right[:3] for right in asked(RunMode.ENFORCE) if not right[3]}
    beyond: set[Right] = {right for right in EVERYTHING | NEVER if right[:3] not in mine}
    beyond -= {("create", "authorization.k8s.io", "selfsubjectaccessreviews", "")}  # which every user may
    assert [right for right in sorted(beyond) if may(reached, *right)] == []


def test_the_secret_is_one_of_the_contract(reached: KubernetesApi, control_plane: ControlPlane) -> None:
    """Type, label and key as Cluster API has them, and a token instead of the administrator's certificate."""
    assert reached.server
    item = control_plane.api.get(f"/api/v1/namespaces/{CLUSTERS}/secrets/eu-reconciler-kubeconfig")
    assert (item["type"], item["metadata"]["labels"]) == ("cluster.x-k8s.io/secret", {"cluster.x-k8s.io/cluster-name": "eu"})
    management = connect(control_plane.kubeconfig, environment={})
    found = read_secret(management.get(f"/api/v1/namespaces/{CLUSTERS}/secrets/eu-reconciler-kubeconfig"))
    assert (bool(found.token), found.certificate) == (True, b"")
