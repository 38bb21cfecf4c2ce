"""MachineSets as targets. One that a MachineDeployment controls says so in its evidence and is nobody else's to size."""

from reconciler.cluster.target import TargetFacts, TargetKind
from reconciler.cluster.targets import scalable
from reconciler.cluster.targets.clusterapi_view import ClusterApiView
from reconciler.cluster.wire import clusterapi as wire


def facts(item: wire.Scalable, view: ClusterApiView) -> TargetFacts:
    """The facts of one MachineSet."""
    return scalable.facts(item, TargetKind.MACHINE_SET, view, zone=item.spec.template.spec.failure_domain or "")
