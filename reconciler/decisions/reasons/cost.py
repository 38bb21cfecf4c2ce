"""Reasons about the choice by cost."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text


class LeastCostMix(Because, frozen=True, kw_only=True):
    """Several groups together cost less than what one choice after the other gave, or as much with fewer nodes. Prices are
    decimal strings an hour, with the new nodes of each; `solver` says whether the mix was improved by it or found greedily (it is
    not installed)."""

    code = "LeastCostMix"
    mix: str
    cost_per_hour: str
    new_nodes: int
    one_by_one: str
    one_by_one_per_hour: str
    one_by_one_nodes: int
    solver: bool

    @property
    def alternatives(self) -> tuple[str, str]:
        """The mix and what it was compared with, each with its cost."""
        ours, others = self._costs
        return f"{self.mix} {ours}", f"{self.one_by_one} {others}"

    @property
    def _costs(self) -> tuple[str, str]:
        """Of both; with the number of nodes where that decided."""
        ours, others = f"{self.cost_per_hour}/h", f"{self.one_by_one_per_hour}/h"
        if ours != others:
            return ours, others
        return f"{ours} on {count_text(self.new_nodes, 'node')}", f"{others} on {count_text(self.one_by_one_nodes, 'node')}"

    def sentence(self) -> str:
        """The mix and its cost, what it was compared with, how it was found."""
        ours, others = self._costs
        text = f"LeastCost: {self.mix} for {ours}; {self.one_by_one} {others}"
        return text if self.solver else f"{text}; highspy is not installed, so no better mix was looked for"


class SolverMissing(Because, frozen=True, kw_only=True):
    """A cheaper mix may exist, but the solver is not installed."""

    code = "SolverMissing"
    cost_per_hour: str

    template = (
        "LeastCost: {cost_per_hour}/h is the greedy answer; highspy is not installed, so no better mix was looked for "
        "(pip install 'nodegroup-reconciler[solver]')"
    )
