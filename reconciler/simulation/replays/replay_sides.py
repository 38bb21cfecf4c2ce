"""One trace under one or two policies, on the same cluster."""

from collections.abc import Callable, Sequence

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.plan.replay import Replay, ReplayFigures
from reconciler.policy.documents import PolicySet
from reconciler.simulation.embedded.agenda import MachineBehaviour
from reconciler.simulation.replays.replay import LEAD_SECONDS, ReplayRun
from reconciler.simulation.replays.trace import Trace, policy_world
from reconciler.values.instant import instant_text

Told = Callable[[int, int], None]


def replay(
    sides: Sequence[tuple[str, PolicySet]],
    trace: Trace,
    world: World | None = None,
    *,
    lead_seconds: int = LEAD_SECONDS,
    join_seconds: int = 90,
    work_budget: int = DEFAULT_WORK_BUDGET,
    told: Told | None = None,
) -> Replay:
    """The figures of each policy (with where it was read from) over one trace. Pure.

    On the cluster of `world`, which must not be younger than the trace (`Trace.at_same_hour`), or, without one, on the groups of
    the policies alone. A target that only one of two policies prices has that price under both. Nodes join `join_seconds`
    after they were asked for. `told` hears how far it is: turns' seconds done, and of how many.
    """
    begin = trace.start_seconds - lead_seconds
    start = policy_world([policy for _, policy in sides], begin) if world is None else world
    prices: dict[TargetRef, int] = {}
    for _, policy in reversed(sides):
        groups = effective_groups(start, policy, begin)
        prices |= {group.target: group.price_micros for group in groups if group.price_micros is not None}
    seconds = trace.end_seconds - begin
    found: list[ReplayFigures] = []
    for number, (source, policy) in enumerate(sides):
        run = ReplayRun(
            policy,
            trace,
            start,
            lead_seconds=lead_seconds,
            otherwise=MachineBehaviour(join_seconds=join_seconds),
            prices_micros=prices,
            work_budget=work_budget,
        )
        for now in run.turns():
            if told is not None:
                told(number * seconds + now - begin, len(sides) * seconds)
        found.append(run.figures(source))
    return Replay(
        trace=trace.name,
        cluster=start.name,
        start=instant_text(trace.start_seconds),
        end=instant_text(trace.end_seconds),
        seconds=trace.end_seconds - trace.start_seconds,
        peak_demand_pods=trace.peak_pods,
        currency=sides[0][1].policy.currency,
        sides=tuple(found),
    )
