"""How Cluster API's targets are read."""

from reconciler.cluster.platform_reading import Objects, PlatformReading, Reference, Rows, WireKind
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.clusterapi.facts import machinedeployment, machinepool, machineset, wire
from reconciler.platforms.clusterapi.facts.machines import machine, pool_instances
from reconciler.platforms.clusterapi.facts.parents import STRUCTS, sizes_declared
from reconciler.platforms.clusterapi.facts.view import CAPI_GROUP, ClusterApiView, controlling
from reconciler.platforms.clusterapi.facts.words import WORDS
from reconciler.platforms.clusterapi.kinds import MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET
from reconciler.platforms.clusterapi.parents import PARENTS
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.pseudonym import is_pseudonym

TEMPLATE = "MachineTemplate"
FACTS = {
    MACHINE_DEPLOYMENT: machinedeployment.facts,
    MACHINE_SET: machineset.facts,
    MACHINE_POOL: machinepool.facts,
}
_SIZED = ("get", "patch")


def rows(objects: Objects) -> Rows:
    """Targets, and the Machines or instances behind them."""
    view = _view(objects)
    targets: list[TargetFacts] = [read(item, view) for kind, read in FACTS.items() for item in objects.of(kind).values()]
    machines: list[Machine] = [machine(item, view) for item in objects.of("Machine").values()]
    for key, pool in objects.of(MACHINE_POOL).items():
        if key not in view.pools_with_machines:
            machines.extend(pool_instances(pool, objects.nodes))
    clusters = [_identity(namespace, name, item) for (namespace, name), item in objects.of("Cluster").items()]
    return Rows(targets=targets, machines=machines, clusters=clusters)


def _identity(namespace: str, name: str, item: wire.Cluster) -> ClusterIdentity:
    written = label_pairs(item.metadata.labels)
    labels = tuple(pair for pair in written if not any(map(is_pseudonym, pair)))
    return ClusterIdentity(name=name, namespace=namespace, labels=labels, hidden=labels != written)


def _view(objects: Objects) -> ClusterApiView:
    pools = set()
    for (namespace, _), item in objects.of("Machine").items():
        owner = controlling(item.metadata.owner_references)
        if owner and owner.kind == MACHINE_POOL:
            pools.add((namespace, owner.name))
    return ClusterApiView(
        group=objects.group,
        clusters=objects.of("Cluster"),
        deployments=objects.of(MACHINE_DEPLOYMENT),
        machine_sets=objects.of(MACHINE_SET),
        templates={
            (group, kind, namespace, name): item
            for (group, kind), items in objects.ending(TEMPLATE).items()
            for (namespace, name), item in items.items()
        },
        pools_with_machines=frozenset(pools),
        declared=tuple(sizes_declared(objects)),
    )


def _referred(item: wire.Scalable) -> Reference | None:
    there = item.spec.template.spec.infrastructure_ref
    if not there.group or not there.kind.endswith(TEMPLATE):
        return None
    return Reference(group=there.group, kind=there.kind, namespace=there.namespace, name=there.name)


READING = PlatformReading(
    name="clusterAPI",
    group=CAPI_GROUP,
    renamed=True,
    kinds=(
        WireKind(
            kind=MACHINE_DEPLOYMENT,
            type=wire.Scalable,
            plural="machinedeployments",
            target=True,
            needed=True,
            verbs=_SIZED,
            only_for=(MACHINE_DEPLOYMENT,),
        ),
        WireKind(
            kind=MACHINE_SET,
            type=wire.Scalable,
            plural="machinesets",
            target=True,
            needed=True,
            verbs=_SIZED,
            only_for=(MACHINE_SET, MACHINE_DEPLOYMENT),
        ),
        WireKind(
            kind=MACHINE_POOL,
            type=wire.Scalable,
            plural="machinepools",
            target=True,
            verbs=_SIZED,
            optional="MachinePools",
            only_for=(MACHINE_POOL,),
        ),
        WireKind(kind="Machine", type=wire.Machine, plural="machines", needed=True, verbs=(*_SIZED, "delete")),
        WireKind(kind="Cluster", type=wire.Cluster, plural="clusters", needed=True, of_cluster=True),
        WireKind(kind=TEMPLATE, type=wire.InfrastructureTemplate, any_kind_ending_so=True),
        # From snapshots alone: on a live server, managed fields show that their controllers own the field.
        *(WireKind(kind=one.kind, name=one.known_as, group=one.group, type=STRUCTS[one.group]) for one in PARENTS),
    ),
    rows=rows,
    referred=_referred,
    annotations=("topology.cluster.x-k8s.io/", "in-place-updates.internal.cluster.x-k8s.io/"),
    words=WORDS,
    # Its contract for bootstrap providers: it removes the taint once its labels are on the node, which may be Ready by then.
    passing_taints=("node.cluster.x-k8s.io/",),
    starting_taints=("node.cluster.x-k8s.io/uninitialized",),
)
