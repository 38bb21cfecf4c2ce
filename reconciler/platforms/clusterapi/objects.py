"""How the objects of Cluster API are read."""

from reconciler.cluster.platform_reading import KindObjects, Objects, PlatformObjects, Reference, Rows
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.values.selection import label_pairs
from reconciler.platforms.clusterapi.facts import machinedeployment, machinepool, machineset, wire
from reconciler.platforms.clusterapi.facts.machines import machine, pool_instances
from reconciler.platforms.clusterapi.facts.parents import STRUCTS, sizes_declared
from reconciler.platforms.clusterapi.facts.view import ClusterApiView, controlling
from reconciler.platforms.clusterapi.facts.words import WORDS
from reconciler.platforms.clusterapi.kinds import KINDS, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET, TEMPLATE
from reconciler.platforms.clusterapi.parents import PARENTS
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.pseudonym import is_pseudonym

FACTS = {
    MACHINE_DEPLOYMENT: machinedeployment.facts,
    MACHINE_SET: machineset.facts,
    MACHINE_POOL: machinepool.facts,
}


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


OBJECTS = PlatformObjects(
    kinds={
        **dict.fromkeys(KINDS, KindObjects(type=wire.Scalable)),
        "Machine": KindObjects(type=wire.Machine),
        "Cluster": KindObjects(type=wire.Cluster),
        TEMPLATE: KindObjects(type=wire.InfrastructureTemplate),
        **{one.known_as: KindObjects(type=STRUCTS[one.group]) for one in PARENTS},
    },
    rows=rows,
    referred=_referred,
    words=WORDS,
)
