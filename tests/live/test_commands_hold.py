"""`hold` and `status` on a real API server."""

import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reconciler.cli.main import cli
from reconciler.values.instant import instant_text
from tests.live.command_line import CommandLine
from tests.live.reconciler_process import Reconciler, policy_text
from tests.testbed.api import path_of
from tests.testbed.cluster_documents import Group
from tests.testbed.control_plane import ControlPlane
from tests.testbed.fixtures import NewCluster
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
HOLD = "reconciler.dev/hold"


@pytest.fixture
def command_line(control_plane: ControlPlane) -> CommandLine:
    return CommandLine(control_plane.kubeconfig)


@pytest.fixture
def policy(tmp_path: Path, paused: WorkCluster, name: str) -> Path:
    (tmp_path / "policy.yaml").write_text(policy_text("hold", paused.namespace, {name: (1, 5)}))
    return tmp_path / "policy.yaml"


@pytest.fixture
def deployment(paused: WorkCluster, name: str) -> Object:
    return paused.machine_deployment(Group(name, replicas=2, annotations={"example.com/mine": "stays"}))


def annotations(paused: WorkCluster, item: Object) -> Object:
    found: Object = paused.api.get(path_of(item))["metadata"].get("annotations", {})
    return found


def test_a_hold_is_written_and_released_and_replicas_stay(
    paused: WorkCluster, deployment: Object, name: str, command_line: CommandLine, policy: Path
) -> None:
    """The plan says the group is held with the reason; afterwards the object is as before, annotations and replicas."""
    before = paused.api.get(path_of(deployment))
    command_line.done("hold", name, "--reason", "recovering node 3", "--policy", policy)
    held = annotations(paused, deployment)
    assert held[HOLD] == "recovering node 3"
    (line,) = command_line.json("plan", "--policy", policy, "--target-namespace", paused.namespace, "--no-settled")["groups"]
    assert "recovering node 3" in str(line["reasons"])
    text = command_line.done("hold", name, "--release", "--policy", policy).stdout
    assert "was held: recovering node 3" in text
    after = paused.api.get(path_of(deployment))
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert after["spec"] == before["spec"]


def test_only_the_annotation_is_ours(
    paused: WorkCluster, deployment: Object, name: str, command_line: CommandLine, policy: Path
) -> None:
    """Our manager owns one field, and the annotation of somebody else stays theirs."""
    command_line.done("hold", name, "--reason", "x", "--policy", policy)
    entries = paused.api.get(path_of(deployment))["metadata"]["managedFields"]
    (ours,) = (entry for entry in entries if entry["manager"] == "nodegroup-reconciler")
    assert ours["fieldsV1"] == {"f:metadata": {"f:annotations": {f"f:{HOLD}": {}}}}


def test_a_hold_ends_by_itself(
    paused: WorkCluster, deployment: Object, name: str, command_line: CommandLine, policy: Path
) -> None:
    """Two hours from now it is written as an instant; the plan of a moment after it names it no more."""
    command_line.done("hold", name, "--reason", "freeze", "--until", "2h", "--policy", policy)
    text = annotations(paused, deployment)[HOLD]
    assert text.startswith("freeze; until 20")
    arguments = ("plan", "--policy", policy, "--target-namespace", paused.namespace, "--no-settled")
    (now,) = command_line.json(*arguments)["groups"]
    (later,) = command_line.json(*arguments, "--now", instant_text(int(time.time()) + 7300))["groups"]
    # The Cluster of these tests is paused, which holds as well.
    assert ("freeze" in str(now["reasons"]), "freeze" in str(later["reasons"])) == (True, False)


def test_a_release_of_what_nobody_holds_says_so(deployment: Object, name: str, command_line: CommandLine, policy: Path) -> None:
    """It is no error: the group is as asked."""
    found = command_line.json("hold", name, "--release", "--policy", policy)
    assert (found["complete"], found["groups"][0]["state"]) == (True, "Unchanged")


def test_all_groups_of_the_policy(paused: WorkCluster, command_line: CommandLine, tmp_path: Path, name: str) -> None:
    """--all names every group of the policy and no other target."""
    made = [paused.machine_deployment(Group(f"{name}-{letter}", replicas=0)) for letter in "abc"]
    file = tmp_path / "two.yaml"
    file.write_text(policy_text("hold", paused.namespace, {f"{name}-a": (0, 5), f"{name}-b": (0, 5)}))
    command_line.done("hold", "--all", "--reason", "freeze", "--policy", file)
    assert [HOLD in annotations(paused, item) for item in made] == [True, True, False]


def test_a_topology_gets_lines_for_its_cluster_and_no_write(
    new_cluster: NewCluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """The lines are those that, written on the Cluster, arrive at the MachineDeployment as a hold."""
    cluster = new_cluster(topology=[Group("workers", replicas=0)])
    group = cluster.topology_deployment("workers")
    kubeconfig = control_plane.kubeconfig_of("holder", "system:masters")
    command_line = CommandLine(kubeconfig)
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("hold", cluster.namespace, {group["metadata"]["name"]: (0, 5)}))
    result = command_line.run("hold", "--all", "--reason", "freeze", "--policy", file)
    assert result.return_value == 1
    assert "spec.topology.workers.machineDeployments[name=workers]" in " ".join(result.stdout.split())
    assert f'    {HOLD}: "freeze"\n' in result.stdout
    assert control_plane.audit("holder") == []
    cluster.set_topology(Group("workers", replicas=0, annotations={HOLD: "freeze"}))
    cluster.until(group, lambda item: HOLD in item["metadata"].get("annotations", {}), "the annotation arriving")
    assert command_line.json("hold", "--all", "--reason", "freeze", "--policy", file)["groups"][0]["state"] == "Unchanged"


def test_words_that_are_missing(command_line: CommandLine) -> None:
    """A hold has a reason, an end that lies ahead, and a group; each error says what to write."""
    assert "--reason" in command_line.refused("hold", "a")
    assert "--all" in command_line.refused("hold", "--reason", "x")
    assert "over already" in command_line.refused("hold", "a", "--reason", "x", "--until", "2020-01-01T00:00:00Z")
    assert "write 2h" in command_line.refused("hold", "a", "--reason", "x", "--until", "2 hours")


def test_an_unknown_group_is_named(deployment: Object, name: str, command_line: CommandLine, policy: Path) -> None:
    """With a did-you-mean."""
    assert name in command_line.refused("hold", f"{name}x", "--reason", "x", "--policy", policy)


def test_status_of_a_loop_that_ran(
    new_cluster: NewCluster, control_plane: ControlPlane, command_line: CommandLine, tmp_path: Path
) -> None:
    """Leader while it runs, nobody afterwards; its groups with replicas, and the policy that was in force."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("general", replicas=0))
    directory = tmp_path / "policies"
    directory.mkdir()
    (directory / "policy.yaml").write_text(policy_text("watched", cluster.namespace, {"general": (0, 3)}))
    where = ("--namespace", cluster.namespace)
    with Reconciler(control_plane.kubeconfig, directory, f"--namespace={cluster.namespace}") as process:
        process.said("Plan")
        running = command_line.json("status", *where, "--live", f"http://127.0.0.1:{process.port()}")
        process.signal(15)
        assert process.ended() == 0
    stopped = command_line.json("status", *where)
    assert (running["policy"], running["leader"]["leads"], stopped["leader"]["leads"]) == ("watched", True, False)
    assert running["plan"]["summary"] in {line["message"] for line in process.lines if line["code"] == "Plan"}
    (group,) = stopped["groups"]
    assert (group["name"], group["replicas"], group["held"]) == ("general", 0, False)
    assert stopped["policyInForce"]["source"]
    assert "nobody" in command_line.done("status", *where).stdout


def test_explain_by_the_running_loop(
    new_cluster: NewCluster, control_plane: ControlPlane, command_line: CommandLine, tmp_path: Path
) -> None:
    """The loop answers about its last plan, in words and as JSON; a group that it does not know is an error that names it."""
    cluster = new_cluster()
    cluster.machine_deployment(Group("general", replicas=0))
    (tmp_path / "policy.yaml").write_text(policy_text("asked", cluster.namespace, {"general": (0, 3)}))
    with Reconciler(control_plane.kubeconfig, tmp_path, f"--namespace={cluster.namespace}") as process:
        process.said("Plan")
        url = f"http://127.0.0.1:{process.port()}"

        def ask(*words: str) -> Any:
            return CliRunner().invoke(cli, ["explain", "group", *words, "--live", url], standalone_mode=False)

        assert "general" in ask("general").stdout
        assert '"what": "group"' in ask("general", "-o", "json").stdout
        assert "no group 'nothing'" in str(ask("nothing").exception)
