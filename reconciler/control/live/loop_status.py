"""What a loop left behind: its Lease, its memory, the policy in force, the status of its policy object. Only reads."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.control.live.plan_record import PlanRecord, plan_in
from reconciler.control.live.source_standing import StandingEntry, standing_in
from reconciler.control.policy.stored_policy import LockedState, StateLastGoodStore
from reconciler.control.turn.memory_store import StoreUnavailableError
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.other_policies import shared_targets
from reconciler.decisions.reasons.owners import GroupHeld
from reconciler.decisions.situation.lead_times import learned
from reconciler.gitops.sources.last_good import LastGoodError
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.leading.state import StateObject, StateUnavailableError
from reconciler.plan.approvals.group_approvals import WAITS_FOR_APPROVAL
from reconciler.plan.last_decision import last_decision
from reconciler.plan.plan import GroupLine
from reconciler.policy.documents import API_VERSION
from reconciler.rendering.documents.status import (
    DrainStatus,
    GroupStatus,
    LeaderStatus,
    OwnerStatus,
    PlanStatus,
    PolicyStatus,
    StatusDocument,
)
from reconciler.rendering.words.next_step import next_block, next_step
from reconciler.values.decoding import decode
from reconciler.values.instant import InstantError, instant_text, parse_instant

_UNREADABLE = (ApiError, UnreachableError, msgspec.MsgspecError)
_NOT_FOUND = 404


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _LeaseMeta(msgspec.Struct):
    annotations: Mapping[str, str] | None = None


class _Lease(msgspec.Struct):
    metadata: _LeaseMeta = msgspec.field(default_factory=_LeaseMeta)
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class _PolicyObjectStatus(msgspec.Struct, rename="camel"):
    summary: str = ""
    plan_digest: str = ""
    plan_time: str = ""


class _PolicyObject(msgspec.Struct):
    status: _PolicyObjectStatus = msgspec.field(default_factory=_PolicyObjectStatus)


def loop_status(
    api: Api, namespace: str, policy: str, targets: Mapping[str, TargetFacts], now_seconds: int, plan: PlanStatus | None = None
) -> StatusDocument:
    """Everything about one policy's loop: of groups what its last plan says. `targets` by the text that plans call them by;
    `plan` when somebody has asked the loop itself. What cannot be read becomes a problem; nothing raises."""
    problems: list[str] = []
    state = StateObject(api, namespace, policy)
    memory = Memory()
    try:
        memory = LiveMemoryStore(state).load()
    except StoreUnavailableError as error:
        problems.append(str(error))
    record = _recorded(state, problems)
    problems += _shared(api, namespace, policy, memory, now_seconds)
    return StatusDocument(
        policy=policy,
        namespace=namespace,
        now=instant_text(now_seconds),
        leader=_leader(api, namespace, policy, now_seconds, problems),
        plan=plan or (_plan(api, policy, problems) if record is None else _plan_status(record)),
        policy_in_force=_in_force(state, problems),
        groups=_groups(memory, record, targets, now_seconds),
        buffers=record.buffers if record is not None else (),
        provisioning_requests=record.provisioning_requests if record is not None else (),
        drains=tuple(DrainStatus(node=node, since=instant_text(since)) for node, since in sorted(memory.leaving.items())),
        last_added_at=_instant(memory.last_added_seconds),
        last_removed_at=_instant(memory.last_removed_seconds),
        last_failed_at=_instant(memory.last_failed_seconds),
        problems=tuple(problems),
    )


def _shared(api: Api, namespace: str, policy: str, memory: Memory, now_seconds: int) -> list[str]:
    """Targets that another policy has too, whose loop runs."""
    others = OtherPolicies(api, namespace, policy, monotonic=lambda: 0.0, wall_seconds=lambda: now_seconds)
    shared = shared_targets(memory.known_groups, others.known())
    return [f"targets of policy {policy} are also in {words}: {', '.join(targets)}" for words, targets in shared.items()]


def _leader(api: Api, namespace: str, policy: str, now_seconds: int, problems: list[str]) -> LeaderStatus:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/reconciler-{policy}"
    try:
        lease = decode(api.get(path), _Lease)
    except _UNREADABLE as error:
        if not _absent(error):
            problems.append(f"Lease {namespace}/reconciler-{policy}: {error}")
        return LeaderStatus()
    spec = lease.spec
    renewed = _seconds(spec.renew_time or "")
    holder = spec.holder_identity or ""
    leads = bool(holder) and now_seconds - renewed <= (spec.lease_duration_seconds or 0)
    decision = last_decision(lease.metadata.annotations or {}) if leads else None
    since = decision.since if decision is not None else ""
    if decision is not None and since:
        problems.insert(0, decision.sentence())
    return LeaderStatus(
        holder=holder,
        leads=leads,
        not_decided_since=since,
        renewed_at=_instant(renewed),
        transitions=spec.lease_transitions or 0,
    )


def _plan(api: Api, policy: str, problems: list[str]) -> PlanStatus:
    try:
        status = decode(api.get(f"/apis/{API_VERSION}/nodegrouppolicies/{policy}"), _PolicyObject).status
    except _UNREADABLE as error:
        if not _absent(error):
            problems.append(f"NodeGroupPolicy {policy}: {error}")
        return PlanStatus()
    return PlanStatus(at=status.plan_time, summary=status.summary, digest=status.plan_digest)


def _in_force(state: StateObject, problems: list[str]) -> PolicyStatus:
    standing, last_good = StandingEntry(source=""), None
    try:
        standing = standing_in(state) or standing
        last_good = StateLastGoodStore(LockedState(state)).load()
    except (StateUnavailableError, LastGoodError) as error:
        problems.append(str(error))
    problems += [entry.message for entry in standing.conditions if entry.type == "Ready" and entry.status != "True"]
    refused = (entry.message for entry in standing.conditions if entry.type == "Stalled" and entry.status == "True")
    status = PolicyStatus(refused=next(refused, ""))
    if last_good is not None:
        return msgspec.structs.replace(
            status,
            source=last_good.source,
            revision=last_good.revision,
            read_at=instant_text(last_good.read_seconds),
            signer=last_good.signer,
        )
    # Its bytes may be kept elsewhere; the source says what is in force all the same.
    return msgspec.structs.replace(status, source=standing.source, revision=standing.revision) if standing.revision else status


def _recorded(state: StateObject, problems: list[str]) -> PlanRecord | None:
    try:
        return plan_in(state)
    except StateUnavailableError as error:
        problems.append(str(error))
        return None


def _plan_status(record: PlanRecord) -> PlanStatus:
    return PlanStatus(at=record.at, summary=record.summary, digest=record.digest, mode=record.mode)


def _groups(
    memory: Memory, record: PlanRecord | None, targets: Mapping[str, TargetFacts], now_seconds: int
) -> tuple[GroupStatus, ...]:
    statuses = []
    recorded_groups = {group.line.target: group for group in record.groups} if record is not None else {}
    names = {target: group.line.name for target, group in recorded_groups.items()} or memory.known_groups
    for target, name in names.items():
        known = recorded_groups.get(target)
        line = known.line if known is not None else None
        facts = targets.get(target)
        mark = read_hold(facts.owner.hold) if facts is not None else None
        backoff = memory.backoffs.get(name)
        waiting = backoff if backoff is not None and backoff.until_seconds > now_seconds else None
        conflict = memory.conflicts.get(target)
        statuses.append(
            GroupStatus(
                name=name,
                target=target,
                replicas=facts.replicas if facts is not None else None,
                desired=line.desired if line is not None else None,
                wanted=line.wanted if line is not None else None,
                held=line.held if line is not None else name in memory.held_groups,
                held_since=known.held_since if known is not None else "",
                owner=OwnerStatus(state=str(line.owner.state), by=line.owner.by, evidence=line.owner.evidence)
                if line is not None
                else OwnerStatus(),
                next=next_step(line) if line is not None else "",
                block=next_block(line) if line is not None else (),
                hold=facts.owner.hold if facts is not None else "",
                hold_over=mark is not None and not mark.holds(now_seconds),
                backoff_until=instant_text(waiting.until_seconds) if waiting is not None else "",
                backoff_reason=waiting.reason if waiting is not None else "",
                conflict=f"{conflict.writer} undid our writes {conflict.count} times: {conflict.ours} -> {conflict.theirs}"
                if conflict is not None
                else "",
                approval=_reason_text(line, WAITS_FOR_APPROVAL),
                why=_reason_text(line, GroupHeld.code),
                lead_time=learned(memory.lead_times.get(target)),
            )
        )
    return tuple(sorted(statuses, key=lambda group: group.name))


def _reason_text(line: GroupLine | None, code: str) -> str:
    reasons = line.reasons if line is not None else ()
    return next((reason.message for reason in reasons if reason.code == code), "")


def _absent(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.status == _NOT_FOUND


def _instant(seconds: int) -> str:
    return instant_text(seconds) if seconds else ""


def _seconds(text: str) -> int:
    try:
        return parse_instant(text)
    except InstantError:
        return 0
