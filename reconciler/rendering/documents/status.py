"""What a loop left on the API server."""

import msgspec

from reconciler.decisions.situation.lead_times import LearnedLeadTime
from reconciler.plan.plan import BufferLine, RequestLine

FORMAT_VERSION = "1.0"


class LeaderStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The Lease. `holder` is empty when nobody leads. `leads`: it was renewed within its duration, by our clock. `renewedAt` is
    empty when no Lease exists. `notDecidedSince`: the last decision is too old (empty: it is not)."""

    holder: str = ""
    leads: bool = False
    renewed_at: str = ""
    transitions: int = 0
    not_decided_since: str = ""


class PlanStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The last plan, where the loop reported it: with its memory, or on its own page. `at` is since when it says so; `mode` is
    empty where nobody reported it."""

    at: str = ""
    summary: str = ""
    digest: str = ""
    mode: str = ""


class PolicyStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The policy in force: where it came from, which revision, read when, signed by whom. `refused` is why a newer one is not in
    force; empty where none was refused."""

    source: str = ""
    revision: str = ""
    read_at: str = ""
    signer: str = ""
    refused: str = ""


class OwnerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Who decides the replicas (Ours, Adoptable, Held, Unknown; empty: no plan tells), who that is, and how we know."""

    state: str = ""
    by: str = ""
    evidence: tuple[str, ...] = ()


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One group that the loop knows. `replicas` is None if the target does not exist or cannot be read. `held`, `owner`,
    `heldSince`, `desired` and `wanted` (what a held group would get) are from the last plan. `next` is what a person must do so
    that the group is decided again, and `block` is YAML to copy for that. `hold` is the annotation on the target; with
    `holdOver`, its end has passed. `backoffUntil` and `conflict` are empty if there is none. `approval` names what waits for an
    approval. `why` is the last plan's reason for holding the group. `leadTime` is how long its nodes took (null: nothing is
    known)."""

    name: str
    target: str
    replicas: int | None = None
    desired: int | None = None
    wanted: int | None = None
    held: bool = False
    held_since: str = ""
    owner: OwnerStatus = OwnerStatus()
    next: str = ""
    block: tuple[str, ...] = ()
    hold: str = ""
    hold_over: bool = False
    backoff_until: str = ""
    backoff_reason: str = ""
    conflict: str = ""
    approval: str = ""
    why: str = ""
    lead_time: LearnedLeadTime | None = None


class DrainStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node that is being emptied."""

    node: str
    since: str


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The state of one loop. `buffers` and `provisioningRequests` are those of the last plan. `problems` are sentences about what
    could not be read."""

    format_version: str = FORMAT_VERSION
    policy: str
    namespace: str
    now: str
    leader: LeaderStatus
    plan: PlanStatus
    policy_in_force: PolicyStatus
    groups: tuple[GroupStatus, ...] = ()
    buffers: tuple[BufferLine, ...] = ()
    provisioning_requests: tuple[RequestLine, ...] = ()
    drains: tuple[DrainStatus, ...] = ()
    last_added_at: str = ""
    last_removed_at: str = ""
    last_failed_at: str = ""
    problems: tuple[str, ...] = ()
