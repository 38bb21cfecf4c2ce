"""Every invariant can fail: a product that is broken in one way breaks one of them."""

from typing import Any
from unittest import mock

import msgspec
import pytest

from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_port import LivePort
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.memory import Memory
from reconciler.decisions.situation.backoff import BackoffRule
from reconciler.kube.drain import DrainStep, NodeDrain
from reconciler.platforms.crusoe.writing import account
from reconciler.platforms.crusoe.writing.polling import CrusoePoll
from tests.virtual import judge
from tests.virtual.clouds.aws import AwsCloud
from tests.virtual.story import PLATFORMS, Happening, Story
from tests.virtual.world import World

FOUR, TWO, ONE = Happening(10, "pods", amount=4), Happening(10, "pods", amount=2), Happening(300, "pods", amount=1)


def wrong(platform: str, *happenings: Happening, **rest: Any) -> str:
    """What goes wrong in this world."""
    return "; ".join(World(Story(platform=platform, happenings=happenings, **rest)).run())


@pytest.mark.parametrize("platform", PLATFORMS)
def test_nothing_is_wrong_with_the_product(platform: str) -> None:
    assert wrong(platform, FOUR, ONE) == ""


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_drain_that_evicts_nothing(platform: str) -> None:
    """Two nodes with a pod each that fits on the other."""
    story = Happening(10, "pods", 2, 2), Happening(100, "pods", 7, 1), Happening(300, "pods", 2, 1)
    with mock.patch.object(NodeDrain, "step", return_value=DrainStep(remaining=0)):
        told = wrong(platform, *story)
    assert "ends with ['" in told
    assert wrong(platform, *story) == ""


def test_a_loop_that_asks_for_too_much() -> None:
    resize = LivePort.resize
    with mock.patch.object(LivePort, "resize", lambda self, target, replicas, bound: resize(self, target, replicas + 9, bound)):
        assert "spot was sized 13, and may have 8" in wrong("clusterapi", FOUR)
        assert "nodes were asked for, and there may be 10" in wrong("clusterapi", FOUR, most_nodes=10)


def test_a_loop_that_adds_nothing() -> None:
    with mock.patch.object(ControlLoop, "_actuate", return_value=()):
        assert "though ['spot', 'general', 'general-b'] have room and stock" in wrong("openshift", FOUR)


def test_a_hold_for_good() -> None:
    story = FOUR, Happening(200, "by hand", 0, 2)
    assert wrong("clusterapi", *story) == ""
    policy_text = World._policy_text
    with mock.patch.object(
        World, "_policy_text", lambda self: policy_text(self).replace("humanHoldTime: 3m", "humanHoldTime: 24h")
    ):
        assert "spot is held since" in wrong("clusterapi", *story)


def test_a_loop_that_forgets() -> None:
    """Machines come smaller than they are said to be; what the loop has learned of it is lost every time."""
    story = Happening(1, "template", 0, 1), Happening(1, "template", 2, 1), Happening(1, "template", 4, 1), FOUR
    assert wrong("clusterapi", *story) == ""
    load = LiveMemoryStore.load

    def forgetful(self: LiveMemoryStore) -> Memory:
        return msgspec.structs.replace(load(self), refuted={}, purchases={}, promised={}, backoffs={}, probes={})

    with mock.patch.object(LiveMemoryStore, "load", forgetful):
        assert "were bought for nothing for web" in wrong("clusterapi", *story)


def test_a_loop_that_asks_all_the_time() -> None:
    with mock.patch.object(CrusoePoll, "_pause_seconds", return_value=0.2):
        assert "calls in a minute" in wrong("crusoe", FOUR)


def test_a_loop_that_asks_for_what_is_denied() -> None:
    denied = Happening(5, "denied", seconds=300)
    assert wrong("clusterapi", denied, FOUR) == ""
    with mock.patch.object(BackoffRule, "wait_seconds", return_value=1):
        assert "was denied 5 times in a minute" in wrong("clusterapi", denied, FOUR)


def test_writes_without_an_answer() -> None:
    """None of them is done, and nobody asks more often for that."""
    assert wrong("crusoe", Happening(5, "refused", amount=20), FOUR) == ""
    with mock.patch.object(account, "_UNANSWERED_SECONDS", 0):
        assert "calls in a minute" in wrong("crusoe", Happening(5, "refused", amount=80), FOUR)


def test_a_memory_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "MOST_STATE_BYTES", 20)
    assert "the memory has" in wrong("crusoe", FOUR)


def test_machines_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn ends one of them."""

    def turned(self: World, _: LoopReport) -> None:
        assert isinstance(self.cloud, AwsCloud)
        self.cloud._strangers.desired = 1

    monkeypatch.setattr(World, "_turned", turned)
    assert "of others ends" in wrong("aws", FOUR)
