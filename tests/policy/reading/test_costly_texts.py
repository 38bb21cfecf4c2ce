"""Reading a policy takes time that grows with its text and no faster, so that a bad commit takes nobody's time."""

import resource
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from cronsim import CronSim

from reconciler.policy.checks.overlap import MAX_STEPS, Overlaps
from reconciler.policy.documents import Window
from tests.policy.costly_texts import TEXTS
from tests.policy.texts import NOW

_MOST_CPU_SECONDS = 90
"""Of all texts, on the slowest machine: a few seconds are needed, and one that is read carelessly takes minutes to years."""


def test_no_text_of_a_megabyte_takes_long() -> None:
    """In a process that the kernel ends: a text that holds the interpreter's lock would end no test by itself."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_CPU_SECONDS, _MOST_CPU_SECONDS))

    done = subprocess.run(
        [sys.executable, "-m", "tests.policy.costly_texts"],
        cwd=Path(__file__).resolve().parents[3],
        preexec_fn=bounded,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == list(TEXTS), done.stderr[-2000:]
    assert done.returncode == 0


def test_looking_for_rare_days_is_charged() -> None:
    """The days that are passed count, whatever is found on the way, and the budget is left by one answer at most."""
    overlaps = Overlaps(NOW)
    for minute in range(60):
        for hour in range(24):
            windows = [Window(schedule=f"{at} {hour} 29 2 *", duration_seconds=60) for at in (minute, (minute + 7) % 60)]
            overlaps.first(*windows)
    assert overlaps.exhausted
    assert overlaps.steps < MAX_STEPS + 20_000


def test_minutes_that_are_passed_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of every few minutes: what is looked at is counted, and little of it is in vain."""
    looked = 0
    step = CronSim.__next__

    def counted(self: CronSim) -> datetime:
        nonlocal looked
        looked += 1
        return step(self)

    monkeypatch.setattr(CronSim, "__next__", counted)
    overlaps = Overlaps(NOW)
    for one in range(1, 30):
        for other in range(1, one):
            windows = [Window(schedule=f"*/{at} * * * {one % 7}", duration_seconds=60) for at in (one, other)]
            overlaps.first(*windows)
    assert looked <= 2 * overlaps.steps
    assert not overlaps.exhausted or overlaps.steps < MAX_STEPS + 20_000
