"""Two loops of two policies on one target that bears no mark: which of them writes, however their calls come in turn.

The server is in memory and unkind: before each call of one loop the other one may go on, drawn at random, and views of the target
are as old as it is drawn. State, Leases, decisions and ports are the real ones.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence, TargetRef
from reconciler.cluster.world import PolicyClaim, World
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.loop_status import loop_status
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.turn_report import LoopReport
from reconciler.decisions.memory import Claim
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.state import StateObject
from reconciler.plan.plan import Bound, GroupLine, OwnerState
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import Mode, PolicySet
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.values.instant import micro_instant_text
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.kube.api_server import FakeApiServer

SPACE = "reconciler"
GENERAL = machine_deployment("general")
FREE = OwnerEvidence()
OF_TOPOLOGY = OwnerEvidence(topology_owned=True, topology_deployment="general")


class Baton:
    """One of several threads runs at a time; at each `pass_on` the next one is drawn."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._changed = threading.Condition()
        self._alive: list[str] = []
        self._runs = ""

    def pass_on(self) -> None:
        """Somebody goes on, perhaps the caller."""
        with self._changed:
            name = threading.current_thread().name
            if name not in self._alive:
                return
            self._runs = self.random.choice(self._alive)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._runs == name)

    def run(self, **jobs: Callable[[], None]) -> None:
        """All of them, to their ends."""

        def work(name: str, job: Callable[[], None]) -> None:
            with self._changed:
                self._changed.wait_for(lambda: self._runs == name)
            try:
                job()
            except Exception as error:
                failed.append(error)
            finally:
                with self._changed:
                    self._alive.remove(name)
                    self._runs = self.random.choice(self._alive) if self._alive else ""
                    self._changed.notify_all()

        failed: list[Exception] = []
        threads = [threading.Thread(target=work, args=item, name=item[0]) for item in jobs.items()]
        self._alive = list(jobs)
        self._runs = self.random.choice(self._alive)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed


class Place:
    """The server with one MachineDeployment; `sizes` are its replicas at each version, `written` who wrote it."""

    def __init__(self, baton: Baton | None = None, owner: OwnerEvidence = OF_TOPOLOGY) -> None:
        self.baton = baton or Baton(0)
        self.owner = owner
        self.server = FakeApiServer()
        self.sizes = [0]
        self.written: list[str] = []
        self.renewing: tuple[str, ...] = ()
        """Policies whose Leases are renewed whoever turns."""
        self.now = 0.0
        self.away = False

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.baton.pass_on()
        if self.away:
            raise UnreachableError("gone")
        answer = self.server.get(path, query)
        self.baton.pass_on()
        return answer

    def write(self, method: str, path: str, body: object = None, **how: Any) -> bytes:
        self.baton.pass_on()
        answer = self.server.write(method, path, body, **how)
        self.baton.pass_on()
        return answer

    def lease(self, policy: str, *, holder: str | None = None, ago_seconds: float = 0) -> None:
        """The Lease of a policy as its holder renewed it."""
        renewed = micro_instant_text(NOW + self.now - ago_seconds)
        spec = {"holderIdentity": f"{policy}-0" if holder is None else holder, "leaseDurationSeconds": 15, "renewTime": renewed}
        body = {"metadata": {"name": f"reconciler-{policy}"}, "spec": spec}
        self.server.put(f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/reconciler-{policy}", body)

    def others(
        self, policy: str, saves: Callable[[], int] = lambda: 0, clock: Callable[[], float] | None = None
    ) -> OtherPolicies:
        return OtherPolicies(
            self, SPACE, policy, monotonic=clock or (lambda: self.now), wall_seconds=lambda: NOW + self.now, saves=saves  # type: ignore[arg-type]
        )  # fmt: skip


class Loop:
    """One policy's loop that wants `least` nodes there; view, policy, provider and drain at once."""

    def __init__(self, place: Place, name: str, least: int, *, looks: bool = True, mode: Mode = Mode.ENFORCE) -> None:
        self.place, self.name, self.least, self.mode = place, name, least, mode
        state = LockedState(StateObject(place, SPACE, name))  # type: ignore[arg-type]
        others = place.others(name, lambda: state.saves, lambda: self.now) if looks else None
        self.port = LivePort(
            self, lambda: NOW + int(place.now), self, {MACHINE_DEPLOYMENT: self}, self, name, claims=others  # type: ignore[arg-type]
        )  # fmt: skip
        self.loop = ControlLoop(self.port, self, LiveMemoryStore(state))
        self.reports: list[LoopReport] = []
        self.groups, self.seen = True, 0
        self.now = 0.0
        self.steps: tuple[int, ...] = (10,)
        """Its own clock, and how many seconds pass from turn to turn: what the other one has read does not age by it."""

    def turns(self, count: int) -> None:
        for _ in range(count):
            for name in {self.name, *self.place.renewing}:
                self.place.lease(name)
            passed = self.place.baton.random.choice(self.steps)
            self.place.now += passed
            self.now += passed
            self.reports.append(self.loop.turn())

    def line(self) -> GroupLine:
        plan = self.reports[-1].plan
        assert plan is not None, self.reports[-1].unavailable
        (line,) = plan.groups
        return line

    def observe(self) -> World:
        """The target as it was some versions ago, by chance; never older than the view before."""
        place = self.place
        place.baton.pass_on()
        cluster = ClusterBuilder(now=NOW + int(place.now))
        cluster.group("general", nodes=0)
        world = cluster.world()
        self.seen = max(self.seen, len(place.sizes) - 1 - place.baton.random.choice((0, 0, 0, 1, 2)))
        (facts,) = world.targets
        seen = msgspec.structs.replace(
            facts, replicas=place.sizes[self.seen], resource_version=str(self.seen), generation=self.seen + 1, owner=place.owner
        )
        return msgspec.structs.replace(world, targets=(seen,))

    def current(self) -> PolicySet:
        groups = (node_group("general", min=self.least, max=9),) if self.groups else (node_group("elsewhere"),)
        made = policy(*groups, mode=self.mode)
        return msgspec.structs.replace(made, policy=msgspec.structs.replace(made.policy, name=self.name))

    def resize(self, target: TargetRef, replicas: int, bound: Bound, _: Mapping[str, str]) -> WriteResult:
        place = self.place
        place.baton.pass_on()
        if bound.resource_version != str(len(place.sizes) - 1):
            return WriteResult(code=WriteCode.STALE, message=f"{target} has changed")
        place.sizes.append(replicas)
        place.written.append(self.name)
        place.baton.pass_on()
        return WriteResult(generation=len(place.sizes))


@pytest.mark.parametrize("owner", [OF_TOPOLOGY, FREE], ids=["topology", "free"])
def test_of_two_loops_that_start_together_one_alone_ever_writes(owner: OwnerEvidence) -> None:
    """The first wants two nodes and the second one four. Of 60 courses each has one writer; it gets what it wants, and the other
    one says whose target it is. That the courses differ is seen by both being the writer in some."""
    writers = set()
    for seed in range(60):
        place = Place(Baton(seed), owner)
        loops = {name: Loop(place, name, least) for name, least in (("first", 2), ("second", 4))}
        place.renewing = tuple(loops)
        for loop in loops.values():
            loop.steps = (1, 1, 10)
        place.baton.run(**{name: lambda loop=loop: loop.turns(8) for name, loop in loops.items()})  # type: ignore[misc]
        for loop in loops.values():
            # Each looks again, so that who gave way is known to the other one.
            loop.steps = (10,)
        place.baton.run(**{name: lambda loop=loop: loop.turns(2) for name, loop in loops.items()})  # type: ignore[misc]
        assert len(set(place.written)) == 1, (seed, place.written)
        winner = place.written[0]
        (other,) = loops.keys() - {winner}
        writers.add(winner)
        line = loops[other].line()
        assert (line.owner.state, line.owner.by) == (OwnerState.HELD, f"policy {winner}"), (seed, line)
        assert place.sizes[-1] == loops[winner].least, (seed, place.sizes)
    assert writers == {"first", "second"}


def test_without_a_look_at_others_both_write() -> None:
    """What this is for: in some course of twenty both loops have written."""
    written = []
    for seed in range(20):
        place = Place(Baton(seed))
        loops = [Loop(place, name, least, looks=False) for name, least in (("first", 2), ("second", 4))]
        place.baton.run(**{loop.name: lambda loop=loop: loop.turns(4) for loop in loops})  # type: ignore[misc]
        written.append(len(set(place.written)))
    assert 2 in written


def _settled(**more: Any) -> tuple[Place, Loop]:
    """A place where the first policy has written, as long ago as its Lease says."""
    place = Place()
    first = Loop(place, "first", 2, **more)
    first.turns(2)
    return place, first


def test_who_comes_later_is_held_before_its_first_write_and_says_by_whom() -> None:
    """Sentence, evidence and typed reason name policy, namespace and holder; what it would do is told. Once the first one leaves
    the target out, the second one writes."""
    place, first = _settled()
    second = Loop(place, "second", 4)
    second.turns(2)
    first.turns(1)
    line = second.line()
    assert (line.held, line.wanted, place.written) == (True, 4, ["first"])
    assert line.owner.evidence[0] == (
        "policy first (Lease reconciler/reconciler-first, held by first-0) lists the target in "
        "ConfigMap reconciler/reconciler-state-first"
    )
    reason = next(one for one in line.reasons if one.code == "OtherPolicy")
    assert reason.message == (
        "MachineDeployment prod/general is also in policy first, whose Lease in namespace reconciler is held by first-0: "
        "that one writes it"
    )
    first.groups = False
    first.turns(1)
    second.turns(2)
    assert (place.written, place.sizes[-1]) == (["first", "second"], 4)


def test_a_dead_lease_is_no_owner_and_its_policy_gives_way_when_it_comes_back() -> None:
    """The first policy's Lease is an hour old: the second one takes the target. The first one starts again and is held, though it
    had written before."""
    place, first = _settled()
    place.lease("first", ago_seconds=3600)
    second = Loop(place, "second", 4)
    second.turns(2)
    assert (place.written, place.sizes[-1]) == (["first", "second"], 4)
    first.least = 3
    first.turns(3)
    second.turns(1)
    assert (first.line().owner.by, place.written) == ("policy second", ["first", "second"])


def test_a_policy_that_is_restarted_keeps_its_targets() -> None:
    """Its Lease is given back and nobody has it for half a minute: the second policy waits. After a minute it does not."""
    place, _ = _settled()
    second = Loop(place, "second", 4)
    second.turns(1)
    place.lease("first", holder="")
    second.turns(3)
    assert place.written == ["first"]
    second.turns(5)
    assert place.written == ["first", "second"]


def test_one_that_only_observes_holds_nobody() -> None:
    """It lists the target and never writes it."""
    place, _ = _settled(mode=Mode.OBSERVE)
    second = Loop(place, "second", 4)
    second.turns(2)
    assert place.written == ["second"]


def test_what_others_have_cannot_be_read_before_a_write() -> None:
    """Nothing is written then, and it is tried again."""
    place, _ = _settled(mode=Mode.OBSERVE)
    others = place.others("second")
    assert others.known()[0].number == 0
    place.away, place.now = True, place.now + 60
    assert others.known() != ()
    with pytest.raises(UnreachableError):
        others.before_write()


def test_a_state_that_may_not_be_listed_says_nothing() -> None:
    """Without this right our own state cannot be kept either."""
    place, _ = _settled()
    place.server.get = lambda *_: (_ for _ in ()).throw(ApiError(403, "Forbidden", "no"))  # type: ignore[method-assign]
    assert place.others("second").before_write() == ()


def test_status_names_both_policies() -> None:
    """Of the one that writes as of the one that is held, with the Lease of the other."""
    place, _ = _settled()
    Loop(place, "second", 4).turns(1)
    for name, other in (("first", "second"), ("second", "first")):
        found = loop_status(place, SPACE, name, {}, NOW + int(place.now))  # type: ignore[arg-type]
        lease = f"Lease reconciler/reconciler-{other}, held by {other}-0"
        assert found.problems == (f"targets of policy {name} are also in policy {other} ({lease}): {GENERAL}",)


@pytest.mark.parametrize(("mode", "number"), [("Enforce", 1 << 53), ("Observe", 0)])
def test_a_memory_of_a_release_without_claims(mode: str, number: int) -> None:
    """All groups that it knows count as claimed before anything of ours, unless its last plan only observed."""
    place = Place()
    place.lease("old")
    state = StateObject(place, SPACE, "old")  # type: ignore[arg-type]
    memory = {"version": 1, "knownGroups": {str(GENERAL): "general"}}
    record = {"at": "2027-01-15T12:00:00Z", "mode": mode, "summary": "", "digest": "", "groups": []}
    for part, content in (("memory", memory), ("plan", record)):
        state.load(part)
        state.save(part, msgspec.json.encode(content))
    (found,) = place.others("new").known()
    assert found == PolicyClaim(
        target=str(GENERAL), policy="old", namespace=SPACE, holder="old-0", number=number, written=bool(number), live=True
    )
    assert Claim(number=1, written=True) < Claim(number=1 << 53, written=True)
