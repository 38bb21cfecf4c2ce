"""Bounds of groups: min against max, at any instant, with windows."""

from collections.abc import Iterable

from reconciler.policy.checks.levels import EffectiveValue, Level, effective, levels_of, own_levels, strongest
from reconciler.policy.checks.overlap import Overlaps
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, ScaleDown, Size, Window
from reconciler.policy.levels import HEADROOM
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.problem import Severity
from reconciler.policy.reading.draft import AnyDraft, Draft
from reconciler.values.instant import instant_text


def check_level_sizes(draft: AnyDraft, findings: Findings, overlaps: Overlaps) -> None:
    """Bounds that contradict each other within one document."""
    for level in own_levels(draft):
        size = level.fields.size
        if size.min is not None and size.max is not None and size.min > size.max:
            _min_above_max(findings, EffectiveValue(size.min, level, certain=True), EffectiveValue(size.max, level, certain=True))
        for index, window in enumerate(level.fields.windows):
            path = f"windows[{index}].size"
            given = level.draft.written(level.path(path)) and level.sound(path)
            if given and window.size.min is None and window.size.max is None:
                hint = "write min, max or both"
                draft.report(findings, "EmptyWindow", level.path(path), f"{level.name(path)} sets no bound", hint)
            elif not given and window.size == Size() and window.scale_down == ScaleDown() and level.sound(f"windows[{index}]"):
                window_path, name = level.path(f"windows[{index}]"), level.name(f"windows[{index}]")
                message = f"{name} changes nothing: it sets neither size nor scaleDown"
                draft.report(findings, "EmptyWindow", window_path, message, "add what differs while it is open")
        _windows_against_each_other(level, findings, overlaps)


def check_group_sizes(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    """Bounds of a group against those of its tier and policy, and its windows against its bounds."""
    levels = levels_of(group, policy)
    low = effective(levels, policy.document, lambda fields: fields.size.min)
    high = effective(levels, policy.document, lambda fields: fields.size.max)
    if low is not None and high is not None and low.value > high.value and low.level is not high.level:
        _min_above_max(findings, low, high)
    if high is not None:
        _headroom(levels, high, findings)
    opened = strongest(levels, lambda fields: fields.windows)
    if opened is None:
        return
    windows, level = opened
    for index, window in enumerate(windows):
        _window_against_size(level, index, window, low, high, findings)


def check_idle_windows(policy: Draft[NodeGroupPolicy], groups: Iterable[Draft[NodeGroup]], findings: Findings) -> None:
    """Windows that narrow the bounds of no group that takes them. A default may also reach groups that discovery finds."""
    taken: dict[tuple[bool, str, str, int], tuple[Level, list[bool]]] = {}
    for group in groups:
        levels = levels_of(group, policy)
        low = effective(levels, policy.document, lambda fields: fields.size.min)
        high = effective(levels, policy.document, lambda fields: fields.size.max)
        opened = strongest(levels, lambda fields: fields.windows)
        if opened is None:
            continue
        windows, level = opened
        for index, window in enumerate(windows):
            key = (level.draft is policy, level.draft.document.name, level.prefix, index)
            idle = level.sound(f"windows[{index}]") and _changes_nothing(window, low, high)
            taken.setdefault(key, (level, []))[1].append(idle)
    for (shared, _, _, index), (level, idle_in) in taken.items():
        if not all(idle_in) or (shared and policy.document.discovery):
            continue
        name = level.name(f"windows[{index}]")
        whose = "the bounds of every group that uses it" if shared else "the group's own bounds"
        message = f"{name} changes nothing: {whose} are as narrow or narrower"
        hint = "windows only narrow: widen size, and write the narrower bounds of the other hours as windows"
        level.draft.warn(findings, "IdleWindow", level.path(f"windows[{index}].size"), message, hint)


def _min_above_max(findings: Findings, low: EffectiveValue, high: EffectiveValue) -> None:
    """Report at the stronger of both; a warning where an annotation of the target may still set the other one."""
    same = low.level is high.level
    at, other, at_name, other_name = (high, low, "size.max", "size.min")
    if same or low.certain:
        at, other, at_name, other_name = (low, high, "size.min", "size.max")
    if same:
        message = f"{low.level.name('size.min')} {low.value} is above {high.level.name('size.max')} {high.value}"
    else:
        message = f"size.min {low.value} is above size.max {high.value}"
    hint = f"lower min to {high.value} or less, or raise max to {low.value} or more"
    unsure = not same and not (low.certain and high.certain)
    if unsure:
        message += f", unless the target's own annotations set {other_name}"
    related = ((other.level.place(other_name), f"{other.level.name(other_name)} is {other.value}"),)
    severity = Severity.WARNING if unsure else Severity.ERROR
    at.level.draft.report(findings, "MinAboveMax", at.level.path(at_name), message, hint, severity=severity, related=related)


def _window_against_size(
    level: Level, index: int, window: Window, low: EffectiveValue | None, high: EffectiveValue | None, findings: Findings
) -> None:
    path = f"windows[{index}]"
    if not level.sound(path):
        return
    size = window.size
    for bound, other, group_bound in (("min", "max", high), ("max", "min", low)):
        value = size.min if bound == "min" else size.max
        if value is None or group_bound is None:
            continue
        crossed = value > group_bound.value if bound == "min" else value < group_bound.value
        if not crossed:
            continue
        word = "above" if bound == "min" else "below"
        name = level.name(f"{path}.size.{bound}")
        message = f"{name} {value} is {word} size.{other} {group_bound.value} whenever the window is open"
        hint = "windows only narrow: the largest min and the smallest max win, the group's own included"
        written = f"{group_bound.level.name(f'size.{other}')} is {group_bound.value}"
        related = ((group_bound.level.place(f"size.{other}"), written),)
        severity = Severity.ERROR if group_bound.certain or group_bound.level is level else Severity.WARNING
        level.draft.report(
            findings, "MinAboveMax", level.path(f"{path}.size.{bound}"), message, hint, severity=severity, related=related
        )


def _changes_nothing(window: Window, low: EffectiveValue | None, high: EffectiveValue | None) -> bool:
    """Whether the bounds of one group are as narrow anyway. A target's own annotation may widen what is not certain."""
    idle_min = window.size.min is None or (low is not None and low.certain and window.size.min <= low.value)
    idle_max = window.size.max is None or (high is not None and high.certain and window.size.max >= high.value)
    return idle_min and idle_max and window.size != Size() and window.scale_down == ScaleDown()


def _windows_against_each_other(level: Level, findings: Findings, overlaps: Overlaps) -> None:
    windows = [(index, window) for index, window in enumerate(level.fields.windows) if level.sound(f"windows[{index}]")]
    for low_index, low in windows:
        for high_index, high in windows:
            if low.size.min is None or high.size.max is None or low.size.min <= high.size.max:
                continue
            min_path, max_path = f"windows[{low_index}].size.min", f"windows[{high_index}].size.max"
            related = ((level.place(max_path), f"{level.name(max_path)} is {high.size.max}"),)
            if low_index == high_index:
                message = f"{level.name(min_path)} {low.size.min} is above {level.name(max_path)} {high.size.max}"
                hint = f"lower min to {high.size.max} or less, or raise max to {low.size.min} or more"
                level.draft.report(findings, "MinAboveMax", level.path(min_path), message, hint, related=related)
                continue
            instant = overlaps.first(low, high)
            if not overlaps.examined(low, high):
                message = f"too many windows with different bounds: {level.name('windows')} was not fully examined"
                level.draft.warn(
                    findings, "NotExamined", level.path("windows"), message, "share windows through tiers or defaults"
                )
                return
            if instant is None:
                continue
            message = (
                f"{level.name(min_path)} {low.size.min} is above {level.name(max_path)} {high.size.max} while both windows "
                f"are open, at {instant_text(instant)} for instance"
            )
            hint = "change a bound, a schedule or a duration. Durations are real time, even when the clock changes"
            level.draft.report(findings, "MinAboveMax", level.path(min_path), message, hint, related=related)


def _headroom(levels: tuple[Level, ...], high: EffectiveValue, findings: Findings) -> None:
    written = HEADROOM.nearest([level.fields for level in levels])
    if written is None:
        return
    level, nodes = levels[written[0]], written[1].nodes
    if nodes is None or nodes <= high.value or not high.certain:
        return
    message = f"headroom.nodes {nodes} is more than size.max {high.value}"
    related = ((high.level.place("size.max"), f"size.max is {high.value}"),)
    hint = "headroom stays within max"
    level.draft.warn(findings, "HeadroomAboveMax", level.path("headroom.nodes"), message, hint, related=related)
