"""What the live port makes of a view, a policy, a provider and a drain: which removals go on, which are undone, what is told."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.live_port import LivePort
from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.drain import DrainStep, SeenNode
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.live_world import IncompleteViewError
from reconciler.plan.plan import Bound
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.policy.documents import Hold, Mode, PolicySet
from reconciler.providers.contract import RemovalState, TargetRemoval, ViewUnavailableError, WriteCode, WriteResult
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL = machine_deployment("general")
BOUND = Bound(resource_version="1", replicas=2, owner_digest="", policy_digest="")
FINISHED = TargetRemoval(state=RemovalState.FINISHED, replicas=1, generation=5)
REFUSED = TargetRemoval(state=RemovalState.FAILED, code=WriteCode.REFUSED, message="no")


class _Platform:
    """A provider and a drain that write down what is asked of them."""

    def __init__(self, removal: TargetRemoval = FINISHED, drained: DrainStep | None = None) -> None:
        self.removal = removal
        self.drained = drained or DrainStep(remaining=0)
        self.asked: list[tuple[object, ...]] = []
        self.unreachable = False
        self.unreachable_nodes: tuple[str, ...] = ()
        self.deposed = False

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        self.asked.append(("resize", replicas, dict(annotations or {})))
        return WriteResult()

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        self.asked.append(("adopt", replicas, dict(annotations or {})))
        return WriteResult()

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        self.asked.append(("may_begin", machine, node))
        return WriteResult()

    def marked_by(self, target: TargetRef, machine: str) -> str:
        return ""

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        self.asked.append(("abandon", machine))
        return WriteResult()

    def begin(self, node: str, seen: SeenNode | None = None) -> None:
        if self.deposed:
            raise NotLeaderError("a does not lead. b does")
        if self.unreachable:
            raise UnreachableError("connection refused", sent=False)
        self.asked.append(("begin", node))

    def undo(self, node: str) -> None:
        if node in self.unreachable_nodes:
            raise UnreachableError("connection refused", sent=False)
        self.asked.append(("undo", node))

    def step(self, *asked: Any) -> tuple[TargetRemoval, ...] | DrainStep:
        if self.deposed and "general-2" in asked:
            raise NotLeaderError("a does not lead. b does")
        if len(asked) == 1:
            self.asked.append(("step", *asked))
            return self.drained
        self.asked.append(("step", asked[0], *((one.machine, one.node) for one in asked[1]), asked[2]))
        return (self.removal,) * len(asked[1])


class _View:
    def __init__(self, world: World | None) -> None:
        self.world = world

    def observe(self) -> World:
        if self.world is None:
            raise IncompleteViewError("Pod: not read yet")
        return self.world


class _Policy:
    def __init__(self, value: PolicySet) -> None:
        self.value = value

    def current(self) -> PolicySet:
        return self.value


def _world(taint: str = "", *, marked: bool = False) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, taints=[f"reconciler.dev/deleting={taint}:NoSchedule"] if taint else [])
    world = cluster.world()
    machines = tuple(msgspec.structs.replace(machine, delete_marked=marked) for machine in world.machines)
    return msgspec.structs.replace(world, machines=machines)


def _port(platform: _Platform, world: World | None, rules: PolicySet | None = None) -> LivePort:
    policies = _Policy(rules or policy(node_group("general")))
    kinds = {MACHINE_DEPLOYMENT: platform}
    return LivePort(_View(world), lambda: NOW, policies, kinds, platform, "test", lambda _: {"reconciler.dev/revision": "abc"})


def test_a_view_that_is_not_whole_is_unavailable() -> None:
    """The loop's error, with the words of the view."""
    with pytest.raises(ViewUnavailableError, match="Pod: not read yet"):
        _port(_Platform(), None).observe()


def test_a_target_without_provider_is_refused() -> None:
    """Nothing is guessed for a kind that nobody was configured for."""
    target = TargetRef(kind=AUTO_SCALING_GROUP, region="eu", name="a")
    result = _port(_Platform(), _world()).resize(target, 1, BOUND)
    assert (result.code, "AutoScalingGroup" in result.message) == (WriteCode.REFUSED, True)


def test_a_resize_carries_what_explains_it() -> None:
    """The annotations of the target go to the provider."""
    platform = _Platform()
    assert _port(platform, _world()).resize(GENERAL, 3, BOUND).done
    assert platform.asked == [("resize", 3, {"reconciler.dev/revision": "abc"})]


def test_an_adoption_carries_whose_it_is() -> None:
    """A target whose size need not change bears the mark of its policy as well."""
    platform = _Platform()
    assert _port(platform, _world()).adopt(GENERAL, 2, BOUND).done
    assert platform.asked == [("adopt", 2, {"reconciler.dev/revision": "abc"})]


def test_a_removal_begins_with_the_provider_and_then_the_taint() -> None:
    """Nothing else is written; a drain that cannot be reached leaves no doubt."""
    platform = _Platform()
    port = _port(platform, _world())
    assert port.remove_node(GENERAL, "general-1", 1, BOUND).done
    assert platform.asked == [("may_begin", "general-1", "general-1"), ("begin", "general-1")]
    platform.unreachable = True
    assert port.remove_node(GENERAL, "general-2", 0, BOUND).code == WriteCode.UNAVAILABLE


def test_an_empty_node_is_handed_to_the_provider_and_told_once() -> None:
    """With the group's minimum as the floor; the second turn has nothing to tell."""
    platform = _Platform()
    port = _port(platform, _world("test.1"), policy(node_group("general", min=1)))
    told = port.continue_removals()
    assert [(one.node, one.state, one.replicas, one.generation) for one in told] == [
        ("general-1", RemovalState.FINISHED, 1, 5),
        ("general-2", RemovalState.FINISHED, 1, 5),
    ]
    assert ("step", GENERAL, ("general-1", "general-1"), ("general-2", "general-2"), 1) in platform.asked
    assert port.continue_removals() == ()


def test_a_node_that_has_pods_is_not_handed_over() -> None:
    """Draining, with the refusal; the provider is not asked."""
    platform = _Platform(drained=DrainStep(remaining=2, message="budget web"))
    told = _port(platform, _world("test.1")).continue_removals()
    assert {(one.state, one.remaining, one.message) for one in told} == {(RemovalState.DRAINING, 2, "budget web")}
    assert platform.asked == [("step", "general-1"), ("step", "general-2")]


def test_a_drain_that_is_given_up_is_undone() -> None:
    """The node is open again and the code is the drain's."""
    platform = _Platform(drained=DrainStep(remaining=1, given_up="not empty after 600 s", code="DrainTimeout"))
    told = _port(platform, _world("test.1")).continue_removals()
    assert {(one.state, one.code) for one in told} == {(RemovalState.FAILED, "DrainTimeout")}
    assert ("undo", "general-1") in platform.asked


@pytest.mark.parametrize(("reopen", "undone"), [(True, 2), (False, 0)])
def test_a_removal_that_failed_opens_the_node_unless_it_goes_anyway(*, reopen: bool, undone: int) -> None:
    """As the provider says."""
    platform = _Platform(msgspec.structs.replace(REFUSED, reopen=reopen))
    told = _port(platform, _world("test.1")).continue_removals()
    assert {(one.state, one.code) for one in told} == {(RemovalState.FAILED, WriteCode.REFUSED)}
    assert sum(asked[0] == "undo" for asked in platform.asked) == undone


@pytest.mark.parametrize("taint", ["other.1", "test", "test.soon"])
def test_taints_of_others_are_left_alone(taint: str) -> None:
    """Another reconciler's taint, and values that are none of ours."""
    platform = _Platform()
    assert _port(platform, _world(taint)).continue_removals() == ()
    assert platform.asked == []


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (policy(node_group("general", hold=Hold(reason="recovering"))), "general is held: recovering"),
        (policy(node_group("general", mode=Mode.OBSERVE)), "general is in mode Observe"),
        (policy(node_group("other")), "no group of the policy has this target any more"),
    ],
)
def test_removals_stop_when_the_policy_says_so(rules: PolicySet, why: str) -> None:
    """No pod is evicted; the provider undoes what is not final, and the reason is the policy's."""
    platform = _Platform(REFUSED)
    told = _port(platform, _world("test.1"), rules).continue_removals()
    assert {one.code for one in told} == {"Held"}
    assert told[0].message.startswith(why)
    assert ("step", "general-1") not in platform.asked
    assert ("undo", "general-1") in platform.asked


def test_a_removal_that_is_called_off_evicts_nothing_more() -> None:
    """Only the node that was named: the provider is told that nothing may go, and the node is opened."""
    platform = _Platform(REFUSED)
    port = _port(platform, _world("test.1"))
    port.call_off(GENERAL, "general-1", "MinSize: raised")
    told = {one.node: (one.code, one.message) for one in port.continue_removals()}
    assert told["general-1"] == ("CalledOff", "MinSize: raised")
    assert told["general-2"] == ("Refused", "no")
    assert ("step", "general-1") not in platform.asked
    assert ("step", "general-2") in platform.asked
    assert ("step", GENERAL, ("general-1", "general-1"), 1 << 31) in platform.asked
    assert ("undo", "general-1") in platform.asked


def test_calling_off_is_for_one_step() -> None:
    """What kept the node is over when nobody says it again: its drain goes on."""
    platform = _Platform(drained=DrainStep(remaining=1))
    port = _port(platform, _world("test.1"))
    platform.removal = TargetRemoval(state=RemovalState.DRAINING, message="not reachable")
    port.call_off(GENERAL, "general-1", "MinSize: raised")
    port.continue_removals()
    assert ("step", "general-1") not in platform.asked
    port.continue_removals()
    assert ("step", "general-1") in platform.asked


def test_a_taint_on_a_node_without_machine_is_taken_off() -> None:
    """Its machine is gone and the node stayed: nobody else would open it. Told, though of no target: what is remembered of the
    node ends with it."""
    platform = _Platform()
    world = msgspec.structs.replace(_world("test.1"), machines=())
    told = [(one.target, one.node, one.state) for one in _port(platform, world).continue_removals()]
    assert told == [(None, "general-1", RemovalState.FAILED), (None, "general-2", RemovalState.FAILED)]
    assert platform.asked == [("undo", "general-1"), ("undo", "general-2")]


@pytest.mark.parametrize("deleting", [False, True])
def test_a_taint_on_a_node_whose_target_is_gone_is_taken_off(*, deleting: bool) -> None:
    """Told as given up; a node whose machine is going stays closed."""
    platform = _Platform()
    world = _world("test.1")
    machines = tuple(msgspec.structs.replace(machine, deleting=deleting) for machine in world.machines)
    told = _port(platform, msgspec.structs.replace(world, machines=machines, targets=())).continue_removals()
    assert [(one.state, one.code) for one in told] == ([] if deleting else [(RemovalState.FAILED, "NotFound")] * 2)
    assert len(platform.asked) == (0 if deleting else 2)


def test_an_orderly_end_opens_every_node_that_it_can() -> None:
    """A node that cannot be reached keeps its taint for the next process; the others are open again."""
    platform = _Platform()
    platform.unreachable_nodes = ("general-1",)
    told = _port(platform, _world("test.1")).abandon_removals()
    assert [(one.node, one.state, one.code) for one in told] == [
        ("general-1", RemovalState.DRAINING, ""),
        ("general-2", RemovalState.FAILED, "Stopped"),
    ]
    assert platform.asked == [("undo", "general-2")]


def test_an_orderly_end_finishes_what_is_one_write_from_its_end() -> None:
    """A marked machine's removal is finished; no pod is evicted any more."""
    platform = _Platform()
    told = _port(platform, _world("test.1", marked=True)).abandon_removals()
    assert {one.state for one in told} == {RemovalState.FINISHED}
    assert ("step", "general-1") not in platform.asked


def test_a_mark_without_taint_is_abandoned() -> None:
    """By the provider, which knows whose it is."""
    platform = _Platform()
    assert _port(platform, _world(marked=True)).continue_removals() == ()
    assert platform.asked == [("abandon", "general-1"), ("abandon", "general-2")]


def test_who_no_longer_leads_stops_and_backs_nobody_off() -> None:
    """What was done before is told; the write that was not sent is to be tried later, by whoever leads then."""
    platform = _Platform(drained=DrainStep(remaining=1))
    platform.deposed = True
    assert [one.node for one in _port(platform, _world("test.1")).continue_removals()] == ["general-1"]
    result = _port(platform, _world()).remove_node(GENERAL, "general-1", 1, BOUND)
    assert (result.code, result.message) == (WriteCode.UNAVAILABLE, f"{GENERAL}: a does not lead. b does")
