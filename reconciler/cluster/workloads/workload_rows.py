"""Disruption budgets and controllers as the API gives them."""

from reconciler.cluster.values.selection import label_pairs, label_selector
from reconciler.cluster.wire import workload as wire
from reconciler.cluster.wire.meta import ObjectMeta
from reconciler.cluster.workloads.workload import Controller, DisruptionBudget, Service
from reconciler.values.label_selector import LabelSelector


def disruption_budget(item: wire.DisruptionBudget, api_version: str) -> DisruptionBudget:
    """One budget; without a status that has caught up nothing is known to be allowed. Raises `UnreadableError`."""
    spec, status = item.spec, item.status or wire.DisruptionBudgetStatus()
    selector = label_selector(spec.selector)
    if selector is not None and not selector.requirements and api_version == "policy/v1beta1":
        selector = None  # The beta API read an empty selector as "nothing", the stable one reads it as "everything".
    return DisruptionBudget(
        namespace=item.metadata.namespace,
        name=item.metadata.name,
        selector=selector,
        disruptions_allowed=status.disruptions_allowed,
        current_healthy=status.current_healthy,
        desired_healthy=status.desired_healthy,
        expected_pods=status.expected_pods,
        min_available=_text(spec.min_available),
        max_unavailable=_text(spec.max_unavailable),
        unhealthy_pod_eviction=spec.unhealthy_pod_eviction_policy or "IfHealthyBudget",
        observed=item.status is not None and status.observed_generation >= item.metadata.generation,
    )


def controller(
    group: str, kind: str, metadata: ObjectMeta, replicas: int | None, selector: LabelSelector | None = None
) -> Controller:
    """One controller of pods."""
    return Controller(
        api_group=group,
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        replicas=replicas,
        selector=selector,
    )


def service(item: wire.Service) -> Service:
    """One Service."""
    return Service(namespace=item.metadata.namespace, name=item.metadata.name, selector=label_pairs(item.spec.selector))


def _text(value: int | str | None) -> str:
    return "" if value is None else str(value)
