"""The Plan: what would be done, why, and why nothing else. One value for terminals, pull requests, files and the loop."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from reconciler.plan.reason import Blocker, Reason

FORMAT_VERSION = "1.0"


class OwnerState(StrEnum):
    """Whether replicas of a target are ours to write (rule 1)."""

    OURS = "Ours"
    ADOPTABLE = "Adoptable"
    HELD = "Held"
    UNKNOWN = "Unknown"


class ActionKind(StrEnum):
    """What one action does."""

    RESIZE = "Resize"
    REMOVE_NODE = "RemoveNode"
    REPLACE = "Replace"
    ADOPT = "Adopt"
    RELEASE = "Release"
    CANCEL = "Cancel"


class PodOutcome(StrEnum):
    """What this plan means for a pending pod."""

    FITS_EXISTING = "FitsExisting"
    FITS_UPCOMING = "FitsUpcoming"
    TRIGGERS_SCALE_UP = "TriggersScaleUp"
    UNPLACEABLE = "Unplaceable"
    EXPENDABLE = "Expendable"
    DELAYED = "Delayed"
    NOT_MODELLED = "NotModelled"


class NodeState(StrEnum):
    """The state of a node."""

    IN_USE = "InUse"
    EMPTY = "Empty"
    UNDERUTILIZED = "Underutilized"
    UNREADY = "Unready"
    NOT_STARTED = "NotStarted"
    UPCOMING = "Upcoming"
    LEAVING = "Leaving"
    UNMANAGED = "Unmanaged"


class Ownership(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The owner of the replicas and the evidence. `by` is a manager or topology; `evidence` are sentences."""

    state: OwnerState
    by: str = ""
    evidence: tuple[str, ...] = ()


class GroupLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One node group. `current` is the target's replicas. `desired` is the value after all actions of this plan. `settled` is the
    value in the steady state (None: not computed). `wanted` is what a held group would do."""

    name: str
    target: str
    tier: str
    current: int
    desired: int
    settled: int | None = None
    wanted: int | None = None
    min: int
    max: int
    owner: Ownership
    held: bool = False
    price_per_hour: str | None = None
    reasons: tuple[Reason, ...] = ()


class Bound(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state that an action was decided on. The action is refused if any of it has changed."""

    resource_version: str
    replicas: int
    owner_digest: str
    policy_digest: str


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing to do. Resize goes from `from_` to `to` replicas; RemoveNode and Replace name the nodes that leave.

    Cancel cancels requests for nodes that never joined and deletes `machines`. With `to` below `from_`, the difference is the
    number of cancelled requests, those without a machine included. With `to` equal to `from_`, the target replaces the machines.
    """

    kind: ActionKind
    group: str
    target: str
    from_: int = msgspec.field(name="from")
    to: int
    nodes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    bound: Bound
    reason: Reason


def withdrawn_requests(actions: Iterable[Action]) -> Counter[str]:
    """How many requests for nodes that never joined are cancelled, by group. Replicas fall by that number, and no node leaves."""
    requests: Counter[str] = Counter()
    for action in actions:
        if action.kind is ActionKind.CANCEL and action.to < action.from_:
            requests[action.group] += action.from_ - action.to
    return requests


class PodLine(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One pending pod: where it goes or every reason why nowhere. Plans have tens of thousands of them, and arguments without
    keywords make them three times as fast."""

    pod: str
    outcome: PodOutcome
    node: str | None = None
    group: str | None = None
    reasons: tuple[Reason, ...] = ()


class NodeLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One node. Times are RFC 3339 instants or None. `utilization_permille` is None if the node advertises no capacity."""

    node: str
    group: str | None
    state: NodeState
    utilization_permille: int | None
    removable: bool
    blockers: tuple[Blocker, ...] = ()
    unneeded_since: str | None = None
    removable_at: str | None = None


class BufferState(StrEnum):
    """Whether there is room for all pods that a CapacityBuffer asks room for."""

    FITS = "Fits"
    WAITING = "Waiting"
    SHORT = "Short"
    IGNORED = "Ignored"


class BufferLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One CapacityBuffer (`namespace/name`). Of its `pods`, `fits` would run on nodes that are there. `upcoming` would run on
    nodes that are on their way, `requested` on nodes of this plan. Ignored: no room is kept for it, and the reasons say why."""

    buffer: str
    state: BufferState
    pods: int
    fits: int = 0
    upcoming: int = 0
    requested: int = 0
    reasons: tuple[Reason, ...] = ()


class RequestState(StrEnum):
    """Whether there is room for all pods of a ProvisioningRequest at once."""

    PROVISIONED = "Provisioned"
    WAITING = "Waiting"
    SHORT = "Short"
    FAILED = "Failed"
    EXPIRED = "Expired"
    IGNORED = "Ignored"


class RequestLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One ProvisioningRequest (`namespace/name`). Of its `pods`, `came` exist by now. Of the others, `fits` would run on
    nodes that are there. `upcoming` would run on nodes that are on their way, `requested` on nodes of this plan. The room is
    kept `until` an instant. Ignored: no room is kept for it, and the reasons say why."""

    request: str
    class_name: str
    state: RequestState
    pods: int = 0
    came: int = 0
    fits: int = 0
    upcoming: int = 0
    requested: int = 0
    until: str | None = None
    reasons: tuple[Reason, ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Price of all managed nodes per hour as decimal strings; None when nothing has a price. `unpriced` groups do not count."""

    current_per_hour: str | None = None
    desired_per_hour: str | None = None
    settled_per_hour: str | None = None
    currency: str = "USD"
    unpriced_groups: tuple[str, ...] = ()


SETTLING_CUT_SHORT = "SettlingCutShort"
"""The code of the problem that a plan has if its settled columns are not those of a steady state."""


class PlanProblem(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """Something that a reader must know: what could not be read, was not examined, or is contradictory."""

    code: str
    object: str = ""
    message: str


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One decision. Groups by tier and name, actions in the order in which they are done, pods, nodes, buffers and
    ProvisioningRequests by name. There are no `buffers` or `provisioning_requests` if the policy reads none."""

    format_version: str = FORMAT_VERSION
    digest: str = ""
    now: str
    cluster: str = ""
    policy: str = ""
    mode: str
    policy_revision: str | None = None
    summary: str
    groups: tuple[GroupLine, ...] = ()
    actions: tuple[Action, ...] = ()
    pods: tuple[PodLine, ...] = ()
    nodes: tuple[NodeLine, ...] = ()
    cost: Cost = Cost()
    settled_loops: int | None = None
    not_captured: tuple[str, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
    buffers: tuple[BufferLine, ...] | msgspec.UnsetType = msgspec.UNSET
    provisioning_requests: tuple[RequestLine, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def buffer_lines(self) -> tuple[BufferLine, ...]:
        """The CapacityBuffers; none if the policy does not read them."""
        return self.buffers or ()

    @property
    def request_lines(self) -> tuple[RequestLine, ...]:
        """The ProvisioningRequests; none if the policy does not read them."""
        return self.provisioning_requests or ()

    @property
    def pods_wait(self) -> bool:
        """Whether some pod has no node, and none is on its way."""
        return any(line.outcome in (PodOutcome.TRIGGERS_SCALE_UP, PodOutcome.UNPLACEABLE) for line in self.pods)

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.actions)
