"""What a group adds to its line in the plan: limits, pods that it does not take, back-off, values."""

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.waste_places import placed
from reconciler.decisions.limits import PLATFORM_ROOM, with_quotas
from reconciler.decisions.situation.lead_times import learned, overdue_after_seconds
from reconciler.plan.waste import wastes
from reconciler.policy.levels import LEVEL_FIELDS, NOTHING
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.values import (
    BackoffNow,
    EffectiveValue,
    GroupExplanation,
    LimitState,
    RejectedFor,
    Source,
)
from reconciler.values.instant import instant_text


def group_findings(case: Case, name: str) -> GroupExplanation:
    """Everything about a group that exists."""
    group = case.group(name)
    template = group.template
    return GroupExplanation(
        decision=case.group_line(name),
        mode=group.mode.value,
        hold=group.hold,
        hold_until=None if group.hold_until_seconds is None else instant_text(group.hold_until_seconds),
        backoff=_backoff(case, name),
        lead_time=learned(case.memory.lead_times.get(str(group.target))),
        overdue_after_seconds=overdue_after_seconds(case.memory.lead_times.get(str(group.target)), _most_seconds(group)),
        actions=tuple(action for action in case.plan.actions if action.group == name),
        allocatable=None if template is None else dict(template.allocatable.items()),
        template_problem=group.template_problem,
        labels={} if template is None else dict(template.labels),
        taints=() if template is None else tuple(f"{taint.key}={taint.value}:{taint.effect}" for taint in template.taints),
        limits=_limits(case, group),
        rejected=_rejected(case, name),
        values=tuple(effective_value(group, path) for path in sorted(group.chains) if _is_set(group, path)),
        nodes=tuple(node for node in case.plan.nodes if node.group == name),
        waste=tuple(row for row in placed(wastes(case.plan), (group,)).rows if row.group == name),
    )


def effective_value(group: EffectiveGroup, path: str) -> EffectiveValue:
    """A value with its chain. Where levels add to each other, the value is what they add up to, the nearest first."""
    chain = group.chains[path]
    field = LEVEL_FIELDS.get(path)
    counting = chain[:-1] if field is not None and field.adds and len(chain) > 1 else chain[:1]
    return EffectiveValue(
        path, ", ".join(origin.value for origin in counting), tuple(Source(origin.source, origin.value) for origin in chain)
    )


def _is_set(group: EffectiveGroup, path: str) -> bool:
    """Of fields that are more than one scalar, those that somebody says."""
    return path not in LEVEL_FIELDS or group.chains[path][0].value != NOTHING


def _most_seconds(group: EffectiveGroup) -> int:
    return group.scale_up.max_node_provision_time_seconds


def _backoff(case: Case, name: str) -> BackoffNow | None:
    state = case.memory.backoffs.get(name)
    if state is None or state.until_seconds <= case.now_seconds:
        return None
    return BackoffNow(failures=state.failures, until=instant_text(state.until_seconds), reason=state.reason)


def _limits(case: Case, group: EffectiveGroup) -> tuple[LimitState, ...]:
    """As before the plan: nodes that are there and those asked for."""
    if group.template is None:
        return ()
    limits = with_quotas(case.world, case.policy).policy.limits
    states = []
    for (index, resource), (left, one) in sorted(case.limits().left(group, group.template).items()):
        if index == PLATFORM_ROOM:
            states.append(LimitState(limit=resource, resource="further machines", used=0, max=left, one_more=one))
            continue
        most = dict(limits[index].max)[resource]
        states.append(LimitState(limit=limits[index].name, resource=resource, used=most - left, max=most, one_more=one))
    return tuple(states)


def _rejected(case: Case, name: str) -> tuple[RejectedFor, ...]:
    """Pending pods that do not go to this group, by what was said against it."""
    pods_by_reason: dict[tuple[str, str], list[str]] = {}
    for line in case.plan.pods:
        for reason in line.reasons:
            if reason.data.get("group") == name and line.group != name and line.node is None:
                pods_by_reason.setdefault((reason.code, reason.message), []).append(line.pod)
    return tuple(RejectedFor(code=code, message=message, pods=tuple(pods)) for (code, message), pods in pods_by_reason.items())
