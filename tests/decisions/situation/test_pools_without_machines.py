"""Nodes of a MachinePool without Machines: they stay, unless the policy lets the platform choose."""

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind, Plan
from reconciler.policy.documents import Budget, GroupFields, ScaleDown, WithoutMachines
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, of_kind

ALLOWED = ScaleDown(unneeded_time_seconds=0, without_machines=WithoutMachines.PLATFORM_CHOOSES)
ASKED = ScaleDown(unneeded_time_seconds=0)


def _plan(of_group: ScaleDown, of_policy: ScaleDown = ASKED) -> Plan:
    """Two empty nodes, of which the group needs one."""
    cluster = ClusterBuilder()
    cluster.group("pool", nodes=2)
    world = cluster.world()
    world = msgspec.structs.replace(world, targets=(msgspec.structs.replace(world.targets[0], selectable=False),))
    defaults = GroupFields(scale_down=of_policy)
    rules = policy(node_group("pool", min=1, scale_down=of_group), defaults=defaults, budgets=(Budget(nodes=1),))
    return decide(world, rules, Memory(), NOW)[0]


def test_nobody_can_choose_so_that_nothing_leaves() -> None:
    """Unless told otherwise; the blocker names the field that would allow it."""
    plan = _plan(ScaleDown())
    assert plan.actions == ()
    for line in plan.nodes:
        (blocker,) = [one for one in line.blockers if one.code == "NotSelectable"]
        assert "scaleDown.withoutMachines of pool is Block" in blocker.message
    assert "PlatformChooses" not in codes(group(plan, "pool"))


@pytest.mark.parametrize(("of_group", "of_policy"), [(ALLOWED, ASKED), (ScaleDown(), ALLOWED)])
def test_the_platform_chooses_where_the_policy_says_so(of_group: ScaleDown, of_policy: ScaleDown) -> None:
    """By the group's own field or the policy's default: one node leaves, and the plan says that another one may go."""
    plan = _plan(of_group, of_policy)
    (removal,) = of_kind(plan, ActionKind.REMOVE_NODE)
    reason = next(one for one in group(plan, "pool").reasons if one.code == "PlatformChooses")
    assert (removal.from_, removal.to, reason.data["nodes"]) == (2, 1, removal.nodes)
    assert "The platform chooses which to remove" in reason.message
