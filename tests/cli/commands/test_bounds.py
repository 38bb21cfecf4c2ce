"""`reconciler bounds`: what is rendered, told and compared."""

from pathlib import Path

import pytest
import yaml
from click import ClickException
from click.testing import CliRunner, Result

from reconciler.cli.commands.bounds import command
from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.admission_bounds import AdmissionBounds, TargetBound
from reconciler.rendering.manifests.bounds_manifest import LONGEST_KEY, bound_key, bounds_differences, bounds_manifest, left_out
from tests.gitops.repositories import GitRepo

POLICY = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  mode: Enforce
  adoptFrom: [team-b, kubectl]
  drain: {blockedNamespaces: [payments]}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: general-a.b}}
  size: {min: 2, max: 40}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: worker, namespace: reconciler}
spec:
  policyRef: {name: prod}
  target: {openshift: {namespace: openshift-machine-api, machineSet: worker-a}}
  size: {min: 0, max: 3}
  hold: {reason: incident}
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "prod.yaml").write_text(POLICY)
    return tmp_path / "policies"


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


def test_the_config_map_says_ranges_takeovers_and_evictions(policies: Path) -> None:
    """One key a target, with the API group where two platforms call a kind alike; lists have a name a line."""
    item = yaml.safe_load(_run("--policy", policies, "--namespace", "elsewhere").stdout)
    assert (item["apiVersion"], item["kind"]) == ("v1", "ConfigMap")
    assert (item["metadata"]["name"], item["metadata"]["namespace"]) == ("reconciler-bounds", "elsewhere")
    assert item["data"] == {
        "adoptFrom": "kubectl\nkubectl-client-side-apply\nteam-b",
        "personTools": "Mozilla\nk9s\nkubectl-create\nkubectl-edit\nkubectl-patch\nkubectl-replace\nkubectl-set",
        "personToolsAtScale": "kubectl\noc",
        "blockedNamespaces": "payments",
        "MachineDeployment_prod_general-a.b": "2-40",
        "MachineSet.machine.openshift.io_openshift-machine-api_worker-a": "held",
    }


def test_a_file_is_checked_against_the_policy(policies: Path, tmp_path: Path) -> None:
    """Current: nothing and 0; a range that the policy gives no more: both lines and 1, and nothing is written."""
    file = tmp_path / "bounds.yaml"
    assert _run("--policy", policies, "--out", file).return_value == 0
    current = _run("--policy", policies, "--check", file)
    assert (current.return_value, current.output) == (0, "")
    written = file.read_text().replace("2-40", "0-9999")
    file.write_text(written)
    stale = _run("--policy", policies, "--check", file)
    assert stale.return_value == 1
    assert [line for line in stale.stdout.splitlines() if line.startswith(("-  ", "+  "))] == [
        '-  MachineDeployment_prod_general-a.b: "0-9999"',
        '+  MachineDeployment_prod_general-a.b: "2-40"',
    ]
    assert file.read_text() == written


def test_what_has_no_bound_is_told(policies: Path) -> None:
    """A group without a maximum, and discovery without a cluster: they may not be resized, and that is said."""
    text = POLICY.replace("  size: {min: 2, max: 40}\n", "").replace(
        "  mode: Enforce\n", "  mode: Enforce\n  discovery: [{name: capi, clusterAPI: {namespaces: [prod]}}]\n"
    )
    (policies / "prod.yaml").write_text(text)
    done = _run("--policy", policies)
    assert "general-a.b" not in done.stdout
    assert "MachineDeployment prod/general-a.b (group general) has no maximum" in done.stderr
    assert "discovered targets are left out" in done.stderr


def test_a_name_that_no_key_holds_is_told() -> None:
    """Rather than a ConfigMap that the server refuses whole."""
    target = TargetRef(kind="MachineDeployment", namespace="n" * 63, name="a" * 200)
    bounds = AdmissionBounds(policy="p", targets=(TargetBound(target=target, highest=1),), adopt_from=(), blocked_namespaces=())
    assert len(bound_key(target)) > LONGEST_KEY
    assert bound_key(target) not in bounds_manifest(bounds, "reconciler")
    assert [sentence.partition(" is called")[0] for sentence in left_out(bounds)] == [str(target)]


def test_a_repository_is_rendered_as_its_branch_has_it(tmp_path: Path) -> None:
    """What is in the work tree and not committed says nothing."""
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"prod.yaml": POLICY})
    (repo.root / "prod.yaml").write_text(POLICY.replace("max: 40", "max: 9999"))
    done = _run("--git", f"file://{repo.root}/.git", "--git-protocol", "file", "--git-cache", tmp_path / "cache")
    assert yaml.safe_load(done.stdout)["data"]["MachineDeployment_prod_general-a.b"] == "2-40"


def test_custom_resources_are_for_the_cluster_that_has_them() -> None:
    """What is printed comes from files or git."""
    result = _run("--custom-resources")
    assert "require --apply" in str(result.exception)


def test_differences_name_the_key_and_both_sides() -> None:
    """Missing, too much, other."""
    assert bounds_differences({"a": "1-2", "b": "held"}, {"b": "0-9", "c": "x\ny"}) == (
        "a: nothing in the cluster, 1-2 by the policy",
        "b: 0-9 in the cluster, held by the policy",
        "c: x y in the cluster, nothing by the policy",
    )  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), [
    (("--out", "a", "--check", "b"), "--out writes and --check does not"),
    (("--now", "yesterday"), "yesterday"),
    (("--check", "absent.yaml"), "absent.yaml"),
    (("--policy", "absent"), "absent: no such file"),
    (("--apply", "--out", "a"), "--apply cannot be used with"),
    (("--once",), "go with --apply"),
    (("--listen", ":8080"), "go with --apply"),
    (("--git", "https://git.example.org/policies.git"), "are two sources"),
])  # fmt: skip
def test_wrong_use_is_told(policies: Path, arguments: tuple[str, ...], said: str) -> None:
    """Before anything is rendered."""
    result = _run("--policy", policies, *arguments)
    assert isinstance(result.exception, ClickException)
    assert said in result.exception.message
    assert result.stdout == ""
