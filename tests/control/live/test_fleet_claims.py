"""What loops of a fleet read of each other, and options that do not go with a fleet."""

import json

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from reconciler.control.live.live_memory_store import PART
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.control.policy.stored_policy import LockedState
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.leading.state import StateObject
from tests.kube.api_server import FakeApiServer

HOME = "reconciler"
EAST, WEST = LoopName("fleet", "infra", "east"), LoopName("fleet", "infra", "west")


def claim(server: FakeApiServer, loop: LoopName, target: str) -> None:
    state = LockedState(StateObject(server, HOME, loop.text, loop.labels))  # type: ignore[arg-type]
    state.load(PART)
    state.save(
        PART, json.dumps({"knownGroups": {target: "workers"}, "claims": {target: {"number": 7, "written": True}}}).encode()
    )
    path = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{loop.lease}"
    spec = {"holderIdentity": "b_1", "leaseDurationSeconds": 15, "renewTime": "2027-01-15T08:00:00Z"}
    server.put(path, {"metadata": {"name": loop.lease, "namespace": HOME}, "spec": spec})


def known(server: FakeApiServer) -> list[tuple[str, str]]:
    others = OtherPolicies(server, HOME, EAST, monotonic=lambda: 0.0, wall_seconds=lambda: 1_800_000_000.0)
    return [(one.policy, one.target) for one in others.before_write()]


def test_states_of_other_clusters_are_not_read_for_targets_that_cannot_meet() -> None:
    """500 of them are large. Another policy of the same cluster, and a loop outside of the fleet, are read."""
    server = FakeApiServer()
    claim(server, WEST, "MachineDeployment infra/c")
    claim(server, LoopName("gpu", "infra", "east"), "MachineDeployment infra/a")
    claim(server, LoopName("prod"), "MachineDeployment infra/b")
    assert sorted(known(server)) == [
        ("gpu.infra.east", "MachineDeployment infra/a"), ("prod", "MachineDeployment infra/b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["--custom-resources"], ["--last-good=x"], ["--cluster-name=east"], ["--read-only"], ["--once"], ["--simulate"],
    ],
)  # fmt: skip
def test_options_for_one_cluster_do_not_go_with_a_fleet(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused before anything is connected to, by their names."""
    assert guarded(cli, ["run", "--fleet", *words]) == 1
    told = capsys.readouterr().err
    assert words[0].partition("=")[0] in told
    assert "--fleet" in told


@pytest.mark.parametrize("words", [["--name=fleet"], ["--cluster=infra/east"], ["--live=http://localhost:1"]])
def test_options_for_one_loop_do_not_go_with_the_status_of_a_fleet(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(cli, ["status", "--fleet", *words]) == 1
    assert f"leave {words[0].partition('=')[0]} out" in capsys.readouterr().err
