"""Times: schedules that never fire, holds that are over, back-offs that shrink, budgets that lack half of their span."""

from reconciler.policy.checks.levels import Level, own_levels
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import AnyDraft
from reconciler.policy.values.schedule import ever_fires
from reconciler.values.duration import duration_text


def check_times(draft: AnyDraft, findings: Findings, now_seconds: int) -> None:
    """All times written in one document."""
    for level in own_levels(draft):
        _hold(level, findings, now_seconds)
        _backoff(level, findings)
        for index, window in enumerate(level.fields.windows):
            path = level.path(f"windows[{index}]")
            if draft.sound(f"{path}.schedule") and draft.sound(f"{path}.timeZone"):
                _fires(draft, f"{path}.schedule", window.schedule, findings)
    if isinstance(draft.document, NodeGroupPolicy):
        _budgets(draft, draft.document, findings)


def _hold(level: Level, findings: Findings, now_seconds: int) -> None:
    hold = level.fields.hold
    if hold is None or hold.until_seconds is None or hold.until_seconds > now_seconds:
        return
    ago = duration_text((now_seconds - hold.until_seconds) // 60 * 60)
    message = f"this hold ended {ago} ago and holds nothing" if now_seconds - hold.until_seconds >= 60 else "this hold is over"
    level.draft.warn(findings, "ExpiredHold", level.path("hold.until"), message, "remove the hold, or move until")


def _backoff(level: Level, findings: Findings) -> None:
    backoff = level.fields.scale_up.backoff
    if backoff.initial_seconds is None or backoff.max_seconds is None or backoff.initial_seconds <= backoff.max_seconds:
        return
    path = "scaleUp.backoff.initial"
    related = ((level.place("scaleUp.backoff.max"), f"max is {duration_text(backoff.max_seconds)}"),)
    message = f"{level.name(path)} {duration_text(backoff.initial_seconds)} is above its max"
    hint = f"the first back-off is {duration_text(backoff.max_seconds)} at most"
    level.draft.report(findings, "BackoffAboveMax", level.path(path), message, hint, related=related)


def _fires(draft: AnyDraft, path: str, schedule: str, findings: Findings) -> None:
    if not schedule or ever_fires(schedule):
        return
    message = f"the schedule {schedule!r} never fires: no month has that day"
    draft.report(findings, "NeverOpens", path, message, "change the day of month or the month")


def _budgets(draft: AnyDraft, policy: NodeGroupPolicy, findings: Findings) -> None:
    for index, budget in enumerate(policy.budgets):
        path = f"spec.budgets[{index}]"
        scheduled, limited = draft.written(f"{path}.schedule"), draft.written(f"{path}.duration")
        if scheduled and not limited:
            hint = "add how long it stays open, for example duration: 8h"
            draft.report(findings, "ScheduleWithoutDuration", f"{path}.schedule", "a schedule without a duration", hint)
        elif limited and not scheduled:
            hint = "add when it opens, for example schedule: 0 22 * * *"
            draft.report(findings, "DurationWithoutSchedule", f"{path}.duration", "a duration without a schedule", hint)
        if draft.written(f"{path}.timeZone") and not scheduled:
            message = "timeZone without a schedule has no effect"
            draft.warn(findings, "TimeZoneWithoutSchedule", f"{path}.timeZone", message, "add a schedule, or remove it")
        if scheduled and draft.sound(f"{path}.schedule") and draft.sound(f"{path}.timeZone"):
            _fires(draft, f"{path}.schedule", budget.schedule, findings)
