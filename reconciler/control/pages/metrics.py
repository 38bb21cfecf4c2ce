"""The figures in Prometheus' text form. Own names; those of the Cluster Autoscaler too where dashboards want them."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from reconciler.control.turn.figures import Figures, Seen
from reconciler.plan.approvals.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.plan import NodeState, Plan, PodOutcome

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(figures: Figures, *, cluster_autoscaler_names: bool = False) -> bytes:
    """All metrics as they stand. Series of groups that are gone vanish with them, since nothing is kept but the last
    plan."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected(figures.seen(), cluster_autoscaler_names=cluster_autoscaler_names))
    return generate_latest(registry)


class Collected(Collector):
    """The figures of one loop, as they were seen."""

    def __init__(self, seen: Seen, *, cluster_autoscaler_names: bool) -> None:
        self._seen = seen
        self._upstream = cluster_autoscaler_names

    def collect(self) -> Iterator[Metric]:
        """As the client library asks for them."""
        yield from _loop(self._seen)
        if self._seen.plan is not None:
            yield from _groups(self._seen.plan)
            yield from _lead_times(self._seen)
            yield from _demand(self._seen.plan)
        if self._upstream:
            yield from _cluster_autoscaler(self._seen)


def _loop(seen: Seen) -> Iterator[Metric]:
    yield _counter("reconciler_turns", "Iterations of the loop by result.", ("result",), (((k,), v) for k, v in seen.turns))
    duration = HistogramMetricFamily("reconciler_turn_duration_seconds", "How long a turn takes.")
    turns = sum(count for _, count in seen.turns)
    buckets = [(str(bound), float(count)) for bound, count in seen.turn_seconds]
    duration.add_metric([], [*buckets, ("+Inf", float(turns))], seen.turn_seconds_sum)
    yield duration
    yield _gauge("reconciler_last_turn_timestamp_seconds", "When the last turn ended.", seen.turned_seconds)
    yield _gauge("reconciler_last_plan_timestamp_seconds", "When the last plan was decided.", seen.plan_seconds)
    yield _gauge("reconciler_leader", "1: this process holds the Lease.", seen.leader)
    yield _gauge("reconciler_view_available", "1: the last turn had a view to trust.", not seen.unavailable)
    yield _gauge("reconciler_view_age_seconds", "Age of the least recent stream of the view.", seen.view_age_seconds)
    yield _gauge(
        "reconciler_policy_stalled", "1: a newer policy is refused, the last good one is in force.", bool(seen.policy_problem)
    )
    yield _gauge(
        "reconciler_policy_awaited", "1: the loop decides nothing, since it has no first policy yet.", bool(seen.policy_awaited)
    )
    yield _gauge(
        "reconciler_policy_waits_for_wave", "1: earlier waves of the fleet take a newer policy first.", bool(seen.policy_waits)
    )
    revision = GaugeMetricFamily("reconciler_policy_info", "The policy revision in force.", labels=["revision"])
    revision.add_metric([seen.policy_revision], 1)
    yield revision
    actions = (((kind, result), count) for kind, result, count in seen.actions)
    yield _counter("reconciler_actions", "Actions of plans by kind and result.", ("kind", "result"), actions)
    yield _counter("reconciler_added_nodes", "Nodes asked for.", (), (((), seen.added_nodes),))
    yield _counter("reconciler_removed_nodes", "Nodes drained and removed.", (), (((), seen.removed_nodes),))
    yield _counter("reconciler_failed_removals", "Removals that were given up and undone.", (), (((), seen.failed_removals),))
    pages = (((path,), count) for path, count in seen.failed_pages)
    yield _counter("reconciler_failed_pages", "Pages that could not be made. The log says why.", ("path",), pages)


def _groups(plan: Plan) -> Iterator[Metric]:
    values = {
        "replicas": ("Replicas of the target.", [(line, line.current) for line in plan.groups]),
        "desired_replicas": ("Replicas after the last plan.", [(line, line.desired) for line in plan.groups]),
        "min_size": ("Lowest size in force.", [(line, line.min) for line in plan.groups]),
        "max_size": ("Highest size in force.", [(line, line.max) for line in plan.groups]),
    }
    for name, (text, rows) in values.items():
        family = GaugeMetricFamily(f"reconciler_group_{name}", text, labels=["group", "tier"])
        for line, value in rows:
            family.add_metric([line.name, line.tier], value)
        yield family
    held = GaugeMetricFamily("reconciler_group_held", "1: replicas are not ours to write, or on hold.", labels=["group", "owner"])
    wanted = GaugeMetricFamily("reconciler_group_wanted_replicas", "What a held group would get.", labels=["group"])
    for line in plan.groups:
        held.add_metric([line.name, str(line.owner.state)], line.held)
        if line.wanted is not None:
            wanted.add_metric([line.name], line.wanted)
    yield held
    yield wanted
    waiting = GaugeMetricFamily(
        "reconciler_group_nodes_waiting_for_approval", "Nodes that may not leave without an approval in git.", labels=["group"]
    )
    for line in plan.groups:
        asked = (reason.data.get("waiting", 0) for reason in line.reasons if reason.code == WAITS_FOR_APPROVAL)
        waiting.add_metric([line.name], float(sum(count for count in asked if isinstance(count, int))))
    yield waiting


def _lead_times(seen: Seen) -> Iterator[Metric]:
    took = GaugeMetricFamily(
        "reconciler_group_lead_time_seconds",
        "From the request for a node until pods can use it, of the last requests. +Inf: it did not come in time at this rank.",
        labels=["group", "quantile"],
    )
    requests = GaugeMetricFamily(
        "reconciler_group_lead_time_requests", "The requests that these quantiles are of.", labels=["group", "result"]
    )
    for name, times in seen.lead_times:
        for quantile, seconds in (("0.5", times.median_seconds), ("0.95", times.p95_seconds)):
            took.add_metric([name, quantile], math.inf if seconds is None else seconds)
        requests.add_metric([name, "InTime"], times.requests - times.late)
        requests.add_metric([name, "Late"], times.late)
    yield took
    yield requests


def _demand(plan: Plan) -> Iterator[Metric]:
    outcomes = Counter(line.outcome for line in plan.pods)
    pods = GaugeMetricFamily("reconciler_pending_pods", "Pods without a node, by outcome in the plan.", labels=["outcome"])
    for outcome in PodOutcome:
        pods.add_metric([str(outcome)], outcomes[outcome])
    yield pods
    states = Counter(line.state for line in plan.nodes)
    nodes = GaugeMetricFamily("reconciler_nodes", "Nodes by state.", labels=["state"])
    for state in NodeState:
        nodes.add_metric([str(state)], states[state])
    yield nodes
    removable = sum(1 for line in plan.nodes if line.removable)
    yield _gauge("reconciler_removable_nodes", "Nodes that nothing keeps.", removable)
    problems = Counter(problem.code for problem in plan.problems)
    yield _labelled(
        "reconciler_problems", "Problems of the last plan.", ("code",), (((c,), n) for c, n in sorted(problems.items()))
    )
    for when, text in (("current", plan.cost.current_per_hour), ("desired", plan.cost.desired_per_hour)):
        if text is not None:
            family = GaugeMetricFamily(f"reconciler_{when}_cost_per_hour", "Price of the managed nodes.", labels=["currency"])
            family.add_metric([plan.cost.currency], float(text))
            yield family


def _cluster_autoscaler(seen: Seen) -> Iterator[Metric]:
    """The names that existing dashboards and alerts of the Cluster Autoscaler ask for, as far as they mean the same."""
    plan = seen.plan
    yield _gauge("cluster_autoscaler_last_activity", "Unix time of the last turn.", seen.turned_seconds, activity="main")
    yield _counter("cluster_autoscaler_scaled_up_nodes", "Nodes added.", (), (((), seen.added_nodes),))
    yield _counter("cluster_autoscaler_scaled_down_nodes", "Nodes removed.", (), (((), seen.removed_nodes),))
    yield _gauge("cluster_autoscaler_cluster_safe_to_autoscale", "1: a view to trust.", not seen.unavailable)
    if plan is None:
        return
    unplaceable = sum(1 for line in plan.pods if line.outcome is not PodOutcome.FITS_EXISTING)
    yield _gauge("cluster_autoscaler_unschedulable_pods_count", "Pods without a place.", unplaceable, type="unschedulable")
    unneeded = sum(1 for line in plan.nodes if line.unneeded_since is not None)
    yield _gauge("cluster_autoscaler_unneeded_nodes_count", "Nodes that are not needed.", unneeded)
    states = Counter(line.state for line in plan.nodes)
    ready = len(plan.nodes) - states[NodeState.UNREADY] - states[NodeState.NOT_STARTED] - states[NodeState.UPCOMING]
    nodes = GaugeMetricFamily("cluster_autoscaler_nodes_count", "Nodes by state.", labels=["state"])
    nodes.add_metric(["ready"], ready)
    nodes.add_metric(["unready"], states[NodeState.UNREADY])
    nodes.add_metric(["notStarted"], states[NodeState.NOT_STARTED])
    yield nodes
    for name, value in (("min", "min"), ("max", "max"), ("target", "current")):
        family = GaugeMetricFamily(f"cluster_autoscaler_node_group_{name}_count", "Size of a group.", labels=["node_group"])
        for line in plan.groups:
            family.add_metric([line.target], getattr(line, value))
        yield family


def _labelled(name: str, text: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in rows:
        family.add_metric(key, value)
    return family


def _gauge(name: str, text: str, value: float, **labels: str) -> GaugeMetricFamily:
    return _labelled(name, text, tuple(labels), ((tuple(labels.values()), value),))


def _counter(name: str, text: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in rows:
        family.add_metric(key, value)
    return family
