"""Two plans side by side: what the second would do differently."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from reconciler.cluster.world import World
from reconciler.plan.plan import SETTLING_CUT_SHORT, Action, Cost, GroupLine, NodeLine, Plan, PlanProblem, PodLine
from reconciler.scheduling.departing import departing

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


# The effect of a plan on nodes and pods: by its own actions now, and on the way to the steady state.


class Impact(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Pods as `namespace/name`, nodes by name, all sorted; groups by name.

    `evicted_now` are pods that this plan's removals move; DaemonSet and mirror pods go with their node and do not count. The
    others are None or empty if the steady state was not computed. `evicted_settled` counts every eviction: a pod that moves twice
    counts twice under its first name. `nodes_gone` are nodes of today that are gone in the steady state. `nodes_joined` is how
    many nodes joined each group on the way. `waiting` are pods without a node in the steady state, replaced ones under their
    first name. `data_lost` are those of `evicted_settled` with data only on their node (emptyDir, hostPath) that is not declared
    safe to lose.
    """

    evicted_now: tuple[str, ...] = ()
    evicted_settled: tuple[str, ...] = ()
    nodes_gone: tuple[str, ...] = ()
    nodes_joined: Mapping[str, int] = {}
    waiting: tuple[str, ...] = ()
    data_lost: tuple[str, ...] = ()


def left_over(pods: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those of `pods` that `others` does not have, or not as often."""
    known = Counter(others)
    rest = []
    for pod in pods:
        if known[pod] > 0:
            known[pod] -= 1
        else:
            rest.append(pod)
    return rest


def losing_data(world: World, pods: Iterable[str]) -> tuple[str, ...]:
    """Those of `pods` (as `namespace/name`) whose eviction loses data on their node, sorted, each once."""
    asked = set(pods)
    if not asked:
        return ()
    lossy = [bool(traits.lost_volumes) and traits.safe_to_evict != "true" for traits in world.pod_traits]
    if not any(lossy):
        return ()
    rows = [row for row, index in enumerate(world.pods.traits) if lossy[index]]
    return tuple(sorted(asked.intersection(world.pods.keys(rows))))


def evicted_now(world: World, plan: Plan) -> tuple[str, ...]:
    """The pods that have to move when the nodes of this plan's removals are drained, sorted."""
    names = {name for action in plan.actions for name in action.nodes}
    if not names:
        return ()
    moving: Sequence[int] = departing(world, bytearray(node.name in names for node in world.nodes), ending=False)
    if any(world.pods.deletion_seconds):
        moving = [row for row in moving if not world.pods.deletion_seconds[row]]
    return tuple(sorted(world.pods.keys(moving)))
