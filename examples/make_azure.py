"""Write a table of machines in the form of the Azure public data set of 2017 (`vmtable.csv.gz`), without its data.

    python examples/make_azure.py vmtable.csv.gz --days 12 --machines 4000

The columns, the units and the steps of five minutes are those of the data set; the machines are drawn. Sizes are common ones of
2017. Most machines live for less than an hour, and a few for days. More come by day than by night, and fewer at weekends. The
same seed gives the same bytes.
"""

import argparse
import gzip
import random
from pathlib import Path

STEP_SECONDS = 300
DAY_SECONDS = 86_400
SIZES = ((1, "1.75", 46), (1, "0.75", 4), (2, "3.5", 30), (4, "7", 13), (8, "14", 4), (4, "28", 2), (8, "56", 1))
"""Cores, memory in GB, and of a hundred machines so many."""
CATEGORIES = (("Delay-insensitive", 40), ("Interactive", 15), ("Unknown", 45))
LIFETIMES = ((1, 6, 55), (6, 24, 20), (24, 288, 20), (288, 1440, 5))
"""From so many steps to so many, and of a hundred machines so many."""


def busy(step: int) -> float:
    """How busy a step is: by day three times as much as by night, and half of it at weekends."""
    day, second = divmod(step * STEP_SECONDS, DAY_SECONDS)
    return (3.0 if 7 <= second // 3600 < 19 else 1.0) * (0.5 if day % 7 >= 5 else 1.0)


def machines(days: int, count: int, seed: int) -> list[str]:
    """The lines, by creation."""
    chance = random.Random(seed)
    steps = days * DAY_SECONDS // STEP_SECONDS
    created = sorted(chance.choices(range(steps), weights=[busy(step) for step in range(steps)], k=count))
    lines = []
    for number, begin in enumerate(created):
        cores, memory, _ = chance.choices(SIZES, weights=[size[-1] for size in SIZES])[0]
        category = chance.choices(CATEGORIES, weights=[one[-1] for one in CATEGORIES])[0][0]
        least, most, _ = chance.choices(LIFETIMES, weights=[one[-1] for one in LIFETIMES])[0]
        end = min(steps, begin + chance.randint(least, most))
        use = sorted(chance.uniform(0, 100) for _ in range(3))
        lines.append(
            f"vm-{number},subscription-{number % 60},deployment-{number % 700},{begin * STEP_SECONDS},{end * STEP_SECONDS},"
            f"{use[2]:.6f},{use[0]:.6f},{use[1]:.6f},{category},{cores},{memory}\n"
        )
    return lines


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--days", type=int, default=12)
    parser.add_argument("--machines", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.write_bytes(gzip.compress("".join(machines(given.days, given.machines, given.seed)).encode(), mtime=0))


if __name__ == "__main__":
    main()
