"""What one decision must know of earlier ones. The loop stores it on an API object before the act that it protects."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.defects import Known
from reconciler.policy.documents import RemovalReason
from reconciler.values.instant import UnixSeconds

MEMORY_VERSION = 1
Departures = Mapping[str, tuple[tuple[UnixSeconds, int], ...]]
"""Target -> ends of spans (Unix seconds), and how many of its nodes began to leave in each."""


class BackoffState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A group left alone until `until_seconds` after its `failures`th failure in a row, the last at `failed_seconds`."""

    failures: int
    failed_seconds: UnixSeconds
    until_seconds: UnixSeconds
    reason: str = ""


class LastWrite(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The last replicas that we wrote to a target, the generation that the write produced (0: unknown), and when it had ended.
    A read that may be older shows something from `lowest` to `highest` (None: not known)."""

    replicas: int
    generation: int = 0
    written_seconds: UnixSeconds = 0
    lowest: int | None = None
    highest: int | None = None


class ConflictState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often somebody else undid our writes to a target, who, and the two values of the last time. `certain`: no read that
    is older than our write can have shown the last one."""

    count: int
    last_seconds: UnixSeconds
    writer: str
    ours: int
    theirs: int
    certain: bool = False


class Purchase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was added for pods and for headroom, last at `last_seconds`. By target: since when nodes were added for this demand.

    `pods` is the most requested since the last time, by kind of pod. `policy` is the digest of the policy. `closed` are nodes
    that took no pods at that time. An entry of an earlier version without `pods` has no meaning.

    The last `Replace` of a group for this demand began at `replaced_seconds` (0: none did). It has paid once all nodes together
    cost at most `paid_at_micros` an hour. If they cost more than `repair_above_micros` instead, one may repair it (0: none may).
    """

    since: Mapping[str, UnixSeconds] = {}
    pods: Mapping[str, int] = {}
    policy: str = ""
    closed: tuple[str, ...] = ()
    last_seconds: UnixSeconds = 0
    replaced_seconds: UnixSeconds = 0
    paid_at_micros: int = 0
    repair_above_micros: int = 0


class Replacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A `Replace` in progress. Since `started_seconds`, `new` nodes of `target`, which has `to` replicas then, are to take over
    the pods of `nodes`. `elsewhere`: pods may move to other nodes, too. That saves `saving_micros` per hour (negative: it costs
    more; 0 also: a price is unknown). It is written before the target grows. If several targets grow for the same nodes, each has
    an entry with the same start and the whole saving."""

    target: str
    nodes: tuple[str, ...]
    to: int
    started_seconds: UnixSeconds
    saving_micros: int
    reason: RemovalReason = RemovalReason.CONSOLIDATED
    new: int = 1
    elsewhere: bool = False


class TierState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tier that nodes return to. It has had capacity since `since_seconds`, after `failures` failures in a row, the last at
    `failed_seconds` (0: none is known)."""

    failures: int = 0
    failed_seconds: UnixSeconds = 0
    since_seconds: UnixSeconds


class SizeState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Replicas of a target, since when they have been seen unchanged, and what was seen `before` (None: nothing was)."""

    replicas: int
    since_seconds: UnixSeconds
    before: int | None = None


class KnownTarget(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A target whose machines are not objects of this cluster, at the last decision. `joined`: some have become nodes of this
    cluster, and `clusters` were its names of the cluster then. `from_nothing`: it once had neither replicas nor machines, and
    only we have raised it since. `machines` existed then. `started` are those among them that our own growth started and that
    were never nodes."""

    uid: str = ""
    joined: bool = False
    clusters: tuple[str, ...] = ()
    from_nothing: bool = False
    machines: tuple[str, ...] = ()
    started: tuple[str, ...] = ()


class Refuted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A promise that did not come true, last at `seen_seconds`, `times` times in a row. `template` is a short digest of what
    makes the nodes. For a kind of pod, `node` rejected it for the reason `why`, although the template accepts it. For a zone,
    `why` are the zones in which the nodes came instead, asked for since `asked_seconds`, and `node` is empty."""

    node: str
    why: str
    template: str
    seen_seconds: UnixSeconds
    times: int = 2
    asked_seconds: UnixSeconds = 0


class Probe(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node that was added at `asked_seconds` to learn a label, after `in_vain` that helped no pod. The first one for these pods
    was added at `first_seconds`. `template` as in `Refuted`."""

    asked_seconds: UnixSeconds
    template: str
    in_vain: int = 0
    first_seconds: UnixSeconds = 0


class Pledge(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a plan at `asked_seconds` adds to a target, whose size is then `to`. By zone: how many of the new `nodes` pods need
    there. `template` as in `Refuted`."""

    asked_seconds: UnixSeconds
    to: int
    nodes: int
    zones: Mapping[str, int] = {}
    template: str


class Came(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a target was asked for, the first of it at `asked_seconds`, and the machines that `came` since, by zone. `nodes` and
    `zones` as in `Pledge`; without nodes, nothing is awaited any more. `template` is empty once the target has another one than
    then."""

    asked_seconds: UnixSeconds
    nodes: int = 0
    zones: Mapping[str, int] = {}
    came: Mapping[str, int] = {}
    template: str


class Claim(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """A target that this policy means to write, for other policies to see. Of two claims, the greater one holds. `number` is
    higher than those of dead policies that it was taken over from. `written`: something was written under it."""

    number: int
    written: bool = False


class LeadTime(msgspec.Struct, frozen=True, array_like=True):
    """One request for a node that has ended: when it was made, and after how many seconds the node joined and was usable. A
    negative number: it took longer than that, or never came."""

    asked_seconds: UnixSeconds
    joined_seconds: int
    usable_seconds: int


class LeadTimes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The last `requests` of a target that have ended, the first of them first. `under_way`: machine -> when it was asked for (0:
    it has failed and is counted). No machine seen so far was made after `newest_seconds` (0: unknown)."""

    requests: tuple[LeadTime, ...] = ()
    under_way: Mapping[str, UnixSeconds] = {}
    newest_seconds: UnixSeconds = 0


class Memory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Keyed by names, never by indices; times are Unix seconds. Entries of things that are gone are dropped.

    `unneeded_since`: node name -> first plan that saw it unneeded without interruption. `known_groups`: target -> group name at
    the last decision. A name that vanishes is released. A new name for the same target keeps its timers, which are by node.
    `conflicts`: target -> a second writer. `leaving`: node name -> when its removal began. `left_empty`: those that leave because
    they were empty. `foreign_since`: target -> when a write without a time by somebody else was first seen. `waiting_since`:
    request for a node -> when it was made, as far as known. `sizes`: target -> its size, and since when. `failed_machines`:
    failures that are already counted. `held_groups`: under a hold (in git or on the target) at the last decision.

    `purchase`: the demand of the last added nodes, so that it does not add nodes again. `replaceable_since`: node name -> first
    plan in which its replacement saved enough, without interruption. `replacements`: those in progress. `given_up`: node name ->
    when its replacement was given up. `repacked`: new node -> when it took pods of a repack. `denials`: "growth" or "removal" and
    the target -> what the platform denies; it is not tried again before its end. `departures`: what left within a day, kept while
    the policy requires approvals. `intended`: target
    -> nodes whose removal is about to be written; entries remain only if the process ended there. `known_targets`: target -> its
    machines. `claims`: targets that this policy means to write, except those that another policy has. `promised`: target -> pods
    by shape that wait for a node that was added for them. `refuted`: target and kind of pod or zone -> what did not help.
    `pledges`: target -> what the last plan adds. `purchases`: target -> what has come of what was asked for. `probes`: target and
    kind of pod -> nodes added for it to learn a label. `zones`: target whose zones the platform fills -> those in which its nodes
    have come. `tiers`: tier with `returnAfter` -> its capacity. `lead_times`: target -> how long its nodes took, and which are
    under way. `bookings`: uid of a ProvisioningRequest -> until when its room is kept. `last_failures`: group -> when it last
    failed to grow. `defects`: text of a defect of ours -> digests of the objects on which judging failed (see `cluster.defects`).
    `examine_next`: the node at which the last decision ran out of work for removals (empty: none).
    """

    version: int = MEMORY_VERSION
    unneeded_since: Mapping[str, UnixSeconds] = {}
    known_groups: Mapping[str, str] = {}
    backoffs: Mapping[str, BackoffState] = {}
    denials: Mapping[str, BackoffState] = {}
    last_writes: Mapping[str, LastWrite] = {}
    conflicts: Mapping[str, ConflictState] = {}
    leaving: Mapping[str, UnixSeconds] = {}
    left_empty: tuple[str, ...] = ()
    foreign_since: Mapping[str, UnixSeconds] = {}
    waiting_since: Mapping[str, UnixSeconds] = {}
    sizes: Mapping[str, SizeState] = {}
    known_targets: Mapping[str, KnownTarget] = {}
    failed_machines: tuple[str, ...] = ()
    held_groups: tuple[str, ...] = ()
    purchase: Purchase | None = None
    replaceable_since: Mapping[str, UnixSeconds] = {}
    replacements: tuple[Replacement, ...] = ()
    given_up: Mapping[str, UnixSeconds] = {}
    repacked: Mapping[str, UnixSeconds] = {}
    departures: Departures = {}
    intended: Mapping[str, tuple[str, ...]] = {}
    claims: Mapping[str, Claim] = {}
    promised: Mapping[str, Mapping[str, int]] = {}
    refuted: Mapping[str, Refuted] = {}
    pledges: Mapping[str, Pledge] = {}
    purchases: Mapping[str, Came] = {}
    probes: Mapping[str, Probe] = {}
    zones: Mapping[str, tuple[str, ...]] = {}
    tiers: Mapping[str, TierState] = {}
    lead_times: Mapping[str, LeadTimes] = {}
    bookings: Mapping[str, UnixSeconds] = {}
    last_failures: Mapping[str, UnixSeconds] = {}
    defects: Known = {}
    examine_next: str = ""
    last_added_seconds: UnixSeconds = 0
    last_removed_seconds: UnixSeconds = 0
    last_failed_seconds: UnixSeconds = 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of one action: `done`, or refused/failed with a stable code and a message. `to` are the replicas that it left,
    `before` those that it found (None: not known)."""

    kind: str
    group: str
    target: str
    to: int
    before: int | None = None
    nodes: tuple[str, ...] = ()
    done: bool
    code: str = ""
    message: str = ""
    at_seconds: int
    generation: int = 0
