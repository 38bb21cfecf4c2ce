"""Two policies, decided in each situation of one cluster."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import full_decision
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.plan.plan import SETTLING_CUT_SHORT, Plan, PodOutcome
from reconciler.plan.what_if import Compared, Outcome, WhatIf
from reconciler.policy.documents import PolicySet
from reconciler.simulation.settled import Rest, come_to_rest
from reconciler.simulation.what_if.first_removals import FirstRemovals, first_removals
from reconciler.simulation.what_if.situation import Situation, in_situation

LOOKS = 1_000_000
"""Nodes and pods that all plans of all situations may look at. A cluster of 100 pods takes a hundredth of it. One of 50,000 has
about four situations decided."""
_MANY_NODES = 100
"""A policy that adds fewer nodes with one plan is judged by its steady states."""
_WAITING = (PodOutcome.UNPLACEABLE, PodOutcome.NOT_MODELLED, PodOutcome.EXPENDABLE)


def what_if(
    sides: tuple[tuple[World, PolicySet], tuple[World, PolicySet]],
    now_seconds: int,
    situations: Sequence[Situation],
    work_budget: int,
    looks: int = LOOKS,
) -> WhatIf:
    """Both sides as they are now, and in each of `situations` as long as work is left: main, then this PR. Both Worlds have the
    same pods and targets. `work_budget` is that of one plan. If a policy adds few nodes with one plan, all of them settle."""
    left, decisions = looks, 0

    def decided(world: World, policy: PolicySet, at_seconds: int, *, settles: bool) -> tuple[Plan, Outcome]:
        nonlocal left, decisions
        made = full_decision(world, policy, Memory(), at_seconds, Work(work_budget))
        plans, outcome = 1, asked(made.plan)
        if settles:
            rest = come_to_rest(world, policy, made.memory, at_seconds, made.plan, work_budget, made)
            first = first_removals(world, policy, made.memory, at_seconds, made.plan, work_budget)
            plans = max(1, rest.plan.settled_loops or 1) + first.plans
            outcome = at_rest(rest, first)
        decisions += plans
        left -= plans * (len(world.nodes) + len(world.pods))
        return made.plan, outcome

    both = [decided(world, policy, now_seconds, settles=True) for world, policy in sides]
    plans = [plan for plan, _ in both]
    now = (
        _compared("now", "the cluster as it is", _on_same_targets(plans, [asked(plan) for plan in plans]), settled=False),
        _compared("now", "the cluster as it is", _on_same_targets(plans, [outcome for _, outcome in both]), settled=True),
    )
    # A plan that adds few nodes at a time says little: pods that it leaves waiting get theirs from the plans after it.
    paced = any(policy.policy.pace.max_added_nodes < _MANY_NODES for _, policy in sides)
    run, not_run = [], []
    for one in situations:
        if left <= 0:
            not_run.append(one.name)
            continue
        settles = one.settles or paced
        made = [decided(in_situation(world, one), policy, one.at_seconds, settles=settles) for world, policy in sides]
        level = _on_same_targets([plan for plan, _ in made], [outcome for _, outcome in made])
        run.append(_compared(one.name, one.words, level, settled=settles))
    return WhatIf(now=now, situations=tuple(run), not_run=tuple(not_run), decisions=decisions)


def _compared(name: str, what: str, outcomes: Sequence[Outcome], *, settled: bool) -> Compared:
    return Compared(name=name, what=what, settled=settled, before=outcomes[0], after=outcomes[1])


def _on_same_targets(plans: Sequence[Plan], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of both sides with the same groups. A target that only one policy names keeps its nodes under the other one.
    A renamed group has its name of this PR. A target stands for itself where its name is that of another group."""
    sides = [{line.target: line for line in plan.groups} for plan in plans]
    names = {target: line.name for side in sides for target, line in side.items()}
    often = Counter(names.values())
    level = []
    for mine, other, outcome in zip(sides, reversed(sides), outcomes, strict=True):
        kept = [line for target, line in other.items() if target not in mine]
        sizes = {target: outcome.nodes[line.name] for target, line in mine.items()} | {line.target: line.current for line in kept}
        nodes = {
            names[target] if often[names[target]] == 1 else target.rpartition("/")[2]: size for target, size in sizes.items()
        }
        money = [Decimal(line.price_per_hour) * line.current for line in kept if line.price_per_hour is not None]
        price = outcome.per_hour if not money else str(sum(money, Decimal(outcome.per_hour or 0)))
        level.append(msgspec.structs.replace(outcome, nodes=nodes, per_hour=price))
    return level


def asked(plan: Plan) -> Outcome:
    """What a plan asks for: the sizes of its column `desired`."""
    return Outcome(
        nodes={line.name: line.desired for line in plan.groups},
        waiting=sum(pod.outcome in _WAITING for pod in plan.pods),
        per_hour=plan.cost.desired_per_hour,
        currency=plan.cost.currency,
    )


def at_rest(rest: Rest, first: FirstRemovals) -> Outcome:
    """What it leads to: the sizes of the column `settled`, and how nodes begin to leave."""
    return Outcome(
        nodes={line.name: line.current if line.settled is None else line.settled for line in rest.plan.groups},
        waiting=len(rest.impact.waiting),
        per_hour=rest.plan.cost.settled_per_hour,
        currency=rest.plan.cost.currency,
        leaving=first.nodes,
        leaving_after_seconds=first.after_seconds,
        final=all(problem.code != SETTLING_CUT_SHORT for problem in rest.plan.problems),
    )
