"""Two loops of two policies, each with a group of its own, and one pod that both could serve: one node is added, not two.

Server, turns and views are those of `test_two_loops`: in memory, and unkind.
"""

import msgspec

from reconciler.cluster.world import World
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_port import LivePort
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.loop import ControlLoop
from reconciler.kube.leading.state import StateObject
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.control.live.test_two_loops import SPACE, Baton, Loop, Place

NAMES = ("first", "second")


class OwnGroup(Loop):
    """The loop of a policy with the group of its name. Its place has the versions of the target; all see all targets."""

    def __init__(self, place: Place, name: str, places: dict[str, Place]) -> None:
        super().__init__(place, name, 0)
        self.places = places
        state = LockedState(StateObject(places[NAMES[0]], SPACE, name))  # type: ignore[arg-type]
        others = places[NAMES[0]].others(name, lambda: state.saves, lambda: self.place.now)
        self.port = LivePort(
            self, lambda: NOW + int(place.now), self, {MACHINE_DEPLOYMENT: self}, self, name, claims=others  # type: ignore[arg-type]
        )  # fmt: skip
        self.loop = ControlLoop(self.port, self, LiveMemoryStore(state))
        self.pods = 1

    def observe(self) -> World:
        """Every target as it is; the pod waits until a test ends."""
        self.place.baton.pass_on()
        cluster = ClusterBuilder(now=NOW + int(self.place.now))
        for name, place in self.places.items():
            cluster.group(name, nodes=0, replicas=place.sizes[-1])
        # Old enough that no burst is waited for.
        cluster.pods("web", self.pods, cpu="3", age=60)
        world = cluster.world()
        seen = tuple(
            msgspec.structs.replace(
                facts, resource_version=str(len(place.sizes) - 1), generation=len(place.sizes), owner=place.owner
            )
            for facts in world.targets
            for place in (self.places[facts.ref.name],)
        )
        return msgspec.structs.replace(world, targets=seen)

    def current(self) -> PolicySet:
        made = policy(node_group(self.name, min=0, max=9))
        return msgspec.structs.replace(made, policy=msgspec.structs.replace(made.policy, name=self.name))


def _both(seed: int) -> tuple[dict[str, Place], dict[str, OwnGroup]]:
    places = {name: Place(Baton(seed)) for name in NAMES}
    places[NAMES[1]].baton, places[NAMES[1]].server = places[NAMES[0]].baton, places[NAMES[0]].server
    for place in places.values():
        place.renewing = NAMES
    return places, {name: OwnGroup(places[name], name, places) for name in NAMES}


def _sizes(places: dict[str, Place]) -> dict[str, int]:
    return {name: place.sizes[-1] for name, place in places.items()}


def test_of_two_policies_one_alone_adds_a_node_for_the_pod() -> None:
    """Of 12 courses each ends with one node, and in some it is the first policy's, in some the second one's."""
    ends = set()
    for seed in range(12):
        places, loops = _both(seed)
        places[NAMES[0]].baton.run(**{name: lambda loop=loop: loop.turns(5) for name, loop in loops.items()})  # type: ignore[misc]
        ends.add(tuple(_sizes(places).items()))
    assert ends == {(("first", 1), ("second", 0)), (("first", 0), ("second", 1))}


def test_the_second_policy_serves_the_pods_that_come_later() -> None:
    """The first one is done when the second one begins. Of three pods then, two are the second one's or the first one's to serve,
    and no pod gets two nodes."""
    places, loops = _both(0)
    loops["first"].turns(2)
    loops["second"].turns(2)
    assert _sizes(places) == {"first": 1, "second": 0}
    loops["second"].pods = 3
    loops["second"].turns(2)
    loops["first"].pods = 3
    loops["first"].turns(2)
    assert _sizes(places) == {"first": 1, "second": 2}
