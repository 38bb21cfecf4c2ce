"""Requests for nodes that have not joined: which are still expected, which failed, and which are cancelled.

Source: Cluster Autoscaler `clusterstate` (an instance without node is long unregistered after max-node-provision-time) and
`removeOldUnregisteredNodes`. It lowers the size by whatever is missing; in incidents, that removed healthy nodes. Here exactly
the failed machines are deleted, and the size falls by their number. A group at its minimum gets new machines instead.
"""

from reconciler.decisions.draft import Cancellation, Draft, GroupDraft
from reconciler.decisions.ownership.second_writer import readable_from_seconds
from reconciler.decisions.reasons.machines import AskedAnew, CancelLater, Replaced, RequestCancelled, RequestsKept
from reconciler.decisions.situation.clocks import clocks_apart
from reconciler.decisions.situation.denied_writes import REMOVAL, denied_now
from reconciler.decisions.situation.group_situation import GroupSituation
from reconciler.decisions.situation.requests_under_way import FOLLOWS_WITHIN_SECONDS
from reconciler.values.instant import instant_text


def replacements(draft: Draft, group: GroupDraft) -> Replaced | None:
    """Machines that the target made although its size did not change: in place of nodes that somebody stopped or deleted."""
    size = draft.memory.sizes.get(str(group.group.target))
    if size is None or (group.group.facts is not None and group.group.facts.rolling_out):
        return None
    made = tuple(
        machine.name
        for machine in draft.members.machines[group.position]
        if not machine.node and not machine.deleting and machine.created_seconds > size.since_seconds + FOLLOWS_WITHIN_SECONDS
    )
    return Replaced(machines=made, replicas=size.replicas, since=instant_text(size.since_seconds)) if made else None


def cancel_requests(draft: Draft) -> None:
    """Cancel the failed requests of a group. This runs after growth: a group that grows in this plan keeps its requests for now.

    It does nothing while a rollout replaces machines by itself, nor for a held group. A group at its minimum requests others
    instead, after its back-off has ended. So a target that always fails does not get requests in a tight loop. Shortly after a
    write nothing is cancelled: a read may not show yet what came of it.
    """
    if clocks_apart(draft.world):
        return
    for group in draft.groups:
        situation = group.situation
        facts = group.group.facts
        if facts is None or facts.rolling_out or not facts.selectable or group.held_why or group.desired > situation.current:
            continue
        if denied_now(draft.memory, REMOVAL, str(group.group.target), draft.now_seconds) is not None:
            continue
        if (due := readable_from_seconds(draft.memory, facts)) > draft.now_seconds:
            if situation.cancellable or situation.unmade:
                group.reasons.append(CancelLater(until=instant_text(due)).reason())
            continue
        failed, unmade = situation.cancellable, situation.unmade
        if facts.keeps_requests and unmade:
            group.reasons.append(RequestsKept(requests=unmade, why=facts.keeps_requests).reason())
            unmade = 0
        most = max(0, group.desired - group.group.min_size)
        requests = min(len(failed) + unmade, most)
        if requests:
            # Requests without a machine first: nothing has to be deleted for them.
            machines = failed[: max(0, requests - unmade)]
            group.cancelled = Cancellation(machines=machines, requests=requests, why=_cancelled(group, machines, requests))
            group.desired -= requests
        elif failed and draft.growth_stop(group) is None:
            group.cancelled = Cancellation(
                machines=failed, requests=0, why=AskedAnew(machines=failed, min=group.group.min_size, why=_why(situation, failed))
            )
        if group.cancelled is not None:
            group.reasons.append(group.cancelled.why.reason())


def _cancelled(group: GroupDraft, machines: tuple[str, ...], requests: int) -> RequestCancelled:
    situation = group.situation
    return RequestCancelled(
        machines=machines,
        without_machine=requests - len(machines),
        nodes=len(situation.nodes) - len(situation.leaving),
        why=_why(situation, machines) if machines else situation.failed[-1][1],
    )


def _why(situation: GroupSituation, machines: tuple[str, ...]) -> str:
    return next((message for name, message in situation.failed if name == machines[0]), "")
