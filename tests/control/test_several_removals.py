"""Several nodes of one target leave at once: all whose machines may be marked are handed over together.

Measured on Cluster API: a machine was marked, the write of replicas met a status update and had to wait, the next machine was
marked and counted alone; the MachineSet then deleted the first one, and the second stayed for ever, marked and closed.
"""

from typing import Any

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.kube.draining.drain import DrainStep
from reconciler.plan.plan import Bound
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteResult
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

    def observe(self) -> World:
        return self.world

    def current(self) -> PolicySet:
        return policy(node_group("general"))

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        return WriteResult(done=True)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        return WriteResult(done=True)

    def undo(self, node: str) -> None:
        raise AssertionError("nothing is given up here")

    def step(self, *asked: Any) -> tuple[TargetRemoval, ...] | DrainStep:
        if len(asked) == 1:
            return DrainStep(remaining=int(asked[0] in self.busy))
        self.marked = {one.node for one in asked[1] if one.marked}
        self.stepped.append([one.node for one in asked[1]])
        return tuple(self.answers.get(one.node, FINISHED) for one in asked[1])

    def port(self) -> LivePort:
        providers = {MACHINE_DEPLOYMENT: self}
        return LivePort(self, lambda: NOW, self, providers, self, "test")  # type: ignore[arg-type]

    def turn(self, port: LivePort) -> dict[str, RemovalState]:
        self.stepped.clear()
        return {progress.node: progress.state for progress in port.continue_removals()}


def test_all_empty_nodes_of_a_target_are_handed_over_together() -> None:
    """One call of the provider for three nodes, so that it can write replicas once."""
    platform = Platform()
    told = platform.turn(platform.port())
    assert platform.stepped == [["general-1", "general-2", "general-3"]]
    assert list(told.values()) == [RemovalState.FINISHED] * 3


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
