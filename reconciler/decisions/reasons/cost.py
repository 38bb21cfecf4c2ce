"""Reasons about the choice by cost."""

from reconciler.plan.reason import Because


class LeastCostMix(Because, frozen=True, kw_only=True):
    """Several groups together cost less than what one choice after the other gave. Prices are decimal strings an hour;
    `solver` says whether the mix was improved by it or found greedily (it is not installed)."""

    code = "LeastCostMix"
    mix: str
    cost_per_hour: str
    one_by_one: str
    one_by_one_per_hour: str
    solver: bool

    def sentence(self) -> str:
        """The mix and its cost, what it was compared with, how it was found."""
        text = f"LeastCost: {self.mix} for {self.cost_per_hour}/h; {self.one_by_one} {self.one_by_one_per_hour}/h"
        return text if self.solver else f"{text}; highspy is not installed, so no better mix was looked for"


class SolverMissing(Because, frozen=True, kw_only=True):
    """A cheaper mix may exist, but the solver is not installed."""

    code = "SolverMissing"
    cost_per_hour: str

    template = (
        "LeastCost: {cost_per_hour}/h is the greedy answer; highspy is not installed, so no better mix was looked for "
        "(pip install 'nodegroup-reconciler[solver]')"
    )
