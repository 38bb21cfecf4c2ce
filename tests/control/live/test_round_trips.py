"""How often the loop waits for answers of the management cluster between a whole view and its first write."""

import threading
import time
from collections.abc import Mapping

import pytest

from reconciler.control.live.live_port import LivePort
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.kube.leading.rival import RivalWatch
from reconciler.kube.watching.live_world import IncompleteViewError
from reconciler.providers.contract import ViewUnavailableError
from tests.builders import NOW, ClusterBuilder
from tests.control.live.test_live_port import BOUND, GENERAL, Platform
from tests.kube.api_server import FakeApiServer

LATENCY_SECONDS = 0.3
"""Long enough for requests that begin at once to meet."""


class Far(FakeApiServer):
    """`rounds` is how many answers were waited for, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0
        self._answered = 0
        self._count = threading.Lock()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        with self._count:
            mine = self._answered + 1
        time.sleep(LATENCY_SECONDS)
        with self._count:
            self.rounds = self._answered = max(self._answered, mine)
        return super().get(path, query)


def test_from_the_view_to_the_write() -> None:
    """What is known beside the view is asked for at once, while the view is not there yet. Before a write, one more round."""
    server, now = Far(), [100.0]
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    platform = Platform(cluster.world())
    rivals = RivalWatch((server, server), ("reconciler", "prod"), monotonic=lambda: now[0], wall_seconds=lambda: now[0])
    others = OtherPolicies(server, "reconciler", "test", monotonic=lambda: now[0], wall_seconds=lambda: now[0])
    providers = {GENERAL.kind: platform}
    port = LivePort(
        platform, lambda: NOW, platform, providers, platform, "test",  # type: ignore[arg-type, dict-item]
        rivals=rivals.evidence, rivals_at_write=rivals.before_write, claims=others,
    )  # fmt: skip
    platform.errors["observe"] = IncompleteViewError("Pod: waiting")
    with pytest.raises(ViewUnavailableError):
        port.observe()
    assert (server.rounds, len(server.reads) > 10) == (1, True)
    platform.errors.clear()
    port.observe()
    assert server.rounds == 1
    now[0] += 5
    assert port.resize(GENERAL, 3, BOUND).done
    assert server.rounds == 2
