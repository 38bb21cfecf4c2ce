"""What `reconciler run` says when it cannot begin: one sentence, exit code 1, no trace."""

from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.live.reconciler_process import policy_text, user
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import ControlPlane


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text("prod", "default", {"general": (0, 9)}))
    return file


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What it says before it gives up."""
    assert guarded(cli, ["run", "--once", *map(str, arguments)]) == 1
    return capsys.readouterr().err


def test_no_cluster_at_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, policy: Path, tmp_path: Path
) -> None:
    """No file, no variable, no pod."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert said(capsys, "--policy", policy).startswith("error: no cluster configured: --kubeconfig and KUBECONFIG are not set")


def test_a_policy_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Found before any cluster is asked."""
    assert "nowhere: no such file or directory" in said(capsys, "--policy", "nowhere")


def test_an_invalid_policy_is_shown_with_its_places(
    capsys: pytest.CaptureFixture[str], cluster_api: ClusterApi, control_plane: ControlPlane, policy: Path
) -> None:
    """As `validate` shows it: file, line, column."""
    policy.write_text(policy.read_text().replace("mode: Enforce", "mode: Enforcing"))
    told = said(capsys, "--policy", policy, "--kubeconfig", user(control_plane, "input-policy"), "--namespace=default")
    assert "policy.yaml:5:9" in told
    assert told.splitlines()[-1].startswith(f"error: {policy}: ")


def test_an_unknown_context(capsys: pytest.CaptureFixture[str], control_plane: ControlPlane, policy: Path) -> None:
    """The contexts that there are."""
    told = said(capsys, "--policy", policy, "--kubeconfig", control_plane.kubeconfig, "--context=prod")
    assert 'unknown context "prod". Choose one of: testbed' in told


def test_a_user_without_rights(
    capsys: pytest.CaptureFixture[str], cluster_api: ClusterApi, control_plane: ControlPlane, policy: Path
) -> None:
    """The first thing that it may not do, and where the roles are."""
    told = said(capsys, "--policy", policy, "--kubeconfig", control_plane.kubeconfig_of("input-nobody"))
    assert "this user may not list nodes. The roles in examples/deploy allow it" in told


def test_a_namespace_that_is_not_there(
    capsys: pytest.CaptureFixture[str], cluster_api: ClusterApi, control_plane: ControlPlane, policy: Path
) -> None:
    """No Lease could be made in it, and nobody would ever lead."""
    told = said(capsys, "--policy", policy, "--kubeconfig", user(control_plane, "input-place"), "--namespace=elsewhere")
    assert "namespace elsewhere not found. Name the reconciler's namespace with --namespace" in told


def test_a_cluster_without_cluster_api(
    capsys: pytest.CaptureFixture[str], control_plane: ControlPlane, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such group: nothing could be scaled."""
    monkeypatch.setenv("CAPI_GROUP", "absent.example.org")
    told = said(capsys, "--policy", policy, "--kubeconfig", user(control_plane, "input-absent"))
    assert "has nothing whose replicas could be changed" in told
    assert "--management-kubeconfig" in told
