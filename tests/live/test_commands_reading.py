"""Commands that read a live cluster say what they say of a snapshot of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from tests.live.command_line import CommandLine
from tests.live.reconciler_process import policy_text
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import ControlPlane
from tests.testbed.work_cluster import WorkCluster

NAMESPACE = "reading"


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A group of one node, a pod that needs another."""
    made = WorkCluster(cluster_api.api, NAMESPACE)
    made.until_alone()
    group = Group("general", replicas=1, min_size=0, max_size=5)
    made.machine_deployment(group, Shape(labels={"test": NAMESPACE}, zone="z-a"))
    made.until_nodes(1)
    made.api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "giant", "namespace": NAMESPACE, "annotations": {"example.com/note": "s3cret"}},
            "spec": {
                "nodeSelector": {"test": "elsewhere"},
                "containers": [
                    {
                        "name": "c",
                        "image": "registry.example/s3cret",
                        "env": [{"name": "A", "value": "s3cret"}],
                        "resources": {"requests": {"cpu": "3"}},
                    }
                ],
            },
        }
    )
    yield made
    made.delete()


@pytest.fixture(scope="module")
def command_line(control_plane: ControlPlane) -> CommandLine:
    return CommandLine(control_plane.kubeconfig)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "policy.yaml").write_text(policy_text("read", NAMESPACE, {"general": (2, 5)}))
    return tmp_path / "policies"


def test_the_plan_of_a_live_cluster_is_that_of_its_snapshot(
    cluster: WorkCluster, command_line: CommandLine, policy: Path, tmp_path: Path
) -> None:
    """One node where at least two are wanted: both say 1 -> 2, and the same of every pod and node of the group."""

    def both() -> Object:
        command_line.done("snapshot", "--out", tmp_path / "s", "--target-namespace", NAMESPACE, "--force")
        return command_line.json("plan", "--policy", policy, "--target-namespace", NAMESPACE, "--no-settled")

    live = cluster.undisturbed(both)
    result = CommandLine(tmp_path / "none").run("plan", "--cluster", tmp_path / "s", "--policy", policy)
    assert "give one" in str(result.exception)
    words = ["plan", "--cluster", str(tmp_path / "s"), "--policy", str(policy), "--no-settled", "-o", "json"]
    stored = json.loads(CliRunner().invoke(cli, words, standalone_mode=False).stdout)
    (group,) = live["groups"]
    assert (group["current"], group["desired"]) == (1, 2)
    assert live["cluster"] == "testbed"
    for key in ("groups", "actions", "nodes"):
        assert stored[key] == live[key]


def test_a_snapshot_taken_twice_has_the_same_bytes(cluster: WorkCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """Targets of a cluster at rest, but for the instant."""

    def twice() -> list[dict[str, bytes]]:
        files = []
        for name in ("a", "b"):
            command_line.done("snapshot", "--out", tmp_path / name, "--target-namespace", NAMESPACE, "--force")
            files.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
        return files

    files = cluster.undisturbed(twice)
    assert files[0].keys() == files[1].keys()
    for kept in ("machinedeployments.json", "machines.json", "pods.json", "daemonsets.json"):
        assert files[0][kept] == files[1][kept]
    assert "MachineDeployment" in files[0]["snapshot.yaml"].decode()
    assert any(name.startswith("simmachinetemplates.") for name in files[0])


def test_a_redacted_snapshot_tells_no_secrets(cluster: WorkCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """Environment, image and note of the pod are in the capture, and gone from the redacted one, as is its name."""
    told = {}
    for name, more in (("plain", ()), ("redacted", ("--redact",))):
        command_line.done("snapshot", "--out", tmp_path / name, *more)
        told[name] = b"".join(path.read_bytes() for path in (tmp_path / name).iterdir())
    for secret in (b"s3cret", b'"giant"'):
        assert secret in told["plain"]
        assert secret not in told["redacted"]


def test_explain_of_a_live_pod(cluster: WorkCluster, command_line: CommandLine, policy: Path) -> None:
    """The selector that no group meets is named."""
    text = command_line.done("explain", "pod", f"{NAMESPACE}/giant", "--policy", policy).stdout
    assert "NodeAffinity" in text


def test_fit_of_a_live_pod(cluster: WorkCluster, command_line: CommandLine) -> None:
    """The real node refuses the pod by its selector alone."""
    (node,) = cluster.nodes()
    found = command_line.json("fit")
    (pod,) = (item for item in found["pods"] if item["pod"] == f"{NAMESPACE}/giant")
    (verdict,) = (item for item in pod["nodes"] if item["node"] == node["metadata"]["name"])
    assert verdict == {"node": verdict["node"], "fits": False, "reasons": ["NodeAffinity"]}


def test_drain_report_of_a_live_cluster(cluster: WorkCluster, command_line: CommandLine, policy: Path) -> None:
    """The node is empty: it may go at every threshold."""
    (node,) = cluster.nodes()
    text = command_line.done("drain-report", "--policy", policy).stdout
    assert node["metadata"]["name"] in text


def test_a_rollout_of_a_live_group_is_only_predicted(cluster: WorkCluster, command_line: CommandLine, policy: Path) -> None:
    """The webhook has written a surge of 1 and none unavailable. Afterwards, target and node are as they were."""

    def state() -> Object:
        deployment = cluster.api.read(
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineDeployment",
                "metadata": {"name": "general", "namespace": NAMESPACE},
            }
        )
        return {
            "spec": deployment["spec"],
            "annotations": deployment["metadata"]["annotations"],
            "node": cluster.nodes()[0]["spec"],
        }

    before = state()
    rollout = json.loads(command_line.done("plan", "--rollout", "gen", "--policy", policy, "-o", "json").stdout)
    (pace,) = (bound["reason"]["data"] for bound in rollout["bounds"] if bound["reason"]["code"] == "TargetPace")
    assert (pace["surge"], pace["unavailable"]) == (1, 0)
    assert [(wave["adds"], wave["nodes"]) for wave in rollout["waves"]] == [(1, [cluster.nodes()[0]["metadata"]["name"]])]
    assert state() == before


def test_no_kubeconfig_says_what_to_do(tmp_path: Path) -> None:
    """The message names the file and the way without a cluster."""
    said = CommandLine(tmp_path / "none").refused("plan")
    assert str(tmp_path / "none") in said
    assert "--cluster PATH" in said


def test_a_first_policy_from_a_live_cluster(cluster: WorkCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """The range is that of the annotations, the plan of it holds, and the group's owner is who wrote it."""
    command_line.done("init", "--out", tmp_path / "p", "--target-namespace", NAMESPACE)
    text = (tmp_path / "p" / "groups.yaml").read_text()
    assert "size: {min: 0, max: 5}" in text
    assert "nodes of 4 cpu, 16Gi memory" in text
    plan = command_line.json("plan", "--policy", tmp_path / "p", "--target-namespace", NAMESPACE, "--no-settled")
    assert [(group["name"], group["current"]) for group in plan["groups"]] == [("general", 1)]
