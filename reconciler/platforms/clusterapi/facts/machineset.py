"""MachineSets as targets. If a MachineDeployment controls one, its evidence says so, and nobody else may size it."""

from reconciler.cluster.target import TargetFacts
from reconciler.platforms.clusterapi.facts import scalable, wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_SET


def facts(item: wire.Scalable, view: ClusterApiView) -> TargetFacts:
    """The facts of one MachineSet."""
    return scalable.facts(item, MACHINE_SET, view, zone=item.spec.template.spec.failure_domain or "")
