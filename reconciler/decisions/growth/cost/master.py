"""The choice among fillings as a linear program, and in whole numbers, by HiGHS: the one file that knows the solver.

One thread, a fixed seed and limits on counted work instead of time, so that equal input gives equal answers.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from reconciler.decisions.growth.cost.problem import Filling, Mix, Problem

if TYPE_CHECKING:
    import highspy

_MICROS_A_UNIT = 10_000  # costs near 1 keep the solver's absolute tolerances meaningful
_WHOLE = 1e-6
_A_PART = 0.999


class Prices(msgspec.Struct, frozen=True):
    """The result of the linear program. `values` are by item. `prices` are by offer in micros: the price of a node plus the value
    of the bounds on it. `bound` is the cost in micros, `amounts` how much of each filling. `charged` is the value of
    the bounds of the whole problem. No mix costs less than `proved` micros. `exact`: no further filling pays, that is certain."""

    values: list[int]
    prices: list[int]
    bound: float
    amounts: list[float]
    charged: int = 0
    proved: int = 0
    exact: bool = False


def solver() -> ModuleType | None:
    """The solver's module, imported at the first need; None when it is not installed."""
    try:
        import highspy  # noqa: PLC0415 - 0.2 s and 85 MB that only mixes need
    except ImportError:
        return None
    return highspy


class Master:
    """Rows: items (at least so many), offers and caps (at most so many). Columns: fillings."""

    def __init__(self, highs: ModuleType, problem: Problem) -> None:
        self._highs = highs
        self._problem = problem
        self.fillings: list[Filling] = []
        self._known: set[Filling] = set()
        most = sum(item.count for item in problem.items)
        self._offer_rows = [index for index, offer in enumerate(problem.offers) if offer.most < most]
        self._lp = self._model()

    def _model(self) -> "highspy.Highs":
        highs: highspy.Highs = self._highs.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("parallel", "off"),
            ("random_seed", 0),
            ("simplex_iteration_limit", 100_000),
        ):
            highs.setOptionValue(option, value)
        infinity = self._highs.kHighsInf
        for item in self._problem.items:
            highs.addRow(float(item.count), infinity, 0, [], [])
        for index in self._offer_rows:
            highs.addRow(-infinity, float(self._problem.offers[index].most), 0, [], [])
        for cap in self._problem.caps:
            highs.addRow(-infinity, float(cap.bound) / max(cap.weights), 0, [], [])
        return highs

    def add(self, fillings: Iterable[Filling]) -> int:
        """Add fillings that are new; how many were."""
        fresh = [filling for filling in dict.fromkeys(fillings) if filling not in self._known]
        for filling in fresh:
            self._known.add(filling)
            self.fillings.append(filling)
            self._column(self._lp, filling)
        return len(fresh)

    def _column(self, highs: "highspy.Highs", filling: Filling) -> None:
        rows = [index for index, pods in enumerate(filling.load) if pods]
        weights = [float(filling.load[index]) for index in rows]
        first = len(self._problem.items)
        if filling.offer in self._offer_rows:
            rows.append(first + self._offer_rows.index(filling.offer))
            weights.append(1.0)
        for index, cap in enumerate(self._problem.caps):
            if cap.weights[filling.offer]:
                rows.append(first + len(self._offer_rows) + index)
                weights.append(cap.weights[filling.offer] / max(cap.weights))
        cost = self._problem.offers[filling.offer].price_micros / _MICROS_A_UNIT
        highs.addCol(cost, 0.0, self._highs.kHighsInf, len(rows), rows, weights)

    def pose(self, rest: Problem) -> None:
        """Ask from now on about the pods and bounds of `rest`, what remains of the problem. A filling with more pods than remain
        counts at most in part: without it there might be no answer."""
        infinity, row = self._highs.kHighsInf, len(rest.items)
        left = [item.count for item in rest.items]
        for index, count in enumerate(left):
            self._lp.changeRowBounds(index, float(count), infinity)
        for index in self._offer_rows:
            self._lp.changeRowBounds(row, -infinity, float(rest.offers[index].most))
            row += 1
        for cap in rest.caps:
            self._lp.changeRowBounds(row, -infinity, float(cap.bound) / max(cap.weights))
            row += 1
        for column, filling in enumerate(self.fillings):
            fits = all(map(int.__le__, filling.load, left))
            self._lp.changeColBounds(column, 0.0, infinity if fits else _A_PART)

    def relaxed(self) -> Prices | None:
        """Solve the linear program over the fillings so far; None when that did not come to an end."""
        lp = self._lp
        lp.run()
        if lp.getModelStatus() != self._highs.HighsModelStatus.kOptimal:
            return None
        solution = lp.getSolution()
        duals = list(solution.row_dual)
        items, offers = len(self._problem.items), len(self._offer_rows)
        prices = [offer.price_micros for offer in self._problem.offers]
        charged = 0
        for row, index in enumerate(self._offer_rows):
            dual = round(-duals[items + row] * _MICROS_A_UNIT)
            prices[index] += dual
            charged += dual * self._problem.offers[index].most
        for row, cap in enumerate(self._problem.caps):
            each = -duals[items + offers + row] * _MICROS_A_UNIT / max(cap.weights)
            prices = [price + round(each * weight) for price, weight in zip(prices, cap.weights, strict=True)]
            charged += ceil(each * cap.bound)
        return Prices(
            values=[max(0, round(dual * _MICROS_A_UNIT)) for dual in duals[:items]],
            prices=prices,
            bound=lp.getObjectiveValue() * _MICROS_A_UNIT,
            amounts=list(solution.col_value),
            charged=charged,
        )

    def whole(self, known: Mix, prices: Prices, nodes: int) -> tuple[Mix | None, bool]:
        """The cheapest mix of the fillings in whole numbers, no more expensive than `known`, and whether that is proved.

        Fillings whose reduced cost alone closes the gap to `known` are left out: none of them is in a cheaper mix. A
        second solve decides between mixes of equal cost: fewest nodes, then the earliest fillings.
        """
        problem = self._problem
        budget = problem.cost(known)
        slack = budget - prices.bound
        useful = (one for one in self.fillings if self._reduced(one, prices) <= slack + 1)
        columns = sorted({*useful, *(filling for filling, _ in known)})
        first = self._integers(columns, nodes)
        self._give(first, columns, known)
        mix, proved = self._solve(first, columns)
        if mix is None or not proved:
            return mix, False
        cost = sum(problem.offers[filling.offer].price_micros * times for filling, times in mix)
        second = self._integers(columns, nodes)
        rows = list(range(len(columns)))
        spent = [problem.offers[filling.offer].price_micros / _MICROS_A_UNIT for filling in columns]
        second.addRow(-self._highs.kHighsInf, cost / _MICROS_A_UNIT + _WHOLE, len(columns), rows, spent)
        for row in rows:
            second.changeColCost(row, 1.0 + row / (16.0 * len(columns)))
        self._give(second, columns, mix)
        settled, done = self._solve(second, columns)
        return settled if done else mix, True

    def _reduced(self, filling: Filling, prices: Prices) -> int:
        return prices.prices[filling.offer] - sum(map(int.__mul__, prices.values, filling.load))

    def _integers(self, columns: Sequence[Filling], nodes: int) -> "highspy.Highs":
        highs = self._model()
        for option, value in (
            ("mip_max_nodes", nodes),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 1e-5),
            # Both cost a third of the time each and gained nothing on the instances that are measured.
            ("mip_allow_restart", False),
            ("mip_heuristic_run_rins", False),
        ):
            highs.setOptionValue(option, value)
        whole = self._highs.HighsVarType.kInteger
        for index, filling in enumerate(columns):
            self._column(highs, filling)
            highs.changeColIntegrality(index, whole)
        return highs

    def _give(self, highs: "highspy.Highs", columns: Sequence[Filling], known: Iterable[tuple[Filling, int]]) -> None:
        """Hand a mix to the solver as the one to beat."""
        times = dict(known)
        solution = self._highs.HighsSolution()
        solution.col_value = [float(times.get(filling, 0)) for filling in columns]
        highs.setSolution(solution)

    def _solve(self, highs: "highspy.Highs", columns: Sequence[Filling]) -> tuple[Mix | None, bool]:
        highs.run()
        info = highs.getInfo()
        if info.primal_solution_status != self._highs.SolutionStatus.kSolutionStatusFeasible:
            return None, False
        amounts = [round(amount) for amount in highs.getSolution().col_value]
        mix = tuple((filling, times) for filling, times in zip(columns, amounts, strict=True) if times)
        return mix, highs.getModelStatus() == self._highs.HighsModelStatus.kOptimal
