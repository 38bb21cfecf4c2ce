"""`reconciler validate --manifests`: what fights over replicas."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reconciler.cli.commands.validate import command

POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec:
  discovery:
    - {name: edge, clusterAPI: {namespaces: [edge]}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: prod}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: general}}
  size: {min: 1, max: 9}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: topo, namespace: prod}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachineDeployment, namespace: prod, name: c1-md-0-x7k2p}}
  size: {min: 1, max: 9}
"""
BOTH = """{cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1",
      cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5"}"""


def sizes(low: int, high: int) -> str:
    key = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-{}-size"
    return f'{{{key.format("min")}: "{low}", {key.format("max")}: "{high}"}}'


def machine_deployment(
    name: str = "general",
    namespace: str = "prod",
    replicas: str = "  replicas: 3\n",
    annotations: str = "{}",
    kind: str = "MachineDeployment",
) -> str:
    space = f", namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: cluster.x-k8s.io/v1beta2\nkind: {kind}\nmetadata: {{name: {name}{space}, annotations: {annotations}}}\n"
        f"spec:\n  clusterName: c1\n{replicas}"
    )  # fmt: skip


def topology(entry: str, name: str = "c1") -> str:
    return (
        f"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {{name: {name}, namespace: prod}}\n"
        f"spec:\n  topology:\n    workers:\n      machineDeployments:\n{entry}"
    )


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with policies/ and an empty manifests/."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "prod.yaml").write_text(POLICY)
    (tmp_path / "manifests").mkdir()
    return tmp_path


def check(tree: Path, text: str, *options: str) -> Result:
    (tree / "manifests" / "md.yaml").write_text(text)
    return CliRunner().invoke(command, ["--manifests", "manifests", *options], prog_name="reconciler validate")


def test_the_line_to_delete(tree: Path):
    """Place, caret, what to do for the webhook and for Argo CD, and the group that decides."""
    result = check(tree, machine_deployment())
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "manifests/md.yaml:6:3: error: MachineDeployment prod/general declares replicas 3, and NodeGroup general decides them: "
        "every sync would write it [ReplicasInManifest]"
    )
    assert lines[1:3] == [" 6 |   replicas: 3", "   |   ^^^^^^^^^^^"]
    assert "first add cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size" in lines[3]
    assert (
        "ignoreDifferences: [{group: cluster.x-k8s.io, kind: MachineDeployment, namespace: prod, name: general, "
        "jsonPointers: [/spec/replicas]}] and syncOptions: [RespectIgnoreDifferences=true]"
    ) in lines[3]
    assert lines[4] == "   = see policies/prod.yaml:8:1: NodeGroup general is written here"
    assert lines[-1] == "1 file, 1 policy, 2 groups: 1 error"


def test_with_both_annotations_the_line_can_go(tree: Path):
    """Then the webhook keeps the size that is there."""
    result = check(tree, machine_deployment(annotations=BOTH))
    assert (
        "= hint: delete this line (then the webhook decides: 3 stay, within 1 to 5). Alternatively, let Argo CD" in result.stdout
    )


@pytest.mark.parametrize(("replicas", "annotations", "told"), [
    (3, "{}", "without both, the webhook sets 1 (3 become 1)"), (1, "{}", "without both, the webhook sets 1 (1 stays)"),
    (6, sizes(1, 4), "6 become 4, within 1 to 4"), (3, sizes(1, 9), "3 stay, within 1 to 9"),
    (1, sizes(2, 5), "1 becomes 2, within 2 to 5"), (3, sizes(5, 2), "delete this line. Alternatively, let"),
    (3, "{cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: \"1\"}", "first add cluster.x-k8s.io/cluster-api-"
     "autoscaler-node-group-max-size: \"9\" (without both, the webhook sets 1 (3 become 1)), then delete this line"),
])  # fmt: skip
def test_what_the_webhook_makes_of_it(tree: Path, replicas: int, annotations: str, told: str):
    """As measured on Cluster API 1.14: 1 without both annotations; with both what is there, brought into the range."""
    text = machine_deployment(replicas=f"  replicas: {replicas}\n", annotations=annotations)
    assert told in check(tree, text).stdout


@pytest.mark.parametrize(("text", "place", "what"), [
    (machine_deployment(replicas=""), "3:12", "MachineDeployment prod/general leaves"),
    (machine_deployment(replicas="  replicas: null\n"), "3:12", "MachineDeployment prod/general leaves"),
    (topology("        - {name: md-0}\n"), "8:12", "the topology of Cluster prod/c1, md-0, leaves"),
])  # fmt: skip
def test_replicas_left_out_without_both_annotations(tree: Path, text: str, place: str, what: str):
    """The commit that drops them sets 1: a warning with the two lines to add, in the range of the group."""
    result = check(tree, text)
    assert result.exit_code == 0
    assert (
        f"manifests/md.yaml:{place}: warning: {what} replicas out without both size annotations, and NodeGroup " in result.stdout
    )
    assert "makes them 1, whatever runs [ReplicasUnset]" in result.stdout
    assert 'min-size: "1" and cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "9": with both' in result.stdout


@pytest.mark.parametrize("text", [
    machine_deployment(replicas="", annotations=BOTH), machine_deployment(name="other"),
    machine_deployment(replicas="  replicas: null\n", annotations=BOTH), machine_deployment(name="other", replicas=""),
    machine_deployment(namespace="dev"), machine_deployment(kind="MachineSet"),
    machine_deployment(name="far", namespace="far", annotations=BOTH), machine_deployment(name="near", namespace="edge"),
    machine_deployment().replace("cluster.x-k8s.io/v1beta2", "apps/v1"),
    topology("        - {name: md-1, replicas: 2}\n"), topology("        - {name: md-1}\n"),
    topology(f"        - name: md-0\n          metadata:\n            annotations: {BOTH}\n"),
    topology("        - {name: md-0, replicas: 2}\n", name="c2"), "just text\n", "[]\n",
])  # fmt: skip
def test_no_fight(tree: Path, text: str):
    """No size, another object, another kind or API, not discovered, another topology."""
    result = check(tree, text)
    assert (result.exit_code, result.stdout) == (0, "1 file, 1 policy, 2 groups: no problems\n")


def test_a_manifest_without_a_namespace(tree: Path):
    """Whoever applies it names the namespace: the name alone counts."""
    assert "MachineDeployment general declares replicas 3" in check(tree, machine_deployment(namespace="")).stdout


def test_discovered(tree: Path):
    """A discovery item takes what carries both annotations in its namespace."""
    told = check(tree, machine_deployment(name="near", namespace="edge", annotations=BOTH)).stdout
    assert "MachineDeployment edge/near declares replicas 3, and discovery edge of NodeGroupPolicy prod decides them" in told


def test_items_of_a_list(tree: Path):
    """As `kubectl get -o yaml` prints them."""
    item = "\n".join(f"    {line}" for line in machine_deployment().splitlines()).lstrip()
    told = check(tree, f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n").stdout
    assert "manifests/md.yaml:9:7: error" in told


def test_a_topology_that_a_group_sizes(tree: Path):
    """The topology controller would write the replicas again."""
    told = check(tree, topology("        - name: md-0\n          replicas: 2\n")).stdout
    assert (
        "manifests/md.yaml:9:11: error: the topology of Cluster prod/c1 declares replicas 2 for md-0, and NodeGroup topo" in told
    )
    assert "[ReplicasInTopology]" in told
    assert "without both the webhook sets 1, with them 2 stay, within 1 to 9. To leave them to the topology instead" in told
    assert "first remove NodeGroup topo from the policy, which keeps its size. Then declare here exactly" in told


def test_a_topology_with_replicas_and_annotations(tree: Path):
    """The Cluster webhook refuses that, whether a group sizes it or not."""
    told = check(
        tree, topology(f"        - name: md-9\n          metadata:\n            annotations: {BOTH}\n          replicas: 2\n")
    ).stdout
    assert "which the Cluster webhook refuses [ReplicasInTopology]" in told
    assert "hint: delete this line\n" in told


def test_a_manifest_that_cannot_be_read(tree: Path):
    """A chart that was not rendered is a warning, and the other files are examined."""
    (tree / "manifests" / "chart.yaml").write_text("replicas: {{ .Values.replicas }}\n  x: 1\n")
    result = check(tree, machine_deployment(replicas=""))
    assert result.exit_code == 0
    assert "manifests/chart.yaml:" in result.stdout
    assert "warning: the rest of this manifest is not examined" in result.stdout
    assert "[ManifestUnreadable]" in result.stdout


def test_other_formats(tree: Path):
    """JSON, SARIF with the rule behind the code, and workflow commands."""
    entry = json.loads(check(tree, machine_deployment(), "-o", "json").stdout)["problems"][0]
    assert (entry["code"], entry["file"], entry["line"], entry["column"]) == ("ReplicasInManifest", "manifests/md.yaml", 6, 3)
    log = json.loads(check(tree, machine_deployment(), "-o", "sarif").stdout)["runs"][0]
    assert log["tool"]["driver"]["rules"][0]["id"] == "ReplicasInManifest"
    assert log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "manifests/md.yaml"
    assert check(tree, machine_deployment(), "-o", "github").stdout.startswith(
        "::error file=manifests/md.yaml,line=6,endLine=6,col=3,endColumn=14,title=ReplicasInManifest::"
    )


def test_manifests_of_another_api_group_are_examined_where_it_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`CAPI_GROUP` says which objects and annotations count, as it does for snapshots and live clusters."""
    text = machine_deployment().replace("cluster.x-k8s.io", "capi.example.org")
    (tree / "manifests" / "md.yaml").write_text(text)
    asked = ["policies", "--manifests", "manifests"]
    assert "ReplicasInManifest" not in CliRunner().invoke(command, asked).output
    monkeypatch.setenv("CAPI_GROUP", "capi.example.org")
    told = CliRunner().invoke(command, asked).output
    assert "[ReplicasInManifest]" in told
    assert "first add capi.example.org/cluster-api-autoscaler-node-group-min-size" in told
    assert "{group: capi.example.org, kind: MachineDeployment" in told


POOL = """\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: pool, namespace: prod}
spec:
  policyRef: {name: prod}
  target: {clusterAPI: {kind: MachinePool, namespace: prod, name: c1-pool-a-x7k2m}}
  size: {min: 1, max: 9}
"""


@pytest.mark.parametrize("field", ["machinePools", "machineDeployments"])
def test_a_pool_of_a_topology_is_found_in_its_own_list(tmp_path: Path, field: str) -> None:
    """MachinePools stand in a list of their own; no webhook keeps their size, and none refuses annotations beside replicas."""
    policy, manifest = tmp_path / "policy.yaml", tmp_path / "cluster.yaml"
    policy.write_text(POLICY + POOL)
    manifest.write_text(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c1, namespace: prod}\n"
        f"spec:\n  topology:\n    workers:\n      {field}:\n"
        f"        - {{class: w, name: pool-a, replicas: 3, metadata: {{annotations: {sizes(1, 6)}}}}}\n"
    )
    done = CliRunner().invoke(command, [str(policy), "--manifests", str(manifest)], standalone_mode=False)
    pool = field == "machinePools"
    assert ("declares replicas 3 for pool-a, and NodeGroup pool decides them" in done.output) is pool, done.output
    assert ("which the Cluster webhook refuses" in done.output) is not pool


def parent_policy(kind: str, namespace: str, name: str) -> str:
    return (
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroupPolicy\nmetadata: {name: prod}\nspec: {}\n---\n"
        "apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: pool, namespace: prod}\n"
        f"spec:\n  policyRef: {{name: prod}}\n  target: {{clusterAPI: {{kind: {kind}, namespace: {namespace}, name: {name}}}}}\n"
    )  # fmt: skip


RANCHER = """\
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: c1, namespace: fleet-default}
spec:
  rkeConfig:
    machinePools:
      - name: control
        quantity: 3
      - name: workers
        quantity: 5
      - name: unsized
"""
HYPERSHIFT = """\
apiVersion: hypershift.openshift.io/v1beta1
kind: NodePool
metadata: {name: edge, namespace: clusters}
spec:
  clusterName: c1
  replicas: 4
"""
EKS_POOL = """\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: pool-0, namespace: prod}
spec:
  scaling: {minSize: 1, maxSize: 6}
"""


@pytest.mark.parametrize(
    ("manifest", "target", "said"),
    [
        (
            RANCHER,
            ("MachineDeployment", "fleet-default", "c1-workers"),
            ["md.yaml:10:9: error: Cluster fleet-default/c1, pool workers, declares quantity 5, and NodeGroup pool"],
        ),
        (
            HYPERSHIFT,
            ("MachineDeployment", "clusters-c1", "edge"),
            ["md.yaml:6:3: error: NodePool clusters/edge declares spec.replicas 4, and NodeGroup pool"],
        ),
        (
            EKS_POOL,
            ("MachinePool", "prod", "pool-0"),
            ["declares spec.scaling.minSize 1, and NodeGroup pool", "declares spec.scaling.maxSize 6, and NodeGroup pool"],
        ),
    ],
    ids=["rancher", "hypershift", "eks"],
)
def test_a_size_that_another_project_declares(tree: Path, manifest: str, target: tuple[str, str, str], said: list[str]) -> None:
    """Its controller writes the target that it makes. Beside a group of another name or namespace it is no conflict."""
    (tree / "policies" / "prod.yaml").write_text(parent_policy(*target))
    found = check(tree, manifest)
    assert [line in found.stdout for line in said] == [True] * len(said), found.stdout
    assert found.stdout.count("[ReplicasByParent]") == len(said)
    kind, namespace, name = target
    for other in ((kind, namespace, f"{name}x"), (kind, f"{namespace}x", name)):
        (tree / "policies" / "prod.yaml").write_text(parent_policy(*other))
        assert "ReplicasByParent" not in check(tree, manifest).stdout


@pytest.mark.parametrize("spec", ["", "spec: {rkeConfig: {machinePools: 3}}\n", "spec: {rkeConfig: [1]}\n", "spec: text\n"])
def test_a_parent_of_another_shape(tree: Path, spec: str) -> None:
    """It declares nothing."""
    text = f"apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {{name: c1}}\n{spec}"
    assert "ReplicasByParent" not in check(tree, text).stdout
