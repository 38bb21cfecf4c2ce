"""What there is to read of Cluster API."""

from reconciler.cluster.platform_reading import PlatformReading, WireKind
from reconciler.platforms.clusterapi.kinds import CAPI_GROUP, MACHINE_DEPLOYMENT, MACHINE_POOL, MACHINE_SET, TEMPLATE
from reconciler.platforms.clusterapi.parents import PARENTS

_SIZED = ("get", "patch")

READING = PlatformReading(
    name="clusterAPI",
    group=CAPI_GROUP,
    renamed=True,
    kinds=(
        WireKind(
            kind=MACHINE_DEPLOYMENT,
            plural="machinedeployments",
            target=True,
            needed=True,
            verbs=_SIZED,
            only_for=(MACHINE_DEPLOYMENT,),
        ),
        WireKind(
            kind=MACHINE_SET,
            plural="machinesets",
            target=True,
            needed=True,
            verbs=_SIZED,
            only_for=(MACHINE_SET, MACHINE_DEPLOYMENT),
        ),
        WireKind(
            kind=MACHINE_POOL,
            plural="machinepools",
            target=True,
            verbs=_SIZED,
            optional="MachinePools",
            only_for=(MACHINE_POOL,),
        ),
        WireKind(kind="Machine", plural="machines", needed=True, verbs=(*_SIZED, "delete")),
        WireKind(kind="Cluster", plural="clusters", needed=True, of_cluster=True),
        WireKind(kind=TEMPLATE, any_kind_ending_so=True),
        # From snapshots alone: on a live server, managed fields show that their controllers own the field.
        *(WireKind(kind=one.kind, name=one.known_as, group=one.group) for one in PARENTS),
    ),
    annotations=("topology.cluster.x-k8s.io/", "in-place-updates.internal.cluster.x-k8s.io/"),
    # Its contract for bootstrap providers: it removes the taint once its labels are on the node, which may be Ready by then.
    passing_taints=("node.cluster.x-k8s.io/",),
    starting_taints=("node.cluster.x-k8s.io/uninitialized",),
)
