"""Settings as public charts and examples have them, written from their documentation: each becomes a policy that holds, and
nothing of it is lost without a word.

SOURCE: the Cluster Autoscaler's examples for AWS (auto-discovery; several Auto Scaling groups) and for Cluster API, the
values.yaml of its Helm chart, OpenShift's documentation of ClusterAutoscaler and MachineAutoscaler (4.5 and 4.19), read 2026-11.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from reconciler.cli.main import cli


def _deployment(*flags: str, image: str = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1", **container: object) -> str:
    """The documents of the examples that matter here: an account, a role, the Deployment."""
    one = {"name": "cluster-autoscaler", "image": image, "command": ["./cluster-autoscaler", *flags], **container}
    spec = {"replicas": 1, "template": {"spec": {"serviceAccountName": "cluster-autoscaler", "containers": [one]}}}
    named = {"metadata": {"name": "cluster-autoscaler", "namespace": "kube-system"}}
    role = {"rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["watch", "list", "get", "update"]}]}
    documents: list[object] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", **named},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", **named, **role},
        {"apiVersion": "apps/v1", "kind": "Deployment", **named, "spec": spec},
    ]
    return yaml.safe_dump_all(documents)


AWS_DISCOVERY = _deployment(
    "--v=4", "--stderrthreshold=info", "--cloud-provider=aws", "--skip-nodes-with-local-storage=false", "--expander=least-waste",
    "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod",
    env=[{"name": "AWS_REGION", "value": "eu-central-1"}],
)  # fmt: skip
AWS_GROUPS = _deployment(
    "--v=4", "--stderrthreshold=info", "--cloud-provider=aws", "--skip-nodes-with-local-storage=false", "--expander=least-waste",
    "--nodes=1:10:k8s-worker-asg-1", "--nodes=1:3:k8s-worker-asg-2",
    env=[{"name": "AWS_REGION", "value": "us-east-1"}],
)  # fmt: skip
CLUSTER_API = _deployment(
    image="${AUTOSCALER_IMAGE}",
    args=[
        "--cloud-provider=clusterapi", "--kubeconfig=/mnt/workload.kubeconfig", "--clusterapi-cloud-config-authoritative",
        "--cloud-config=/mnt/management.kubeconfig",
        "--node-group-auto-discovery=clusterapi:namespace=staging,clusterName=purple",
        "--balance-similar-node-groups", "--scale-down-unneeded-time=5m", "--scan-interval=1m", "--max-nodes-total=300",
    ],
)  # fmt: skip
CHART_AWS = """\
affinity: {}
autoDiscovery:
  clusterName: prod
  tags: [k8s.io/cluster-autoscaler/enabled, "k8s.io/cluster-autoscaler/{{ .Values.autoDiscovery.clusterName }}"]
awsRegion: us-west-2
cloudProvider: aws
expanderPriorities:
  10: [".*t2\\\\.large.*", ".*t3\\\\.large.*"]
  50: [".*m4\\\\.4xlarge.*"]
extraArgs:
  logtostderr: true
  stderrthreshold: info
  v: 4
  write-status-configmap: true
  status-config-map-name: cluster-autoscaler-status
  leader-elect: true
  leader-elect-resource-lock: endpoints
  skip-nodes-with-local-storage: true
  expander: priority,least-waste
  scale-down-enabled: true
  balance-similar-node-groups: true
  min-replica-count: 0
  scale-down-utilization-threshold: 0.5
  scale-down-non-empty-candidates-count: 30
  max-node-provision-time: 15m0s
  scan-interval: 10s
  scale-down-delay-after-add: 10m
  scale-down-delay-after-delete: 0s
  scale-down-delay-after-failure: 3m
  scale-down-unneeded-time: 10m
  skip-nodes-with-system-pods: true
  balancing-ignore-label_1: first-label-to-ignore
  balancing-ignore-label_2: second-label-to-ignore
image: {repository: registry.k8s.io/autoscaling/cluster-autoscaler, tag: v1.32.1, pullPolicy: IfNotPresent}
podDisruptionBudget: {maxUnavailable: 1}
priorityClassName: system-cluster-critical
rbac: {create: true, serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/ca"}}}
replicaCount: 1
"""
CHART_CLUSTER_API = """\
cluster-autoscaler:
  cloudProvider: clusterapi
  clusterAPIMode: kubeconfig-incluster
  clusterAPIKubeconfigSecret: purple-kubeconfig
  autoDiscovery:
    clusterName: purple
    labels: [{color: green}, {shape: circle}]
  extraArgs: {ignore-taint_1: node.cilium.io/agent-not-ready, max-empty-bulk-delete: 10, max-graceful-termination-sec: 600}
"""
OPENSHIFT = """\
apiVersion: autoscaling.openshift.io/v1
kind: ClusterAutoscaler
metadata: {name: default}
spec:
  podPriorityThreshold: -10
  resourceLimits:
    maxNodesTotal: 24
    cores: {min: 8, max: 128}
    memory: {min: 4, max: 256}
    gpus: [{type: nvidia.com/gpu, min: 0, max: 16}, {type: amd.com/gpu, min: 0, max: 4}]
  logVerbosity: 4
  balanceSimilarNodeGroups: true
  balancingIgnoredLabels: [topology.ebs.csi.aws.com/zone]
  maxNodeProvisionTime: 20m
  maxPodGracePeriod: 600
  skipNodesWithLocalStorage: false
  scaleDown:
    enabled: true
    delayAfterAdd: 10m
    delayAfterDelete: 5m
    delayAfterFailure: 30s
    unneededTime: 5m
    utilizationThreshold: "0.4"
    cordonNodeBeforeTerminating: Enabled
  expanders: [LeastWaste, Random]
---
apiVersion: autoscaling.openshift.io/v1beta1
kind: MachineAutoscaler
metadata: {name: worker-us-east-1a, namespace: openshift-machine-api}
spec:
  minReplicas: 1
  maxReplicas: 12
  scaleTargetRef: {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: agl030519-vplxk-worker-us-east-1a}
"""
INPUTS = {
    "aws-discovery": AWS_DISCOVERY, "aws-groups": AWS_GROUPS, "cluster-api": CLUSTER_API, "chart-aws": CHART_AWS,
    "chart-cluster-api": CHART_CLUSTER_API, "openshift": OPENSHIFT,
}  # fmt: skip


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in arguments], prog_name="reconciler", standalone_mode=False)


def settings(text: str) -> Iterator[str]:
    """Every setting of an input as it is called in a policy's comments, read here without the code under test."""
    for document in yaml.safe_load_all(text):
        values: Any = document.get("cluster-autoscaler", document)
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            yield from (
                word if "=" in word else f"{word}=true" for word in (*container["command"][1:], *container.get("args", ()))
            )
        for key, value in values.get("extraArgs", {}).items():
            yield f"--{key.partition('_')[0]}={str(value).lower() if isinstance(value, bool) else value}"
        if document.get("kind") == "ClusterAutoscaler":
            yield from _leaves("spec", document["spec"])


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(f"{path}.{key}", part)
    elif isinstance(value, list):
        for part in value:
            yield f"{path}={part}" if isinstance(part, str) else f'{path}={{"type":"{part["type"]}"'
    else:
        yield f"{path}={str(value).lower() if isinstance(value, bool) else value}"


@pytest.mark.parametrize("name", INPUTS)
def test_it_becomes_a_policy_that_holds(tmp_path: Path, name: str) -> None:
    """`validate` takes what `import` wrote, warnings included, and `plan` reads it."""
    file, out = tmp_path / "in.yaml", tmp_path / "policies"
    file.write_text(INPUTS[name])
    assert run("import", file, "--out", out).exception is None
    result = run("validate", out)
    assert (result.exception, result.return_value) in ((None, None), (None, 0)), result.output
    assert "warning" not in result.output


@pytest.mark.parametrize("name", INPUTS)
def test_every_setting_is_carried_over_or_named(tmp_path: Path, name: str) -> None:
    """Beside the value that it became, or with the reason why there is none."""
    file = tmp_path / "in.yaml"
    file.write_text(INPUTS[name])
    told = " ".join(run("import", file).stdout.replace("\n  #", "").split())
    asked = list(settings(INPUTS[name]))
    assert len(asked) > 2
    assert [setting for setting in asked if " ".join(setting.split()) not in told.replace("# ", "")] == []


def test_what_the_charts_become(tmp_path: Path) -> None:
    """The values that decide something, by hand."""
    file = tmp_path / "in.yaml"
    file.write_text(CHART_AWS)
    spec = next(yaml.safe_load_all(run("import", file).stdout))["spec"]
    assert [tier["match"]["names"] for tier in spec["tiers"]] == [[".*m4\\.4xlarge.*"], [".*t2\\.large.*", ".*t3\\.large.*"]]
    assert spec["balancing"]["ignoreLabels"] == ["first-label-to-ignore", "second-label-to-ignore"]
    assert spec["pace"] == {"delayAfterAdd": "10m", "delayAfterDelete": "0s", "delayAfterFailure": "3m"}
    file.write_text(CHART_CLUSTER_API)
    spec = next(yaml.safe_load_all(run("import", file).stdout))["spec"]
    assert spec["budgets"] == [{"nodes": 10, "reasons": ["Empty"]}]
    assert spec["defaults"]["template"]["startupTaints"] == [{"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}]
    file.write_text(OPENSHIFT)
    spec = next(yaml.safe_load_all(run("import", file).stdout))["spec"]
    assert spec["defaults"]["scaleUp"] == {"maxNodeProvisionTime": "20m"}
    assert spec["balancing"]["ignoreLabels"] == ["topology.ebs.csi.aws.com/zone"]
    assert spec["pods"] == {"expendableBelowPriority": -10}


def test_values_of_the_deployment_are_named(tmp_path: Path) -> None:
    """Of a chart, what says how the other autoscaler runs."""
    file = tmp_path / "in.yaml"
    file.write_text(CHART_AWS)
    told = run("import", file).stdout
    for value in ("image", "podDisruptionBudget", "priorityClassName", "rbac", "replicaCount"):
        assert value in told
