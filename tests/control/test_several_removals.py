"""Several nodes of one target leave at once: their machines are marked and counted one after the other.

Measured on Cluster API: a machine was marked, the write of replicas met a status update and had to wait, the next machine was
marked and counted; the MachineSet then deleted the first one, and the second stayed for ever, marked and closed.
"""

import msgspec

from reconciler.cluster.target import TargetKind, TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.kube.draining.drain import DrainStep
from reconciler.plan.plan import Bound
from reconciler.policy.documents import PolicySet
from reconciler.providers.contract import RemovalState, TargetRemoval, WriteResult
from tests.builders import NOW, ClusterBuilder, node_group, policy

FINISHED = TargetRemoval(state=RemovalState.FINISHED, replicas=1)
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
        self.answers = [FINISHED] * 9
        self.stepped: list[str] = []

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

    def step(self, *asked: object) -> TargetRemoval | DrainStep:
        if len(asked) == 1:
            return DrainStep(remaining=0)
        self.stepped.append(str(asked[2]))
        return self.answers.pop(0)

    def port(self) -> LivePort:
        providers = {TargetKind.MACHINE_DEPLOYMENT: self}
        return LivePort(self, lambda: NOW, self, providers, self, "test")  # type: ignore[arg-type]

    def turn(self, port: LivePort) -> dict[str, RemovalState]:
        self.stepped.clear()
        return {progress.node: progress.state for progress in port.continue_removals()}


def test_the_next_machine_waits_until_the_one_before_is_counted() -> None:
    """The second of three has to wait for its write: the third is not even marked, and goes after it in the next turn."""
    platform = Platform()
    platform.answers[1] = NOT_YET
    port = platform.port()
    told = platform.turn(port)
    assert platform.stepped == ["general-1", "general-2"]
    assert list(told.values()) == [RemovalState.FINISHED, RemovalState.DRAINING, RemovalState.DRAINING]
    platform.turn(port)
    assert platform.stepped == ["general-2", "general-1", "general-3"]


def test_a_machine_that_is_marked_already_goes_first() -> None:
    """After a restart only the mark tells which one was about to be counted."""
    platform = Platform("general-3")
    platform.answers[0] = NOT_YET
    platform.turn(platform.port())
    assert platform.stepped == ["general-3"]
