"""What to fix in how Cluster API's targets were set up for autoscaling."""

from collections.abc import Iterator

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.capacity import KEYS
from reconciler.cluster.world import World
from reconciler.decisions.lints.finding import PlatformLints
from reconciler.decisions.view import View
from reconciler.plan.finding import Finding
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT


def findings(view: View) -> Iterator[Finding]:
    """All findings, in no order."""
    yield from _capacity_set_twice(view.world)


def _capacity_set_twice(world: World) -> Iterator[Finding]:
    """Capacity annotations belong on the MachineDeployment or on the MachineSet (row S121). A MachineDeployment copies its own to
    its MachineSets, so only a difference shows a second writer."""
    annotations = {facts.ref: dict(facts.annotations) for facts in world.targets}
    for facts in world.targets:
        if not _made_by_a_deployment(facts):
            continue
        name = facts.owner.controller.rpartition("/")[2]
        deployment = next(
            (
                ref
                for ref in annotations
                if ref.kind == MACHINE_DEPLOYMENT and (ref.namespace, ref.name) == (facts.ref.namespace, name)
            ),
            None,
        )
        above = annotations.get(deployment, {}) if deployment is not None else {}
        differ = [key for key in KEYS if key in above and annotations[facts.ref].get(key, above[key]) != above[key]]
        if differ:
            yield Finding(
                code="CapacitySaidTwice",
                object=str(facts.ref),
                message=f"it and its {deployment} have different values: {', '.join(differ)}",
                advice="write capacity annotations on the MachineDeployment alone",
            )


def _made_by_a_deployment(facts: TargetFacts) -> bool:
    """As MachineSets alone are."""
    return facts.owner.controller.startswith("MachineDeployment ")


LINTS = PlatformLints(findings=findings)
