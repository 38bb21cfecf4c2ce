"""`import` and `init`: policies made from what other software was told, and from what is there."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from reconciler.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
Object = dict[str, Any]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in arguments], prog_name="reconciler", standalone_mode=False)


def imported(tmp_path: Path, text: str, *arguments: object) -> tuple[list[Object], str]:
    """The documents that `import` prints for a file with this text, and what it says beside."""
    file = tmp_path / "in.yaml"
    file.write_text(text)
    result = run("import", file, *arguments)
    assert result.exception is None, result.exception
    return list(yaml.safe_load_all(result.stdout)), result.stderr


def spec_of(tmp_path: Path, *flags: str, more: tuple[object, ...] = ()) -> Object:
    documents, _ = imported(tmp_path, "\n".join(flags) + "\n", *more)
    spec: Object = documents[0]["spec"]
    return spec


@pytest.mark.parametrize(
    ("flag", "path", "value"),
    [
        ("--scale-down-utilization-threshold=0.6", "defaults.scaleDown.utilizationThresholdPercent", 60),
        ("--scale-down-unneeded-time=5m0s", "defaults.scaleDown.unneededTime", "5m"),
        ("--scale-down-enabled=false", "defaults.scaleDown.mode", "Disabled"),
        ("--max-node-provision-time=20m", "defaults.scaleUp.maxNodeProvisionTime", "20m"),
        ("--scale-down-delay-after-add=15m", "pace.delayAfterAdd", "15m"),
        ("--skip-nodes-with-local-storage=false", "drain.localStorage", "Allow"),
        ("--skip-nodes-with-system-pods", "drain.systemPodsWithoutPDB", "Block"),
        ("--max-total-unready-percentage=30", "health.maxUnreadyPercent", 30),
        ("--expendable-pods-priority-cutoff=-5", "pods.expendableBelowPriority", -5),
        ("--expander=most-pods,least-waste", "expanders", ["MostPods", "LeastWaste"]),
        ("--balance-similar-node-groups=true", "defaults.balanceWith", "Auto"),
        ("--ignore-daemonsets-utilization", "defaults.scaleDown.daemonSetUtilization", "Ignore"),
        ("--ignore-daemonsets-utilization=false", "defaults.scaleDown.daemonSetUtilization", "Count"),
        ("--ignore-mirror-pods-utilization=true", "defaults.scaleDown.mirrorPodUtilization", "Ignore"),
        ("--max-nodes-total=100", "limits", [{"name": "cluster", "max": {"nodes": 100}}]),
        ("--memory-total=16:4000", "limits", [{"name": "cluster", "min": {"memory": "16Gi"}, "max": {"memory": "4000Gi"}}]),
        ("--max-scale-down-parallelism=7", "budgets", [{"nodes": 7}]),
    ],
)
def test_a_flag_and_what_it_becomes(tmp_path: Path, flag: str, path: str, value: object) -> None:
    """The Cluster Autoscaler's own documentation says what the flag means, the reference what the field means."""
    found: Any = spec_of(tmp_path, flag)
    for key in path.split("."):
        found = found[key]
    assert found == value


def test_a_deployment_is_read_and_every_setting_is_accounted_for(tmp_path: Path) -> None:
    """What is not in the policy is told with a reason: an option of `run`, a value that is no whole percent, no equivalent."""
    manifest = """\
    kind: Deployment
    apiVersion: apps/v1
    metadata: {name: cluster-autoscaler}
    spec:
      template:
        spec:
          containers:
            - {name: sidecar, image: other, args: ["--scan-interval=1s"]}
            - name: cluster-autoscaler
              image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1
              command: [./cluster-autoscaler, --scan-interval=30s]
              args: ["--scale-down-utilization-threshold=0.555", "--no-such-flag=1", "--cores-total=8:64"]
    """
    documents, said = imported(tmp_path, manifest)
    assert documents[0]["spec"]["limits"] == [{"name": "cluster", "min": {"cpu": 8}, "max": {"cpu": 64}}]
    assert "--scan-interval=30s: run --period" in said
    assert "0.555 is not a whole percent" in said
    assert "--no-such-flag=1: it is unknown" in said
    assert "scan-interval=1s" not in said


def test_auto_discovery_becomes_discovery(tmp_path: Path) -> None:
    """Items of one flag are AND, several flags OR."""
    flags = ("--node-group-auto-discovery=clusterapi:namespace=staging,clusterName=purple,owner=jim",)
    flags += ("--node-group-auto-discovery=clusterapi:namespace=prod",)
    assert [item["clusterAPI"] for item in spec_of(tmp_path, *flags)["discovery"]] == [
        {"namespaces": ["staging"], "clusterName": "purple", "labels": {"owner": "jim"}},
        {"namespaces": ["prod"]},
    ]


@pytest.mark.parametrize(
    ("flags", "target"),
    [
        ("--nodes=1:5:MachineSet/openshift-machine-api/a --cloud-provider=openshift",
         {"openshift": {"namespace": "openshift-machine-api", "machineSet": "a"}}),
        ("--nodes=1:5:MachineSet/prod/a --cloud-provider=clusterapi",
         {"clusterAPI": {"kind": "MachineSet", "namespace": "prod", "name": "a"}}),
        ("--nodes=1:5:MachineSet/prod/a", {"clusterAPI": {"kind": "MachineSet", "namespace": "prod", "name": "a"}}),
        ("--cloud-provider=crusoecloud --nodes=1:5:h100", {"crusoe": {"nodePool": "h100", "location": "us-east1-a"}}),
    ],
)  # fmt: skip
def test_whose_target_a_flag_names(tmp_path: Path, flags: str, target: dict[str, object]) -> None:
    """The cloud provider says it, wherever it stands; without it the form of the name does."""
    documents, _ = imported(tmp_path, f"{flags}\n", "--region", "us-east1-a")
    assert documents[1]["spec"]["target"] == target


def test_a_cloud_without_a_platform_here(tmp_path: Path) -> None:
    """Its groups become no targets of another one, and that is told."""
    file = tmp_path / "in.yaml"
    file.write_text("--cloud-provider=azure --nodes=1:5:pool --node-group-auto-discovery=label:a=b\n")
    refused = run("import", file)
    assert "--cloud-provider=azure" in str(refused.exception)
    assert "this build has no platform for it" in str(refused.exception)


def test_auto_scaling_groups_need_their_region(tmp_path: Path) -> None:
    """No flag names it; it is asked for rather than made up."""
    file = tmp_path / "flags.txt"
    file.write_text("--nodes=1:5:workers\n")
    assert "--region" in str(run("import", file).exception)
    documents, _ = imported(tmp_path, "--nodes=1:5:workers\n", "--region", "eu-west-1")
    assert documents[1]["spec"]["target"] == {"aws": {"autoScalingGroup": "workers", "region": "eu-west-1"}}
    assert documents[1]["spec"]["size"] == {"min": 1, "max": 5}


def test_priorities_become_tiers(tmp_path: Path) -> None:
    """The larger number is the higher priority, and the first tier is the highest."""
    text = (
        "kind: ConfigMap\nmetadata: {name: cluster-autoscaler-priority-expander}\n"
        "data:\n  priorities: |\n    10:\n      - .*spot.*\n    50:\n      - ^reserved-\n"
    )
    documents, _ = imported(tmp_path, text)
    assert [tier["match"]["names"] for tier in documents[0]["spec"]["tiers"]] == [["^reserved-"], [".*spot.*"]]


def test_openshift(tmp_path: Path) -> None:
    """ClusterAutoscaler and MachineAutoscaler, as the operator's documentation shows them."""
    text = """\
kind: ClusterAutoscaler
apiVersion: autoscaling.openshift.io/v1
metadata: {name: default}
spec:
  podPriorityThreshold: -10
  resourceLimits:
    maxNodesTotal: 24
    cores: {min: 8, max: 128}
    memory: {min: 4, max: 256}
    gpus: [{type: nvidia.com/gpu, min: 0, max: 16}]
  logVerbosity: 4
  ignoreDaemonsetsUtilization: true
  scaleDown: {enabled: true, delayAfterAdd: 10m, unneededTime: 5m, utilizationThreshold: "0.4"}
  expanders: [Random]
---
kind: MachineAutoscaler
apiVersion: autoscaling.openshift.io/v1beta1
metadata: {name: worker-a, namespace: openshift-machine-api}
spec:
  minReplicas: 1
  maxReplicas: 12
  scaleTargetRef: {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: worker-a}
"""
    (policy, group), said = imported(tmp_path, text)
    assert policy["spec"]["limits"] == [
        {
            "name": "cluster",
            "max": {"nodes": 24, "cpu": 128, "memory": "256Gi"},
            "min": {"cpu": 8, "memory": "4Gi"},
        },
        {"name": "gpu-nvidia.com-gpu", "max": {"nvidia.com/gpu": 16}},
    ]
    assert policy["spec"]["defaults"]["scaleDown"] == {
        "mode": "Enabled",
        "unneededTime": "5m",
        "utilizationThresholdPercent": 40,
        "daemonSetUtilization": "Ignore",
    }
    assert group["spec"]["target"] == {"openshift": {"namespace": "openshift-machine-api", "machineSet": "worker-a"}}
    assert group["spec"]["size"] == {"min": 1, "max": 12}
    assert "Random: ties are broken by name" in said


def test_nothing_to_import(tmp_path: Path) -> None:
    """A file without any setting is a mix-up; the message names what is understood."""
    file = tmp_path / "pods.yaml"
    file.write_text("kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n")
    assert "ClusterAutoscaler and MachineAutoscalers are understood" in str(run("import", file).exception)


def test_a_first_policy_changes_nothing(tmp_path: Path) -> None:
    """It holds as a policy, names every target once with the range that its annotations say, and its plan is in mode Observe."""
    out = tmp_path / "policies"
    assert run("init", "--cluster", QUICKSTART, "--out", out).exception is None
    assert run("validate", out).return_value in (None, 0)
    documents = [item for path in out.glob("*.yaml") for item in yaml.safe_load_all(path.read_text())]
    sizes = {item["metadata"]["name"]: item["spec"]["size"] for item in documents if item["kind"] == "NodeGroup"}
    # The annotations of the example, and four replicas of a target without any.
    assert sizes == {
        "big": {"min": 1, "max": 5},
        "c1-auto-45vz8": {"min": 2, "max": 6},
        "c1-fixed-bq6lz": {"min": 4, "max": 4},
        "spot": {"min": 0, "max": 8},
    }
    result = run("plan", "--policy", out, "--cluster", QUICKSTART, "--no-settled", "-o", "json")
    assert '"mode": "Observe"' in result.stdout


def test_editors_are_told_the_schema(tmp_path: Path) -> None:
    """Files of both commands begin with the line that editors read; the schema beside them holds their documents, and no reader
    of policies takes it for one."""
    flags = tmp_path / "flags.txt"
    flags.write_text("--scale-down-unneeded-time=5m --nodes=1:5:MachineDeployment/prod/a\n")
    for number, command in enumerate((("init", "--cluster", QUICKSTART), ("import", flags))):
        out = tmp_path / f"out{number}"
        assert run(*command, "--out", out).exception is None
        schema = json.loads((out / ".policy.schema.json").read_text())
        files = sorted(out.glob("*.yaml"))
        assert len(files) == 2
        for file in files:
            text = file.read_text()
            assert text.startswith("# yaml-language-server: $schema=.policy.schema.json\n")
            for document in yaml.safe_load_all(text):
                Draft202012Validator(schema).validate(document)
        assert run("validate", out).return_value in (None, 0)
        assert run(*command, "--out", out, "--force").exception is None


def test_a_first_policy_is_not_written_over_another(tmp_path: Path) -> None:
    """Not one byte, unless asked."""
    (tmp_path / "groups.yaml").write_text("mine\n")
    assert "--force" in str(run("init", "--cluster", QUICKSTART, "--out", tmp_path).exception)
    assert [path.name for path in tmp_path.iterdir()] == ["groups.yaml"]
    assert (tmp_path / "groups.yaml").read_text() == "mine\n"
    assert run("init", "--cluster", QUICKSTART, "--out", tmp_path, "--force").exception is None
    assert (tmp_path / "groups.yaml").read_text() != "mine\n"


HELM_AWS = """\
# as the chart's documentation shows it for EKS
autoDiscovery:
  clusterName: prod
awsRegion: eu-central-1
cloudProvider: aws
rbac: {serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/ca"}}}
extraArgs:
  balance-similar-node-groups: true
  skip-nodes-with-system-pods: false
  expander: priority,least-waste
  scale-down-unneeded-time: 7m
  ignore-taint_1: node.cilium.io/agent-not-ready
  startup-taint-prefix: readiness.k8s.io/
  max-empty-bulk-delete: 20
  v: 4
expanderPriorities:
  10: [".*spot.*"]
  50: ["^reserved-"]
"""

HELM_CAPI = """\
cluster-autoscaler:
  cloudProvider: clusterapi
  autoDiscovery:
    clusterName: purple
    namespace: staging
    labels: [{owner: jim}]
  extraArgs: {scale-down-enabled: false, no-such-flag: 3}
"""


def test_values_of_the_helm_chart(tmp_path: Path) -> None:
    """Flags, discovery by the chart's default tags, region, priorities; the labels that AWS groups may differ in come along."""
    documents, said = imported(tmp_path, HELM_AWS)
    spec = documents[0]["spec"]
    tags = {"k8s.io/cluster-autoscaler/enabled": "", "k8s.io/cluster-autoscaler/prod": ""}
    assert [item["aws"] for item in spec["discovery"]] == [{"region": "eu-central-1", "tags": tags}]
    assert spec["expanders"] == ["LeastWaste"]
    assert [tier["match"]["names"] for tier in spec["tiers"]] == [["^reserved-"], [".*spot.*"]]
    assert spec["defaults"]["balanceWith"] == "Auto"
    assert spec["balancing"] == {"presets": ["AWS"]}
    assert spec["budgets"] == [{"nodes": 20, "reasons": ["Empty"]}]
    assert spec["defaults"]["scaleDown"] == {"unneededTime": "7m"}
    taints = spec["defaults"]["template"]["startupTaints"]
    assert taints == [
        {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"},
        {"key": "readiness.k8s.io/*", "effect": "NoSchedule"},
        {"key": "readiness.k8s.io/*", "effect": "NoExecute"},
    ]
    assert "--v=4: run --log-level" in said


def test_values_of_a_chart_that_depends_on_it(tmp_path: Path) -> None:
    """Below the chart's name; a flag that never was is named."""
    documents, said = imported(tmp_path, HELM_CAPI)
    capi = {"namespaces": ["staging"], "clusterName": "purple", "labels": {"owner": "jim"}}
    assert [item["clusterAPI"] for item in documents[0]["spec"]["discovery"]] == [capi]
    assert documents[0]["spec"]["defaults"]["scaleDown"] == {"mode": "Disabled"}
    assert "--no-such-flag=3: it is unknown" in said


def test_what_says_how_it_is_deployed_is_named(tmp_path: Path) -> None:
    """Nothing of the values is dropped without a word."""
    file = tmp_path / "values.yaml"
    file.write_text(HELM_AWS)
    assert "deployment, not about its decisions: rbac." in run("import", file).stdout


@pytest.mark.parametrize("text", ["nothing here\n", "scale-up-things: no-flag --not-a-flag=1\n", "-h\n", "key: value\n"])
def test_text_without_a_setting_is_refused(tmp_path: Path, text: str) -> None:
    """Words with hyphens are no flags, and flags that no autoscaler has are no settings."""
    file = tmp_path / "in.txt"
    file.write_text(text)
    assert "no settings of an autoscaler" in str(run("import", file).exception)


def test_the_region_of_a_deployment(tmp_path: Path) -> None:
    """The environment of the container says it, as the cloud's SDK reads it."""
    manifest = """\
kind: Deployment
apiVersion: apps/v1
metadata: {name: cluster-autoscaler}
spec:
  template:
    spec:
      containers:
        - name: cluster-autoscaler
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1
          command: [./cluster-autoscaler, "--nodes=1:5:workers"]
          env: [{name: AWS_REGION, value: eu-west-3}]
"""
    documents, _ = imported(tmp_path, manifest)
    assert documents[1]["spec"]["target"] == {"aws": {"autoScalingGroup": "workers", "region": "eu-west-3"}}


def test_priorities_are_asked_for(tmp_path: Path) -> None:
    """The expander alone does not say them."""
    _, said = imported(tmp_path, "--expander=priority\n")
    assert "also name the file of ConfigMap cluster-autoscaler-priority-expander" in said
