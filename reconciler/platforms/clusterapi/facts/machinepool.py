"""MachinePools as targets."""

from reconciler.cluster.target import TargetFacts
from reconciler.platforms.clusterapi.facts import scalable, wire
from reconciler.platforms.clusterapi.facts.view import ClusterApiView
from reconciler.platforms.clusterapi.kinds import MACHINE_POOL


def facts(item: wire.Scalable, view: ClusterApiView) -> TargetFacts:
    """The facts of one MachinePool. Without Machines behind it, nobody can tell which node a smaller pool loses."""
    domains = item.spec.failure_domains or ()
    machine = item.spec.template.spec.failure_domain or ""
    return scalable.facts(
        item,
        MACHINE_POOL,
        view,
        zone=domains[0] if len(domains) == 1 else machine if not domains else "",
        zones=tuple(sorted(set(domains))) if len(domains) > 1 else (),
        selectable=(item.metadata.namespace, item.metadata.name) in view.pools_with_machines,
    )
