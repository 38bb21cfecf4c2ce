"""Which loop tells on which objects: every one that may write, whatever its policy comes from."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from reconciler.cli.inputs.connections import ConnectionChoice
from reconciler.cli.processes import live_loop
from reconciler.control.live import live_process
from reconciler.control.log import Log
from reconciler.control.policy.status_beside import StatusBeside
from reconciler.gitops.sources.standing import Standing


class _Source:
    """A source that is no custom resources."""

    standing = Standing(source="git main")

    def follow(self, *_: object) -> "_Source":
        return self

    def missing(self) -> str:
        return "not read yet"


@pytest.mark.parametrize("once", [False, True])
def test_a_loop_on_git_tells_on_objects(monkeypatch: pytest.MonkeyPatch, *, once: bool) -> None:
    """From its first turn on; one turn alone ends before anything could be known of them."""
    made: list[Any] = []

    class Process:
        def __init__(self, settings: Any, _workload: object, management: object, source: Any, *_: object, **more: Any) -> None:
            self.source, self.state = source(None, lambda: 1), None
            made.append(more["objects"](management))

    monkeypatch.setattr(live_process, "LiveProcess", Process)
    loop = SimpleNamespace(
        record=None,
        namespace="reconciler", cluster_name="", read_only=True, period_seconds=10.0, drain_timeout_seconds=600,
        lease_seconds=15, beside_autoscaler=False, once=once,
    )  # fmt: skip
    api = SimpleNamespace(server="https://x")
    connections = SimpleNamespace(workload=api, management=api, served=())
    live_loop._process(loop, ConnectionChoice(), connections, _Source(), "prod", Log(io.StringIO(), lambda: 0))  # type: ignore[arg-type]
    (told,) = made
    assert isinstance(told, StatusBeside) is not once
