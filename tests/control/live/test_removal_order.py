"""Removals that meet something: what waits for it, what goes on beside it, and what is told."""

from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.control.policy.policy_in_force import NoPolicyError
from reconciler.kube.drain import DrainStep
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteCode, WriteResult
from tests.builders import NOW, ClusterBuilder, node_group, policy

FINISHED = TargetRemoval(state=RemovalState.FINISHED, replicas=1, generation=5)
UNREAD = TargetRemoval(state=RemovalState.DRAINING, code=WriteCode.UNAVAILABLE, message="Machine: 500", untouched=True)
UNKNOWN = TargetRemoval(state=RemovalState.DRAINING, code=WriteCode.UNKNOWN, message="no answer")
PASSED_OVER = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.PASSED_OVER, message="another one went")


class Platform:
    """View, policy, drain and provider at once; `answers` is what the next steps of a machine give, the last one for ever."""

    def __init__(self, world: World, **answers: list[TargetRemoval]) -> None:
        self.world = world
        self.answers = {name.replace("_", "-"): steps for name, steps in answers.items()}
        self.undone: list[str] = []
        self.said: list[tuple[str, str]] = []
        self.floors: list[int] = []
        self.marked: list[set[str]] = []
        self.has_policy = True

    def observe(self) -> World:
        return self.world

    def current(self) -> PolicySet:
        if not self.has_policy:
            raise NoPolicyError("git is away")
        return policy(node_group("general"))

    def undo(self, node: str) -> None:
        self.undone.append(node)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        return WriteResult()

    def step(self, *asked: Any) -> tuple[TargetRemoval, ...] | DrainStep:
        if len(asked) == 1:
            return DrainStep(remaining=0)
        self.marked.append({one.node for one in asked[1] if one.marked})
        self.floors.append(asked[2])
        return tuple(self._answer(one.machine) for one in asked[1])

    def _answer(self, machine: str) -> TargetRemoval:
        steps = self.answers.get(machine, [FINISHED])
        return steps.pop(0) if len(steps) > 1 else steps[0]

    def port(self) -> LivePort:
        providers = {MACHINE_DEPLOYMENT: self}
        tell = lambda code, message: self.said.append((code, message))  # noqa: E731
        return LivePort(self, lambda: NOW, self, providers, self, "test", tell=tell)  # type: ignore[arg-type]

    def told(self, port: LivePort) -> dict[str, str]:
        return {one.node: str(one.code or one.state) for one in port.continue_removals()}


def _world(*marked: str) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, taints=["reconciler.dev/deleting=test.1:NoSchedule"])
    world = cluster.world()
    machines = tuple(msgspec.structs.replace(one, delete_marked=one.node in marked) for one in world.machines)
    return msgspec.structs.replace(world, machines=machines)


def test_a_machine_that_cannot_be_read_holds_nobody_up() -> None:
    """It bears no mark, so that lowering for another one takes that one; why it waits is said, once."""
    platform = Platform(_world(), general_1=[UNREAD])
    port = platform.port()
    assert platform.told(port) == {"general-1": "Draining", "general-2": "Finished"}
    platform.told(port)
    assert platform.said == [("RemovalWaits", "the removal of node general-1 waits: Machine: 500")]


def test_a_machine_that_may_have_been_marked_is_told_as_marked() -> None:
    """Its write had no answer, and while it cannot be read afterwards nobody knows: the provider holds the others for it."""
    platform = Platform(_world(), general_1=[UNKNOWN, UNREAD, FINISHED])
    port = platform.port()
    for _ in range(4):
        port.continue_removals()
    assert platform.marked == [set(), {"general-1"}, {"general-1"}, set()]


def test_a_failure_after_the_end_is_told() -> None:
    """Finished first, then the platform took another machine: both are told, each once, and the node is opened."""
    platform = Platform(_world(), general_1=[FINISHED, PASSED_OVER])
    port = platform.port()
    assert platform.told(port)["general-1"] == "Finished"
    assert platform.told(port) == {"general-1": "PassedOver"}
    assert platform.told(port) == {}
    assert set(platform.undone) == {"general-1"}


@pytest.mark.parametrize("marked", [(), ("general-1",), ("general-1", "general-2")])
def test_an_orderly_end_without_a_policy_lowers_nothing(marked: tuple[str, ...]) -> None:
    """Every removal ends all the same: no node stays closed because of what git says."""
    refused = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.REFUSED, message="must keep")
    platform = Platform(_world(*marked), general_1=[refused], general_2=[refused])
    platform.has_policy = False
    ended = platform.port().abandon_removals()
    assert [one.state for one in ended] == [RemovalState.FAILED] * 2
    assert platform.undone == ["general-1", "general-2"]
    assert all(floor == 1 << 31 for floor in platform.floors)
