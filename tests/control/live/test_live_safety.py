"""What must not happen on the way to a write when servers, clocks, names and neighbours are at their worst."""

import io
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.live_run import LiveRun
from reconciler.control.live.wake import Wake
from reconciler.control.log import Log
from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.control.turn.figures import Figures
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import LoopReport
from reconciler.gitops.sources.last_good import LastGood, LastGoodError, MemoryLastGoodStore
from reconciler.gitops.sources.source import Fetched
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.kube.leading.lease import LeaderLease, NotLeaderError
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import Mode, PolicySet, ScaleDown
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.machines.platform_hearing import PlatformHearing
from reconciler.providers.machines.provider import MachineProvider
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy
from tests.kube.api_server import FakeApiServer
from tests.kube.scripted import ManualPace
from tests.live.reconciler_process import policy_text
from tests.providers.deployments import MARK, DeploymentServer

GENERAL = machine_deployment("general")
TAINT = "reconciler.dev/deleting=test.1:NoSchedule"


class Platform:
    """View, policy, drain and provider at once: nodes are empty, every step finishes, and what is asked is written down."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[tuple[str, ...]] = []
        self.malformed = False

    def observe(self) -> World:
        return self.world

    def current(self) -> PolicySet:
        return policy(node_group("general"))

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        return WriteResult()

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        self.asked.append(("begin", node))

    def undo(self, node: str) -> None:
        self.asked.append(("undo", node))

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        self.asked.append(("abandon", machine))
        return WriteResult()

    def marked_by(self, target: TargetRef, machine: str) -> str:
        return ""

    def step(self, *asked: Any) -> tuple[TargetRemoval, ...] | DrainStep:
        if len(asked) == 1:
            return DrainStep(remaining=0)
        if self.malformed:
            raise msgspec.ValidationError("Expected `str`, got `int`")
        self.asked.extend(("step", str(asked[0]), one.machine) for one in asked[1])
        return (TargetRemoval(state=RemovalState.FINISHED, replicas=1),) * len(asked[1])

    def port(self) -> LivePort:
        providers = {MACHINE_DEPLOYMENT: self}
        return LivePort(self, lambda: NOW, self, providers, self, "test")  # type: ignore[arg-type]


def _world(*, leaving: bool, nodes: int = 1) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, taints=(TAINT,) if leaving else ())
    return cluster.world()


def _with_namesake(world: World, *, provider_id: str) -> World:
    """Beside the machine of `general-1` one of another workload cluster whose node is called so too, and comes first."""
    own = msgspec.structs.replace(world.machines[0], provider_id="sim://ours")
    other = msgspec.structs.replace(own, name="a-machine", target=machine_deployment("other"), provider_id="sim://theirs")
    nodes = tuple(msgspec.structs.replace(node, provider_id=provider_id) for node in world.nodes)
    return msgspec.structs.replace(world, machines=(other, own, *world.machines[1:]), nodes=nodes)


def test_a_namesake_in_another_cluster_is_not_removed() -> None:
    """Two workload clusters have a node of one name: the provider id says whose machine goes."""
    platform = Platform(_with_namesake(_world(leaving=True), provider_id="sim://ours"))
    platform.port().continue_removals()
    assert platform.asked == [("step", str(GENERAL), platform.world.machines[1].name)]


def test_a_node_of_two_machines_is_not_drained() -> None:
    """Where no provider id tells them apart nothing begins, and what had begun is opened again."""
    bound = Bound(resource_version="1", replicas=1, owner_digest="", policy_digest="")
    fresh = Platform(_with_namesake(_world(leaving=False), provider_id=""))
    assert (fresh.port().remove_node(GENERAL, "general-1", 0, bound).code, fresh.asked) == (WriteCode.REFUSED, [])
    begun = Platform(_with_namesake(_world(leaving=True), provider_id=""))
    begun.port().continue_removals()
    assert begun.asked == [("undo", "general-1")]


def test_one_unreadable_object_stops_no_other_removal() -> None:
    """Machines of a target that cannot be decoded wait, with the reason; the turn goes on."""
    platform = Platform(_world(leaving=True, nodes=2))
    platform.malformed = True
    told = {progress.node: (progress.state, progress.message) for progress in platform.port().continue_removals()}
    assert told == dict.fromkeys(("general-1", "general-2"), (RemovalState.DRAINING, "Expected `str`, got `int`"))


def test_stale_marks_go_before_replicas_are_lowered() -> None:
    """Of two marked machines the platform takes either: the one that nobody drained loses its mark first."""
    world = _world(leaving=True)
    never_came = msgspec.structs.replace(world.machines[0], name="never-came", node="", delete_marked=True)
    platform = Platform(msgspec.structs.replace(world, machines=(*world.machines, never_came)))
    platform.port().continue_removals()
    assert [asked[0] for asked in platform.asked] == ["abandon", "step"]


@pytest.mark.parametrize(("mark", "may"), [(None, True), ("nodegroup-reconciler.test.g3.r2", False)])
def test_a_mark_that_no_drain_left_is_no_licence(mark: str | None, *, may: bool) -> None:
    """A marked machine is taken for drained, so that none may be marked when its removal begins: its pods would be killed."""
    server = DeploymentServer(2)
    server.annotations("m1").update({MARK: mark} if mark else {})
    result = MachineProvider(server.targets(), "test", PlatformHearing()).may_begin(GENERAL, "m1", "n1", server.bound())
    assert (result.done, result.code) == (may, "" if may else WriteCode.REFUSED)


def test_a_write_that_was_done_is_told_as_done() -> None:
    """The Lease is lost between the replicas and the annotation that explains them: the memory must know of the replicas."""
    server = DeploymentServer(2)

    def deposed(_: str) -> None:
        if len(server.sent) > 1:
            raise NotLeaderError("a does not lead. b does")

    server.before = deposed
    result = server.targets().resize(GENERAL, 5, server.bound(), {"reconciler.dev/revision": "abc"})
    assert (result.done, result.generation, server.replicas) == (True, 5, 5)


def test_nothing_ends_the_thread_that_renews() -> None:
    """Credentials may fail in ways of their own: it is told, and the next try leads again."""

    api = FakeApiServer()
    api.unreadable["/apis/coordination.k8s.io/v1/namespaces/n/leases/l"] = RuntimeError("the token file is empty")
    lease = LeaderLease(api, namespace="n", name="l", identity="a", pace=ManualPace(), wall_seconds=lambda: 0.0)
    assert (lease.step(), lease.message) == (False, "RuntimeError: the token file is empty")
    api.unreadable.clear()
    assert (lease.step(), lease.message) == (True, "")


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no clock of this system goes on in a suspend")
def test_a_lease_ages_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another instance leads by the time that the machine wakes up: the clock of the Lease went on."""
    monkeypatch.setattr(time, "clock_gettime", lambda clock: 3600.0 if clock == time.CLOCK_BOOTTIME else 1.0)
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    assert RealPace().monotonic() == 3600.0


class View:
    """A view without doubts."""

    def doubts(self) -> tuple[str, ...]:
        return ()

    def age_seconds(self) -> float:
        return 0.0


class Turns:
    """Turns in which nothing happens."""

    def turn(self) -> LoopReport:
        return LoopReport(at_seconds=1000)


def test_the_loop_outlives_what_is_told_after_a_turn() -> None:
    """Telling fails once: the thread says so, counts it as a turn without decision, and goes on until it is stopped."""
    stream, wake, figures, told = io.StringIO(), Wake(lambda: 0.0, period_seconds=0), Figures(), []

    def after(report: LoopReport) -> None:
        told.append(report)
        if len(told) == 1:
            raise RuntimeError("no such subject")
        wake.stop()

    LiveRun(
        Turns(), View(), wake, figures, Log(stream, lambda: 1000), term=lambda: 1, policy_missing=lambda: "",
        monotonic=lambda: 0.0, wall_seconds=lambda: 1000.0, after_turn=after,
    ).run()  # fmt: skip
    assert (len(told), "TurnFailed" in stream.getvalue(), "no such subject" in stream.getvalue()) == (2, True, True)


class Tree:
    """A source whose text the test sets."""

    name = "tree"

    def __init__(self, most: int) -> None:
        self.text = policy_text("prod", "shop", {"general": (0, most)})
        self.defect = False

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        if self.defect:
            raise RuntimeError("an unforeseen answer")
        return Fetched(revision=self.text, root="", files={"policy.yaml": self.text.encode()})


class SharedStore(MemoryLastGoodStore):
    """Like the state object: refuses to replace what another instance has saved since it was last read here."""

    overtaken = False

    def load(self) -> LastGood | None:
        self.overtaken = False
        return super().load()

    def save(self, last_good: LastGood) -> None:
        if self.overtaken:
            raise LastGoodError("somebody else has changed it since")
        super().save(last_good)


def test_a_policy_that_another_instance_saved_meanwhile_is_read_again() -> None:
    """The Lease was lost and won again between two looks: the first newer policy is refused, the next look goes on from there."""
    tree, store = Tree(5), SharedStore()
    mine = FollowedPolicy(tree, store, lambda: 1000)
    assert mine.poll()
    tree.text = policy_text("prod", "shop", {"general": (0, 6)})
    FollowedPolicy(tree, store, lambda: 1000).poll()
    store.overtaken = True
    tree.text = policy_text("prod", "shop", {"general": (0, 7)})
    assert (mine.poll(), mine.current().groups[0].size.max) == (False, 5)
    assert (mine.poll(), mine.current().groups[0].size.max, mine.standing.fault) == (True, 7, None)


def test_a_defect_of_a_source_ends_nothing() -> None:
    """It is a fault like any other: the policy in force stays, and the next look is as good as any."""
    tree = Tree(5)
    followed = FollowedPolicy(tree, MemoryLastGoodStore(), lambda: 1000)
    followed.poll()
    tree.defect = True
    assert not followed.poll()
    assert followed.standing.fault is not None
    assert "an unforeseen answer" in followed.standing.fault.message
    tree.defect = False
    followed.poll()
    assert [followed.standing.fault, followed.current().groups[0].size.max] == [None, 5]


@pytest.mark.parametrize("reopens", [True, False, None])
def test_a_policy_that_comes_to_observe_opens_what_was_leaving(*, reopens: bool | None) -> None:
    """Nobody else would take our taint off, so that it is done unless it is said; a process that only reads leaves it to the one
    that leads."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, cpu="4")
    cluster.pods("web", 1, cpu="1", on="general-1")
    at_once = ScaleDown(unneeded_time_seconds=0)
    enforced = policy(node_group("general", scale_down=at_once))
    simulated = SimulatedCluster(cluster.world(), enforced, NOW)
    simulated.advance_to(NOW)
    current = [enforced]
    said = {} if reopens is None else {"reopens": reopens}
    loop = ControlLoop(SimulatedPort(simulated), _Changing(lambda: current[0]), InMemoryStore(), **said)
    assert [str(result.action.kind) for result in loop.turn().results] == ["RemoveNode"]
    current[0] = policy(node_group("general", scale_down=at_once), mode=Mode.OBSERVE)
    report = loop.turn()
    assert [(item.state, item.code) for item in report.removals] == (
        [] if reopens is False else [(RemovalState.FAILED, "CalledOff")]
    )


class _Changing:
    def __init__(self, current: Callable[[], PolicySet]) -> None:
        self.current = current


def test_a_signal_is_seen_by_whichever_thread_it_meets() -> None:
    """The byte that wakes the main thread comes from the arrival itself, not from the handler that waits for that thread."""
    program = (
        "import os, signal, threading\n"
        "from reconciler.cli.processes.live_loop import Ending\n"
        "ending = Ending()\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "def other():\n"
        "    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Timer(0.2, other).start()\n"
        "print(ending.wait(20))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"
