"""What the loops of a fleet left behind: Leases and states, read without asking any instance."""

from collections.abc import Iterable, Mapping

import msgspec

from reconciler.control.live.plan_record import plan_in
from reconciler.decisions.ownership.other_policies import LEASE_PREFIX
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.loop_name import CLUSTER_LABEL, FLEET_LABEL, INSTANCE, LOOP, POLICY_LABEL, cluster_label
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.rendering.fleet_status import ClusterStatus, FleetStatusDocument, fleet_status
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, instant_text, parse_instant


class _Meta(msgspec.Struct):
    name: str
    labels: Mapping[str, str] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _Lease(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)

    def holder(self, now_seconds: int) -> str:
        """Who renewed it within its duration, by our clock."""
        try:
            renewed = parse_instant(self.spec.renew_time or "")
        except InstantError:
            return ""
        return (self.spec.holder_identity or "") if now_seconds - renewed <= (self.spec.lease_duration_seconds or 0) else ""

    def label(self, key: str) -> str:
        """The value of a label; empty without it."""
        return (self.metadata.labels or {}).get(key, "")


class _Leases(msgspec.Struct):
    items: list[_Lease] = []


def fleet_report(api: Api, namespace: str, clusters: Iterable[ClusterIdentity], now_seconds: int) -> FleetStatusDocument:
    """Every Cluster with the loops that there are, or were, for it. Raises `ApiError`, `UnreachableError` and `DecodeError`."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    leases = decode(api.get(path, {"labelSelector": FLEET_LABEL}), _Leases).items
    instances = [holder for one in leases if one.label(FLEET_LABEL) == INSTANCE and (holder := one.holder(now_seconds))]
    loops: dict[str, list[_Lease]] = {}
    for one in leases:
        if one.label(FLEET_LABEL) == LOOP:
            loops.setdefault(one.label(CLUSTER_LABEL), []).append(one)
    lines: list[ClusterStatus] = []
    for cluster in clusters:
        found = loops.pop(cluster_label(cluster.namespace, cluster.name), [])
        lines += [_line(api, namespace, cluster.title, one, now_seconds) for one in found]
        if not found:
            problem = "no loop has run for it yet: no policy counts in this cluster, or no instance runs"
            lines.append(ClusterStatus(cluster=cluster.title, problem=problem))
    for label, found in loops.items():
        # A Cluster that is gone: who holds its loop has not seen that yet.
        lines += [
            ClusterStatus(cluster=label, policy=one.label(POLICY_LABEL), holder=holder, problem="its Cluster object is gone")
            for one in found
            if (holder := one.holder(now_seconds))
        ]
    return fleet_status(lines, namespace=namespace, now=instant_text(now_seconds), instances=instances)


def _line(api: Api, namespace: str, title: str, lease: _Lease, now_seconds: int) -> ClusterStatus:
    known = ClusterStatus(cluster=title, policy=lease.label(POLICY_LABEL), holder=lease.holder(now_seconds))
    try:
        record = plan_in(StateObject(api, namespace, lease.metadata.name.removeprefix(LEASE_PREFIX)))
    except StateUnavailableError as error:
        return msgspec.structs.replace(known, problem=str(error))
    if record is None:
        return msgspec.structs.replace(known, problem="" if known.holder else "nobody runs the loop, and it left no plan")
    return msgspec.structs.replace(
        known, plan=record.summary, plan_at=record.at, held=sum(group.line.held for group in record.groups)
    )
