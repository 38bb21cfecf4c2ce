"""`decide` and `settle`: the only door to the decisions. Pure, total, deterministic.

A decision goes through these steps, each of which adds to one draft:

1. `View.of` looks at the cluster: groups with their effective values, members, owners and requests.
2. `grown` places pending pods and adds nodes for them. If a group is held, it grows once more as if none were: that tells the
   size that the group would have, `wanted`.
3. `Removals` and `consolidate` judge every node: what keeps it, or when it leaves.
4. The draft becomes the lines and actions of a plan, and what to remember for the next decision.
"""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.defects import judged_again
from reconciler.cluster.world import World
from reconciler.decisions.demand.purchase import Demand
from reconciler.decisions.demand.queue import Lot, in_world_order
from reconciler.decisions.demand.remembered_refutations import remembered as remembered_refutations
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.pledges import pledges
from reconciler.decisions.growth.probes import remembered_probes
from reconciler.decisions.growth.promises import promises
from reconciler.decisions.growth.stages import Grown, grown
from reconciler.decisions.growth.tried import try_cheapest
from reconciler.decisions.memory import Memory
from reconciler.decisions.outcome.actions import actions, releases
from reconciler.decisions.outcome.buffer_lines import buffer_lines
from reconciler.decisions.outcome.conflicts import conflict_reasons, refusal_reasons
from reconciler.decisions.outcome.group_lines import cost, group_lines
from reconciler.decisions.outcome.pod_and_node_lines import node_lines, pod_runs
from reconciler.decisions.outcome.problems import plan_problems
from reconciler.decisions.outcome.request_lines import bookings, request_lines
from reconciler.decisions.outcome.share_reasons import share_reasons
from reconciler.decisions.remember import remember, settle
from reconciler.decisions.removal.approval_ceiling import ApprovalCeilings
from reconciler.decisions.removal.candidates import look_at_nodes
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.halts import halts
from reconciler.decisions.removal.replacements.replacing import consolidate
from reconciler.decisions.removal.scale_down import Removals
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind, Plan, PodOutcome
from reconciler.plan.pod_runs import lines_of
from reconciler.plan.summary import summary, with_digest
from reconciler.policy.documents import Headroom, PolicySet
from reconciler.values.instant import instant_text

__all__ = ["DEFAULT_WORK_BUDGET", "Decision", "decide", "decide_counted", "full_decision", "settle"]

DEFAULT_WORK_BUDGET = 50_000_000
_NO_HEADROOM = Headroom()
_UNSERVED = (PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.UNPLACEABLE)


class Decision(msgspec.Struct, frozen=True):
    """A plan (without `settled` columns) and what to remember. `world` is what was judged: without objects whose judging fails
    (see `cluster.defects`)."""

    plan: Plan
    memory: Memory
    world: World


def decide(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int = DEFAULT_WORK_BUDGET
) -> tuple[Plan, Memory]:
    """One decision at the instant `now_seconds` (Unix time): the plan (without `settled` columns) and what to remember."""
    return decide_counted(world, policy, memory, now_seconds, Work(work_budget))


def decide_counted(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, with_wanted: bool = True
) -> tuple[Plan, Memory]:
    """The same for callers whose decisions share one work budget: the steps are counted in `work`.

    Without `with_wanted`, groups do not grow once more as if none were held. Nothing else of the plan changes.
    """
    decision = full_decision(world, policy, memory, now_seconds, work, with_wanted=with_wanted)
    return decision.plan, decision.memory


def full_decision(
    world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, with_wanted: bool = True
) -> Decision:
    """The same with what was judged. If judging an object fails, decide without it, and remember it. So it stops no decision
    about others."""

    def decided(some: World) -> tuple[Decision, Work]:
        own = work.copy()
        return _decided(some, policy, memory, now_seconds, own, with_wanted=with_wanted), own

    (decision, own), defects = judged_again(world, decided, memory.defects)
    work.spent = own.spent
    return msgspec.structs.replace(decision, memory=msgspec.structs.replace(decision.memory, defects=defects))


def _decided(world: World, policy: PolicySet, memory: Memory, now_seconds: int, work: Work, *, with_wanted: bool) -> Decision:
    view = View.of(world, policy, memory, now_seconds, work)
    growth = grown(view, lift_holds=False)
    draft, lots = growth.draft, growth.queue.lots()
    runs = in_world_order(lots)
    conflict_reasons(draft, runs)
    refusal_reasons(draft)
    wanted = _wanted(view, growth, lots, with_wanted=with_wanted) if any(view.held) else {}
    ledger = DisruptionLedger(view.world, policy.policy.drain.pod_groups)
    halted = halts(draft)
    demand = Demand(draft, policy.digest)
    ceilings = ApprovalCeilings(draft, policy)
    removals = Removals(draft, ledger, halted, ceilings, demand.bought())
    verdicts = removals.judge_all(look_at_nodes(draft, ledger), _waited_for(draft, lots), draft.takeovers)
    replaced = consolidate(draft, verdicts, removals, draft.takeovers, try_cheapest, demand)
    ceilings.add_reasons()
    share_reasons(draft)
    released = releases(
        world.targets,
        frozenset(str(group.target) for group in view.groups),
        view.memory if view.groups else Memory(),
        view.terms(),
        policy,
        world.fleet,
    )
    done = actions(draft, verdicts, policy.digest, released, replaced.starts)
    problems = plan_problems(draft, halted, view.memory, policy.refused)
    lines, pods, bill = group_lines(draft, wanted), pod_runs(draft, runs), cost(draft)
    plan = Plan(
        now=instant_text(now_seconds),
        cluster=world.name,
        policy=policy.policy.name,
        mode=policy.policy.mode.value,
        policy_revision=policy.revision,
        summary=summary(lines, done, pods, bill, problems),
        groups=lines,
        actions=done,
        pods=lines_of(pods),
        nodes=node_lines(draft, verdicts),
        cost=bill,
        not_captured=view.world.not_captured,
        problems=problems,
        buffers=buffer_lines(draft, growth.kept),
        provisioning_requests=request_lines(draft, growth.requests.outcomes),
    )
    # What keeps room free is bought for the demand too: pods that come and go in a moment must not buy a node and give it back.
    bought = (lot.served for lot in lots if lot.served.outcome is PodOutcome.TRIGGERS_SCALE_UP)
    grew = {served.group or "" for served in bought} | growth.for_headroom
    if replaced.starts is not None:
        grew.update(draft.groups[position].group.name for position, _ in replaced.starts.adds)
    adopted = {action.group for action in done if action.kind is ActionKind.ADOPT}
    remembered = msgspec.structs.replace(
        replaced.noted_in(remember(draft, verdicts, view.memory)),
        purchase=demand.purchase(grew, adopted, replaced.owed),
        promised=promises(draft, lots),
        bookings=bookings(draft, growth.requests.outcomes),
        refuted=remembered_refutations(draft),
        pledges=pledges(draft),
        probes=remembered_probes(draft),
        examine_next=removals.stopped_at,
    )
    return Decision(with_digest(plan, pods), remembered, world)


def _waited_for(draft: Draft, lots: Sequence[Lot]) -> frozenset[int]:
    """Existing nodes that pending pods fit on."""
    names = {lot.served.node for lot in lots if lot.served.outcome is PodOutcome.FITS_EXISTING}
    return frozenset(index for index, node in enumerate(draft.world.nodes) if node.name in names)


def _wanted(view: View, growth: Grown, lots: Sequence[Lot], *, with_wanted: bool) -> dict[str, int]:
    """The size of every group, by name, without any hold; empty without `with_wanted`."""
    if with_wanted and not _holds_cost_nothing(growth, lots):
        growth = grown(view, lift_holds=True)
    else:
        # Growing once more would come to the same. Its steps are counted all the same: what a work budget buys must not hang on
        # whether this was seen.
        view.work.spend(view.work.spent)
    return {entry.group.name: entry.desired for entry in growth.draft.groups} if with_wanted else {}


def _holds_cost_nothing(growth: Grown, lots: Sequence[Lot]) -> bool:
    """Whether held groups would certainly keep their size. Then every pod fits on an existing or requested node, and no node ends
    soon or is broken. None of these groups lacks nodes, keeps headroom or has failed requests."""
    if growth.draft.endings or growth.draft.repairs.due or any(lot.served.outcome in _UNSERVED for lot in lots):
        return False
    if any(room.served.get(outcome) for room in growth.kept for outcome in _UNSERVED):
        return False
    if any(one.asked.grows and one.ended is None and not one.there for one in growth.requests.outcomes):
        return False
    return all(_keeps_size(entry) for entry in growth.draft.groups if entry.held_why)


def _keeps_size(entry: GroupDraft) -> bool:
    group, situation = entry.group, entry.situation
    asks = situation.cancellable or situation.unmade or group.headroom != _NO_HEADROOM
    return not asks and entry.desired >= group.min_size
