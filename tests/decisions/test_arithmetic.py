"""Golden numbers of utilization, waste, limits, health and budgets, computed by hand or given by the source documents."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.growth.expanders import Option, choose, waste
from reconciler.decisions.removal.budgets import BudgetedNodes, BudgetLedger
from reconciler.decisions.removal.utilization import has_gpu, utilization_permille
from reconciler.decisions.situation.group_situation import unhealthy
from reconciler.plan.plan import NodeState
from reconciler.policy.documents import Budget, Expander, RemovalReason
from reconciler.values.duration import duration_text
from reconciler.values.money import price_text
from reconciler.values.plural import count_text
from reconciler.values.quantity import amount_text, permille_text
from tests.builders import NOW, amounts


def _shape(cpu: str, memory: str, **extended: int) -> NodeShape:
    size = amounts(cpu, memory, 110, **extended)
    return NodeShape(capacity=size, allocatable=size)


def _option(group: str, cpu: str, memory: str, *, nodes: int, pods: int = 1, price: int | None = None) -> Option:
    return Option(
        position=0,
        group=group,
        shape=_shape(cpu, memory),
        nodes=nodes,
        pods=pods,
        requested=amounts("6", "8Gi", pods),
        price_micros=price,
    )


def test_utilization_is_the_larger_of_cpu_and_memory() -> None:
    """1900m of 4 cores and 9 of 16 Gi is 56.25 % (memory), rounded up to 563 permille."""
    assert utilization_permille(_shape("4", "16Gi"), amounts("1900m", "9Gi", 3)) == 563


def test_a_gpu_node_counts_its_gpus_alone() -> None:
    """The same pods with 1 of 8 GPUs is 12.5 %."""
    size = Resources.of({"cpu": 4000, "memory": 16 << 30, "pods": 110, "nvidia.com/gpu": 8})
    used = Resources.of({"cpu": 1900, "memory": 9 << 30, "pods": 3, "nvidia.com/gpu": 1})
    assert utilization_permille(NodeShape(capacity=size, allocatable=size), used) == 125


def test_a_gpu_that_is_not_advertised_counts_as_unused() -> None:
    """Capacity says GPU, allocatable does not yet: utilization 0."""
    size = Resources.of({"cpu": 4000, "memory": 16 << 30, "pods": 110, "nvidia.com/gpu": 8})
    bare = Resources.of({"cpu": 4000, "memory": 16 << 30, "pods": 110})
    assert utilization_permille(NodeShape(capacity=size, allocatable=bare), amounts("4", "16Gi", 3)) == 0


def test_a_node_without_allocatable_has_no_utilization() -> None:
    """There is nothing to divide by."""
    assert utilization_permille(NodeShape(), amounts("1", "1Gi")) is None


def test_waste_of_two_small_nodes() -> None:
    """2 x (4 cpu, 16 Gi) for 6 cpu and 8 Gi, at 31,611 micros per core and 4,237 per GiB: 223,562 of 388,472 are used."""
    assert waste(_option("small", "4", "16Gi", nodes=2)) == 1 - Fraction(223_562, 388_472)


def test_least_waste_takes_the_larger_node() -> None:
    """1 x (8 cpu, 16 Gi) is worth 320,680."""
    large = _option("large", "8", "16Gi", nodes=1)
    assert waste(large) == 1 - Fraction(223_562, 320_680)
    choice = choose([_option("small", "4", "16Gi", nodes=2), large], (Expander.LEAST_WASTE,), 0)
    assert (choice.option.group, choice.expander) == ("large", "LeastWaste")
    assert choice.compared == ("large with 30.3% wasted on 1 node", "small with 42.5% wasted on 2 nodes")


def test_expanders_chain_until_one_is_left() -> None:
    """A tie under MostPods is broken by LeastNodes."""
    options = [_option("two", "4", "16Gi", nodes=2), _option("one", "8", "16Gi", nodes=1)]
    choice = choose(options, (Expander.MOST_PODS, Expander.LEAST_NODES), 0)
    assert (choice.option.group, choice.expander) == ("one", "LeastNodes")


def test_ties_end_by_name() -> None:
    """Equal options: the name decides, whatever their order, and the choice says so."""
    options = [_option("b", "4", "16Gi", nodes=2), _option("a", "4", "16Gi", nodes=2)]
    for given in (options, options[::-1]):
        choice = choose(given, (Expander.LEAST_WASTE, Expander.LEAST_NODES), 0)
        assert choice.option.group == "a"
        assert "name" in choice.expander


def test_least_cost_takes_the_cheaper_of_equal_service() -> None:
    """Two nodes at 0.10 cost less than one at 0.25."""
    options = [
        _option("two", "4", "16Gi", nodes=2, price=100_000),
        _option("one", "8", "16Gi", nodes=1, price=250_000),
    ]
    assert choose(options, (Expander.LEAST_COST,), 0).option.group == "two"


def test_least_cost_without_a_price_falls_back_to_least_waste_and_says_so() -> None:
    """One unknown price makes costs incomparable."""
    options = [_option("two", "4", "16Gi", nodes=2, price=1), _option("one", "8", "16Gi", nodes=1)]
    choice = choose(options, (Expander.LEAST_COST,), 0)
    assert choice.option.group == "one"
    assert choice.expander.startswith("LeastWaste (a price is unknown")


def _states(unready: int, ready: int, unmanaged: int = 0) -> list[NodeState]:
    return [NodeState.UNREADY] * unready + [NodeState.IN_USE] * ready + [NodeState.UNMANAGED] * unmanaged


def test_unready_halt_needs_both_bounds_strictly() -> None:
    """3 of 6 runs on, 5 of 10 halts, 4 of 9 (44.4 %) runs on."""
    assert unhealthy(_states(3, 3), 45, 3)[0] is False
    assert unhealthy(_states(5, 5), 45, 3) == (True, 5, 10)
    assert unhealthy(_states(4, 5), 45, 3)[0] is False


def test_unmanaged_nodes_do_not_halt() -> None:
    """Nodes outside all groups count neither way."""
    assert unhealthy(_states(0, 10, unmanaged=8), 45, 3) == (False, 0, 10)


def _ledger(budgets: tuple[Budget, ...], ready: int, leaving: Iterable[RemovalReason | None]) -> BudgetLedger:
    """Nodes without labels: the first are Ready, the others leave."""
    gone = dict(enumerate(leaving, ready))
    nodes = BudgetedNodes(ready=range(ready), leaving=gone, labels=lambda _: {}, group_labels=lambda _: {})
    return BudgetLedger(budgets, nodes, NOW)


def _allowed(budgets: tuple[Budget, ...], ready: int, reason: RemovalReason, leaving: int = 0) -> int:
    ledger = _ledger(budgets, ready, [None] * leaving)
    allowed = 0
    while ledger.refuses(reason, 0) is None and allowed < 1000:
        ledger.take(reason, 0)
        allowed += 1
    return allowed


def test_budget_percent_rounds_up() -> None:
    """10 % of 15 Ready nodes is 2."""
    assert _allowed((Budget(percent=10),), 15, RemovalReason.EMPTY) == 2


def test_leaving_nodes_count_among_those_that_a_percentage_is_of() -> None:
    """Of 100 nodes 40 are leaving: 100 % lets the other 60 go too, 50 % another 10."""
    assert _allowed((Budget(percent=100),), 60, RemovalReason.EMPTY, leaving=40) == 60
    assert _allowed((Budget(percent=50),), 60, RemovalReason.EMPTY, leaving=40) == 10


def test_the_most_restrictive_budget_wins() -> None:
    """Of 20 % of 15 (3) and 1, the 1."""
    assert _allowed((Budget(percent=20), Budget(nodes=1)), 15, RemovalReason.EMPTY) == 1


def test_a_budget_covers_only_its_reasons() -> None:
    """A budget for Underutilized leaves Empty to the other one."""
    budgets = (Budget(nodes=10), Budget(nodes=1, reasons=(RemovalReason.UNDERUTILIZED,)))
    assert _allowed(budgets, 15, RemovalReason.EMPTY) == 10
    assert _allowed(budgets, 15, RemovalReason.UNDERUTILIZED) == 1


def test_leaving_nodes_count_against_budgets() -> None:
    """Budgets are concurrent: of 3, 2 are under way."""
    assert _allowed((Budget(nodes=3),), 15, RemovalReason.EMPTY, leaving=2) == 1


@pytest.mark.parametrize(
    ("reasons", "leaving", "allowed"),
    [
        ((), {RemovalReason.EMPTY: 2}, 1),
        ((RemovalReason.UNDERUTILIZED,), {RemovalReason.EMPTY: 2}, 3),
        ((RemovalReason.UNDERUTILIZED,), {RemovalReason.UNDERUTILIZED: 2}, 1),
        ((RemovalReason.UNDERUTILIZED,), {None: 2}, 1),
        ((RemovalReason.UNDERUTILIZED,), {None: 1, RemovalReason.UNDERUTILIZED: 1, RemovalReason.EMPTY: 1}, 1),
        ((RemovalReason.UNDERUTILIZED,), {None: 5}, 0),
    ],
)
def test_leaving_nodes_use_up_the_budgets_of_their_reason(
    reasons: tuple[RemovalReason, ...], leaving: dict[RemovalReason | None, int], allowed: int
) -> None:
    """Of three drains; one whose reason nobody knows any more counts against every budget."""
    ledger = _ledger((Budget(nodes=3, reasons=reasons),), 15, Counter(leaving).elements())
    for _ in range(allowed):
        assert ledger.refuses(RemovalReason.UNDERUTILIZED, 0) is None
        ledger.take(RemovalReason.UNDERUTILIZED, 0)
    assert ledger.refuses(RemovalReason.UNDERUTILIZED, 0) is not None


def test_without_budgets_a_tenth_is_drained_at_once() -> None:
    """Rounded up; empty nodes disturb nobody."""
    assert _allowed((), 100, RemovalReason.EMPTY) == 1000
    assert _allowed((), 100, RemovalReason.UNDERUTILIZED) == 10
    assert _allowed((), 101, RemovalReason.UNREADY) == 11


def test_a_scheduled_budget_binds_only_while_it_is_open() -> None:
    """NOW is 2027-01-15T08:00:00Z: a window from 07:00 for two hours is open, one from 09:00 is not."""
    opened = Budget(nodes=0, schedule="0 7 * * *", duration_seconds=7200)
    closed = Budget(nodes=0, schedule="0 9 * * *", duration_seconds=7200)
    assert _allowed((opened, Budget(nodes=2)), 15, RemovalReason.EMPTY) == 0
    assert _allowed((closed, Budget(nodes=2)), 15, RemovalReason.EMPTY) == 2


def test_amounts_in_words() -> None:
    """Cores, binary sizes, durations and permille as people write them."""
    assert [amount_text("cpu", value) for value in (7800, 4000, 50, 0, -1500)] == ["7.8", "4", "0.05", "0", "-1.5"]
    assert [amount_text("memory", value) for value in (6 << 30, 1536 << 20, 500)] == ["6Gi", "1.5Gi", "500"]
    sizes = (1 << 50, 1 << 40, 1 << 30, 1 << 20, 1 << 10, (1 << 10) - 1, -(3 << 20))
    assert [amount_text("memory", value) for value in sizes] == ["1Pi", "1Ti", "1Gi", "1Mi", "1Ki", "1023", "-3Mi"]
    below = ((1 << 50) - 1, (1 << 40) - 1, (1 << 30) - 1, (1 << 20) - 1)
    assert [amount_text("memory", value) for value in below] == ["1024Ti", "1024Gi", "1024Mi", "1024Ki"]
    assert [amount_text(name, 2 << 20) for name in ("hugepages-2Mi", "ephemeral-storage", "nvidia.com/gpu")] == [
        "2Mi", "2Mi", "2097152",
    ]  # fmt: skip
    durations = (0, 59, 600, 5400, 86_461, -90, 3600)
    assert [duration_text(value) for value in durations] == ["0s", "59s", "10m", "1h30m", "24h1m1s", "-1m30s", "1h"]
    assert [permille_text(value) for value in (562, 1000, 5, 0)] == ["56.2%", "100%", "0.5%", "0%"]


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0.00"), (1, "0.000001"), (768_000, "0.768"), (1_500_000, "1.50"), (-100_000, "-0.10"), (12_000_000, "12.00"),
        (2_345_678, "2.345678"),
    ],
)  # fmt: skip
def test_prices_in_words(micros: int, text: str) -> None:
    """Two digits after the point at least, and all that are there."""
    assert price_text(micros) == text


def test_counts_in_words() -> None:
    """One, and any other number."""
    assert [count_text(number, "node") for number in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert [count_text(number, "policy", "policies") for number in (1, 2)] == ["1 policy", "2 policies"]


def _machine(cpu: str, memory: str, **extended: int) -> Resources:
    return amounts(cpu, memory, 110, **extended)


@pytest.mark.parametrize(
    ("requested", "ignored", "permille"),
    [
        (("2", "4Gi"), ("0", "0"), 500),
        (("1", "12Gi"), ("0", "0"), 750),
        (("2001m", "0"), ("0", "0"), 501),
        (("0", "0"), ("0", "0"), 0),
        (("2", "0"), ("1", "0"), 334),
        (("1", "0"), ("1", "0"), 0),
        (("4", "0"), ("4", "0"), 0),
        (("5", "0"), ("4", "0"), 1000),
    ],
)
def test_utilization_without_what_is_ignored(requested: tuple[str, str], ignored: tuple[str, str], permille: int) -> None:
    """Of 4 cores and 16 GiB: what is ignored leaves requests and allocatable alike; 1 of the other 3 cores is 333.3."""
    size = _machine("4", "16Gi")
    shape = NodeShape(capacity=size, allocatable=size)
    assert utilization_permille(shape, amounts(*requested, 1), amounts(*ignored)) == permille


def test_utilization_of_a_node_that_offers_one_of_both() -> None:
    """What it has none of is no share; the other one is."""
    only_memory = NodeShape(capacity=_machine("0", "16Gi"), allocatable=_machine("0", "16Gi"))
    assert utilization_permille(only_memory, amounts("2", "4Gi", 1)) == 250
    only_cpu = NodeShape(capacity=_machine("4", "0"), allocatable=_machine("4", "0"))
    assert utilization_permille(only_cpu, amounts("1", "4Gi", 1)) == 250


@pytest.mark.parametrize(
    ("capacity", "allocatable", "gpu"),
    [
        ({}, {}, False),
        ({"gpu": 1}, {}, True),
        ({}, {"gpu": 1}, True),
        ({"gpu": 1}, {"gpu": 1}, True),
        ({"example.com/x": 1}, {}, False),
    ],
)
def test_which_nodes_count_their_gpus(capacity: dict[str, int], allocatable: dict[str, int], gpu: bool) -> None:
    """Those that have or offer one; another device is none, and such a node goes by cpu and memory."""
    shape = NodeShape(capacity=_machine("4", "16Gi", **capacity), allocatable=_machine("4", "16Gi", **allocatable))
    assert has_gpu(shape) is gpu
    assert utilization_permille(shape, amounts("2", "4Gi", 1)) == (0 if gpu else 500)


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi"])
def test_gpus_of_all_makers_count(name: str) -> None:
    """Two of eight."""
    size = Resources.of({"cpu": 4000, "memory": 16 << 30, "pods": 110, name: 8})
    used = Resources.of({"cpu": 4000, "pods": 1, name: 2})
    assert utilization_permille(NodeShape(capacity=size, allocatable=size), used) == 250
