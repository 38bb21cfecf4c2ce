"""What was measured of each case, the oldest first: a figure may get slower in steps too small for one comparison to see."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

HISTORY = Path(__file__).parent / "history.json"
LAST = 10
CREEPS = 1.2


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure: the day and the commit that it is of, a multiple of the yardstick, and MiB. `why` says why it is above `CREEPS`
    times the best of the last ones."""

    date: str
    commit: str
    multiple: float
    peak_mib: float | None = None
    why: str = ""


History = dict[str, list[Entry]]


def read_history() -> History:
    """By name of the case; empty without a file."""
    return msgspec.json.decode(HISTORY.read_bytes(), type=History) if HISTORY.exists() else {}


def write_history(history: Mapping[str, Sequence[Entry]]) -> None:
    """By name, a line for each figure."""
    cases = []
    for name, entries in sorted(history.items()):
        lines = ",\n".join(f"  {msgspec.json.encode(entry).decode()}" for entry in entries)
        cases.append(f" {msgspec.json.encode(name).decode()}: [\n{lines}\n ]")
    HISTORY.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")


def crept_from(entries: Sequence[Entry]) -> Entry | None:
    """The best of the last entries, if the newest is above `CREEPS` times that and does not say why."""
    last = entries[-LAST:]
    best = min(last, key=lambda entry: entry.multiple, default=None)
    return best if best is not None and last[-1].multiple > best.multiple * CREEPS and not last[-1].why else None
