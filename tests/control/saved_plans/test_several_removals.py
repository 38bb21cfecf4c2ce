"""Several nodes of one target leave at once: all whose machines may be marked are handed over together.

Measured on Cluster API: a machine was marked, the write of replicas met a status update and had to wait, the next machine was
marked and counted alone; the MachineSet then deleted the first one, and the second stayed for ever, marked and closed.
"""

from typing import Any

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.leaving_nodes import LeavingNodes
from reconciler.control.live.live_port import LivePort
from reconciler.control.saved_plans.apply import Applied
from reconciler.control.saved_plans.departures import Departures
from reconciler.control.turn.turn_report import ActionResult, ResultState
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.kube.drain import DrainStep
from reconciler.plan.plan import Action, ActionKind, Bound
from reconciler.plan.reason import Reason
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import RemovalProgress, RemovalState, TargetRemoval, WriteCode, WriteResult
from tests.builders import NOW, ClusterBuilder, node_group, policy

FINISHED = TargetRemoval(state=RemovalState.FINISHED, replicas=1)
UNTOUCHED = TargetRemoval(state=RemovalState.DRAINING, message="waits for another one", untouched=True)
NOT_YET = TargetRemoval(state=RemovalState.DRAINING, message="the object has been modified")
LEAVING = "reconciler.dev/deleting=test.1:NoSchedule"


class Platform:
    """View, policy, drain and provider at once: nodes are empty; `answers` are those to steps of the provider, in order."""

    def __init__(self, *marked: str) -> None:
        cluster = ClusterBuilder()
        cluster.group("general", nodes=3, taints=(LEAVING,))
        world = cluster.world()
        machines = [msgspec.structs.replace(one, delete_marked=one.node in marked) for one in world.machines]
        self.world: World = msgspec.structs.replace(world, machines=tuple(machines))
        self.answers: dict[str, TargetRemoval] = {}
        self.busy: set[str] = set()
        self.stepped: list[list[str]] = []
        self.floors: list[int] = []

    def observe(self) -> World:
        return self.world

    def current(self) -> PolicySet:
        return policy(node_group("general"))

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        return WriteResult()

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        return WriteResult()

    def undo(self, node: str) -> None:
        raise AssertionError("nothing is given up here")

    def step(self, *asked: Any) -> tuple[TargetRemoval, ...] | DrainStep:
        if len(asked) == 1:
            return DrainStep(remaining=int(asked[0] in self.busy))
        self.marked = {one.node for one in asked[1] if one.marked}
        self.stepped.append([one.node for one in asked[1]])
        self.floors.append(asked[2])
        return tuple(self.answers.get(one.node, FINISHED) for one in asked[1])

    def port(self) -> LivePort:
        providers = {MACHINE_DEPLOYMENT: self}
        return LivePort(self, lambda: NOW, self, providers, self, "test")  # type: ignore[arg-type]

    def turn(self, port: LivePort) -> dict[str, RemovalState]:
        self.stepped.clear()
        port.observe()
        return {progress.node: progress.state for progress in port.continue_removals()}


def test_all_empty_nodes_of_a_target_are_handed_over_together() -> None:
    """One call of the provider for three nodes, so that it can write replicas once."""
    platform = Platform()
    told = platform.turn(platform.port())
    assert platform.stepped == [["general-1", "general-2", "general-3"]]
    assert list(told.values()) == [RemovalState.FINISHED] * 3


def test_a_machine_that_is_gone_after_its_removal_was_finished_is_no_failure() -> None:
    """Nobody hears of it twice; of one that went before its removal was finished it is told."""
    platform = Platform()
    platform.busy = {"general-3"}
    port = platform.port()
    platform.turn(port)
    gone = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.NOT_FOUND, message="Machine is gone", reopen=False)
    platform.busy, platform.answers = set(), dict.fromkeys(("general-1", "general-2", "general-3"), gone)
    assert platform.turn(port) == {"general-3": RemovalState.FAILED}


def test_a_machine_that_replicas_were_lowered_for_is_left_to_the_platform() -> None:
    """While more live than are asked for nothing can be told of it; then it is looked at, since it may have been passed over."""
    platform = Platform()
    port = platform.port()
    platform.turn(port)
    (facts,) = platform.world.targets
    platform.world = msgspec.structs.replace(platform.world, targets=(msgspec.structs.replace(facts, replicas=1),))
    platform.turn(port)
    assert platform.stepped == []
    (facts,) = platform.world.targets
    two_go = tuple(msgspec.structs.replace(one, deleting=one.node != "general-1") for one in platform.world.machines)
    platform.world = msgspec.structs.replace(platform.world, machines=two_go)
    platform.turn(port)
    assert platform.stepped == [["general-1"]]
    unknown = msgspec.structs.replace(facts, replicas=None)
    platform.world = msgspec.structs.replace(platform.world, targets=(unknown,))
    platform.turn(port)
    assert platform.stepped == [["general-1"]]


def test_a_removal_that_is_called_off_is_looked_at_although_the_platform_is_at_work() -> None:
    """Whether replicas were lowered for it is the platform's to say."""
    platform = Platform()
    port = platform.port()
    platform.turn(port)
    facts = msgspec.structs.replace(platform.world.targets[0], replicas=1)
    platform.world = msgspec.structs.replace(platform.world, targets=(facts,))
    port.call_off(facts.ref, "general-2", "a pod came")
    platform.turn(port)
    assert platform.stepped == [["general-2"]]


def test_a_machine_that_still_drains_holds_no_other_one_up() -> None:
    """Its pods have not left; those of the others have."""
    platform = Platform()
    platform.busy = {"general-2"}
    assert platform.turn(platform.port())["general-2"] is RemovalState.DRAINING
    assert platform.stepped == [["general-1", "general-3"]]


def test_others_wait_for_a_machine_that_may_be_marked_and_drains_again() -> None:
    """Its mark had no answer, then a pod was bound to its node: whoever lowers replicas now may lose it with that pod."""
    platform = Platform()
    platform.answers = {"general-1": NOT_YET, "general-2": UNTOUCHED, "general-3": UNTOUCHED}
    port = platform.port()
    platform.turn(port)
    platform.busy = {"general-1"}
    told = platform.turn(port)
    assert platform.stepped == []
    assert list(told.values()) == [RemovalState.DRAINING] * 3
    platform.busy, platform.answers = set(), {}
    platform.turn(port)
    assert platform.stepped == [["general-1", "general-2", "general-3"]]


def test_a_mark_that_is_seen_is_told_to_the_provider() -> None:
    """After a restart only the mark tells which machine the platform may take."""
    platform = Platform("general-3")
    platform.turn(platform.port())
    assert platform.marked == {"general-3"}


def _removal(node: str) -> Action:
    bound = Bound(resource_version="1", replicas=3, owner_digest="", policy_digest="")
    reason = Reason(code="Empty", message="")
    return Action(
        kind=ActionKind.REMOVE_NODE, group="general", target="", from_=3, to=2, nodes=(node,), bound=bound, reason=reason
    )


def _failed(node: str) -> RemovalProgress:
    target = TargetRef(kind=MACHINE_DEPLOYMENT, name="general")
    return RemovalProgress(target=target, node=node, state=RemovalState.FAILED, code="Blocked", message="a pod came")


def test_several_removals_of_one_target_have_the_lowest_floor_of_them() -> None:
    """They begin with 2, 0 and 1 replicas to be left, and may end in any order: 0 is the floor, but for the group's minimum;
    once none is under way the floor is forgotten, and without a group nothing may go."""
    platform = Platform()
    leaving = {f"general-{number}": LEAVING for number in (1, 2, 3)}
    target = platform.world.targets[0].ref
    for least, expected in ((0, 0), (1, 1)):
        nodes = LeavingNodes(platform, {MACHINE_DEPLOYMENT: platform}, lambda *_: None, lambda: NOW)  # type: ignore[arg-type, dict-item]
        for node, replicas in (("general-1", 2), ("general-3", 0), ("general-2", 1)):
            nodes.began(target, node, replicas)
        groups = {
            group.target: group for group in effective_groups(platform.world, policy(node_group("general", min=least)), NOW)
        }
        platform.floors.clear()
        nodes.proceed(platform.world, groups, leaving, [])
        assert platform.floors == [expected]
    nodes.began(target, "general-1", 2)
    nodes.look(platform.world, {})
    platform.floors.clear()
    nodes.began(target, "general-1", 2)
    nodes.proceed(platform.world, groups, leaving, [])
    assert platform.floors == [2]


def test_only_the_failed_removal_of_an_own_node_is_a_failure() -> None:
    """Removals of earlier plans fail beside ours: what was asked for now has been done all the same."""
    departures = Departures(None, None, None, lambda _: None)  # type: ignore[arg-type]
    results = tuple(ActionResult(action=_removal(node), state=ResultState.DONE) for node in ("general-1", "general-2"))
    elsewhere = ActionResult(action=_removal("elsewhere-7"), state=ResultState.DONE)
    departures.begin(Applied(results=results))
    departures.record((_failed("general-2"), _failed("elsewhere-7")))
    ended = departures.ended(Applied(results=(*results, elsewhere)))
    assert [(result.state, result.code) for result in ended.results] == [
        (ResultState.DONE, ""),
        (ResultState.FAILED, "Blocked"),
        (ResultState.DONE, ""),
    ]
    assert departures.nodes == ("general-1",)
