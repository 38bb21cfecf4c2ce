"""Targets: the objects whose replicas a node group sizes, as facts read from their JSON."""

import msgspec

from reconciler.cluster.devices.resource_slice import ResourceSlice
from reconciler.cluster.nodes.node import Taint
from reconciler.cluster.values.resources import Resources
from reconciler.values.plural import count_text


class TargetRef(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Which target: kind, namespace or region, name.

    The kind alone tells the platform: where two platforms call a kind alike, one of them names its API group as well
    (`MachineSet.machine.openshift.io`).
    """

    kind: str
    namespace: str = ""
    region: str = ""
    name: str

    @property
    def place(self) -> str:
        """Its namespace, or its region."""
        return self.namespace or self.region

    def __str__(self) -> str:
        return f"{self.kind} {self.place}/{self.name}"


class FieldOwner(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One managedFields entry that holds `spec.replicas`; `operation` is Apply or Update; `time_seconds` 0 if absent."""

    manager: str
    operation: str
    subresource: str = ""
    time_seconds: int = 0


class OtherWriter(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Somebody who sizes a target by other means than its field: `by` names it, `evidence` is the sentence that proves it."""

    by: str
    evidence: str


class Caution(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Something about a target that holds nothing and that its people should know; `code`, a sentence, and what to do."""

    code: str
    message: str
    advice: str


class SharedRoom(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """How many more machines the platform can give beyond those that were asked for: `left`, shared by all targets with a room
    of this `name`. `why` is the sentence that counts what there is. `since` are the machines that were added after that count."""

    name: str
    left: int
    why: str
    since: int = 0

    @property
    def counted(self) -> str:
        """The count, with what was added after it."""
        return f"{self.why}, {count_text(self.since, 'node')} more since" if self.since > 0 else self.why


class Ending(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """The platform ends all machines of a target in `zone` (empty: in any zone), from `at_seconds` on (Unix time). `what` ends
    then."""

    zone: str
    what: str
    at_seconds: int


class ZoneShift(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """Work is moved away from a zone. `moved` names what is moved. The shift ends by itself at `until_seconds` (0: nobody knows
    when). `closes`: the platform would still make the next machine of the target there."""

    zone: str
    moved: str
    until_seconds: int = 0
    closes: bool = False


class LaunchFailure(msgspec.Struct, frozen=True, kw_only=True):
    """The platform has said that it cannot make the machines that are missing. `id` tells one such answer from the next, `kind`
    is Stock, Quota or Configuration (which needs a person), `message` is what the platform said."""

    id: str
    at_seconds: int
    kind: str
    message: str


class OwnerEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about the owner of `spec.replicas` of one target (rule 1 of the product).

    `managed_fields_present` is False if the object has none at all (stripped, so ownership is unknown). `topology_owned` is the
    label `topology.cluster.x-k8s.io/owned`. `topology_replicas` is what the Cluster's topology declares for this deployment, or
    None if it leaves replicas unset. `topology_read` is False if the Cluster or its entry could not be read.
    `last_applied_replicas` is the value in a client-side last-applied manifest. `applied_without_replicas`: there is such a
    manifest, and it leaves replicas out. `hold_by` is the field manager that wrote `hold`, and when. `tracking` is who
    manages the object, by its marks (`argocd:NAME`, `rancher:DOMAIN`). `unreadable` are sentences about unreadable evidence:
    with any, ownership is unknown.
    """

    managed_fields_present: bool = True
    owners: tuple[FieldOwner, ...] = ()
    topology_owned: bool = False
    topology_deployment: str = ""
    topology_read: bool = True
    topology_replicas: int | None = None
    last_applied_replicas: int | None = None
    applied_without_replicas: bool | msgspec.UnsetType = msgspec.UNSET
    tracking: tuple[str, ...] = ()
    controller: str = ""
    paused: str = ""
    deleting: bool = False
    hold: str = ""
    hold_by: str | msgspec.UnsetType = msgspec.UNSET
    unreadable: tuple[str, ...] = ()


class TargetOption(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A per-group option written on the target. `key` is the path of its policy field (`scaleDown.unneededTime`). `value` is in
    that field's unit (a boolean is 0 or 1). `origin` is the annotation or tag."""

    key: str
    value: int
    origin: str


class TargetTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What the target itself says about one new node. `capacity` is empty if unknown. `origins` names the sources.

    `sizes` are the possible capacities of a new node, if there are several. Then `capacity` and `allocatable` are the least of
    each. `estimated`: computed from the machine type, so a node of that type is better evidence. `zone` is the zone of new nodes,
    `zones` are several possible ones. `fills_zones`: each new node joins the zone with the fewest. In `avoided_zones`, nodes that
    were expected did not come. `driver_labels` are the labels that a volume driver of the platform puts on each of its nodes:
    driver, key and value. `attach_limits` are how many volumes each driver attaches, by its name. `devices` are what drivers of
    dynamic resource allocation offer on it. `pods_guessed`: no source gives the number of pods of a node.
    """

    capacity: Resources | None = None
    allocatable: Resources | None = None
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    architecture: str = ""
    zone: str = ""
    zones: tuple[str, ...] = ()
    fills_zones: bool = False
    avoided_zones: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    sizes: tuple[Resources, ...] = ()
    estimated: bool = False
    attach_limits: tuple[tuple[str, int], ...] = ()
    devices: tuple[ResourceSlice, ...] = ()
    pods_guessed: bool = False
    driver_labels: tuple[tuple[str, str, str], ...] = ()


class RolloutPace(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """How a target replaces its machines: so many may exist beyond its replicas (`surge`), and so many may be missing
    (`unavailable`) meanwhile. `on_delete`: it replaces a machine only after somebody has deleted it. `origin` is where that is
    written."""

    surge: int
    unavailable: int
    on_delete: bool = False
    origin: str = ""


class SizeChange(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A change of the size that the platform has recorded: what asked for it, in the platform's words."""

    at_seconds: int
    before: int
    to: int
    by: str


class TargetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One target as read. `replicas` is None if the object has none (a problem names it).

    `min_size`/`max_size` come from the two size annotations, which count only together; `size_origin` names them. `sizes_bind`:
    the platform rejects a size outside them, whatever a policy says. `read_seconds` is when the read began, by the reader's clock
    (0: unknown). `rolling_out` is true while an older revision still has machines. `rollout` is how fast the target would replace
    its machines (None: it does not say). `on_demand_base` is how many machines of a mixed group are not spot. `price_per_hour` is
    the price of one node in the platform's own list, and `price_origin` that list.

    `launch_failure` is why missing machines will not come. `rooms` limit how many more machines are available. `reserved` is
    what is free of capacity that is paid for anyway and that new machines take first. `endings` are when the platform ends
    machines, and `zone_shifts` the zones that work is moved away from.

    `last_change` is the newest change of the size that the platform has recorded (None: it has recorded none, or was not asked).

    `writers` size the target by other means than a field. `unseen` is the evidence of such writers that was not captured (empty:
    all was).
    `problems` are sentences about unreadable values. `api_group` is the API group of Cluster API and the prefix of its
    annotations; it is empty for targets of other platforms.

    `unrecorded_owner` is why a target without a known owner is ours, if the platform records no owner (empty: managed fields do).
    `keeps_nodes` is why no node may be removed now: a machine other than the chosen one might leave (empty: any may).
    `keeps_nodes_but` are the nodes that may leave anyway. `keeps_requests` is why requests without a machine cannot be taken back
    now (empty: they can). `beyond_autoscaler`: a Cluster Autoscaler that works elsewhere ignores
    this target in its present form. `clusters` are the names of the clusters that the target names (empty: none). Their members
    are ids if the platform has no names.
    """

    ref: TargetRef
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    replicas: int | None
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cluster_name: str = ""
    min_size: int | None = None
    max_size: int | None = None
    size_origin: str = ""
    sizes_bind: bool = False
    read_seconds: int = 0
    options: tuple[TargetOption, ...] = ()
    template: TargetTemplate = TargetTemplate()
    owner: OwnerEvidence = OwnerEvidence()
    rolling_out: bool = False
    rollout: RolloutPace | None = None
    selectable: bool = True
    on_demand_base: int = 0
    price_per_hour: str = ""
    price_origin: str = ""
    launch_failure: LaunchFailure | None = None
    rooms: tuple[SharedRoom, ...] = ()
    reserved: tuple[SharedRoom, ...] = ()
    endings: tuple[Ending, ...] = ()
    zone_shifts: tuple[ZoneShift, ...] = ()
    last_change: SizeChange | None = None
    writers: tuple[OtherWriter, ...] = ()
    unseen: str = ""
    cautions: tuple[Caution, ...] = ()
    problems: tuple[str, ...] = ()
    api_group: str = ""
    unrecorded_owner: str = ""
    keeps_nodes: str = ""
    keeps_nodes_but: tuple[str, ...] = ()
    keeps_requests: str = ""
    beyond_autoscaler: bool = False
    clusters: tuple[str, ...] = ()


class Machine(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One Machine (or instance) behind a target. `node` is the name of its Node, or empty. `failed` is why it will never become a
    node. `last_error` is the last problem of a machine that is still being created and retried. `outdated`: the target has since
    changed the template for its machines (None: unknown). `updating`: the platform changes it in place, or is about to."""

    namespace: str
    name: str
    target: TargetRef | None
    node: str = ""
    provider_id: str = ""
    created_seconds: int = 0
    deleting: bool = False
    delete_marked: bool = False
    failed: str = ""
    last_error: str = ""
    phase: str = ""
    zone: str = ""
    outdated: bool | None = None
    updating: bool = False
