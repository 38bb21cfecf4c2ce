"""Two policies with a group on the same target: the one whose mark stands there decides, the other one holds."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.plan.plan import OwnerState, Plan
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group

EVIDENCE = "annotation reconciler.dev/policy: other"


def _world(mark: str, *, ended: tuple[str, ...] = ()) -> World:
    """One node that has room for one of two pods; its target bears the mark of a policy."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 2, cpu="4")
    world = cluster.world()
    (facts,) = world.targets
    marked = msgspec.structs.replace(facts, annotations=(("reconciler.dev/policy", mark),))
    return msgspec.structs.replace(world, targets=(marked,), ended_policies=ended)


def _plan(world: World) -> Plan:
    return decide(world, policy(node_group("general")), Memory(), NOW)[0]


def test_a_target_with_the_mark_of_another_policy_is_held() -> None:
    """By that policy, with the annotation as evidence and the ways out of it; what it would need is said."""
    line = group(plan := _plan(_world("other")), "general")
    assert (line.owner.state, line.owner.by, line.owner.evidence[0]) == (OwnerState.HELD, "policy other", EVIDENCE)
    assert "delete the annotation" in line.owner.evidence[1]
    assert (line.held, line.desired, line.wanted, plan.actions) == (True, 1, 2, ())
    assert "GroupHeld" in codes(line)


@pytest.mark.parametrize(("mark", "ended"), [("test", ()), ("other", ("former", "other"))])
def test_a_target_of_ours_and_one_of_a_policy_that_has_ended_grow(mark: str, ended: tuple[str, ...]) -> None:
    """Our own mark holds nothing, nor does that of a policy which nobody runs any more, as one that was renamed."""
    line = group(_plan(_world(mark, ended=ended)), "general")
    assert (line.owner.state, line.desired) == (OwnerState.OURS, 2)


def test_a_mark_that_another_policy_set_after_the_decision_changes_what_was_judged() -> None:
    """The last look before a write does not know the policies, but binds what it sees to what the decision saw."""
    anyone = Terms(now_seconds=NOW, first_seen_seconds=NOW)
    unmarked, ours, other = (
        msgspec.structs.replace(_world("").targets[0], annotations=marks)
        for marks in ((), (("reconciler.dev/policy", "test"),), (("reconciler.dev/policy", "other"),))
    )
    digests = {judge(facts, anyone).digest for facts in (unmarked, ours, other)}
    assert len(digests) == 3
    assert judge(other, anyone).ownership.state is OwnerState.OURS
    taken_over = msgspec.structs.replace(anyone, policy="test", ended=("other",))
    assert judge(other, taken_over).digest == judge(other, anyone).digest
