"""Reasons about the machines of a target: requested, created or given back."""

from reconciler.plan.reason import Because
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text

_NAMED_AT_MOST = 5


class UpcomingNodes(Because, frozen=True, kw_only=True):
    """Requested nodes that no pod can use yet. `starting` of them have joined and wait for what `waits_for` names.

    The last of them is expected by `expected_by`: `in_time` of `earlier` requests took no longer. It is empty if too few have
    ended. `late`: that instant is over.
    """

    code = "UpcomingNodes"
    count: int
    starting: int = 0
    waits_for: tuple[str, ...] = ()
    expected_by: str = ""
    in_time: int = 0
    earlier: int = 0
    late: bool = False

    def sentence(self) -> str:
        """How many, what the joined nodes wait for, and when all of them are expected."""
        parts = [f"{count_text(self.count - self.starting, 'node')} requested but not registered yet"]
        if self.starting:
            named = f" ({', '.join(self.waits_for)})" if self.waits_for else ""
            parts.append(f"{count_text(self.starting, 'node')} joined but not started yet{named}")
        what = ", ".join(parts[self.count == self.starting :])
        if not self.expected_by:
            return what
        late = "late: " if self.late else ""
        return f"{what}, {late}expected by {self.expected_by}. {self.in_time} of {self.earlier} earlier ones came in that time"


class LeadTime(Because, frozen=True, kw_only=True):
    """How long nodes of a group that grows took before. `late` of the last `requests` did not come in time. A percentile is null
    if a late one has its rank. A request without a node is overdue after `overdue_after_seconds`."""

    code = "LeadTime"
    requests: int
    late: int
    median_seconds: int | None
    p95_seconds: int | None
    overdue_after_seconds: int

    def sentence(self) -> str:
        """Both percentiles, and of how many requests they are."""
        return f"new nodes: {lead_time_words(self.requests, self.late, self.median_seconds, self.p95_seconds)}"


def lead_time_words(requests: int, late: int, median_seconds: int | None, p95_seconds: int | None) -> str:
    """Both percentiles, and of how many requests they are. One that is None is not known, because a late request has its rank."""
    of = f"of the last {count_text(requests, 'request')}"
    if median_seconds is None:
        return f"{late} {of} did not come in time"
    ends = f"{duration_text(median_seconds)} (median)"
    if p95_seconds is not None:
        ends += f" and {duration_text(p95_seconds)} (95th percentile)"
    return f"usable after {ends} {of}" + (f". {late} of them did not come in time" if late else "")


class MachinesFailed(Because, frozen=True, kw_only=True):
    """Machines that will not become nodes by themselves."""

    code = "MachinesFailed"
    count: int
    first: str

    template = "{count:machine} failed or did not register in time: {first}"


class MayNotReturn(Because, frozen=True, kw_only=True):
    """The last node of a group leaves, and its machines are scarce."""

    code = "MayNotReturn"
    why: str

    template = "the group scales to 0 and returns its machines to the provider, which may not have them later: {why}"


class Replaced(Because, frozen=True, kw_only=True):
    """The target itself replaces lost machines. Its desired replicas did not change."""

    code = "Replaced"
    machines: tuple[str, ...]
    replicas: int
    since: str

    template = (
        "the target created {machines:machine} ({machines}) to replace lost nodes: "
        "it keeps {replicas:replica}, unchanged since {since}"
    )


class RequestCancelled(Because, frozen=True, kw_only=True):
    """Requests for nodes that never joined are cancelled. Exactly these machines are deleted, and the size falls by their
    number."""

    code = "RequestCancelled"
    machines: tuple[str, ...]
    without_machine: int
    nodes: int
    why: str

    def sentence(self) -> str:
        """What is cancelled, why, and what stays."""
        parts = [f"machine {', '.join(self.machines)}"] if self.machines else []
        if self.without_machine:
            parts.append(f"{count_text(self.without_machine, 'request')} without a machine")
        verb = "is" if len(self.machines) + self.without_machine == 1 else "are"
        keeps = f"The group keeps its {count_text(self.nodes, 'node')}" if self.nodes else "The group has no node"
        return f"{' and '.join(parts)} never became a node ({self.why}) and {verb} cancelled. {keeps}"


class CancelLater(Because, frozen=True, kw_only=True):
    """Failed requests wait: a read of the target may be older than what came of its last write."""

    code = "CancelLater"
    until: str

    template = "its failed requests are withdrawn from {until} on. Until then a read may not show every machine that came"


class RequestsKept(Because, frozen=True, kw_only=True):
    """Failed requests without a machine stay, because the platform cannot take them back safely now. They go when `why` ends."""

    code = "RequestsKept"
    requests: int
    why: str

    template = "{requests:failed request} {requests:stays|stay} until this ends: {why}"


class AskedAnew(Because, frozen=True, kw_only=True):
    """Machines that never became nodes are replaced. The size stays, because the group is at its minimum."""

    code = "AskedAnew"
    machines: tuple[str, ...]
    min: int
    why: str

    template = "machine {machines} never became a node ({why}): requested again, because the minimum is {min}"


class MachinesKept(Because, frozen=True, kw_only=True):
    """Machines without a node are kept, because they may belong to somebody else or run pods."""

    code = "MachinesKept"
    machines: tuple[str, ...]
    why: str

    def sentence(self) -> str:
        """Which, why, and what ends it."""
        return (
            f"{_named(self.machines)} not a node of this cluster and kept: {self.why}. If you do not need it, delete it by hand"
        )


class NeverJoined(Because, frozen=True, kw_only=True):
    """None of the target's machines has ever become a node of this cluster. The target may belong to another cluster."""

    code = "NeverJoined"
    target: str
    machines: tuple[str, ...]
    why: str

    def sentence(self) -> str:
        """What is missing, and what ends it."""
        return (
            f"no machine of {self.target} ({_listed(self.machines)}, {self.why}) has ever joined this cluster. "
            "It may belong to another cluster, so nothing is written until one joins"
        )


class OtherCluster(Because, frozen=True, kw_only=True):
    """The target names another cluster. `here` has the names of this cluster in the policy and in targets with nodes here. It is
    empty if several names are possible."""

    code = "OtherCluster"
    target: str
    named: tuple[str, ...]
    here: tuple[str, ...]

    def sentence(self) -> str:
        """The cluster it names, and what to do."""
        says = f"{self.target} names cluster {' and '.join(self.named)}"
        if not self.here:
            return (
                f"{says}, other targets name other clusters, and no node shows which one this is. "
                "Nothing is written until one of its machines joins. Remove groups of other clusters from the policy"
            )
        this = " or ".join(self.here)
        return f"{says}, but this is {this}: nothing is written. Remove it from the policy, or correct its tags"


class OtherClusterMark(Because, frozen=True, kw_only=True):
    """The loop of another cluster of a fleet has written the target. `mark` is its Cluster, `here` is this one (empty: this loop
    is of no fleet)."""

    code = "OtherClusterMark"
    target: str
    mark: str
    here: str

    def sentence(self) -> str:
        """The cluster that has it, and what ends that."""
        this = f", and this is {self.here}" if self.here else ""
        return (
            f"{self.target} has the mark reconciler.dev/cluster of cluster {self.mark}{this}: nothing is written. "
            "The group is held until the loop of that cluster releases the target, or a person deletes the mark"
        )


class ClusterUnknown(Because, frozen=True, kw_only=True):
    """In a fleet, nothing shows that the target belongs to this cluster. `cluster` is the Cluster. `shared` are names on the
    target that several clusters of the fleet have. `missing` is how a target is marked as one of this cluster (empty: only its
    nodes show it)."""

    code = "ClusterUnknown"
    target: str
    cluster: str
    shared: tuple[str, ...] = ()
    missing: str = ""

    def sentence(self) -> str:
        """What is missing, and what ends it."""
        if self.shared:
            return (
                f"{self.target} names cluster {' and '.join(self.shared)}, as several clusters of the fleet are called: "
                f"nothing is written until one of its machines is a node of {self.cluster}. "
                "Alternatively, give each Cluster object the label reconciler.dev/cloud-name"
            )
        way = f"it has {self.missing}, or " if self.missing else ""
        return (
            f"nothing shows that {self.target} belongs to cluster {self.cluster}: nothing is written until "
            f"{way}one of its machines is a node there"
        )


def _named(machines: tuple[str, ...]) -> str:
    return f"{_listed(machines)} {'is' if len(machines) == 1 else 'are'}"


def _listed(machines: tuple[str, ...]) -> str:
    more = f" and {len(machines) - _NAMED_AT_MOST} more" if len(machines) > _NAMED_AT_MOST else ""
    listed = ", ".join(machines[:_NAMED_AT_MOST])
    return f"machine {listed}" if len(machines) == 1 else f"machines {listed}{more}"
