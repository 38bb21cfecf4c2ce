"""Reasons about the choice by cost."""

from reconciler.plan.reason import Because
from reconciler.values.plural import count_text
from reconciler.values.quantity import amount_text, permille_text


class LeastCostMix(Because, frozen=True, kw_only=True):
    """A mix of groups costs less than choosing one group after another, or the same with fewer nodes. Prices are decimal strings
    per hour, each with its number of new nodes. `solver` is false if the solver is not installed and a greedy search found the
    mix."""

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
        """The mix and its alternative, each with its cost."""
        ours, others = self._costs
        return f"{self.mix} for {ours}", f"{self.one_by_one} for {others}"

    @property
    def _costs(self) -> tuple[str, str]:
        """The cost of both, with the number of nodes if that decided."""
        ours, others = f"{self.cost_per_hour}/h", f"{self.one_by_one_per_hour}/h"
        if ours != others:
            return ours, others
        return f"{ours} on {count_text(self.new_nodes, 'node')}", f"{others} on {count_text(self.one_by_one_nodes, 'node')}"

    def sentence(self) -> str:
        """The mix and its cost, the alternative, and how the mix was found."""
        ours, others = self._costs
        text = f"LeastCost: {self.mix} for {ours}, and {self.one_by_one} would cost {others}"
        return text if self.solver else f"{text}. No better mix was searched for, because highspy is not installed"


class LeastWasteMix(Because, frozen=True, kw_only=True):
    """A mix of groups wastes less than one choice after the other, or the same with fewer nodes. Capacities are those of all new
    nodes."""

    code = "LeastWasteMix"
    mix: str
    cpu_milli: int
    memory_bytes: int
    new_nodes: int
    one_by_one: str
    one_by_one_cpu_milli: int
    one_by_one_memory_bytes: int
    one_by_one_nodes: int
    gpus: int = 0
    one_by_one_gpus: int = 0

    @property
    def alternatives(self) -> tuple[str, str]:
        """The mix and its alternative, each with its capacity."""
        ours = _capacity_text(self.cpu_milli, self.memory_bytes, self.gpus, self.new_nodes)
        others = _capacity_text(
            self.one_by_one_cpu_milli, self.one_by_one_memory_bytes, self.one_by_one_gpus, self.one_by_one_nodes
        )
        return f"{self.mix}: {ours}", f"{self.one_by_one}: {others}"

    def sentence(self) -> str:
        """The mix and its alternative, each with its capacity."""
        return f"LeastWaste: {' rather than '.join(self.alternatives)}"


def _capacity_text(cpu_milli: int, memory_bytes: int, gpus: int, nodes: int) -> str:
    cpu, memory = f"{amount_text('cpu', cpu_milli)} cpu", f"{amount_text('memory', memory_bytes)} memory"
    has = f"{cpu}, {memory} and {count_text(gpus, 'GPU')}" if gpus else f"{cpu} and {memory}"
    return f"{has} on {count_text(nodes, 'node')}"


class MixGap(Because, frozen=True, kw_only=True):
    """The search for a mix ended above its lower bound, so a better mix may exist. The bound holds for these groups, with each
    pod in its zone. If `proved`, no mix is below it. Otherwise it is the relaxation over the node loads that the search found.
    LeastWaste counts capacity and nodes instead of prices, and both costs are null. `gapPermille` is rounded up."""

    code = "MixGap"
    expander: str
    gap_permille: int
    cost_per_hour: str | None
    bound_per_hour: str | None
    proved: bool

    def sentence(self) -> str:
        """How much a better mix may save, and whether that is certain."""
        most = "at most" if self.proved else "about"
        saves = f"{self.expander}: a better mix may save {most} {permille_text(self.gap_permille)}"
        if self.bound_per_hour is None:
            return f"{saves} of capacity and nodes"
        bound = "no mix costs less than" if self.proved else "the lower bound of the search is"
        return f"{saves} of {self.cost_per_hour}/h, since {bound} {self.bound_per_hour}/h"


class SolverMissing(Because, frozen=True, kw_only=True):
    """A cheaper mix may exist, but the solver is not installed."""

    code = "SolverMissing"
    cost_per_hour: str

    template = (
        "LeastCost: {cost_per_hour}/h is a greedy result. No better mix was searched for, because highspy is not installed "
        "(pip install 'nodegroup-reconciler[solver]')"
    )
