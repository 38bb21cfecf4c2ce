"""A machine that the platform updates in place is not chosen for removal."""

import msgspec

from reconciler.decisions.memory import Memory
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import node, of_kind, plan_of

LONG_AGO = Memory(unneeded_since={f"general-{number}": NOW - 3600 for number in (1, 2)})


def test_another_node_leaves() -> None:
    """Two empty nodes: that of the machine that is updated stays, and says why."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    world = cluster.world()
    machines = tuple(msgspec.structs.replace(one, updating=one.node == "general-1") for one in world.machines)
    world = msgspec.structs.replace(world, machines=machines)
    plan = plan_of(world, policy(node_group("general"), budgets=(Budget(nodes=100),)), LONG_AGO)
    assert [action.nodes for action in of_kind(plan, ActionKind.REMOVE_NODE)] == [("general-2",)]
    (name,) = (one.name for one in machines if one.updating)
    assert [(one.code, one.message) for one in node(plan, "general-1").blockers] == [
        ("MachineUpdating", f"Machine {name} is being updated in place")
    ]
