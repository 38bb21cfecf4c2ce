"""The plans of many clusters as one table, the ones that need somebody first."""

import msgspec

from reconciler.plan.fleet import ClusterPlan, FleetPlans
from reconciler.plan.plan import Plan
from reconciler.plan.summary import NOWHERE
from reconciler.plan.waves import waves_in_order
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Foreign
from reconciler.rendering.words.wording import count

FLEET_PLANS_VERSION = "1.0"


class ClusterPlanEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One cluster. `summary` and `digest` are those of `plan --no-settled`. If nothing was decided, they are empty and `why` says
    why. `unplaced` counts pods that stay pending, and `held` groups that are held."""

    cluster: str
    policy: str = ""
    mode: str = ""
    summary: str = ""
    digest: str = ""
    changes: bool = False
    unplaced: int = 0
    held: int = 0
    why: str = ""


class FleetPlansDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The plans of many clusters, by name. `summary` counts them."""

    format_version: str = FLEET_PLANS_VERSION
    summary: str
    snapshots: str
    clusters: tuple[ClusterPlanEntry, ...]


def fleet_plans_summary(plans: FleetPlans) -> str:
    """`50 clusters: 3 change, 46 stay as they are, 1 was not decided`."""
    undecided = sum(one.plan is None for one in plans.clusters)
    changing = sum(one.plan is not None and one.plan.changes for one in plans.clusters)
    staying = len(plans.clusters) - undecided - changing
    parts = [f"{changing} {'changes' if changing == 1 else 'change'}"] if changing else []
    parts += [f"{staying} {'stays as it is' if staying == 1 else 'stay as they are'}"] if staying else []
    parts += [f"{undecided} {'was' if undecided == 1 else 'were'} not decided"] if undecided else []
    return f"{count(len(plans.clusters), 'cluster')}: {', '.join(parts)}"


def fleet_plans_document(plans: FleetPlans) -> tree.Document:
    """A line for each cluster: first those without a plan, then those with pods that stay pending or groups that are held."""
    columns = (tree.Column(heading="cluster", shrinks=True), tree.Column(heading="plan", wraps=True))
    rows = tuple((Foreign(one.cluster), _words(one)) for one in sorted(plans.clusters, key=_rank))
    waves = waves_in_order(one.wave for one in plans.clusters)
    return tree.Document(
        title="What the policy does in each cluster",
        lead=(fleet_plans_summary(plans),),
        facts=(("snapshots", plans.source), *((("waves", waves),) if waves else ())),
        blocks=(tree.Table(columns=columns, rows=rows),),
    )


def fleet_plans_values(plans: FleetPlans) -> FleetPlansDocument:
    """All plans, for programs."""
    entries = tuple(_entry(one) for one in plans.clusters)
    return FleetPlansDocument(summary=fleet_plans_summary(plans), snapshots=plans.source, clusters=entries)


def _words(one: ClusterPlan) -> str:
    return Foreign(f"no plan: {one.why}") if one.plan is None else one.plan.summary


def _rank(one: ClusterPlan) -> tuple[int, str]:
    if one.plan is None:
        return 0, one.cluster
    if _unplaced(one.plan) or _held(one.plan):
        return 1, one.cluster
    return (2 if one.plan.changes else 3), one.cluster


def _unplaced(plan: Plan) -> int:
    return sum(pod.outcome in NOWHERE for pod in plan.pods)


def _held(plan: Plan) -> int:
    return sum(group.held for group in plan.groups)


def _entry(one: ClusterPlan) -> ClusterPlanEntry:
    if one.plan is None:
        return ClusterPlanEntry(cluster=one.cluster, why=one.why)
    return ClusterPlanEntry(
        cluster=one.cluster,
        policy=one.plan.policy,
        mode=str(one.plan.mode),
        summary=one.plan.summary,
        digest=one.plan.digest,
        changes=one.plan.changes,
        unplaced=_unplaced(one.plan),
        held=_held(one.plan),
    )
