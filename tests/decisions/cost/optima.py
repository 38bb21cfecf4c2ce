"""What the judge proved of the instances, with bounds: see tests/benchmarks/decisions/cost_gap.py, which writes the file."""

from pathlib import Path

import msgspec

OPTIMA = Path(__file__).with_name("optima.json")
PROVED_PERMILLE = 1


class Optimum(msgspec.Struct, frozen=True):
    """One instance: the cheapest mix that the judge found, and the bound that it proved, in micros an hour."""

    seed: int
    best_micros: int
    bound_micros: int


def optima() -> list[Optimum]:
    """All instances that are proved."""
    return msgspec.json.decode(OPTIMA.read_bytes(), type=list[Optimum])
