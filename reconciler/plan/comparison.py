"""Two plans side by side: what the second would do differently."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from reconciler.plan.plan import SETTLING_CUT_SHORT, Action, Cost, GroupLine, NodeLine, Plan, PlanProblem, PodLine

Line = TypeVar("Line")


class Pair(msgspec.Struct, Generic[Line], frozen=True):
    """One thing in both plans; None where a plan does not have it."""

    before: Line | None
    after: Line | None

    @property
    def either(self) -> Line:
        """The later side, or the earlier one if the later is None."""
        line = self.before if self.after is None else self.after
        if line is None:
            raise ValueError("a pair has at least one side")
        return line


class PlanComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What differs, and nothing else. Groups, pods, nodes and problems by name, actions in the order of the plans.

    The state that an action is bound to (resource version, digests) does not count. Of a reason, only the code counts.
    """

    summary_before: str
    summary_after: str
    groups: tuple[Pair[GroupLine], ...] = ()
    actions: tuple[Pair[Action], ...] = ()
    pods: tuple[Pair[PodLine], ...] = ()
    nodes: tuple[Pair[NodeLine], ...] = ()
    problems: tuple[Pair[PlanProblem], ...] = ()
    cost_before: Cost = Cost()
    cost_after: Cost = Cost()

    @property
    def empty(self) -> bool:
        """Whether the two plans say the same."""
        return (
            not (self.groups or self.actions or self.pods or self.nodes or self.problems) and self.cost_before == self.cost_after
        )

    @property
    def settled(self) -> bool:
        """Whether the settled columns of both plans are those of a steady state."""
        return all(pair.either.code != SETTLING_CUT_SHORT for pair in self.problems)


def compare_plans(before: Plan, after: Plan) -> PlanComparison:
    """What `after` says differently from `before`."""
    return PlanComparison(
        summary_before=before.summary,
        summary_after=after.summary,
        groups=_pairs(before.groups, after.groups, lambda line: line.name, _group_essence),
        actions=_pairs(before.actions, after.actions, _action_name, lambda line: (line.from_, line.to, line.reason.code)),
        pods=_pairs(before.pods, after.pods, lambda line: line.pod, _pod_essence),
        nodes=_pairs(before.nodes, after.nodes, lambda line: line.node, lambda line: line),
        problems=_problem_pairs(before, after),
        cost_before=before.cost,
        cost_after=after.cost,
    )


def _problem_pairs(before: Plan, after: Plan) -> tuple[Pair[PlanProblem], ...]:
    """Those that differ. Two sides that are cut short are told as well: their settled columns cannot be compared."""
    pairs = _pairs(before.problems, after.problems, lambda line: (line.code, line.object), lambda line: line)
    cut = [line for line in after.problems if line.code == SETTLING_CUT_SHORT and line in before.problems]
    return (*pairs, *(Pair(line, line) for line in cut))


def _pairs(
    before: Iterable[Line], after: Iterable[Line], name: Callable[[Line], object], essence: Callable[[Line], object]
) -> tuple[Pair[Line], ...]:
    """Lines that differ in essence: those of `after` in its order, then those that only `before` has."""
    earlier = {name(line): line for line in before}
    pairs = []
    for line in after:
        old = earlier.pop(name(line), None)
        if old is None or essence(old) != essence(line):
            pairs.append(Pair(old, line))
    return (*pairs, *(Pair(old, None) for old in earlier.values()))


def _group_essence(line: GroupLine) -> object:
    return msgspec.structs.replace(line, reasons=()), tuple(sorted({reason.code for reason in line.reasons}))


def _pod_essence(line: PodLine) -> object:
    return msgspec.structs.replace(line, reasons=()), tuple(sorted({reason.code for reason in line.reasons}))


def _action_name(line: Action) -> object:
    return line.kind, line.group, line.target, line.nodes
