"""Whether a read says anything of our last write, on platforms whose objects have no generation."""

import os
import random

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence, TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import LastWrite, Memory, Outcome
from reconciler.decisions.ownership.second_writer import Seen, seen
from reconciler.plan.plan import ActionKind, OwnerState
from reconciler.policy.documents import NodeGroup, TargetSpec
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import group

LAG = 60
RUNS = int(os.environ.get("RECONCILER_RANDOM_RUNS", "24"))
"""Random runs of each of the properties below; a seed decides the platform, too."""
KINDS = ["AutoScalingGroup", "NodePool"]


def _facts(replicas: int, read: int, kind: str = "AutoScalingGroup", name: str = "workers") -> TargetFacts:
    return TargetFacts(
        ref=TargetRef(kind=kind, region="eu-central-1", name=name),
        replicas=replicas,
        read_seconds=read,
        owner=OwnerEvidence(),
        unrecorded_owner="nobody is recorded",
    )


def _write(replicas: int, lowest: int | None = 3, highest: int | None = 4) -> LastWrite:
    return LastWrite(replicas=replicas, written_seconds=NOW, lowest=lowest, highest=highest)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("replicas", "read", "said"),
    [
        (4, NOW + 1000, Seen.STANDS),
        (3, NOW - 10, Seen.UNSEEN),
        (3, NOW + LAG, Seen.UNSEEN),
        (3, NOW + LAG + 1, Seen.UNDONE),
        (9, NOW, Seen.UNSEEN),
        (9, NOW + 1, Seen.UNDONE),
        (2, NOW + 1, Seen.UNDONE),
    ],
    ids=["ours", "older", "within the lag", "after the lag", "another, older", "another, higher", "another, lower"],
)
def test_what_a_read_says(kind: str, replicas: int, read: int, said: Seen) -> None:
    """We wrote 4 where 3 was."""
    assert seen(_write(4), _facts(replicas, read, kind), NOW + 2000) is said


def test_without_what_was_there_before_only_the_lag_decides() -> None:
    """A write that an earlier version remembered."""
    write = _write(4, None, None)
    assert seen(write, _facts(9, NOW + 1), NOW + 1) is Seen.UNSEEN
    assert seen(write, _facts(9, NOW + LAG + 1), NOW + 99) is Seen.UNDONE


def test_a_read_without_a_time_is_as_old_as_the_decision() -> None:
    """What a snapshot or a single question holds."""
    assert seen(_write(4), _facts(3, 0), NOW + LAG) is Seen.UNSEEN
    assert seen(_write(4), _facts(3, 0), NOW + LAG + 1) is Seen.UNDONE


def _outcome(to: int, before: int | None, at: int, kind: ActionKind = ActionKind.RESIZE, code: str = "", *nodes: str) -> Outcome:
    return Outcome(
        kind=kind.value, group="workers", target=str(_facts(0, 0).ref), to=to, before=before, nodes=nodes, done=not code,
        code=code, at_seconds=at,
    )  # fmt: skip


def test_reads_may_show_every_size_between_those_of_our_last_writes() -> None:
    """Writes within five minutes of each other, and one long after."""
    target = str(_facts(0, 0).ref)
    memory = settle(Memory(), (_outcome(4, 3, NOW), _outcome(6, 4, NOW + 5)))
    assert memory.last_writes[target] == LastWrite(replicas=6, written_seconds=NOW + 5, lowest=3, highest=6)
    memory = settle(memory, (_outcome(5, 6, NOW + 305),))
    assert memory.last_writes[target] == LastWrite(replicas=5, written_seconds=NOW + 305, lowest=5, highest=6)


@pytest.mark.parametrize(
    ("outcome", "known"),
    [
        (_outcome(5, 4, NOW + 9, ActionKind.RESIZE, "Refused"), True),
        (_outcome(5, 4, NOW + 9, ActionKind.RESIZE, "Unavailable"), True),
        (_outcome(5, 4, NOW + 9, ActionKind.RESIZE, "Unknown"), False),
        (_outcome(5, 4, NOW + 9, ActionKind.RESIZE, "Failed"), False),
        (_outcome(3, 4, NOW + 9, ActionKind.CANCEL, "Refused"), False),
        (_outcome(3, 4, NOW + 9, ActionKind.REMOVE_NODE, "", "n1"), False),
        (_outcome(3, 4, NOW + 9, ActionKind.REMOVE_NODE, "Refused", "n1"), False),
    ],
)
def test_what_may_have_moved_the_size_leaves_nothing_to_compare(outcome: Outcome, known: bool) -> None:
    """A lost answer, a part of several calls, a removal that has begun: no read is held against what we wrote before."""
    memory = settle(Memory(), (_outcome(4, 3, NOW), outcome))
    assert (outcome.target in memory.last_writes) is known


class _Cloud:
    """One group without generations, read late. A pod comes now and then and fills a node; a dishonest cloud undoes each write.
    Answers are lost in honest ones alone: of a write whose answer was lost nobody knows that it was undone."""

    def __init__(self, kind: str, dice: random.Random, *, dishonest: bool) -> None:
        self.kind, self.dice, self.dishonest = kind, dice, dishonest
        self.lag = dice.uniform(0, 30)
        self.now = float(NOW)
        self.size = 3
        self.history: list[tuple[float, int]] = [(NOW - 1000.0, 3)]
        self.pods = 3
        self.reversals = 0
        self.undo_at: float | None = None
        self.memory = Memory()

    def set(self, size: int) -> None:
        self.size = size
        self.history.append((self.now, size))

    def read(self) -> int:
        """What a read that begins now shows: the state of some instant within the lag."""
        instant = self.now - self.dice.uniform(0, self.lag)
        return next(size for at, size in reversed(self.history) if at <= instant)

    def world(self) -> World:
        read, shown = int(self.now), self.read()
        self.now += self.dice.uniform(0, 5)
        cluster = ClusterBuilder(now=int(self.now))
        names = cluster.group("workers", nodes=3)
        for number in range(self.pods):
            cluster.pods(f"app{number}", 1, cpu="4", on=names[number] if number < len(names) else None)
        world = cluster.world()
        (shape,) = world.targets
        facts = msgspec.structs.replace(_facts(shown, read, self.kind), template=shape.template)
        machines = tuple(msgspec.structs.replace(one, target=facts.ref) for one in world.machines)
        return msgspec.structs.replace(world, targets=(facts,), machines=machines)

    def turn(self, rules: NodeGroup) -> bool:
        """One turn of the loop; whether the group is held."""
        began = int(self.now)
        plan, self.memory = decide(self.world(), policy(rules), self.memory, began)
        for action in plan.actions:
            assert action.kind is ActionKind.RESIZE
            self.now += self.dice.uniform(0, 5)
            refused = self.dice.random() < 0.1
            if action.bound.replicas == self.read() and not refused:
                before, lost = self.size, self.dice.random() < 0.1 and not self.dishonest
                self.set(action.to)
                code = "Unknown" if lost else ""
                if self.dishonest and before != action.to:
                    self.undo_at = self.now + self.dice.uniform(0, 10)
            else:
                code = "Unavailable" if refused else "Stale"
            self.now += self.dice.uniform(0, 5)
            if code != "Stale":
                done = _outcome(action.to, action.bound.replicas, int(self.now), ActionKind.RESIZE, code)
                outcome = msgspec.structs.replace(done, target=action.target)
                self.memory = settle(self.memory, (outcome,))
        self.now += self.dice.uniform(1, 10)
        if self.undo_at is not None and self.now >= self.undo_at:
            self.undo_at = None
            self.reversals += 1
            self.set(3)
        return group(plan, "workers").owner.state is OwnerState.HELD


def _group(kind: str) -> NodeGroup:
    provider = "aws" if kind == "AutoScalingGroup" else "crusoe"
    target = TargetSpec(provider=provider, kind=kind, namespace="", region="eu-central-1", name="workers")
    return node_group("workers", max=40, target=target)


@pytest.mark.parametrize("seed", range(RUNS))
def test_growth_alone_is_no_second_writer(seed: int) -> None:
    """Honest runs: latency up to 5 s, lag up to 30 s, refused and lost calls, a pod every few turns. None ends held."""
    kind = KINDS[seed % 2]
    cloud = _Cloud(kind, random.Random(seed), dishonest=False)
    for _ in range(25):
        cloud.pods = min(20, cloud.pods + cloud.dice.randint(0, 1))
        assert not cloud.turn(_group(kind)), f"{cloud.memory.conflicts}, {cloud.history}"


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_writer_that_undoes_us_is_held_within_three_reversals(seed: int) -> None:
    """A platform that sets 3 again after each write of ours."""
    kind = KINDS[seed % 2]
    cloud = _Cloud(kind, random.Random(seed), dishonest=True)
    cloud.pods = 5
    for _ in range(300):
        if cloud.turn(_group(kind)):
            break
    else:
        pytest.fail(f"never held, {cloud.reversals} reversals, {cloud.history[-9:]}")
    assert cloud.reversals <= 3, f"{cloud.reversals} reversals, {cloud.history}"
