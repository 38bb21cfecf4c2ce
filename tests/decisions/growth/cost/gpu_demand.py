"""Pods that ask for whole cards, in the shapes of the openb cluster, onto the GPU machines that AWS sells."""

import csv
import random
from collections import Counter
from pathlib import Path

from reconciler.decisions.growth.cost.problem import Item, Offer, Problem

OPENB = Path(__file__).parents[4] / "examples" / "data" / "openb" / "pods.csv"
# Name, cpu in milli, memory in MiB, pods, cards (what is allocatable), price in micros of a dollar an hour: us-east-1, on
# demand, July 2026.
_MACHINES = (
    ("g4dn.xlarge", 3920, 14481, 29, 1, 526000),
    ("g4dn.2xlarge", 7910, 29636, 29, 1, 752000),
    ("g4dn.4xlarge", 15890, 59946, 29, 1, 1204000),
    ("g4dn.8xlarge", 31850, 120248, 58, 1, 2176000),
    ("g4dn.12xlarge", 47810, 178933, 234, 4, 3912000),
    ("g4dn.16xlarge", 63770, 241490, 58, 1, 4352000),
    ("g5.xlarge", 3920, 14162, 58, 1, 1006000),
    ("g5.2xlarge", 7910, 29317, 58, 1, 1212000),
    ("g5.4xlarge", 15890, 57691, 234, 1, 1624000),
    ("g5.8xlarge", 31850, 118312, 234, 1, 2448000),
    ("g5.12xlarge", 47810, 173400, 737, 4, 5672000),
    ("g5.16xlarge", 63770, 239554, 234, 1, 4096000),
    ("g6.xlarge", 3920, 14162, 58, 1, 804800),
    ("g6.2xlarge", 7910, 29317, 58, 1, 977600),
    ("g6.4xlarge", 15890, 57691, 234, 1, 1323200),
    ("g6.8xlarge", 31850, 118312, 234, 1, 2014400),
    ("g6.12xlarge", 47810, 178933, 234, 4, 4601600),
    ("g6.16xlarge", 63770, 234021, 737, 1, 3396800),
    ("g5.24xlarge", 95690, 355262, 737, 4, 8144000),
    ("g5.48xlarge", 191450, 723299, 345, 8, 16288000),
    ("g6.24xlarge", 95690, 355262, 737, 4, 6675200),
    ("g6.48xlarge", 191450, 718987, 737, 8, 13350400),
    ("g4dn.metal", 95690, 355262, 737, 8, 7824000),
)


def gpu_demand(seed: int, *, pods: int = 10_000) -> Problem:
    """So many pods, drawn from those of openb that ask for cards; any number of machines of 23 types."""
    offers = tuple(
        Offer(price_micros=price, free=(milli, mebi << 20, places, cards), most=pods)
        for _, milli, mebi, places, cards, price in _MACHINES
    )
    with OPENB.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if int(row["num_gpu"])]
    drawn = Counter(
        (int(row["cpu_milli"]), int(row["memory_mib"]) << 20, 1, int(row["num_gpu"]))
        for row in random.Random(seed).choices(rows, k=pods)
    )
    items = []
    for need, count in sorted(drawn.items()):
        lets_in = tuple(all(map(int.__le__, need, offer.free)) for offer in offers)
        if any(lets_in):
            items.append(Item(count=count, need=need, offers=lets_in))
    return Problem(items=tuple(items), offers=offers)
