"""Findings about the setup of a cluster for autoscaling: disruption budgets and annotations."""

from collections.abc import Iterator

from reconciler.cluster.platform_reading import target_kinds
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE
from reconciler.cluster.workloads.workload import DisruptionBudget
from reconciler.cluster.world import World
from reconciler.decisions.lints.finding import platform_lints
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding
from reconciler.values.plural import count_text
from reconciler.values.whole_number import whole_number


def setup_findings(view: View) -> Iterator[Finding]:
    """All of them, in no order."""
    yield from _budgets_that_block(view.world)
    yield from _one_size_annotation(view.world)
    for lints in platform_lints():
        yield from lints.findings(view)
    yield from _cautions(view)


def _cautions(view: View) -> Iterator[Finding]:
    """What the platform of a target does by itself, or who else may write it."""
    for group in view.groups:
        for caution in group.facts.cautions if group.facts is not None else ():
            yield Finding(code=caution.code, object=f"NodeGroup {group.name}", message=caution.message, advice=caution.advice)


def _budgets_that_block(world: World) -> Iterator[Finding]:
    """A budget that by its own numbers never allows a disruption: no node with such a pod can ever be drained.

    SOURCE: the Kubernetes documentation of disruption budgets. With maxUnavailable 0, or minAvailable 100 % or all replicas, a
    node cannot be drained.
    """
    for budget in world.budgets:
        why = _never(budget)
        if why and budget.expected_pods:
            yield Finding(
                code="BudgetBlocksEveryDrain",
                object=f"PodDisruptionBudget {budget.namespace}/{budget.name}",
                message=f"{why}, so its {count_text(budget.expected_pods, 'pod')} can never be evicted",
                advice="allow one: maxUnavailable: 1, or more replicas than minAvailable",
            )


def _never(budget: DisruptionBudget) -> str:
    if budget.max_unavailable in ("0", "0%"):
        return f"maxUnavailable is {budget.max_unavailable}"
    if budget.min_available == "100%":
        return "minAvailable is 100%"
    least = whole_number(budget.min_available)
    if least is not None and least >= budget.expected_pods:
        return f"minAvailable is {least} of {budget.expected_pods}"
    return ""


def _one_size_annotation(world: World) -> Iterator[Finding]:
    """The two size annotations count only together. With one alone, the group has no bound, and the webhook sets missing replicas
    to 1."""
    for facts in world.targets:
        there = [name for name in (MIN_SIZE, MAX_SIZE) if any(key.endswith(f"/{name}") for key, _ in facts.annotations)]
        if len(there) == 1 and not _below_another_target(facts):
            other = MAX_SIZE if there[0] == MIN_SIZE else MIN_SIZE
            yield Finding(
                code="OneSizeAnnotation",
                object=str(facts.ref),
                message=f"it has {there[0]} and no {other}: neither applies",
                advice="write both, or none",
            )


def _below_another_target(facts: TargetFacts) -> bool:
    """Whether it has its annotations from a target that controls it."""
    return facts.owner.controller.partition(" ")[0] in target_kinds()
