"""The judge of mixes: an arc-flow integer program, which is another model than the product's, with HiGHS's proved bound.

For every group a graph of ways to fill one node: a state is (next shape, room left), an arc takes some pods of that shape.
Integer flow through the graphs is a set of filled nodes; the flow out of the source of a group is how many are bought. No
pattern is ever listed: all of them are paths. Source of the model: J. M. Valerio de Carvalho, Exact solution of bin packing
problems using column generation and branch-and-bound (1999); merging of states with the same future as in F. Brandao and
J. P. Pedroso, Bin packing and related problems: general arc-flow formulation with graph compression (2016).
"""

from typing import NamedTuple

import highspy

from reconciler.decisions.growth.cost.problem import Problem


class Verdict(NamedTuple):
    """The cost of the best mix known to the judge (0: it found none in time) and a bound that no mix goes below, in micros an
    hour."""

    best_micros: int
    bound_micros: float
    arcs: int

    @property
    def gap(self) -> float:
        """Of the optimum, as a share."""
        return (self.best_micros - self.bound_micros) / self.best_micros if self.best_micros else 1.0


class _Graph:
    """States by what can still follow: two states with the same arcs to the same states are one."""

    def __init__(self, problem: Problem, offer: int) -> None:
        self.problem = problem
        self.order = sorted(
            (index for index, item in enumerate(problem.items) if item.offers[offer]),
            key=lambda index: [
                -need * 1000 // max(1, free)
                for need, free in zip(problem.items[index].need, problem.offers[offer].free, strict=True)
            ],
        )
        self.kinds = range(len(problem.offers[offer].free))
        self.states: dict[tuple[tuple[int, int, int], ...], int] = {(): 0}
        self.known: dict[tuple[int, tuple[int, ...]], int] = {}
        self.sums = [self._reachable(kind, problem.offers[offer].free[kind]) for kind in self.kinds]
        self.source = self.build(0, problem.offers[offer].free)

    @property
    def arcs(self) -> int:
        """How many there are."""
        return sum(map(len, self.states))

    def _reachable(self, kind: int, most: int) -> list[list[int]]:
        """By position in the order: all sums of this resource that pods from there on can make, ascending."""
        found = [{0}]
        for index in reversed(self.order):
            item = self.problem.items[index]
            sums = set()
            for base in found[-1]:
                for pods in range(item.count + 1):
                    total = base + pods * item.need[kind]
                    if total > most:
                        break
                    sums.add(total)
                    if not item.need[kind]:
                        break
            found.append(sums)
        return [sorted(sums) for sums in reversed(found)]

    def build(self, position: int, room: tuple[int, ...]) -> int:
        """The number of the state in which `room` is left for the shapes from `position` on."""
        if position == len(self.order):
            return 0
        # Room that no combination of pods can use says nothing: take it away, so that more states are equal.
        room = tuple(_largest(self.sums[kind][position], room[kind]) for kind in self.kinds)
        key = (position, room)
        if key in self.known:
            return self.known[key]
        item = self.problem.items[self.order[position]]
        arcs = []
        pods = 0
        left = room
        while pods <= item.count and min(left) >= 0:
            arcs.append((self.order[position], pods, self.build(position + 1, left)))
            pods += 1
            left = tuple(have - need for have, need in zip(left, item.need, strict=True))
        found = arcs[0][2] if len(arcs) == 1 else self.states.setdefault(tuple(arcs), len(self.states))
        self.known[key] = found
        return found


def _largest(sums: list[int], most: int) -> int:
    low, high = 0, len(sums)
    while low < high:
        middle = (low + high) // 2
        if sums[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return sums[low - 1]


def judge(problem: Problem, *, relative_gap: float = 0.0009, seconds: float = 300.0, most_arcs: int = 25_000) -> Verdict:
    """Solve to the gap; nothing is proved of problems whose graphs have too many arcs. Only problems without caps, and with
    room for any number of nodes."""
    graphs = []
    for offer in range(len(problem.offers)):
        graphs.append(_Graph(problem, offer))
        if sum(graph.arcs for graph in graphs) > most_arcs:
            return Verdict(0, 0.0, most_arcs)
    highs = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", relative_gap),
        ("mip_abs_gap", 0.0),
        ("time_limit", seconds),
        ("random_seed", 1),
    ):
        highs.setOptionValue(option, value)
    for item in problem.items:
        highs.addRow(float(item.count), highspy.kHighsInf, 0, [], [])
    rows, arcs = len(problem.items), 0
    columns = 0
    whole = highspy.HighsVarType.kInteger
    for offer, terms in enumerate(problem.offers):
        graph = graphs[offer]
        first = rows
        # One balance row a state but the sink, which is state 0: what comes in goes out.
        for _ in range(len(graph.states) - 1):
            highs.addRow(0.0, 0.0, 0, [], [])
        rows += len(graph.states) - 1
        if graph.source:
            highs.addCol(
                terms.price_micros / 1e4,
                0.0,
                float(sum(item.count for item in problem.items)),
                1,
                [first + graph.source - 1],
                [1.0],
            )
            highs.changeColIntegrality(columns, whole)
            columns += 1
        for out, state in graph.states.items():
            for index, pods, target in out:
                entries = {first + state - 1: -1.0}
                if target:
                    entries[first + target - 1] = entries.get(first + target - 1, 0.0) + 1.0
                if pods:
                    entries[index] = float(pods)
                highs.addCol(0.0, 0.0, highspy.kHighsInf, len(entries), list(entries), list(entries.values()))
                highs.changeColIntegrality(columns, whole)
                columns += 1
                arcs += 1
    highs.run()
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Verdict(round(info.objective_function_value * 1e4) if found else 0, info.mip_dual_bound * 1e4, arcs)
