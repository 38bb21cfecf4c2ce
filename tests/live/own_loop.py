"""The live loop in the test's own process, one turn at a time, as a user with the reconciler's rights and nothing else."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Self

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_port import LivePort
from reconciler.control.live.live_providers import LiveProviders
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.control.policy.stored_policy import LockedState
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore, MemoryStore
from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.decisions.groups.effective_groups import platform_chooses
from reconciler.decisions.ownership.owner import POLICY_MARK
from reconciler.kube.connection.transport import connect
from reconciler.kube.drain import NodeDrain
from reconciler.kube.leading.ended_policies import EndedPolicies
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.state import StateObject
from reconciler.kube.watching.collection import Served, cluster_api
from reconciler.kube.watching.live_world import LiveWorld
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.plan.plan import GroupLine
from reconciler.policy.documents import Budget, Mode, NodeGroup, NodeGroupPolicy, PolicySet
from reconciler.policy.pace import Pace
from reconciler.providers.live_platforms import Surroundings
from tests.live.rights import GROUP, grant, writes_of
from tests.policies import node_group, policy
from tests.testbed.control_plane import ControlPlane

OWNER = "test"
CLUSTER_API = (cluster_api(version="v1beta2"),)
AT_ONCE = Pace(delay_after_add_seconds=0, delay_after_failure_seconds=0)
_PATIENCE_SECONDS = 300
_numbers = itertools.count(1)


class Hands:
    """The policy in force: changed by the test between two turns."""

    def __init__(self, value: PolicySet) -> None:
        self.value = value

    def current(self) -> PolicySet:
        return self.value


class OwnLoop:
    """A loop over the groups of one namespace. `ahead_seconds` is how far its clock is before the real one. `server` is the
    URL of a proxy to go through. `longest_silence_seconds` and `silence_seconds` are the view's. `marking`: the policy has
    this name, and its targets are marked with it. `silent`: a policy whose Lease lies here has ended at the first look. `served`
    are the platforms that it looks after, `beside` more namespaces with targets of theirs. `user` is who it
    is, where that is not somebody new. `claiming`: it keeps Lease and state in the namespace, and looks at those of others."""

    def __init__(
        self,
        plane: ControlPlane,
        namespace: str,
        *groups: NodeGroup,
        drain_timeout_seconds: int = 600,
        server: str = "",
        call_seconds: float = 10,
        longest_silence_seconds: float = 120,
        silence_seconds: float = 90,
        marking: str = "",
        silent: bool = False,
        served: tuple[Served, ...] = CLUSTER_API,
        beside: tuple[str, ...] = (),
        user: str = "",
        claiming: bool = False,
        **fields: object,
    ) -> None:
        grant(plane)
        self.plane = plane
        self.namespace = namespace
        self.user = user or f"reconciler-{next(_numbers)}"
        self.ahead_seconds = 0
        self._named = {"name": marking} if marking else {}
        self.hands = Hands(own_policy(*groups, **self._named, **fields))
        self.changed = threading.Event()
        api = connect(plane.kubeconfig_of(self.user, GROUP, server=server), timeout_seconds=call_seconds)
        self.api = api
        self.view = LiveWorld(
            api,
            now_seconds=self.now,
            served=served,
            namespaces=(namespace, *beside),
            on_change=self.changed.set,
            longest_silence_seconds=longest_silence_seconds,
            silence_seconds=silence_seconds,
        )
        owner = marking or OWNER
        state = LockedState(StateObject(api, namespace, owner))
        self.store: MemoryStore = LiveMemoryStore(state) if claiming else InMemoryStore()
        self.lease = LeaderLease(
            api, namespace=namespace, name=f"reconciler-{owner}", identity=self.user, pace=RealPace(), wall_seconds=time.time
        )
        others = OtherPolicies(api, namespace, owner, monotonic=time.monotonic, wall_seconds=time.time, saves=lambda: state.saves)
        around = Surroundings(
            management=api,
            served=served,
            platform_chooses=self._platform_chooses,
            reconnecting_seconds=api.outages.reconnecting_seconds,
        )
        providers = LiveProviders(api, around)
        rules = lambda: self.hands.value.policy.drain  # noqa: E731
        drain = NodeDrain(api, owner, self.now, timeout_seconds=drain_timeout_seconds, rules=rules)
        ended = EndedPolicies(api, namespace, time.monotonic, silence_seconds=0)
        self.port = LivePort(
            self.view,
            self.now,
            self.hands,
            providers.of(owner),
            drain,
            owner,
            lambda _: {POLICY_MARK: marking} if marking else {},
            former=providers.former(ended, self.now) if silent else lambda _: None,
            claims=others if claiming else None,
        )
        self.loop = ControlLoop(self.port, self.hands, self.store)
        self._claiming = claiming

    def __enter__(self) -> Self:
        self.view.start()
        assert self.view.wait(_PATIENCE_SECONDS), self.view.doubts()
        return self

    def __exit__(self, *_: object) -> None:
        self.view.stop()

    def now(self) -> int:
        return int(time.time()) + self.ahead_seconds

    def _platform_chooses(self, target: TargetRef) -> bool:
        return platform_chooses(self.port.last_world, self.hands.value, target, self.now())

    def decide_by(self, *groups: NodeGroup, **fields: object) -> None:
        """Another policy from the next turn on."""
        self.hands.value = own_policy(*groups, **self._named, **fields)

    def turn(self) -> LoopReport:
        """One turn, under a Lease where it keeps one."""
        if self._claiming:
            assert self.lease.step(), self.lease.message
        return self.loop.turn()

    def until(self, holds: Callable[[LoopReport], object], what: str) -> LoopReport:
        """Turn, again after each change of the view, until `holds`."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self.changed.clear()
            report = self.turn()
            if holds(report):
                return report
            assert time.monotonic() < deadline, f"{what} did not happen: {told(report)}"
            self.changed.wait(0.1)

    def line(self, name: str, holds: Callable[[GroupLine], object] = lambda _: True) -> GroupLine:
        """The plan's line of one group, once `holds` does."""
        report = self.until(lambda one: (found := _line(one, name)) is not None and holds(found), f"the line of {name}")
        found = _line(report, name)
        assert found is not None
        return found

    def settled(self, name: str, turns: int = 3) -> GroupLine:
        """The line of a group after so many more turns."""
        for _ in range(turns):
            report = self.turn()
        found = _line(report, name)
        assert found is not None, told(report)
        return found

    def writes(self) -> list[str]:
        """What this loop's user has asked to change of targets, machines, clusters, nodes and pods."""
        return writes_of(self.plane, self.user)


TESTBED = "testbed"
"""Under this name tests make their objects."""


def own_policy(*groups: NodeGroup, name: str = OWNER, **fields: object) -> PolicySet:
    """A policy without waits, whose budgets allow what a test does."""
    given: dict[str, object] = {
        "budgets": (Budget(nodes=10),),
        "pace": AT_ONCE,
        "mode": Mode.ENFORCE,
        "adopt_from": (TESTBED,),
        **fields,
    }
    made = policy(*groups, **{key: value for key, value in given.items() if key in NodeGroupPolicy.__struct_fields__})
    return msgspec.structs.replace(made, policy=msgspec.structs.replace(made.policy, name=name))


def group(name: str, namespace: str, *, least: int = 0, most: int = 10, target: str = "", **fields: object) -> NodeGroup:
    """A NodeGroup on the MachineDeployment `target` (its own name unless given)."""
    made = node_group(name, min=least, max=most, namespace=namespace, **fields)
    return msgspec.structs.replace(made, target=msgspec.structs.replace(made.target, name=target or name))


def _line(report: LoopReport, name: str) -> GroupLine | None:
    return next((line for line in report.plan.groups if line.name == name), None) if report.plan is not None else None


def told(report: LoopReport) -> str:
    """A turn in words, for a failed test."""
    if report.plan is None:
        return report.unavailable
    lines = [f"{line.name} {line.current}->{line.desired} {line.owner} {line.reasons}" for line in report.plan.groups]
    results = [f"{one.action.kind} {one.state} {one.code} {one.message}" for one in report.results]
    nodes = [f"{one.node} {one.state} {one.removable} {one.blockers}" for one in report.plan.nodes]
    return "\n".join((report.plan.summary, *lines, *results, *map(str, report.removals), *nodes))


def done(report: LoopReport, kind: str) -> bool:
    """Whether an action of this kind was done in this turn."""
    return any(one.action.kind == kind and one.state is ResultState.DONE for one in report.results)
