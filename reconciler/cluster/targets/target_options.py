"""Options of a group that are written on its target, as values of policy fields."""

import re
from collections.abc import Iterable
from fractions import Fraction

from reconciler.cluster.target import TargetOption
from reconciler.cluster.values.quoted import quoted
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.values.duration import DurationError, exact_seconds

_THRESHOLDS = {
    "scaledownutilizationthreshold": "scaleDown.utilizationThresholdPercent",
    "scaledowngpuutilizationthreshold": "scaleDown.gpuUtilizationThresholdPercent",
}
_DURATIONS = {
    "scaledownunneededtime": "scaleDown.unneededTime",
    "scaledownunreadytime": "scaleDown.unreadyTime",
    "maxnodeprovisiontime": "scaleUp.maxNodeProvisionTime",
    "maxnodestartuptime": "scaleUp.maxNodeStartupTime",
}
_SWITCHES = {"ignoredaemonsetsutilization": "scaleDown.daemonSetUtilization"}
OPTIONS = (*_THRESHOLDS, *_DURATIONS, *_SWITCHES)
# Known upstream, but not documented for targets. It may add many nodes at once, so that a policy has to say it.
_IN_POLICIES_ONLY = {"zeroormaxnodescaling": "scaleUp.growth: ZeroOrMax"}
# What Go's strconv.ParseBool takes, which is what the Cluster Autoscaler reads the value with.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")


def read_options(pairs: Iterable[tuple[str, str]], prefix: str) -> tuple[tuple[TargetOption, ...], tuple[str, ...]]:
    """Options from annotations or tags whose key starts with `prefix`, sorted, and sentences about what was not used."""
    options: list[TargetOption] = []
    problems: list[str] = []
    for origin, text in sorted(pairs):
        if not origin.startswith(prefix):
            continue
        name = origin.removeprefix(prefix)
        try:
            if name in _THRESHOLDS:
                value, problem = _percent(text)
                options.append(TargetOption(key=_THRESHOLDS[name], value=value, origin=origin))
            elif name in _DURATIONS:
                value, problem = _seconds(text)
                options.append(TargetOption(key=_DURATIONS[name], value=value, origin=origin))
            elif name in _SWITCHES:
                options.append(TargetOption(key=_SWITCHES[name], value=_switch(text), origin=origin))
                problem = ""
            elif name in _IN_POLICIES_ONLY:
                problem = f"is not read: write {_IN_POLICIES_ONLY[name]} in the policy"
            else:
                problem = f"is not read: the options are {', '.join(OPTIONS)}"
        except UnreadableError as error:
            problem = f"{error}, so it is not used"
        if problem:
            problems.append(f"{origin}: {problem}")
    return tuple(sorted(options)), tuple(problems)


def _percent(text: str) -> tuple[int, str]:
    if not _DECIMAL.fullmatch(text):
        raise UnreadableError(f'"{text[:64]}" is not a ratio between 0 and 1, such as 0.5')
    percent = Fraction(text) * 100
    if not 0 <= percent <= 100:
        raise UnreadableError(f'"{text}" is not a ratio between 0 and 1')
    whole = int(percent + Fraction(1, 2))
    return whole, "" if percent == whole else f'"{text}" is finer than one percent and is used as {whole} percent'


def _switch(text: str) -> int:
    if text not in _TRUE and text not in _FALSE:
        raise UnreadableError(f'"{text[:64]}" is neither true nor false')
    return int(text in _TRUE)


def _seconds(text: str) -> tuple[int, str]:
    try:
        seconds = exact_seconds(text)
    except DurationError:
        raise UnreadableError(f"invalid duration {quoted(text)}. Write it like 10m, 90s or 1h30m") from None
    if seconds < 0:
        raise UnreadableError(f'"{text}" is negative')
    whole = int(seconds + Fraction(1, 2))
    return whole, "" if seconds == whole else f'"{text}" is finer than one second and is used as {whole} s'
