"""One variant of a policy in one period: the text that would be written is read, and its decisions are replayed."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from reconciler.cluster.world import World, identity_of
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.waste_places import placed
from reconciler.plan.tuning import DemandFigures, demand_figures
from reconciler.plan.waste import Wastes, wastes
from reconciler.policy.documents import PolicySet
from reconciler.policy.text_edits import EditError, edited
from reconciler.policy.tree import read_tree
from reconciler.simulation.embedded.durations import MachineBehaviour
from reconciler.simulation.replays.policy_world import policy_world
from reconciler.simulation.replays.replay import LEAD_SECONDS, ReplayRun, replay
from reconciler.simulation.replays.trace import Trace
from reconciler.simulation.tuning.search import Variant
from reconciler.values.instant import instant_text

DAY_SECONDS = 86_400
_LEAST_DAYS, _PARTS, _STEP_SECONDS = 8, 8, 300
LEAST_SECONDS = _PARTS * 1_800
LEAST_PERIODS = 4
"""With fewer, none is held out."""


class CouldNotGrowError(ValueError):
    """Figures that say nothing about a policy: all its groups are held, or no new node's size is known."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What all variants are replayed on. `files` are the texts of the policy `name`. Nodes join `join_seconds` after they were
    requested."""

    files: Mapping[str, bytes]
    name: str
    trace: Trace
    world: World | None
    join_seconds: int = 90

    @property
    def observed_seconds(self) -> int:
        """How much of the trace is in no gap."""
        start, end = self.trace.start_seconds, self.trace.end_seconds
        return end - start - self.trace.unobserved_seconds(start, end)

    @property
    def period_seconds(self) -> int:
        """A day; of less than eight days an eighth."""
        whole = self.observed_seconds
        return DAY_SECONDS if whole >= _LEAST_DAYS * DAY_SECONDS else whole // _PARTS // _STEP_SECONDS * _STEP_SECONDS

    def periods(self) -> tuple[int, ...]:
        """Where they begin (Unix seconds). The rest of the trace is left out, and so are those of which a tenth is in gaps."""
        start, length = self.trace.start_seconds, self.period_seconds
        begins = range(start, self.trace.end_seconds - length + 1, length)
        return tuple(at for at in begins if 10 * self.trace.unobserved_seconds(at, at + length) < length)

    def in_period(self, number: int) -> Trace:
        """The demand of a period."""
        begin = self.periods()[number]
        return self.trace.between(begin, begin + self.period_seconds)


def policy_with(past: Past, variant: Variant) -> PolicySet | None:
    """The policy with these changes; None where it is not valid, or only a person can write it."""
    try:
        texts = edited(past.files, variant)
    except EditError:
        return None
    identity = None if past.world is None else identity_of(past.world)
    tree = read_tree(texts, now_seconds=past.trace.start_seconds, cluster=identity)
    return next((one for one in tree.sets if one.policy.name == past.name), None)


def figures_in(past: Past, variant: Variant, period: int) -> DemandFigures:
    """The figures of a valid variant in the period of that number."""
    policy = policy_with(past, variant)
    if policy is None:
        raise ValueError("only valid variants are replayed")
    found = replay([("", policy)], past.in_period(period), past.world, lead_seconds=LEAD_SECONDS, join_seconds=past.join_seconds)
    if not found.sides[0].could_grow:
        raise CouldNotGrowError("no group could grow, so the figures say nothing about this policy")
    return demand_figures(instant_text(past.periods()[period]), past.period_seconds, found.sides[0])


def most_idle(past: Past, period: int) -> tuple[str, Wastes]:
    """When (RFC 3339) the most capacity is idle in a period under the policy of today, and what keeps its nodes."""
    policy = policy_with(past, ())
    if policy is None:
        raise ValueError("only valid variants are replayed")
    trace = past.in_period(period)
    begin = trace.start_seconds - LEAD_SECONDS
    world = past.world or policy_world([policy], begin)
    run = ReplayRun(policy, trace, world, otherwise=MachineBehaviour(join_seconds=past.join_seconds))
    found, most, start = ("", Wastes()), Decimal(0), instant_text(trace.start_seconds)
    for _ in run.turns():
        if run.plan is not None and run.plan.now >= start:
            table = wastes(run.plan)
            idle = sum((Decimal(row.per_month) for row in table.rows), Decimal(0))
            if idle > most:
                found, most = (run.plan.now, table), idle
    return found[0], placed(found[1], effective_groups(world, policy, begin))
