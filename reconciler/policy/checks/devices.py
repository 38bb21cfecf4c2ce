"""Devices of templates: partitions that their devices cannot have, and devices that nobody could tell apart."""

from collections.abc import Iterator

from reconciler.policy.checks.levels import Level, own_levels
from reconciler.policy.documents import DevicePartition, TemplateDevices
from reconciler.policy.documents.template import MOST_DEVICES_OF_A_NODE
from reconciler.policy.problems.findings import Findings
from reconciler.policy.problems.suggestion import choose
from reconciler.policy.reading.draft import AnyDraft
from reconciler.policy.values.quantity import parse_amount
from reconciler.values.shown_text import shown


def check_devices(draft: AnyDraft, findings: Findings) -> None:
    """Counters against those of the device, names of devices, and how many there are."""
    for level in own_levels(draft):
        devices = level.fields.template.devices or ()
        for index, one in enumerate(devices):
            for at, part in enumerate(one.partitions):
                _counters(level, f"template.devices[{index}]", at, one, part, findings)
        if _number(level, devices, findings):
            _names(level, devices, findings)


def _counters(level: Level, path: str, at: int, device: TemplateDevices, part: DevicePartition, findings: Findings) -> None:
    where = f"{path}.partitions[{at}].consumesCounters"
    has = dict(device.counters)
    if not level.sound(f"{path}.counters") or not level.sound(where):
        return
    for name, text in part.consumes_counters:
        counter = level.path(f"{where}.{name}")
        if not has:
            message = f"the partition {part.name} consumes {shown(name)}, but the device {device.name} has no counters"
            hint = f"add what each device has, for example counters: {{{name}: {text}}}"
            level.draft.report(findings, "UnknownCounter", counter, message, hint)
        elif name not in has:
            message = f"the partition {part.name} consumes {shown(name)}, and the device {device.name} has no such counter"
            level.draft.report(findings, "UnknownCounter", counter, message, choose(name, has))
        elif parse_amount(text, milli=True) > parse_amount(has[name], milli=True):
            related = ((level.place(f"{path}.counters.{name}"), f"the counter of one {device.name}"),)
            message = f"the partition {part.name} consumes {text} of {name}, and one {device.name} has {has[name]}"
            hint = "no device could be divided like this: lower it, or raise the counter of the device"
            level.draft.report(findings, "PartitionAboveDevice", counter, message, hint, related=related)


def _number(level: Level, devices: tuple[TemplateDevices, ...], findings: Findings) -> bool:
    """Whether there are not too many; else it is reported."""
    number = sum(one.count * (1 + sum(part.count for part in one.partitions)) for one in devices)
    if number <= MOST_DEVICES_OF_A_NODE:
        return True
    message = f"one node has {number} devices with their partitions, the most is {MOST_DEVICES_OF_A_NODE}"
    level.draft.report(findings, "OutOfRange", level.path("template.devices"), message, "lower the counts")
    return False


def _names(level: Level, devices: tuple[TemplateDevices, ...], findings: Findings) -> None:
    """A pool with two devices of one name is invalid: nobody gets a device of it."""
    first: dict[tuple[str, str], str] = {}
    for index, one in enumerate(devices):
        for path, name in _named(one, f"template.devices[{index}]"):
            known = first.setdefault((one.driver, name), path)
            if known == path:
                continue
            related = ((level.place(known), "the first one"),)
            message = f"two devices of {one.driver} would be called {name}"
            level.draft.report(findings, "DuplicateName", level.path(path), message, "rename one of them", related=related)
            break


def _named(one: TemplateDevices, path: str) -> Iterator[tuple[str, str]]:
    for number in range(one.count):
        yield f"{path}.name", f"{one.name}-{number}"
        for at, part in enumerate(one.partitions):
            yield from ((f"{path}.partitions[{at}].name", f"{one.name}-{number}-{part.name}-{of}") for of in range(part.count))
