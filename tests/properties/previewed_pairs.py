"""Random pairs of policies on random clusters: what a preview says of both sides, and what the loop does under each."""

import random
from collections import Counter
from collections.abc import Callable

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.turn.loop import ControlLoop
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import ResultState
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.impact import Impact
from reconciler.plan.plan import Action, ActionKind, GroupLine
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import (
    Headroom,
    Hold,
    Limit,
    Mode,
    NodeGroup,
    PolicySet,
    ScaleDown,
    Size,
    Toggle,
)
from reconciler.providers.contract import RemovalProgress
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE, NO_DELAY
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.timers import next_timer_seconds
from tests.properties.random_clusters import random_cluster

_STEP_SECONDS = 10
_QUIET_TURNS = 4
_MOST_TURNS = 400


class Pair(msgspec.Struct, frozen=True):
    """A cluster, the policy today and after, and what was changed, in words."""

    world: World
    before: PolicySet
    after: PolicySet
    words: str

    @property
    def observing(self) -> frozenset[str]:
        """Targets of groups that only observe by themselves, beside others that are written to."""
        return frozenset(target_text(group) for group in self.after.groups if group.mode is Mode.OBSERVE)


class Told(msgspec.Struct, frozen=True):
    """Of one side: actions now, nodes of each target at rest, how many nodes go and come on the way and how often pods are
    evicted until then, and the pods that wait at rest."""

    actions: tuple[str, ...]
    sizes: dict[str, int]
    gone: int
    joined: dict[str, int]
    evicted: int
    waiting: int


def random_pair(seed: int) -> Pair:
    """One to three values differ, and one of both sides writes: where neither does, both are shown as they would act."""
    rng = random.Random(seed)
    start = random_cluster(rng.randrange(10**6), headroom=rng.random() < 0.3, protected=False)
    before, after, words = start.policy, start.policy, []
    if rng.random() < 0.3:
        before = _with_policy(before, mode=Mode.OBSERVE)
        words.append("mode Observe -> Enforce")
    for change in rng.sample(_CHANGES, k=rng.randint(1, 3)):
        after, told = change(rng, after)
        words.append(told)
    return Pair(start.world, before, after, "; ".join(words))


def _with_policy(policy: PolicySet, **changed: object) -> PolicySet:
    return msgspec.structs.replace(policy, policy=msgspec.structs.replace(policy.policy, **changed))


def _with_group(rng: random.Random, policy: PolicySet, **changed: object) -> tuple[PolicySet, str]:
    at = rng.randrange(len(policy.groups))
    groups = list(policy.groups)
    groups[at] = msgspec.structs.replace(groups[at], **changed)
    return msgspec.structs.replace(policy, groups=tuple(groups)), f"{groups[at].name}: {changed}"


def _size(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    low = rng.choice((0, 0, 1, 3, 6))
    return _with_group(rng, policy, size=Size(min=low, max=low + rng.choice((0, 2, 5, 20))))


def _down(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    how = ScaleDown(
        mode=rng.choice((None, Toggle.DISABLED)),
        utilization_threshold_percent=rng.choice((None, 10, 30, 70, 90)),
        unneeded_time_seconds=rng.choice((0, 300, 600)),
    )
    return _with_group(rng, policy, scale_down=how)


def _hold(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    return _with_group(rng, policy, hold=rng.choice((None, Hold(reason="repair"))))


def _room(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    return _with_group(rng, policy, headroom=Headroom(nodes=rng.choice((1, 2))))


def _limit(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    limits = rng.choice(((), (Limit(name="cluster", max=(("nodes", rng.randint(1, 25)),)),)))
    return _with_policy(policy, limits=limits), f"limits {limits}"


def _own_mode(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    return _with_group(rng, policy, mode=Mode.OBSERVE)


def _leaves(rng: random.Random, policy: PolicySet) -> tuple[PolicySet, str]:
    if len(policy.groups) == 1:
        return policy, "nothing"
    gone = rng.choice(policy.groups)
    return msgspec.structs.replace(policy, groups=tuple(one for one in policy.groups if one is not gone)), f"{gone.name} leaves"


_CHANGES: tuple[Callable[[random.Random, PolicySet], tuple[PolicySet, str]], ...] = (
    _size, _size, _down, _down, _hold, _room, _limit, _own_mode, _leaves,
)  # fmt: skip


def target_text(group: NodeGroup) -> str:
    """As actions and lines name it."""
    return str(TargetRef(kind=group.target.kind, namespace=group.target.namespace, name=group.target.name))


class _InForce:
    """Where the loop finds its policy."""

    def __init__(self, policy: PolicySet) -> None:
        self._policy = policy

    def current(self) -> PolicySet:
        return self._policy


class _AtOnce(SimulatedPort):
    """What a drained node leaves behind takes no time either: the machine is gone before the turn looks again. A node that is
    still there counts against the limits of the policy, and the growth beside it comes a turn later, or elsewhere."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        super().__init__(cluster)
        self._at_once = cluster

    def continue_removals(self) -> tuple[RemovalProgress, ...]:
        ended = super().continue_removals()
        if ended:
            self._at_once.advance_to(self._at_once.now_seconds)
        return ended


def run(pair: Pair, policy: PolicySet) -> Told:
    """The loop under one policy until it rests: nothing takes time, and time goes on to the next timer. It remembers, as a loop
    that runs does, which groups the policy of today has."""
    now = pair.world.captured_seconds
    cluster = SimulatedCluster(pair.world, policy, now, durations=NO_DELAY, otherwise=AT_ONCE)
    store = InMemoryStore()
    _, known = decide(pair.world, pair.before, Memory(), now)
    store.save(Memory(known_groups=known.known_groups))
    loop = ControlLoop(_AtOnce(cluster), _InForce(policy), store, waits_for_bursts=False)
    first: tuple[str, ...] | None = None
    quiet, last = 0, -1
    for _ in range(_MOST_TURNS):
        revision = cluster.objects.revision
        # What came or went since the last turn is looked at again soon, as the loop does, whatever the next timer is.
        moved, last = revision != last, revision
        report = loop.turn()
        assert report.plan is not None
        done = tuple(result.action for result in report.results if result.state is ResultState.DONE)
        if first is None:
            # What is taken over is resized in the turn after it, when the field is ours.
            ours = {action.target for action in done if action.kind is ActionKind.ADOPT}
            first = _actions(
                tuple(one.action for one in report.results if one.state is ResultState.DONE or one.action.target in ours)
            )
        timer = next_timer_seconds(report.plan, store.load(), policy.policy, cluster.now_seconds)
        if done or moved or timer is None:
            cluster.advance_to(cluster.now_seconds + _STEP_SECONDS)
        else:
            cluster.advance_to(timer)
        quiet = 0 if done or timer is not None or cluster.objects.revision != revision else quiet + 1
        if quiet == _QUIET_TURNS:
            break
    there = {node.value.name for node in cluster.objects.nodes.values()}
    events = cluster.journal.events
    return Told(
        actions=first or (),
        sizes={str(facts.ref): facts.replicas or 0 for facts in cluster.world().targets},
        gone=sum(node.name not in there for node in pair.world.nodes),
        joined=dict(Counter(str(event.target) for event in events if event.kind is Happened.NODE_JOINED)),
        evicted=sum(event.kind is Happened.POD_EVICTED for event in events),
        waiting=sum(1 for _ in cluster.objects.pending()),
    )


def told(pair: Pair) -> tuple[Told, Told]:
    """What the preview says of both sides. The side of today is what differs, and for the rest the plan that follows."""
    side = PreviewSide(source="x")
    shown = compare(
        pair.world, pair.world.captured_seconds, (side, pair.before), (side, pair.after), DEFAULT_WORK_BUDGET
    )  # fmt: skip
    assert shown.comparison is not None
    after = {line.name: line for line in shown.plan.groups}
    before = dict(after)
    for lines in shown.comparison.groups:
        before.pop(lines.either.name, None)
        if lines.before is not None:
            before[lines.before.name] = lines.before
    came = [lines.after for lines in shown.comparison.actions if lines.after is not None]
    ended = [lines.before for lines in shown.comparison.actions if lines.before is not None]
    actions = shown.plan.actions
    earlier = (*(action for action in actions if action not in came), *ended)
    return _of(pair, before, earlier, shown.impact_before), _of(pair, after, actions, shown.impact_after)


def _of(pair: Pair, groups: dict[str, GroupLine], actions: tuple[Action, ...], impact: Impact) -> Told:
    settled = {line.target: line.desired if line.settled is None else line.settled for line in groups.values()}
    targets = {line.name: line.target for line in groups.values()}
    return Told(
        actions=_actions(actions),
        sizes={str(facts.ref): facts.replicas or 0 for facts in pair.world.targets} | settled,
        gone=len(impact.nodes_gone),
        joined={targets[name]: count for name, count in impact.nodes_joined.items()},
        evicted=len(impact.evicted_settled),
        waiting=len(impact.waiting),
    )


def _actions(actions: tuple[Action, ...]) -> tuple[str, ...]:
    return tuple(sorted(f"{one.kind} {one.target} {one.from_} {one.to} {','.join(one.nodes)}" for one in actions))
