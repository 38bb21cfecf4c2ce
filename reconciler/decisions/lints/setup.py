"""What is worth mending in how a cluster was set up for autoscaling: disruption budgets and annotations."""

from collections.abc import Iterator

from reconciler.cluster.target import TargetFacts, TargetKind
from reconciler.cluster.targets.capacity import KEYS
from reconciler.cluster.targets.size_bounds import MAX_SIZE, MIN_SIZE
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.lints.finding import Finding
from reconciler.decisions.view import View


def setup_findings(view: View) -> Iterator[Finding]:
    """All of them, in no order."""
    yield from _budgets_that_block(view.world)
    yield from _one_size_annotation(view.world)
    yield from _capacity_said_twice(view.world)
    yield from _planned_only(view)
    yield from _cautions(view)


def _planned_only(view: View) -> Iterator[Finding]:
    """Groups on Auto Scaling groups: a plan from files sizes them, and the loop neither reads nor changes them."""
    names = sorted(group.name for group in view.groups if group.target.kind is TargetKind.AUTO_SCALING_GROUP)
    if names:
        yield Finding(
            code="PlannedOnly",
            object=f"NodeGroupPolicy {view.policy.policy.name}",
            message=f"Auto Scaling groups are planned from snapshots, and not changed by `run`: {', '.join(names)}",
            advice="apply what the plan says of them by other means, or give them Cluster API targets",
        )


def _cautions(view: View) -> Iterator[Finding]:
    """What the platform of a target does by itself, or who else may write it."""
    for group in view.groups:
        for caution in group.facts.cautions if group.facts is not None else ():
            yield Finding(code=caution.code, object=f"NodeGroup {group.name}", message=caution.message, advice=caution.advice)


def _budgets_that_block(world: World) -> Iterator[Finding]:
    """A budget that by its own numbers never allows a disruption: no node with such a pod can ever be drained.

    SOURCE: Kubernetes' documentation of disruption budgets names maxUnavailable 0 and minAvailable 100 % (or as many as there
    are) as what keeps a node from being drained.
    """
    for budget in world.budgets:
        why = _never(budget)
        if why and budget.expected_pods:
            yield Finding(
                code="BudgetBlocksEveryDrain",
                object=f"PodDisruptionBudget {budget.namespace}/{budget.name}",
                message=f"{why}, so none of its {budget.expected_pods} pods can ever be evicted",
                advice="allow one: maxUnavailable: 1, or more replicas than minAvailable",
            )


def _never(budget: DisruptionBudget) -> str:
    if budget.max_unavailable in ("0", "0%"):
        return f"maxUnavailable is {budget.max_unavailable}"
    if budget.min_available == "100%":
        return "minAvailable is 100%"
    least = budget.min_available
    if least.isdigit() and int(least) >= budget.expected_pods:
        return f"minAvailable is {least} of {budget.expected_pods}"
    return ""


def _one_size_annotation(world: World) -> Iterator[Finding]:
    """The two size annotations count only together; one alone is no bound, and the webhook takes 1 for missing replicas."""
    for facts in world.targets:
        there = [name for name in (MIN_SIZE, MAX_SIZE) if any(key.endswith(f"/{name}") for key, _ in facts.annotations)]
        if len(there) == 1 and not _made_by_a_deployment(facts):
            other = MAX_SIZE if there[0] == MIN_SIZE else MIN_SIZE
            yield Finding(
                code="OneSizeAnnotation",
                object=str(facts.ref),
                message=f"it has {there[0]} and no {other}: neither counts",
                advice="write both, or none",
            )


def _capacity_said_twice(world: World) -> Iterator[Finding]:
    """Capacity annotations belong on the MachineDeployment or on the MachineSet (row S121). A MachineDeployment hands its own on
    to its MachineSets, so that only a difference tells of a second writer."""
    annotations = {facts.ref: dict(facts.annotations) for facts in world.targets}
    for facts in world.targets:
        if facts.ref.kind is not TargetKind.MACHINE_SET or not _made_by_a_deployment(facts):
            continue
        name = facts.owner.controller.rpartition("/")[2]
        deployment = next(
            (
                ref
                for ref in annotations
                if ref.kind is TargetKind.MACHINE_DEPLOYMENT and (ref.namespace, ref.name) == (facts.ref.namespace, name)
            ),
            None,
        )
        above = annotations.get(deployment, {}) if deployment is not None else {}
        differ = [key for key in KEYS if key in above and annotations[facts.ref].get(key, above[key]) != above[key]]
        if differ:
            yield Finding(
                code="CapacitySaidTwice",
                object=str(facts.ref),
                message=f"it and its {deployment} say different things: {', '.join(differ)}",
                advice="write capacity annotations on the MachineDeployment alone",
            )


def _made_by_a_deployment(facts: TargetFacts) -> bool:
    return facts.owner.controller.startswith("MachineDeployment ")
