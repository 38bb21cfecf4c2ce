"""What the loops of a fleet left behind: Leases and states, read without asking any instance."""

from collections.abc import Iterable

import msgspec

from reconciler.control.live.plan_record import plan_in
from reconciler.decisions.ownership.other_policies import LEASE_PREFIX
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.fleet_leases import FleetLease, read_fleet_leases
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, FLEET_LABEL, INSTANCE, LOOP, POLICY_LABEL, cluster_label
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.plan.last_decision import LastDecision, last_decision
from reconciler.plan.waves import WaveRecord, record_problem, wave_record
from reconciler.rendering.documents.fleet.status import ClusterStatus, FleetStatusDocument, fleet_status
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.instant import InstantError, instant_text, parse_instant


def fleet_report(api: Api, namespace: str, clusters: Iterable[ClusterIdentity], now_seconds: int) -> FleetStatusDocument:
    """Every Cluster with the loops that there are, or were, for it. Raises `ApiError`, `UnreachableError` and `DecodeError`."""
    leases = read_fleet_leases(api, namespace)
    instances = [holder for one in leases if one.label(FLEET_LABEL) == INSTANCE and (holder := _holder(one, now_seconds))]
    loops: dict[str, list[FleetLease]] = {}
    for one in leases:
        if one.label(FLEET_LABEL) == LOOP:
            loops.setdefault(one.label(CLUSTER_LABEL), []).append(one)
    lines: list[ClusterStatus] = []
    for cluster in clusters:
        found = loops.pop(cluster_label(cluster.namespace, cluster.name), [])
        lines += [_line(api, namespace, cluster, one, now_seconds) for one in found]
        if not found:
            problem = "no loop has run for it yet: no policy applies in this cluster, or no instance runs"
            lines.append(ClusterStatus(cluster=cluster.title, problem=problem, wave=cluster.wave))
    for label, found in loops.items():
        # A Cluster that is gone: who holds its loop has not seen that yet.
        lines += [
            ClusterStatus(cluster=label, policy=one.label(POLICY_LABEL), holder=holder, problem="its Cluster object is gone")
            for one in found
            if (holder := _holder(one, now_seconds))
        ]
    return fleet_status(lines, namespace=namespace, now=instant_text(now_seconds), instances=instances)


def with_record(known: ClusterStatus, record: WaveRecord | None) -> ClusterStatus:
    """The same, with what the Lease of the loop says about the rollout of policies."""
    if record is None:
        return known
    return msgspec.structs.replace(known, revision=record.revision, waiting=record.waiting, stopped=record.stopped)


def with_decision(known: ClusterStatus, decision: LastDecision | None) -> ClusterStatus:
    """The same, with the age of the last decision where that is too old: nothing else about the cluster is true then."""
    if decision is None or not known.holder or not decision.since:
        return known
    return msgspec.structs.replace(known, problem=decision.sentence(), not_decided_since=decision.since)


def _line(api: Api, namespace: str, cluster: ClusterIdentity, lease: FleetLease, now_seconds: int) -> ClusterStatus:
    known = ClusterStatus(
        cluster=cluster.title, policy=lease.label(POLICY_LABEL), holder=_holder(lease, now_seconds), wave=cluster.wave,
        problem=cluster.wave_problem or record_problem(lease.annotations),
    )  # fmt: skip
    known = with_record(known, wave_record(lease.annotations))
    known = with_decision(known, last_decision(lease.annotations))
    try:
        record = plan_in(StateObject(api, namespace, lease.metadata.name.removeprefix(LEASE_PREFIX)))
    except StateUnavailableError as error:
        return msgspec.structs.replace(known, problem=known.problem or str(error))
    if record is None:
        gone = "" if known.holder else "nobody runs the loop, and it left no plan"
        return msgspec.structs.replace(known, problem=known.problem or gone)
    return msgspec.structs.replace(
        known, plan=record.summary, plan_at=record.at, held=sum(group.line.held for group in record.groups)
    )


def _holder(lease: FleetLease, now_seconds: int) -> str:
    """Who renewed it within its duration, by our clock; empty: nobody."""
    try:
        renewed = parse_instant(lease.spec.renew_time or "")
    except InstantError:
        return ""
    return lease.holder if now_seconds - renewed <= (lease.spec.lease_duration_seconds or 0) else ""
