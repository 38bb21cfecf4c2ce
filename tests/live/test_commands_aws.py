"""Commands that read a live cluster read its Auto Scaling groups as well: by what a policy asks for, or by its nodes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from reconciler.cli.main import cli
from reconciler.platforms.aws.writing.accounts import accounts
from tests.aws.documents import REGION
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import Service
from tests.live.aws_cloud import AwsCloud
from tests.live.command_line import CommandLine
from tests.live.demand import own_nodes
from tests.live.run_cluster import pods
from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster

TAG = "k8s.io/cluster-autoscaler/prod"
POLICY = f"""\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{{{name: prod}}}}
spec:
  tiers: [{{{{name: first}}}}, {{{{name: second}}}}]
  discovery:
    - {{{{name: eks, aws: {{{{region: {REGION}, tags: {{{{{TAG}: owned}}}}}}}}, tier: first}}}}
    - {{{{name: capi, clusterAPI: {{{{namespaces: [{{namespace}}]}}}}, tier: second}}}}
"""


@pytest.fixture
def aws(new_cluster: NewCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsCloud]:
    """An account, asked by this process too: one group with a node, an empty one, one of another cluster; a MachineDeployment."""
    service = Service()
    accounts.cache_clear()
    with AwsCloud(service, new_cluster()) as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        cloud.group("spot", desired=1).tags[TAG] = "owned"
        cloud.group("empty").tags[TAG] = "owned"
        cloud.group("staging").tags["k8s.io/cluster-autoscaler/staging"] = "owned"
        own_nodes(cloud.cluster, "general", 0)
        pods(cloud.cluster, "p", 3, "1500m")
        yield cloud
    service.stop()
    accounts.cache_clear()


@pytest.fixture
def policies(aws: AwsCloud, tmp_path: Path) -> Path:
    """Auto Scaling groups by tag above MachineDeployments."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "prod.yaml").write_text(POLICY.format(namespace=aws.cluster.namespace))
    return tmp_path / "policies"


def groups(plan: Object) -> dict[str, int]:
    return {line["name"]: line["desired"] for line in plan["groups"]}


def test_a_live_plan_a_snapshot_and_a_first_policy(
    aws: AwsCloud, control_plane: ControlPlane, policies: Path, tmp_path: Path
) -> None:
    """A plan by tags; the same of a snapshot; a first policy that names exactly what belongs to the cluster; a hold and its end;
    a preview."""
    line, here = CommandLine(control_plane.kubeconfig), ("--target-namespace", aws.cluster.namespace)
    live = line.json("plan", "--policy", policies, *here)
    assert set(groups(live)) == {"spot", "empty", "general"}
    assert (groups(live)["general"], groups(live)["spot"] + groups(live)["empty"]) == (0, 3)

    line.done("snapshot", "--out", tmp_path / "snapshot", *here)
    names = {file.name for file in (tmp_path / "snapshot").rglob("*.json")}
    assert {"autoscalinggroups.json", "launchtemplateversions.json", "scalingpolicies.json"} <= names
    kept = CliRunner().invoke(cli, ["plan", "--policy", str(policies), "--cluster", str(tmp_path / "snapshot"), "-o", "json"])
    assert groups(json.loads(kept.stdout)) == groups(live)

    line.done("init", "--out", tmp_path / "first", "--name", "prod", *here)
    text = (tmp_path / "first" / "groups.yaml").read_text()
    written = {document["spec"]["target"].get("aws", {}).get("autoScalingGroup") for document in yaml.safe_load_all(text)}
    assert written == {"spot", "empty", None}

    without = "".join(one for one in POLICY.splitlines(keepends=True) if "name: eks" not in one)
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "prod.yaml").write_text(without.format(namespace=aws.cluster.namespace))
    line.done("hold", "spot", "--reason", "recovering", "--policy", policies, *here)
    assert aws.account.groups[REGION, "spot"].tags["reconciler.dev/hold"] == "recovering"
    held = line.json("plan", "--policy", policies, *here)
    assert "recovering" in str([one["reasons"] for one in held["groups"] if one["name"] == "spot"])
    assert (groups(held)["spot"], groups(held)["empty"]) == (1, 2)
    assert "was held: recovering" in line.done("hold", "spot", "--release", "--policy", policies, *here).stdout

    found = line.json("preview", "--base-dir", policies, "--head-dir", tmp_path / "without", *here)
    gone = [pair["before"] for pair in found["decision"]["groups"] if pair["after"] is None]
    assert {line["name"]: line["current"] for line in gone} == {"spot": 1, "empty": 0}


def test_doctor_goes_on_where_aws_says_no(aws: AwsCloud, control_plane: ControlPlane, policies: Path) -> None:
    """The right that is missing is a check of its own that fails, and all other checks are made all the same."""
    denied = ServiceError("AccessDenied", "User: x is not authorized to perform: autoscaling:DescribeAutoScalingGroups", 403)
    aws.account.faults["DescribeAutoScalingGroups"] = [denied for _ in range(20)]
    line = CommandLine(control_plane.kubeconfig)
    done = line.run("doctor", "--policy", policies, "--target-namespace", aws.cluster.namespace, "-o", "json")
    assert done.exception is None, done.output
    assert done.return_value == 1
    checks = json.loads(done.stdout)["checks"]
    failed = [one for one in checks if one["code"] == "AWSRight" and one["state"] == "Fail"]
    assert ["autoscaling:DescribeAutoScalingGroups" in one["message"] for one in failed] == [True]
    assert '"Action": "autoscaling:DescribeAutoScalingGroups"' in failed[0]["advice"]
    assert {"ServerVersion", "Rights", "Clock", "OtherAutoscalers"} <= {one["code"] for one in checks}
    assert "left out" in done.stderr
