"""MachineDeployments as targets."""

from reconciler.cluster.target import TargetFacts
from reconciler.platforms.clusterapi.facts import scalable, wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT
from reconciler.values.whole_number import whole_number

_REVISION = "machinedeployment.clusters.x-k8s.io/revision"


def facts(item: wire.Scalable, view: ClusterApiView) -> TargetFacts:
    """The facts of one MachineDeployment."""
    return scalable.facts(
        item,
        MACHINE_DEPLOYMENT,
        view,
        zone=item.spec.template.spec.failure_domain or "",
        rolling_out=_rolling_out(item, view),
    )


def _rolling_out(item: wire.Scalable, view: ClusterApiView) -> bool:
    """Whether a MachineSet of an older revision still has machines, or wants some.

    The RollingOut condition covers more: it stays true for machines that merely report another version.
    """
    owned = [(_revision(machine_set), machine_set) for machine_set in view.sets_of(item)]
    newest = max((_revision(item), *(revision for revision, _ in owned)))
    return any(revision < newest and _has_machines(machine_set) for revision, machine_set in owned)


def _revision(item: wire.Scalable) -> int:
    return whole_number((item.metadata.annotations or {}).get(_REVISION, "")) or 0


def _has_machines(machine_set: wire.Scalable) -> bool:
    return bool(machine_set.spec.replicas) or bool(machine_set.status and machine_set.status.replicas)
