"""What there is to read of node pools, from the answers of Crusoe's API.

All its lists are called `items`. A snapshot keeps each list below its own key, which names the kind.
"""

from reconciler.cluster.platform_reading import Envelope, PlatformReading, WireKind
from reconciler.platforms.crusoe import kinds

_LISTS = {
    kinds.INSTANCE: "nodePoolInstances",
    kinds.CLUSTER: "crusoeClusters",
    kinds.CAPACITY: "crusoeCapacities",
    kinds.RESERVATION: "crusoeReservations",
    kinds.MACHINE_TYPE: "crusoeMachineTypes",
    kinds.OPERATION: "nodePoolOperations",
    kinds.REMEDIATION: "autoClusterOperations",
    kinds.BEHAVIOUR: "crusoeBehaviour",
}

READING = PlatformReading(
    name="crusoe",
    kinds=(
        WireKind(kind=kinds.NODE_POOL, envelope=Envelope(list_key="nodePools"), target=True),
        *(WireKind(kind=kind, envelope=Envelope(list_key=list_key)) for kind, list_key in _LISTS.items()),
    ),
    labels=kinds.DRIVER_LABELS,
    autoscaler_namespaces=("crusoe-system",),
    passing_taints=(kinds.REMEDIATION_KEYS,),
)
