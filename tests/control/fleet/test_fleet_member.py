"""The loop of one cluster in a fleet: connecting, swapping views, ending at any moment, and letting go when it is stuck."""

import io
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from reconciler.control.fleet import member as module
from reconciler.control.fleet.member import Member, MemberState
from reconciler.control.log import Log
from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.connection.connection_choice import ConnectionConfigError
from reconciler.kube.connection.workload_connection import Rotation
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.values.cluster_identity import ClusterIdentity
from tests.control.fleet_doubles import HOME, TIMING, Connection, Fleet, InstanceApi, Process
from tests.kube.cluster import eventually

EAST = ClusterIdentity(name="east", namespace="infra", labels=(("ring", "0"),))
MOVED = ClusterIdentity(name="east", namespace="infra", labels=(("ring", "1"),))
NAME = LoopName("fleet", "infra", "east")
SECONDS = 30.0


class Scene:
    """A member, and what it opened so far. `faults` are raised by the next connections."""

    def __init__(self) -> None:
        self.text = io.StringIO()
        self.fleet = Fleet(self.text, "east")
        self.api = InstanceApi(self.fleet.server)
        self.faults: list[Exception] = []
        self.connections: list[Connection] = []
        self.made: list[Process] = []
        self.complete = True
        self.lease = self.claim("a_1")
        assert self.lease.step()
        self.member = Member(
            NAME, EAST, self.lease, connect=self._connect, make=self._make, log=Log(self.text, lambda: 0), timing=TIMING,
        )  # fmt: skip

    def claim(self, identity: str) -> LeaderLease:
        return LeaderLease(
            self.api, namespace=HOME, name=NAME.lease, identity=identity, pace=RealPace(), wall_seconds=time.time, timing=TIMING,
            metadata={"labels": NAME.labels},
        )  # fmt: skip

    def _connect(self, cluster: ClusterIdentity) -> Connection:
        if self.faults:
            raise self.faults.pop(0)
        self.connections.append(Connection())
        return self.connections[-1]

    def _make(self, name: LoopName, cluster: ClusterIdentity, connection: Any, lease: LeaderLease, log: Log) -> Process:
        made = Process(self.api, name, cluster, lease)
        if self.made and not self.complete:
            made.view.complete.clear()
        self.made.append(made)
        return made

    def turning(self, number: int = 0) -> None:
        eventually(lambda: len(self.made) > number and self.made[number].turns > 0, "a turn", SECONDS)


@contextmanager
def scene() -> Iterator[Scene]:
    made = Scene()
    try:
        yield made
    finally:
        for process in made.made:
            process.stuck.clear()
        made.member.stop(handed_over=True)


def test_it_connects_again_until_the_cluster_answers() -> None:
    """The Lease is kept meanwhile, the problem is told once, and is none once it answers."""
    with scene() as made:
        made.faults = [UnreachableError("away"), ConnectionConfigError("the Secret has no key 'value'")]
        made.member.start()
        eventually(lambda: "no key" in made.member.problem, "the second fault", SECONDS)
        assert made.member.state is MemberState.CONNECTING
        made.turning()
        assert (made.member.problem, made.member.state) == ("", MemberState.RUNNING)
        assert made.text.getvalue().count('"ClusterUnreachable"') == 2
        assert made.fleet.wrong == []


def test_the_old_view_decides_until_the_new_one_is_complete() -> None:
    with scene() as made:
        made.member.start()
        made.turning()
        made.complete = False
        made.connections[0].rotations = [Rotation.MOVED]
        look = threading.Thread(target=made.member.look, args=(EAST,))
        look.start()
        eventually(lambda: len(made.made) == 2, "the new view", SECONDS)
        turns = made.made[0].turns
        eventually(lambda: made.made[0].turns > turns + 2, "turns of the old one", SECONDS)
        assert made.made[1].said == ["follow"]
        made.made[1].view.complete.set()
        look.join()
        made.turning(1)
        assert made.made[0].said == ["start", "stop True", "ended"]
        assert made.made[1].said == ["follow", "start"]


@pytest.mark.parametrize(("fault", "problem"), [
    (UnreachableError("nobody there"), "nobody there"), (msgspec.DecodeError("no JSON"), "DecodeError: no JSON"),
])  # fmt: skip
def test_a_new_address_that_does_not_answer_changes_nothing(fault: Exception, problem: str) -> None:
    """The old one decides on, and the problem says why."""
    with scene() as made:
        made.member.start()
        made.turning()
        made.connections[0].rotations = [Rotation.MOVED]
        made.faults = [fault]
        made.member.look(EAST)
        assert made.member.problem == problem
        turns = made.made[0].turns
        eventually(lambda: made.made[0].turns > turns, "its turns", SECONDS)


def test_other_labels_are_used_by_a_new_process() -> None:
    with scene() as made:
        made.member.start()
        made.turning()
        made.member.look(MOVED)
        made.turning(1)
        assert (made.made[1].cluster, made.member.cluster) == (MOVED, MOVED)
        made.member.look(MOVED)
        assert len(made.made) == 2


def test_new_credentials_need_no_new_view() -> None:
    with scene() as made:
        made.member.start()
        made.turning()
        made.connections[0].rotations = [Rotation.SWAPPED, Rotation.UNREAD]
        made.connections[0].message = "the Secret cannot be read"
        made.member.look(EAST)
        assert made.member.problem == "the Secret cannot be read"
        made.member.look(EAST)
        assert len(made.made) == 1


def test_an_end_at_any_moment_ends_everything_that_was_begun() -> None:
    """While it connects, decides or swaps: nothing follows the cluster afterwards, and the Lease is free."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(40):
        made = Scene()
        made.complete = chance.random() < 0.5
        made.faults = [UnreachableError("away")] if chance.random() < 0.2 else []
        made.member.start()
        looks = [threading.Thread(target=made.member.look, args=(one,)) for one in (MOVED,)]
        time.sleep(chance.random() * 0.05)
        for look in looks:
            look.start()
        time.sleep(chance.random() * 0.05)
        made.member.stop(handed_over=True)
        for look in looks:
            look.join()
        for process in made.made:
            assert process.stopped.is_set(), process.said
            assert "start" not in process.said or process.said.index("start") < process.said.index("stop True"), process.said
        assert set(made.fleet.holders().values()) == {""}
        assert made.fleet.wrong == []


def test_a_view_that_waits_to_take_over_ends_with_the_rest() -> None:
    """The end comes after the new view was chosen, and before the loop has taken it."""
    with scene() as made:
        made.member.start()
        made.turning()
        first = made.made[0]
        chosen, goes_on = threading.Event(), threading.Event()
        plain = first.stop

        def stop(*, handed_over: bool = False) -> None:
            chosen.set()
            goes_on.wait(SECONDS)
            plain(handed_over=handed_over)

        first.stop = stop  # type: ignore[method-assign]
        look = threading.Thread(target=made.member.look, args=(MOVED,))
        look.start()
        assert chosen.wait(SECONDS)
        end = threading.Thread(target=made.member.stop, kwargs={"handed_over": True})
        end.start()
        eventually(made.member._over.is_set, "the end", SECONDS)
        goes_on.set()
        end.join()
        look.join()
        assert made.made[1].said == ["follow", "stop True"]


def test_a_stuck_loop_lets_others_take_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after it has stopped to lead: it does not claim the Lease again before it has run out for others."""
    monkeypatch.setattr(module, "STUCK_SECONDS", 0.5)
    with scene() as made:
        made.member.start()
        made.turning()
        assert made.member.stuck_seconds() == 0
        made.made[0].stuck.set()
        other = made.claim("b_1")
        eventually(other.step, "another leader", 10)
        assert "LoopStuck" in made.text.getvalue()
        time.sleep(0.6)
        assert made.member.stuck_seconds() >= 1
        assert made.fleet.wrong == []


def test_a_stuck_loop_that_nobody_takes_goes_on_once_it_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only instance: it leads again, and is no longer stuck after its next turn."""
    monkeypatch.setattr(module, "STUCK_SECONDS", 0.5)
    with scene() as made:
        made.member.start()
        made.turning()
        made.made[0].stuck.set()
        eventually(lambda: "LoopStuck" in made.text.getvalue() and not made.lease.leads(), "its letting go", SECONDS)
        turns = made.made[0].turns
        made.made[0].stuck.clear()
        eventually(lambda: made.made[0].turns > turns and made.member.stuck_seconds() == 0, "its next turn", SECONDS)


def test_a_loop_that_could_not_renew_is_not_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not turn because it did not lead: when the server is back, it renews at once."""
    monkeypatch.setattr(module, "STUCK_SECONDS", 1.0)
    with scene() as made:
        made.member.start()
        made.turning()
        made.api.killed = True
        eventually(lambda: not made.lease.leads(), "the end of the Lease", SECONDS)
        time.sleep(1.5)
        made.api.killed = False
        turns = made.made[0].turns
        eventually(lambda: made.made[0].turns > turns, "a turn", SECONDS)
        assert made.member.stuck_seconds() == 0
        assert "LoopStuck" not in made.text.getvalue()
