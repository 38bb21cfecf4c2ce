"""What Crusoe's API answers, pruned. Fields of later releases are ignored.

SOURCE: the published models of Crusoe Cloud API Gateway v1 (crusoecloud/client-go): names, optional fields, states and codes.
"""

import msgspec
from msgspec import Raw


class NodeTaint(msgspec.Struct):
    """A taint that new nodes of a pool get."""

    key: str
    effect: str
    value: str = ""


class HealthIssue(msgspec.Struct):
    """A fault that the platform reports. `INSUFFICIENT_CAPACITY` stays until no node is missing; `since` is RFC 3339."""

    code: str
    message: str = ""
    since: str = ""


class Health(msgspec.Struct):
    """The issues of a pool."""

    issues: list[HealthIssue] | None = None


class AutoscalingConfig(msgspec.Struct):
    """Whether the platform's own autoscaler sizes the pool."""

    enabled: bool = False
    min_node_size: int = 0
    max_node_size: int = 0


class NodePool(msgspec.Struct):
    """One pool. `count` is its desired number of nodes. `instance_ids` has all its machines, including stopped ones.
    `read_seconds` is ours, not Crusoe's: when the read began, by our clock (0: unknown, from a file)."""

    id: str
    name: str
    count: int
    cluster_id: str = ""
    instance_ids: list[str] | None = None
    type: str = ""
    state: str = ""
    node_labels: dict[str, str] | None = None
    node_taints: list[NodeTaint] | None = None
    reservation_id: str | None = None
    health: Health | None = None
    autoscaling_config: AutoscalingConfig | None = None
    read_seconds: int = 0
    kind: str = ""


class Instance(msgspec.Struct):
    """One machine."""

    id: str
    name: str = ""
    state: str = ""
    type: str = ""
    location: str = ""
    created_at: str = ""
    reservation_id: str | None = None
    kind: str = ""


class Cluster(msgspec.Struct):
    """The cluster that pools belong to; its `location` is also theirs."""

    id: str
    name: str = ""
    location: str = ""
    add_ons: list[str] | None = None
    kind: str = ""


class Capacity(msgspec.Struct):
    """How many machines of a type a location has left."""

    quantity: int
    location: str = ""
    type: str = ""
    kind: str = ""


class Reservation(msgspec.Struct):
    """Machines that are paid for, and how many of them run."""

    id: str
    quantity: int
    used_quantity: int = 0
    kind: str = ""


class MachineType(msgspec.Struct):
    """What one machine of a type has."""

    product_name: str
    cpu_cores: int = 0
    memory_gb: int = 0
    num_gpu: int = 0
    gpu_type: str = ""
    disk_gb: int = 0
    kind: str = ""


class OperationDetails(msgspec.Struct):
    """How far an operation came: `error` if it did not do everything."""

    error: str = ""


class OperationPool(msgspec.Struct):
    """The pool of an operation, as it was before."""

    id: str = ""


class OperationResult(msgspec.Struct):
    """The outcome of an operation."""

    node_pool: OperationPool | None = None
    details: OperationDetails | None = None


class PoolOperation(msgspec.Struct):
    """One operation on a pool. SUCCEEDED with `result.details.error` has done only a part."""

    operation_id: str
    state: str = ""
    completed_at: str = ""
    result: OperationResult | None = None
    kind: str = ""


class ClusterOperation(msgspec.Struct):
    """One operation of AutoClusters, which replaces faulty machines by itself. The content of `metadata` is not published."""

    operation_id: str
    state: str = ""
    metadata: Raw = Raw(b"null")
    kind: str = ""


class Behaviour(msgspec.Struct, frozen=True):
    """What is known of the platform that its API does not show. `lowering`: `Keeps` if lowering a count deletes no machine,
    `Trims` if it does, empty if unknown. `passed_over`: by pool id, how the pool proved `Keeps` wrong. `leaving`: by id of a
    machine that we remove, its pool's count before it is lowered for the machine. `cancelled`: ids of machines that never became
    nodes, whose cancellation was refused, or interrupted by the end of the process."""

    lowering: str = ""
    passed_over: dict[str, str] = {}
    leaving: dict[str, int] = {}
    cancelled: tuple[str, ...] = ()
    kind: str = ""
