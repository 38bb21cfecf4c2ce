"""Demand as it was observed, in one file of lines per day: which pods were wanted from which instant on.

The first line of a file names the form and the cluster. A line with `source` describes pods that are alike, numbered from 0. One
with `like` has the next number, too. Only its names of owner and pod differ from an earlier source, as with Jobs of one template.
A line with `at` says how many pods of which sources are wanted from then on, where that differs. Each file begins with everything
that is wanted, so that older files can be deleted. A line with `leadTimes` has what the loop had learned of its targets by then,
one with `prices` what an hour of their nodes costs. A line with `failures` has requests for a node that came to nothing:
target, instant of the request, and seconds until it was given up. Lines are only added. A torn last line was never
finished, and does not count.

A replay under the recorded policy decides as the recorded loop did. So a recording has the names of owners: they say which pods
come and go together. Recordings of form 1.0 have one name for all Jobs of a namespace.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median_low
from types import MappingProxyType
from typing import Any

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.memory import LeadTimes
from reconciler.decisions.situation.lead_times import learned
from reconciler.plan.plan import GroupLine
from reconciler.simulation.embedded.durations import Shortage
from reconciler.simulation.replays.backtest import wanted_pods
from reconciler.simulation.replays.curve import MOST_PODS
from reconciler.simulation.replays.source_lines import FileSources, Like, SourceError, plain
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace
from reconciler.values.decoding import decode
from reconciler.values.instant import UnixSeconds, instant_text
from reconciler.values.money import MoneyError, parse_money

FORMAT_VERSION = "1.1"
SUFFIX = ".jsonl"
GAP_SECONDS = 3_600
"""So long, and three times as long as usual, without a line: nobody looked."""
QUIET_SECONDS = 300
"""After so long a line is written although nothing differs, so that it is known how long demand was observed."""
MOST_FAILURES = 100_000
LONGEST_SECONDS = 400 * 86_400
"""A replay takes time with the time that it covers."""
NOTHING_LEARNED: Mapping[str, LeadTimes] = MappingProxyType({})
Failure = tuple[str, UnixSeconds, int]
"""Name of the target, when a node was asked for, and after how many seconds it was given up."""


class RecordedLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line; which of its fields are there says what it is about."""

    format_version: str = ""
    cluster: str = ""
    source: DemandSource | None = None
    like: Like | None = None
    at: UnixSeconds = 0
    pods: tuple[tuple[int, int], ...] = ()
    lead_times: tuple[tuple[str, int], ...] = ()
    prices: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()


class RecordingError(ValueError):
    """A recording that cannot be read; `place` is `file:line`."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


class Recorder:
    """Turns Worlds of one cluster, in the order of their instants, into lines."""

    def __init__(self) -> None:
        self._at = 0
        self._plain: dict[DemandSource, DemandSource] = {}
        self._begin("")

    def _begin(self, day: str) -> None:
        """A new file knows nothing of those before."""
        self._day = day
        self._sources = FileSources()
        self._wanted: Counter[int] = Counter()
        self._lead_times: tuple[tuple[str, int], ...] = ()
        self._prices: tuple[tuple[str, str], ...] = ()
        self._failures: frozenset[Failure] = frozenset()

    def resume(self, day: str, data: bytes) -> None:
        """Go on behind the lines of a day that were written before. Raises `RecordingError`."""
        self._begin(day)
        for _, line, _ in _lines(f"{day}{SUFFIX}", data, self._sources):
            self._at = max(self._at, line.at)
            self._lead_times = line.lead_times or self._lead_times
            self._prices = line.prices or self._prices
            self._failures |= frozenset(line.failures)
            self._wanted.update({index: pods - self._wanted[index] for index, pods in line.pods})

    def lines(
        self,
        world: World,
        at_seconds: int,
        lead_times: Mapping[str, LeadTimes] = NOTHING_LEARNED,
        groups: Sequence[GroupLine] = (),
    ) -> tuple[str, bytes]:
        """The day (UTC), and what is to be added to its file: nothing if nothing differs, or if the instant is not later.
        `lead_times` are those that the loop remembers, by target; `groups` are those of its plan."""
        day = instant_text(at_seconds)[:10]
        if at_seconds <= self._at:
            return day, b""
        added: list[bytes] = []
        if day != self._day:
            self._begin(day)
            added.append(_encoded(RecordedLine(format_version=FORMAT_VERSION, cluster=world.name)))
        counts = wanted_pods(world)
        self._plain = {source: self._plain.get(source) or plain(source) for source in counts}
        added += _source_lines(self._sources, self._plain.values())
        if (times := _medians(world, lead_times)) != self._lead_times:
            self._lead_times = times
            added.append(_encoded(RecordedLine(lead_times=times)))
        if groups and (prices := _prices(world, groups)) != self._prices:
            self._prices = prices
            added.append(_encoded(RecordedLine(prices=prices)))
        if failures := _failures(world, lead_times) - self._failures:
            self._failures |= failures
            added.append(_encoded(RecordedLine(failures=tuple(sorted(failures)))))
        wanted: Counter[int] = Counter()
        for source, pods in counts.items():
            wanted[self._sources.of(self._plain[source])] += pods
        touched = {*wanted, *self._wanted} - {-1}
        changes = tuple(sorted((one, wanted[one]) for one in touched if wanted[one] != self._wanted[one]))
        if not added and not changes and at_seconds - self._at < QUIET_SECONDS:
            return day, b""
        added.append(_encoded(RecordedLine(at=at_seconds, pods=changes)))
        self._at, self._wanted = at_seconds, wanted
        return day, b"".join(added)


def read_recording(name: str, files: Sequence[tuple[str, bytes]]) -> Trace:
    """The trace of the files of a recording, each with its name. Raises `RecordingError`."""
    numbers: dict[DemandSource, int] = {}
    steps: list[DemandStep] = []
    wanted: Counter[int] = Counter()
    times: list[int] = []
    lead_times: tuple[tuple[str, int], ...] = ()
    prices: dict[str, int] = {}
    failures: set[Failure] = set()
    for file, data in sorted(files):
        own: list[int] = []
        begun = False
        for place, line, source in _lines(file, data, FileSources()):
            if source is not None:
                own.append(numbers.setdefault(source, len(numbers)))
            lead_times = line.lead_times or lead_times
            prices |= {name: parse_money(price) for name, price in line.prices}
            failures.update(line.failures)
            if len(failures) > MOST_FAILURES:
                raise RecordingError(place, f"more than {MOST_FAILURES} failures")
            if not line.at:
                continue
            if times and line.at <= times[-1]:
                raise RecordingError(place, f"{instant_text(line.at)} is not after the line before")
            times.append(line.at)
            if times[-1] - times[0] > LONGEST_SECONDS:
                raise RecordingError(place, f"more than {LONGEST_SECONDS // 86_400} days after the first line")
            now = {own[index]: pods for index, pods in line.pods}
            # The first line of a file says everything that is wanted.
            changed = now if begun else dict.fromkeys(wanted, 0) | now
            begun = True
            changes = tuple(sorted((index, pods) for index, pods in changed.items() if pods != wanted[index]))
            wanted.update({index: pods - wanted[index] for index, pods in changes})
            if changes:
                steps.append(DemandStep(line.at, changes))
    if len(times) < 2:
        raise RecordingError(
            files[0][0] if files else name, "fewer than two observations, and demand needs a beginning and an end"
        )
    return Trace(
        name=name, start_seconds=times[0], end_seconds=times[-1], sources=tuple(numbers), steps=tuple(steps),
        present=(0,) * len(numbers), lead_times=lead_times, prices_micros=tuple(sorted(prices.items())),
        shortages=_shortages(failures), gaps=_gaps(times),
    )  # fmt: skip


def recorded_days(trace: Trace) -> Iterator[tuple[str, bytes]]:
    """Each day and its file: a recording that reads as this trace, for demand that no recorder has seen."""
    wanted: Counter[int] = Counter()
    for day, steps in groupby(_without_gaps(trace), key=lambda step: instant_text(step.at_seconds)[:10]):
        lines = [_encoded(RecordedLine(format_version=FORMAT_VERSION))]
        numbers, counts = FileSources(), Counter[int]()
        more = Counter(wanted)  # a file begins with everything that is wanted
        for step in steps:
            for index, pods in step.changes:
                more[index] += pods - wanted[index]
                wanted[index] = pods
            lines += _source_lines(numbers, [trace.sources[index] for index, pods in more.items() if pods])
            before = {number: counts[number] for index in more if (number := numbers.of(trace.sources[index])) >= 0}
            for index, pods in more.items():
                counts[numbers.of(trace.sources[index])] += pods
            changes = tuple(sorted((number, counts[number]) for number, pods in before.items() if pods != counts[number]))
            lines.append(_encoded(RecordedLine(at=step.at_seconds, pods=changes)))
            more.clear()
        yield day, b"".join(lines)


def _without_gaps(trace: Trace) -> Iterator[DemandStep]:
    """Steps at least every hour up to the end: what nobody saw change is known."""
    before = trace.start_seconds
    for step in (*trace.steps, DemandStep(trace.end_seconds, ())):
        yield from (DemandStep(at, ()) for at in range(before + GAP_SECONDS, step.at_seconds, GAP_SECONDS))
        yield step
        before = step.at_seconds


def whole_lines(data: bytes) -> bytes:
    """Without a torn last line."""
    return data[: data.rfind(b"\n") + 1]


def _source_lines(numbers: FileSources, sources: Iterable[DemandSource]) -> Iterator[bytes]:
    """Lines for those that have no number, in the order of their texts."""
    for _, source in sorted((_encoded(RecordedLine(source=one)), one) for one in {*sources} if numbers.of(one) < 0):
        line = numbers.line(source)
        if line is not None:
            yield _encoded(RecordedLine(source=line) if isinstance(line, DemandSource) else RecordedLine(like=line))


def _lines(file: str, data: bytes, known: FileSources) -> Iterator[tuple[str, RecordedLine, DemandSource | None]]:
    """Place, line, and the source that it describes, which is `known` then; sources and indices are checked."""
    for number, text in enumerate(whole_lines(data).splitlines(), 1):
        place = f"{file}:{number}:1"
        try:
            line = decode(text, RecordedLine)
            source = known.read(line.source, line.like)
        except msgspec.MsgspecError as error:
            raise RecordingError(place, f"not a line of a recording: {error}") from None
        except SourceError as error:
            raise RecordingError(place, str(error)) from None
        if number == 1 and line.format_version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
            raise RecordingError(
                place, f"this release reads form {FORMAT_VERSION}, and the file has {line.format_version or 'none'}"
            )
        if any(not (0 <= index < known.count and 0 <= pods <= MOST_PODS) for index, pods in line.pods):
            raise RecordingError(place, f"a number is out of range: sources go up to {known.count - 1}, pods up to {MOST_PODS}")
        if any(seconds < 0 for _, seconds in line.lead_times):
            raise RecordingError(place, "a lead time is below zero")
        if any(not 0 < seconds <= LONGEST_SECONDS for _, _, seconds in line.failures):
            raise RecordingError(place, "the seconds of a failure are out of range")
        try:
            for _, price in line.prices:
                parse_money(price)
        except MoneyError as error:
            raise RecordingError(place, str(error)) from None
        yield place, line, source


def _gaps(times: Sequence[int]) -> tuple[tuple[int, int], ...]:
    most = max(GAP_SECONDS, 3 * median_low(after - before for before, after in pairwise(times)))
    return tuple((before, after) for before, after in pairwise(times) if after - before > most)


def _medians(world: World, lead_times: Mapping[str, LeadTimes]) -> tuple[tuple[str, int], ...]:
    """By name of the target, where half of the requests came in time."""
    found = ((facts.ref.name, learned(lead_times.get(str(facts.ref)))) for facts in world.targets)
    return tuple(sorted({name: one.median_seconds for name, one in found if one is not None and one.median_seconds}.items()))


def _prices(world: World, groups: Sequence[GroupLine]) -> tuple[tuple[str, str], ...]:
    """By name of the target."""
    known = {line.target: line.price_per_hour for line in groups if line.price_per_hour is not None}
    names = {str(facts.ref): facts.ref.name for facts in world.targets}
    return tuple(sorted({names[target]: price for target, price in known.items() if target in names}.items()))


def _failures(world: World, lead_times: Mapping[str, LeadTimes]) -> frozenset[Failure]:
    """Requests that the loop remembers as given up."""
    return frozenset(
        (facts.ref.name, one.asked_seconds, -one.joined_seconds)
        for facts in world.targets
        if (times := lead_times.get(str(facts.ref))) is not None
        for one in times.requests
        if one.joined_seconds < 0
    )


def _shortages(failures: Iterable[Failure]) -> tuple[tuple[str, Shortage], ...]:
    """Of each target the spans in which a node was asked for in vain; those that touch are one."""
    found: list[tuple[str, Shortage]] = []
    for name, asked, seconds in sorted(failures):
        begin, end = asked, asked + seconds
        if found and found[-1][0] == name and asked <= found[-1][1].until_seconds:
            _, last = found.pop()
            begin, end = last.from_seconds, max(last.until_seconds, end)
        found.append((name, Shortage(from_seconds=begin, until_seconds=end)))
    return tuple(found)


def _encoded(line: RecordedLine) -> bytes:
    return msgspec.json.encode(_sparse(line)) + b"\n"


def _sparse(value: object) -> object:
    """A value as JSON has it, without fields that have their default."""
    if isinstance(value, msgspec.Struct):
        fields = ((field, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        written: Mapping[str, Any] = {field.encode_name: _sparse(own) for field, own in fields if own != field.default}
        return written
    return [_sparse(item) for item in value] if isinstance(value, tuple) else value
