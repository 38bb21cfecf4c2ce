"""The port of the live loop: what it asks of view, drain and providers, and what becomes of it where one of them says no."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.target_marks import FormerPolicy
from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.live_world import IncompleteViewError
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import (
    NodeRemoval,
    RemovalState,
    TargetRemoval,
    ViewUnavailableError,
    WriteCode,
    WriteResult,
)
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")
OTHER = machine_deployment("other")
BOUND = Bound(resource_version="1", replicas=2, owner_digest="", policy_digest="")
DONE = WriteResult(generation=7)
MARKS = {"reconciler.dev/policy": "test"}


class Platform:
    """View, policy, drain and provider at once; what is asked is written down. `errors` are raised by the calls of that name,
    `answer` is what the provider says."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[tuple[Any, ...]] = []
        self.errors: dict[str, Exception] = {}
        self.answer = DONE
        self.rivals: tuple[str, ...] = ()
        self.floors: list[int] = []

    def observe(self) -> World:
        self._asked()
        return self.world

    def current(self) -> PolicySet:
        return policy(node_group("general"))

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str]) -> WriteResult:
        return self._asked("resize", target, replicas, bound, annotations)

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str]) -> WriteResult:
        return self._asked("adopt", target, replicas, bound, annotations)

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        return self._asked("release", target, bound)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        return self._asked("cancel", target, machines, replicas, bound)

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        return self._asked("may_begin", target, machine, node, bound)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        return WriteResult()

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        self._asked("begin", node)

    def undo(self, node: str) -> None:
        self._asked("undo", node)

    def step(self, *asked: Any) -> Any:
        if len(asked) == 1:
            self._asked("drain", asked[0])
            return DrainStep(remaining=0)
        self._asked("step", *(one.node for one in asked[1]))
        self.floors.append(asked[2])
        return (TargetRemoval(state=RemovalState.FINISHED, replicas=1, generation=9),) * len(asked[1])

    def _asked(self, *what: Any) -> WriteResult:
        error = self.errors.get(what[0] if what else "observe")
        if error is not None:
            raise error
        if what:
            self.asked.append(what)
        return self.answer

    def port(self, **more: Any) -> LivePort:
        providers = {MACHINE_DEPLOYMENT: self}
        return LivePort(
            self, lambda: NOW, self, providers, self, "test", lambda _: MARKS, lambda: self.rivals, **more  # type: ignore[arg-type]
        )  # fmt: skip


def _world(nodes: int = 2, *, leaving: bool = False) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=nodes, taints=("reconciler.dev/deleting=test.1:NoSchedule",) if leaving else ())
    return cluster.world()


def _selectable(world: World, *, selectable: bool) -> World:
    facts = tuple(msgspec.structs.replace(one, selectable=selectable) for one in world.targets)
    return msgspec.structs.replace(world, targets=facts)


def test_writes_go_to_the_provider_of_the_target() -> None:
    """With what explains them where there is something to explain; the answer is the provider's."""
    platform = Platform(_world())
    port = platform.port()
    answers = [
        port.resize(GENERAL, 5, BOUND), port.adopt(GENERAL, 2, BOUND), port.release(GENERAL, BOUND),
        port.cancel(GENERAL, ("m1",), 1, BOUND),
    ]  # fmt: skip
    assert answers == [DONE] * 4
    assert platform.asked == [
        ("resize", GENERAL, 5, BOUND, MARKS),
        ("adopt", GENERAL, 2, BOUND, MARKS),
        ("release", GENERAL, BOUND),
        ("cancel", GENERAL, ("m1",), 1, BOUND),
    ]


def test_a_target_that_nobody_writes() -> None:
    """Its kind has no provider: refused by name, and the view is not asked."""
    target = msgspec.structs.replace(GENERAL, kind="AutoScalingGroup")
    result = Platform(_world()).port().resize(target, 5, BOUND)
    assert (result.code, result.message) == (WriteCode.REFUSED, f"{target}: no provider is configured for AutoScalingGroup")


def test_a_write_of_one_that_does_not_lead_may_be_tried_later() -> None:
    platform = Platform(_world())
    platform.errors = {"resize": NotLeaderError("pod-2 leads")}
    result = platform.port().resize(GENERAL, 5, BOUND)
    assert (result.code, result.message) == (WriteCode.UNAVAILABLE, f"{GENERAL}: pod-2 leads")


@pytest.mark.parametrize(
    ("rivals", "ended"), [((), ()), (("an autoscaler",), ()), ((), ("old",)), (("an autoscaler",), ("old",))]
)
def test_a_view_says_who_else_is_at_work(rivals: tuple[str, ...], ended: tuple[str, ...]) -> None:
    """Rivals, and policies that have ended; it is kept until there is none to trust."""
    cluster = ClusterBuilder()
    cluster.target("general", 1, annotations=(("reconciler.dev/policy", "old"),))
    platform = Platform(cluster.world())
    platform.rivals = rivals
    port = platform.port(former=lambda name: FormerPolicy({}, platform) if name in ended else None)
    assert port.last_world is None
    seen = port.observe()
    assert (seen.rivals, seen.ended_policies) == (rivals, ended)
    assert port.last_world is seen
    platform.errors = {"observe": IncompleteViewError("Pods were not listed yet")}
    with pytest.raises(ViewUnavailableError, match="Pods were not listed yet"):
        port.observe()
    assert port.last_world is None


def _begun(platform: Platform, node: str = "general-1", target: TargetRef = GENERAL) -> tuple[WriteResult, LivePort]:
    port = platform.port()
    (result,) = port.remove_nodes((NodeRemoval(target=target, node=node, replicas=1, bound=BOUND),))
    return result, port


def test_a_drain_begins_when_the_provider_has_nothing_against_it() -> None:
    """Asked with its Machine first, then the node is marked; the replicas of the plan become the floor."""
    platform = Platform(_world())
    result, port = _begun(platform)
    machine = next(one.name for one in platform.world.machines if one.node == "general-1")
    assert result == DONE
    assert platform.asked == [("may_begin", GENERAL, machine, "general-1", BOUND), ("begin", "general-1")]
    platform.world = _world(leaving=True)
    port.observe()
    port.continue_removals()
    assert platform.floors == [1]
    assert Platform(_world()).port().remove_node(GENERAL, "general-1", 1, BOUND) == DONE


def test_one_removal_alone_has_a_floor_too() -> None:
    platform = Platform(_world())
    port = platform.port()
    assert port.remove_node(GENERAL, "general-1", 1, BOUND) == DONE
    platform.world = _world(leaving=True)
    port.observe()
    port.continue_removals()
    assert platform.floors == [1]


def test_a_removal_that_may_not_begin_leaves_no_mark_and_no_floor() -> None:
    platform = Platform(_world())
    platform.answer = WriteResult(code=WriteCode.CONFLICT, message="kubectl owns it")
    result, port = _begun(platform)
    assert result == platform.answer
    assert [asked[0] for asked in platform.asked] == ["may_begin"]
    assert port.remove_node(GENERAL, "general-1", 1, BOUND) == platform.answer
    platform.world, platform.answer = _world(leaving=True), DONE
    port.observe()
    port.continue_removals()
    assert platform.floors == [0]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ApiError(403, "Forbidden", "no right"), WriteCode.REFUSED, "Node general-1"),
        (UnreachableError("cut", sent=False), WriteCode.UNAVAILABLE, "cut"),
        (NotLeaderError("pod-2 leads"), WriteCode.UNAVAILABLE, "pod-2 leads"),
        (KeyError("n7"), WriteCode.UNKNOWN, "KeyError: 'n7'"),
    ],
)
def test_a_mark_that_could_not_be_set(error: Exception, code: WriteCode, message: str) -> None:
    """The action says why, and nothing is raised."""
    platform = Platform(_world())
    platform.errors = {"begin": error}
    result, _ = _begun(platform)
    assert (result.code, message in result.message) == (code, True)


def test_what_one_removal_meets_stops_no_other() -> None:
    platform = Platform(_world())
    removals = tuple(
        NodeRemoval(target=GENERAL, node=node, replicas=1, bound=BOUND) for node in ("general-1", "gone", "general-2")
    )
    results = platform.port().remove_nodes(removals)
    assert [result.code for result in results] == ["", WriteCode.NOT_FOUND, ""]
    assert results[1].message == f"{GENERAL} has no node gone"


def test_a_target_that_the_view_does_not_have() -> None:
    platform = Platform(_world())
    result, _ = _begun(platform, target=OTHER)
    assert (result.code, result.message, platform.asked) == (WriteCode.NOT_FOUND, f"{OTHER} has no node general-1", [])


@pytest.mark.parametrize("selectable", [True, False])
def test_a_node_without_a_machine(*, selectable: bool) -> None:
    """Where machines can be chosen there must be one; else the platform is given no name."""
    platform = Platform(_selectable(msgspec.structs.replace(_world(), machines=()), selectable=selectable))
    result, _ = _begun(platform)
    if selectable:
        assert (result.code, result.message) == (WriteCode.NOT_FOUND, f"{GENERAL} has no Machine that is node general-1")
        assert platform.asked == []
    else:
        assert result.done
        assert platform.asked == [("may_begin", GENERAL, "", "general-1", BOUND), ("begin", "general-1")]


def test_a_platform_that_chooses_is_given_no_machine() -> None:
    """Also where there is one on the node."""
    platform = Platform(_selectable(_world(), selectable=False))
    result, _ = _begun(platform)
    assert (result.done, platform.asked[0]) == (True, ("may_begin", GENERAL, "", "general-1", BOUND))


def test_at_the_end_of_the_process_only_what_is_one_write_from_its_end_goes_on() -> None:
    """Marked: handed over. Going already: left. The others are opened again, that of no machine too; nothing is drained."""
    world = _world(nodes=4, leaving=True)
    changes: dict[str, dict[str, Any]] = {
        "general-1": {"delete_marked": True}, "general-2": {"deleting": True},
        "general-4": {"target": None, "delete_marked": True},
    }  # fmt: skip
    machines = tuple(msgspec.structs.replace(one, **changes.get(one.node, {})) for one in world.machines)
    platform = Platform(msgspec.structs.replace(world, machines=machines))
    told = {one.node: (one.state, one.code, one.message, one.target) for one in platform.port().abandon_removals()}
    undone = (RemovalState.FAILED, "Stopped", "the drain is undone, since this process ends")
    assert told == {
        "general-1": (RemovalState.FINISHED, "", "", GENERAL),
        "general-2": (RemovalState.FINISHED, "", "", GENERAL),
        "general-3": (*undone, GENERAL),
        "general-4": (*undone, None),
    }
    assert platform.asked == [("step", "general-1", "general-2"), ("undo", "general-3"), ("undo", "general-4")]


def test_the_end_of_a_process_that_does_not_lead_writes_nothing() -> None:
    """The next leader goes on with what lies on the nodes."""
    platform = Platform(_world(leaving=True))
    platform.errors = {"undo": NotLeaderError("pod-2 leads")}
    assert platform.port().abandon_removals() == ()
    platform = Platform(_world(leaving=True))
    platform.errors = {"drain": NotLeaderError("pod-2 leads")}
    assert platform.port().continue_removals() == ()


def test_without_a_view_there_is_one_look_before_a_removal_goes_on() -> None:
    """The first step after a start: what is seen then is kept."""
    platform = Platform(_world(leaving=True))
    port = platform.port()
    assert {one.node for one in port.continue_removals()} == {"general-1", "general-2"}
    assert port.last_world is platform.world


def test_nothing_is_known_of_floors_after_another_one_led() -> None:
    platform = Platform(_world())
    _, port = _begun(platform)
    port.forget()
    platform.world = _world(leaving=True)
    port.observe()
    port.continue_removals()
    assert platform.floors == [0]


def test_a_view_that_is_there_is_not_taken_again() -> None:
    """What the turn has seen is what all its removals are about."""
    platform = Platform(_world())
    port = platform.port()
    port.observe()
    platform.errors = {"observe": IncompleteViewError("Pods were not listed yet")}
    assert port.remove_nodes((NodeRemoval(target=GENERAL, node="general-1", replicas=1, bound=BOUND),)) == (DONE,)
    assert port.remove_node(GENERAL, "general-2", 0, BOUND) == DONE
    assert port.continue_removals() == ()


@pytest.mark.parametrize(
    ("identity", "other", "begins"),
    [
        ("sim:///general-1", "sim:///other", True),
        ("sim:///other", "sim:///other", False),
        ("sim:///general-1", "sim:///general-1", False),
        ("", "", False),
    ],
)
def test_machines_of_two_targets_with_one_name(identity: str, other: str, begins: bool) -> None:
    """The provider id of the node says whose it is; where it says another, both or nothing, nothing begins."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.target("other", 1)
    world = cluster.world()
    (machine,) = world.machines
    machines = (
        msgspec.structs.replace(machine, provider_id="sim:///general-1" if identity else ""),
        msgspec.structs.replace(machine, name="other-1", target=OTHER, provider_id=other),
    )
    nodes = tuple(msgspec.structs.replace(node, provider_id=identity) for node in world.nodes)
    platform = Platform(msgspec.structs.replace(world, machines=machines, nodes=nodes))
    result, _ = _begun(platform)
    assert result.done is begins
    assert bool(platform.asked) is begins
    if not begins:
        assert (result.code, result.message.partition(",")[0]) == (
            WriteCode.REFUSED, "machines of several targets are named node general-1"
        )  # fmt: skip
