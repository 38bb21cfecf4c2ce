"""`apply` on a real API server: what the plan says is done, its drains are seen to their end, and nobody else leads."""

import json
from pathlib import Path

import pytest

from tests.live.command_line import CommandLine
from tests.live.reconciler_process import Reconciler, policy_text
from tests.testbed.api import path_of
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster, replicas_owners


@pytest.fixture
def command_line(control_plane: ControlPlane) -> CommandLine:
    return CommandLine(control_plane.kubeconfig)


class Saved:
    """A policy over one group of a Cluster, and the plan made of it."""

    def __init__(
        self, command_line: CommandLine, cluster: WorkCluster, directory: Path, sizes: tuple[int, int], unneeded: str = "1h"
    ) -> None:
        self._command_line = command_line
        self.policy = directory / "policies"
        self.policy.mkdir()
        text = policy_text(cluster.namespace, cluster.namespace, {"general": sizes}, unneeded=unneeded)
        (self.policy / "policy.yaml").write_text(text)
        self.where = ("--policy", self.policy, "--target-namespace", cluster.namespace, "--namespace", cluster.namespace)
        self.file = directory / "plan.json"
        command_line.done("plan", *self.where, "--out", self.file, "--no-settled")

    def kinds(self) -> list[str]:
        """What the plan does, in its order."""
        return [action["kind"] for action in json.loads(self.file.read_text())["actions"]]


def test_a_group_is_taken_over_and_grown(new_cluster: NewCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """Two actions of one plan on one target, the second judged on what the first left; the Lease is given back."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=0))
    saved = Saved(command_line, cluster, tmp_path, (2, 5))
    assert saved.kinds() == ["Adopt", "Resize"]
    document = command_line.json("apply", saved.file, *saved.where)
    assert [(action["kind"], action["state"]) for action in document["actions"]] == [("Adopt", "Done"), ("Resize", "Done")]
    written = cluster.api.get(path_of(group))
    assert written["spec"]["replicas"] == 2
    assert replicas_owners(written) == [("nodegroup-reconciler", "Apply", "")]
    lease = cluster.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{cluster.namespace}/leases/reconciler-{cluster.namespace}")
    assert not lease["spec"].get("holderIdentity")


def test_a_removal_is_seen_to_its_end(new_cluster: NewCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """The node of the plan, and no other, is gone when the command has ended; progress stood on stderr."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=2))
    before = {node["metadata"]["name"] for node in cluster.until_nodes(2)}
    saved = Saved(command_line, cluster, tmp_path, (1, 5), unneeded="0s")
    assert saved.kinds() == ["Adopt", "RemoveNode"]
    (leaving,) = (name for action in json.loads(saved.file.read_text())["actions"] for name in action["nodes"])
    result = command_line.done("apply", saved.file, *saved.where)
    assert f"node {leaving}: drained, its machine is being deleted" in result.stderr
    (left,) = cluster.until_nodes(1)
    assert {left["metadata"]["name"]} == before - {leaving}
    assert not any(taint["key"].startswith("reconciler.dev/") for taint in left["spec"].get("taints") or ())
    assert cluster.api.get(path_of(group))["spec"]["replicas"] == 1


def test_while_a_loop_leads_nothing_is_written(
    new_cluster: NewCluster, control_plane: ControlPlane, command_line: CommandLine, tmp_path: Path
) -> None:
    """The refusal names who leads and what to do."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=0))
    saved = Saved(command_line, cluster, tmp_path, (2, 5))
    (saved.policy / "policy.yaml").write_text((saved.policy / "policy.yaml").read_text().replace("Enforce", "Observe"))
    kubeconfig = control_plane.kubeconfig_of("loop", "system:masters")
    with Reconciler(kubeconfig, saved.policy, f"--namespace={cluster.namespace}", "--lease-duration=60") as process:
        process.said("Leading")
        said = command_line.refused("apply", saved.file, *saved.where)
    assert f"leads for policy {cluster.namespace}" in said
    assert "--read-only" in said
    assert cluster.api.get(path_of(group))["spec"]["replicas"] == 0


def test_what_has_moved_is_refused(new_cluster: NewCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """Somebody scaled it to 3 in between: exit code 1, the reason says so, and 3 stays."""
    cluster = new_cluster()
    group = cluster.machine_deployment(Group("general", replicas=0))
    saved = Saved(command_line, cluster, tmp_path, (2, 5))
    cluster.api.scale(group, 3)
    result = command_line.run("apply", saved.file, *saved.where)
    assert result.return_value == 1
    assert "not done" in result.stdout
    assert cluster.api.get(path_of(group))["spec"]["replicas"] == 3


def test_a_plan_of_another_cluster_is_a_mix_up(new_cluster: NewCluster, command_line: CommandLine, tmp_path: Path) -> None:
    """A plan of the example is not carried out here."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("general", replicas=0))
    saved = Saved(command_line, cluster, tmp_path, (2, 5))
    (saved.policy / "policy.yaml").write_text((saved.policy / "policy.yaml").read_text().replace(cluster.namespace, "other"))
    assert "the plan is for policy" in command_line.refused("apply", saved.file, *saved.where)
