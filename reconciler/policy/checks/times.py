"""Checks of times: schedules that never fire, holds in the past, back-offs that shrink, incomplete budgets."""

from reconciler.policy.checks.levels import Level, own_levels
from reconciler.policy.documents import JobRule, NodeGroupPolicy, Window
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import AnyDraft
from reconciler.policy.reading.path_names import name_of
from reconciler.policy.values.schedule import ever_fires
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text


def check_times(draft: AnyDraft, findings: Findings, now_seconds: int) -> None:
    """All times written in one document."""
    for level in own_levels(draft):
        _hold(level, findings, now_seconds)
        _backoff(level, findings)
        for index, window in enumerate(level.fields.windows):
            path = level.path(f"windows[{index}]")
            _recurrence(draft, path, findings)
            _dates(draft, path, window, findings, now_seconds)
            if draft.sound(f"{path}.schedule") and draft.sound(f"{path}.timeZone"):
                _fires(draft, f"{path}.schedule", window.schedule, findings)
    if isinstance(draft.document, NodeGroupPolicy):
        _budgets(draft, draft.document, findings)
        _max_pod_age(draft, draft.document, findings)


def _hold(level: Level, findings: Findings, now_seconds: int) -> None:
    hold = level.fields.hold
    if hold is None or hold.until_seconds is None or hold.until_seconds > now_seconds:
        return
    ago = duration_text((now_seconds - hold.until_seconds) // 60 * 60)
    message = f"this hold ended {ago} ago and has no effect" if now_seconds - hold.until_seconds >= 60 else "this hold is over"
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


def _max_pod_age(draft: AnyDraft, policy: NodeGroupPolicy, findings: Findings) -> None:
    if policy.drain.max_pod_age_seconds is None or policy.drain.jobs is JobRule.WAIT or not draft.sound("spec.drain.jobs"):
        return
    message = f"maxPodAge has no effect while drain.jobs is {policy.drain.jobs}"
    draft.warn(findings, "MaxPodAgeWithoutWait", "spec.drain.maxPodAge", message, "add jobs: Wait, or remove it")


def _fires(draft: AnyDraft, path: str, schedule: str, findings: Findings) -> None:
    if not schedule or ever_fires(schedule):
        return
    message = f"the schedule {schedule!r} never fires: no month has that day"
    draft.report(findings, "NeverOpens", path, message, "change the day of month or the month")


def _recurrence(draft: AnyDraft, path: str, findings: Findings) -> None:
    """A schedule and its duration belong together."""
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


def _dates(draft: AnyDraft, path: str, window: Window, findings: Findings, now_seconds: int) -> None:
    """The dates of a window: with a schedule both may be omitted, without one neither."""
    begins, ends = window.from_seconds, window.until_seconds
    given = [draft.written(f"{path}.{key}") for key in ("from", "until")]
    if not draft.written(f"{path}.schedule") and not all(given) and not draft.written(f"{path}.duration"):
        message = f"{name_of(path)} never opens: it has neither a schedule nor both dates"
        draft.report(findings, "NeverOpens", path, message, "add schedule and duration, or from and until")
    if not all(draft.sound(f"{path}.{key}") for key in ("from", "until")) or ends is None:
        return
    if begins is not None and begins >= ends:
        related = ((draft.place(f"{path}.from"), f"from is {instant_text(begins)}"),)
        message = f"{name_of(path)} never opens: until {instant_text(ends)} is not after from"
        draft.report(findings, "NeverOpens", f"{path}.until", message, "move one of the dates", related=related)
    elif ends <= now_seconds:
        message = f"{name_of(path)} closed for the last time at {instant_text(ends)} and has no effect"
        draft.warn(findings, "ExpiredWindow", f"{path}.until", message, "remove the window, or move until")


def _budgets(draft: AnyDraft, policy: NodeGroupPolicy, findings: Findings) -> None:
    for index, budget in enumerate(policy.budgets):
        path = f"spec.budgets[{index}]"
        _recurrence(draft, path, findings)
        if draft.written(f"{path}.schedule") and draft.sound(f"{path}.schedule") and draft.sound(f"{path}.timeZone"):
            _fires(draft, f"{path}.schedule", budget.schedule, findings)
