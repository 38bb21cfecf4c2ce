"""What the judge proved of the instances, with bounds: see tests/benchmarks/decisions/cost_gap.py, which writes the file."""

from pathlib import Path

import msgspec

from reconciler.decisions.growth.cost.problem import Problem
from tests.decisions.growth.cost.instances import instance

OPTIMA = Path(__file__).with_name("optima.json")
PROVED_PERMILLE = 1


class Optimum(msgspec.Struct, frozen=True, omit_defaults=True):
    """One instance of so many shapes and groups: the cheapest mix that the judge found, and the bound that it proved, in micros
    an hour."""

    seed: int
    best_micros: int
    bound_micros: int
    kinds: int = 8

    def problem(self) -> Problem:
        """What was proved of."""
        return instance(self.seed, shapes=self.kinds, offers=self.kinds)


def optima() -> list[Optimum]:
    """All instances that are proved."""
    return msgspec.json.decode(OPTIMA.read_bytes(), type=list[Optimum])
