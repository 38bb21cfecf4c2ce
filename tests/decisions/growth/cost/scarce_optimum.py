"""The growth that leaves the fewest pods waiting, and of those the cheapest: an integer program apart from the product.

As for `judge`, each group has a graph of the ways to fill one node, with room for the shapes that it takes one after the other.
"""

from collections import defaultdict
from typing import NamedTuple

import highspy

from tests.decisions.growth.cost.scarce_clusters import Amounts, Machines, Scarce

_A_POD = 10_000.0
"""Cost of a pod that waits, in cents: more than all nodes together."""


class Best(NamedTuple):
    """The pods that must wait, and the cost of the others in micros an hour. `proved`: no growth is better."""

    waiting: int
    cost_micros: int
    proved: bool


class _Program:
    def __init__(self) -> None:
        self.highs = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 1e-6), ("time_limit", 20.0)):
            self.highs.setOptionValue(option, value)
        self.columns = 0
        self.rows = 0

    def row(self, low: float, high: float) -> int:
        """A new row."""
        self.highs.addRow(low, high, 0, [], [])
        self.rows += 1
        return self.rows - 1

    def column(self, cost: float, most: float, entries: dict[int, float]) -> None:
        """A new whole number."""
        self.highs.addCol(cost, 0.0, most, len(entries), list(entries), list(entries.values()))
        self.highs.changeColIntegrality(self.columns, highspy.HighsVarType.kInteger)
        self.columns += 1


def best_growth(cluster: Scarce) -> Best:
    """What no plan can beat."""
    program, infinity = _Program(), highspy.kHighsInf
    zones = sorted({group.zone for group in cluster.groups})
    served = {(number, zone): program.row(0.0, infinity) for number in range(len(cluster.pods)) for zone in zones}
    for number, pods in enumerate(cluster.pods):
        every = program.row(pods.count, pods.count)
        program.column(_A_POD, infinity, {every: 1.0})
        # The zone with the fewest pods: no other has more than one above it.
        least = {zone: program.row(-infinity, 1.0) for zone in zones} if pods.spread else {}
        floor = {zone: program.row(0.0, infinity) for zone in zones} if pods.spread else {}
        for zone in zones:
            entries = {served[number, zone]: -1.0, every: 1.0}
            if pods.spread:
                entries |= {least[zone]: 1.0, floor[zone]: 1.0}
            program.column(0.0, infinity, entries)
        if pods.spread:
            program.column(0.0, infinity, dict.fromkeys((*least.values(), *floor.values()), -1.0))
    for group in cluster.groups:
        _fill(program, cluster, group, {number: served[number, group.zone] for number in range(len(cluster.pods))})
    program.highs.run()
    values = list(program.highs.getSolution().col_value)
    costs = program.highs.getLp().col_cost_
    waiting = sum(round(value) for value, cost in zip(values, costs, strict=True) if cost == _A_POD)
    micros = sum(round(value) * round(cost * 1e4) for value, cost in zip(values, costs, strict=True) if cost != _A_POD)
    return Best(waiting, micros, program.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def _fill(program: _Program, cluster: Scarce, group: Machines, served: dict[int, int]) -> None:
    takes = [number for number, pods in enumerate(cluster.pods) if pods.runs_on(group)]
    states: dict[tuple[int, Amounts], int] = {}
    arcs: dict[int, list[tuple[int, int, tuple[int, Amounts]]]] = defaultdict(list)
    todo = [(0, group.free)]
    while todo:
        state = todo.pop()
        place, free = state
        if place == len(takes) or state in states:
            continue
        states[state] = program.row(0.0, 0.0)
        pods, count = cluster.pods[takes[place]], 0
        while count <= pods.count and min(free) >= 0:
            following = (place + 1, free)
            arcs[states[state]].append((takes[place], count, following))
            todo.append(following)
            count += 1
            free = (free[0] - pods.need[0], free[1] - pods.need[1], free[2] - pods.need[2])
    if not states:
        return
    program.column(group.price_micros / 1e4, group.most, {states[0, group.free]: 1.0})
    for row, out in arcs.items():
        for number, count, following in out:
            entries = {row: -1.0}
            if following in states:
                entries[states[following]] = 1.0
            if count:
                entries[served[number]] = float(count)
            program.column(0.0, highspy.kHighsInf, entries)
