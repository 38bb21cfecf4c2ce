"""A recording on disk: one file per day, to which lines are only added, and a bound for all of them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.decisions.memory import LeadTimes
from reconciler.plan.plan import GroupLine
from reconciler.simulation.replays.recording import NOTHING_LEARNED, SUFFIX, Recorder, RecordingError, recorded_days, whole_lines
from reconciler.simulation.replays.trace import Trace

MOST_DAYS, MOST_BYTES = 30, 50_000_000
"""The oldest days beyond either are deleted when a day begins."""


class RecordedDays:
    """The files of one recording, with one writer."""

    def __init__(self, folder: Path) -> None:
        """Goes on behind the last day that is there; a torn last line is cut off. Raises `InputError`."""
        self._folder = folder
        self._recorder = Recorder()
        self._day = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            days = self._days()
            if days:
                data = days[-1].read_bytes()
                whole = whole_lines(data)
                if whole != data:
                    os.truncate(days[-1], len(whole))
                if whole:
                    self._day = days[-1].name.removesuffix(SUFFIX)
                    self._recorder.resume(self._day, whole)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}") from None
        except RecordingError as error:
            raise InputError(f"{folder}/{error.place}: {error}") from None

    def observe(
        self,
        world: World,
        at_seconds: int,
        lead_times: Mapping[str, LeadTimes] = NOTHING_LEARNED,
        groups: Sequence[GroupLine] = (),
    ) -> None:
        """Add what differs; it is on disk when this returns. Raises `InputError`."""
        day, lines = self._recorder.lines(world, at_seconds, lead_times, groups)
        if not lines:
            return
        try:
            with (self._folder / f"{day}{SUFFIX}").open("ab") as stream:
                stream.write(lines)
                stream.flush()
                os.fsync(stream.fileno())
            if day != self._day:
                self._day = day
                self._bound()
        except OSError as error:
            raise InputError(f"{self._folder}: {error.strerror or error}") from None

    def add_all(self, trace: Trace) -> None:
        """Write a whole recording into a directory without one, days beyond the bounds too. Raises `InputError`."""
        if self._day or self._days():
            raise InputError(f"{self._folder}: has a recording already. Name another directory")
        try:
            for day, lines in recorded_days(trace):
                with (self._folder / f"{day}{SUFFIX}").open("xb") as stream:
                    stream.write(lines)
                    stream.flush()
                    os.fsync(stream.fileno())
        except OSError as error:
            raise InputError(f"{self._folder}: {error.strerror or error}") from None

    def _days(self) -> list[Path]:
        return sorted(self._folder.glob(f"*{SUFFIX}"))

    def _bound(self) -> None:
        """Never the newest."""
        room = MOST_BYTES
        for number, path in enumerate(reversed(self._days())):
            room -= path.stat().st_size
            if number and (number >= MOST_DAYS or room < 0):
                path.unlink()
