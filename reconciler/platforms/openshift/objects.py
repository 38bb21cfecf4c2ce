"""How MachineSets of OpenShift's Machine API are read."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.platform_reading import KindObjects, Objects, PlatformObjects, Rows
from reconciler.cluster.target import Machine
from reconciler.platforms.openshift.facts import wire
from reconciler.platforms.openshift.facts.kept_nodes import failed_beside, updated_beside
from reconciler.platforms.openshift.facts.machines import machine
from reconciler.platforms.openshift.facts.machineset import facts, reference
from reconciler.platforms.openshift.facts.other_writers import HIVE_LABELS, ROLE, unseen
from reconciler.platforms.openshift.facts.shape import INTERRUPTIBLE
from reconciler.platforms.openshift.kinds import MACHINE, MACHINE_AUTOSCALER, MACHINE_SET


def rows(objects: Objects) -> Rows:
    """Sets and their Machines. At most one MachineAutoscaler names a set: the operator refuses a second."""
    there = {node.name for node in objects.nodes}
    read = [(item, _without_node(machine(item), there)) for item in objects.of(MACHINE).values()]
    autoscalers = autoscaler_of(objects.of(MACHINE_AUTOSCALER).values())
    gap = unseen(objects.captured)
    return Rows(
        targets=[
            facts(item, autoscalers.get(key), *_keeps(item, read, objects.nodes), unseen=gap)
            for key, item in objects.of(MACHINE_SET).items()
        ],
        machines=[known for _, known in read],
    )


def _without_node(known: Machine, there: set[str]) -> Machine:
    """A failed Machine keeps the name of a node that has gone with its instance. It counts as a request without a node."""
    gone = known.failed and known.node and there and known.node not in there
    return msgspec.structs.replace(known, node="") if gone else known


def _keeps(
    item: wire.MachineSet, read: list[tuple[wire.Machine, Machine]], nodes: tuple[Node, ...]
) -> tuple[str, tuple[str, ...]]:
    """Why no node may go, and the exceptions: nodes of failed Machines, which go first anyway."""
    own = reference(item.metadata.namespace, item.metadata.name)
    failed = [known for _, known in read if known.target == own and known.failed and not known.deleting]
    template = item.spec.template.metadata
    role = ((template.labels if template else None) or {}).get(ROLE, "")
    alike = {known.node for wire_machine, known in read if (wire_machine.metadata.labels or {}).get(ROLE, "") == role}
    updated = updated_beside(node for node in nodes if node.name in alike)
    but = tuple(sorted(known.node for known in failed if known.node)) if not updated else ()
    return failed_beside(known.name for known in failed) or updated, but


def autoscaler_of(items: Iterable[wire.MachineAutoscaler]) -> dict[tuple[str, str], wire.MachineAutoscaler]:
    """The MachineAutoscaler of each set, by the set's namespace and name."""
    return {
        (item.metadata.namespace, item.spec.scale_target_ref.name): item
        for item in items
        if item.spec.scale_target_ref.kind in ("", "MachineSet") and item.metadata.deletion_timestamp is None
    }


OBJECTS = PlatformObjects(
    kinds={
        MACHINE_SET: KindObjects(type=wire.MachineSet),
        MACHINE: KindObjects(type=wire.Machine),
        MACHINE_AUTOSCALER: KindObjects(type=wire.MachineAutoscaler),
    },
    rows=rows,
    words=(
        *HIVE_LABELS,
        ROLE,
        INTERRUPTIBLE,
        *("master", "control-plane", "worker", "infra"),
        *("Provisioning", "Provisioned", "Deleting"),
        *("MachineAPI", "ClusterAPI", "Migrating", "Synchronized"),
    ),
)
