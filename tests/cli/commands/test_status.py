"""`reconciler status` of one loop: its exit codes for alerts, and a name that no loop has."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from reconciler.cli.commands import status
from reconciler.cli.inputs import live_inputs
from reconciler.cli.inputs.policy_state import policy_with_state
from reconciler.cli.outputs.failure import InputError
from reconciler.control.live import loop_status
from reconciler.rendering.printers.text import status as status_words
from tests.kube.api_server import FakeApiServer

SPACE = "reconciler"


def _exit(monkeypatch: pytest.MonkeyPatch, *, leads: bool, old: str, refused: bool) -> int:
    document = SimpleNamespace(
        leader=SimpleNamespace(leads=leads, not_decided_since=old), policy_in_force=SimpleNamespace(refused=refused)
    )
    live = SimpleNamespace(connections=SimpleNamespace(management=_server()), world=lambda **_: SimpleNamespace(targets=()))
    monkeypatch.setattr(live_inputs, "LiveInputs", lambda *_, **__: live)
    monkeypatch.setattr(loop_status, "loop_status", lambda *_: document)
    monkeypatch.setattr(status_words, "status_text", lambda _: "")
    result = CliRunner().invoke(status.command, ["--namespace", SPACE, "--name", "prod"], standalone_mode=False)
    assert result.exception is None, result.output
    return int(result.return_value)


def _server() -> FakeApiServer:
    """A namespace in which the loop of policy `prod` keeps state, and that of `young` has a Lease alone."""
    server = FakeApiServer()
    labels = {"reconciler.dev/state": "prod"}
    server.put(f"/api/v1/namespaces/{SPACE}/configmaps/reconciler-state-prod", {"metadata": {"labels": labels}})
    server.put(f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/reconciler-young", {"metadata": {}, "spec": {}})
    return server


@pytest.mark.parametrize(
    ("leads", "old", "refused", "code"),
    [
        (True, "", False, 0),
        (False, "", False, 5),
        (True, "2027-01-15T11:00:00Z", False, 5),
        (True, "", True, 6),
        (False, "", True, 5),
    ],
    ids=["well", "no leader", "old decision", "refused policy", "no leader and refused"],
)
def test_the_exit_code_is_for_alerts(leads: bool, old: str, refused: bool, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """5: nobody decides, which comes first; 6: a newer policy is refused."""
    assert _exit(monkeypatch, leads=leads, old=old, refused=refused) == code


def test_a_name_that_no_loop_has_is_an_error_with_the_nearest_one() -> None:
    """One with a letter less is meant for the one that is there."""
    with pytest.raises(InputError, match=r"no loop of a policy prd has kept state in namespace reconciler\. .*prod"):
        policy_with_state(_server(), SPACE, "prd")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["prod", "young"])
def test_a_loop_with_state_or_a_lease_is_known(name: str) -> None:
    """A young loop has stored nothing yet."""
    assert policy_with_state(_server(), SPACE, name) == name  # type: ignore[arg-type]
