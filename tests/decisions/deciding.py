"""Short words for tests of whole decisions."""

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Action, ActionKind, GroupLine, NodeLine, Plan, PodLine
from reconciler.policy.documents import PolicySet
from tests.builders import NOW


def plan_of(world: World, rules: PolicySet, memory: Memory | None = None, now: int = NOW) -> Plan:
    """One decision."""
    return decide(world, rules, memory or Memory(), now)[0]


def group(plan: Plan, name: str) -> GroupLine:
    """The line of one group."""
    return next(line for line in plan.groups if line.name == name)


def node(plan: Plan, name: str) -> NodeLine:
    """The line of one node."""
    return next(line for line in plan.nodes if line.node == name)


def pod(plan: Plan, name: str) -> PodLine:
    """The line of one pending pod."""
    return next(line for line in plan.pods if line.pod == name)


def of_kind(plan: Plan, kind: ActionKind) -> list[Action]:
    """Actions of one kind, in order."""
    return [action for action in plan.actions if action.kind is kind]


def codes(line: GroupLine | PodLine) -> list[str]:
    """Codes of the reasons."""
    return [reason.code for reason in line.reasons]


def blocker_codes(plan: Plan, name: str) -> list[str]:
    """Codes of what keeps one node."""
    return [blocker.code for blocker in node(plan, name).blockers]
