"""Which of several options is taken, by which expander, and the scores that a plan tells of it."""

from fractions import Fraction

import msgspec
import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.growth.expanders import _RULES, Option, choose, ranked, waste
from reconciler.policy.documents import Expander
from tests.builders import amounts

WASTE, COST, NODES, PODS = Expander.LEAST_WASTE, Expander.LEAST_COST, Expander.LEAST_NODES, Expander.MOST_PODS


def _option(
    group: str,
    cpu: str = "8",
    memory: str = "32Gi",
    *,
    nodes: int = 1,
    pods: int = 1,
    asked: tuple[str, str] = ("4", "8Gi"),
    price: int | None = None,
) -> Option:
    """`nodes` nodes of that size for pods that request `asked` together."""
    size = amounts(cpu, memory, 110)
    return Option(
        position=0, group=group, shape=NodeShape(capacity=size, allocatable=size), nodes=nodes, pods=pods,
        requested=amounts(*asked, pods), price_micros=price,
    )  # fmt: skip


def _with_gpu(option: Option) -> Option:
    shape = msgspec.structs.replace(option.shape, capacity=amounts("8", "32Gi", 110, gpu=1))
    return msgspec.structs.replace(option, shape=shape)


CHEAP = _option("cheap", price=300_000)
DEAR = _option("dear", price=400_000)
CASES = [
    # 4 cores and 8 GiB are worth 4 x 0.031611 + 8 x 0.004237 = 0.16034 by OpenCost's prices; 0.30 is 1.871 times that.
    ((COST,), 0, [DEAR, CHEAP], "cheap", "LeastCost",
     ("cheap for 0.30/h (1 pod)", "dear for 0.40/h (1 pod)")),
    # Two nodes at 0.20 for 8 cores and 16 GiB: 0.40 for 0.32068 is 1.247.
    ((COST,), 0, [CHEAP, _option("more", nodes=2, asked=("8", "16Gi"), price=200_000)], "more", "LeastCost",
     ("more for 0.40/h (1 pod)", "cheap for 0.30/h (1 pod)")),
    # Pods that request nothing compare by the price of all nodes.
    ((COST,), 0, [_option("two", nodes=2, asked=("0", "0"), price=200_000), _option("one", asked=("0", "0"), price=300_000)],
     "one", "LeastCost", ("one for 0.30/h (1 pod)", "two for 0.40/h (1 pod)")),
    ((NODES,), 10, [_option("a", nodes=3), _option("b", nodes=2)], "b", "LeastNodes", ("b with 2 nodes", "a with 3 nodes")),
    ((PODS,), 10, [_option("a", pods=5), _option("b", pods=7)], "b", "MostPods", ("b for 7 pods", "a for 5 pods")),
    ((PODS, NODES), 0, [_option("a", nodes=2, pods=7), _option("b", pods=7), _option("c", pods=5)], "b", "LeastNodes",
     ("b with 1 node", "a with 2 nodes")),
    ((PODS, NODES), 0, [_option("a", pods=5), _option("b", nodes=2, pods=7)], "b", "MostPods", ("b for 7 pods", "a for 5 pods")),
    # Four nodes of 2 cores and one of 8 cost the same for the same pods: the one, whatever its name.
    ((COST,), 0, [_option("a", cpu="2", nodes=4, price=100_000), _option("b", price=400_000)], "b",
     "the fewest machines, all else being equal", ()),
    ((COST,), 0, [_option("a", cpu="2", nodes=4, price=100_000), _option("c", price=400_000), _option("b", price=400_000)], "b",
     "the fewest machines, then name, all else being equal", ()),
    ((COST,), 0,
     [_option("a", cpu="2", nodes=4, price=100_000), _option("b", price=400_000), _option("dear", price=500_000)], "b",
     "LeastCost, then the fewest machines",
     ("a for 0.40/h (1 pod)", "b for 0.40/h (1 pod)", "dear for 0.50/h (1 pod)")),
    # A near tie in waste is none in what is asked: one cent less for three times the machines is less.
    ((COST,), 10, [_option("a", cpu="2", nodes=3, price=100_000), _option("b", price=310_000)], "a", "LeastCost",
     ("a for 0.30/h (1 pod)", "b for 0.31/h (1 pod)")),
    # Of what wastes as much the next expander has the word where near ties are off.
    ((WASTE, PODS), 0, [_option("a", cpu="4", memory="16Gi", nodes=2, pods=3), _option("b", pods=2)], "a", "MostPods",
     ("a for 3 pods", "b for 2 pods")),
    ((NODES,), 0, [_option("b"), _option("a")], "a", "name, all else being equal", ()),
    ((PODS, NODES), 0, [_option("b", pods=7), _option("a", pods=7), _option("c", pods=5)], "a", "MostPods, then name",
     ("a for 7 pods", "b for 7 pods", "c for 5 pods")),
    ((WASTE,), 0, [_option("alone")], "alone", "", ()),
    # 4 of 8 cores and 8 of 32 GiB: 0.16034 of 0.388472 by OpenCost's prices. With 16 cores 0.64136, with 60 GiB 0.507108.
    ((WASTE,), 0, [_option("wide", cpu="16"), _option("fit")], "fit", "LeastWaste",
     ("fit with 58.7% wasted on 1 node", "wide with 75.0% wasted on 1 node")),
    # 0.587 and 0.750 are no near tie of 10 %, 0.587 and 0.684 are.
    ((WASTE,), 10, [_option("wide", cpu="16"), _option("fit")], "fit", "LeastWaste",
     ("fit with 58.7% wasted on 1 node", "wide with 75.0% wasted on 1 node")),
    ((WASTE,), 10, [_option("wide", memory="60Gi"), _option("fit", "4", "16Gi", nodes=2)], "wide",
     "LeastWaste, of those within 10% the fewest machines,",
     ("wide with 68.4% wasted on 1 node", "fit with 58.7% wasted on 2 nodes")),
    ((WASTE,), 5, [_option("wide", memory="60Gi"), _option("fit", "4", "16Gi", nodes=2)], "fit", "LeastWaste",
     ("fit with 58.7% wasted on 2 nodes", "wide with 68.4% wasted on 1 node")),
    # Of two near ties of as many machines the one that wastes less.
    ((WASTE,), 10, [_option("wide", memory="60Gi"), _option("fit")], "fit",
     "LeastWaste, of those within 10% the fewest machines,",
     ("fit with 58.7% wasted on 1 node", "wide with 68.4% wasted on 1 node")),
    # Of two near ties that are equal in all the first by name.
    ((WASTE,), 10, [_option("wide", memory="60Gi"), _option("b"), _option("a")], "a",
     "LeastWaste, of those within 10% the fewest machines, then name",
     ("a with 58.7% wasted on 1 node", "b with 58.7% wasted on 1 node", "wide with 68.4% wasted on 1 node")),
    # At exactly 10 % it is a near tie: 4 of 10 cores and 4 of 8.
    ((WASTE,), 10, [_option("wide", "10", "0"), _option("fit", "4", "0", nodes=2)], "wide",
     "LeastWaste, of those within 10% the fewest machines,",
     ("wide with 60.0% wasted on 1 node", "fit with 50.0% wasted on 2 nodes")),
    # A GPU that nobody asked for is worth 30 cores: 0.16034 of 1.338472.
    ((WASTE,), 0, [_with_gpu(_option("cards")), _option("wide", cpu="16")], "wide", "LeastWaste",
     ("wide with 75.0% wasted on 1 node", "cards with 88.0% wasted on 1 node")),
    # A price is missing: LeastWaste for all of them, and the plan says so.
    ((COST,), 0, [_option("wide", cpu="16", price=1), _option("fit")], "fit",
     "LeastWaste (a price is unknown, so not LeastCost)",
     ("fit with 58.7% wasted on 1 node", "wide with 75.0% wasted on 1 node")),
]  # fmt: skip


@pytest.mark.parametrize(("expanders", "near", "options", "chosen", "expander", "compared"), CASES)
def test_what_is_chosen_and_what_is_told(
    expanders: tuple[Expander, ...], near: int, options: list[Option], chosen: str, expander: str, compared: tuple[str, ...]
) -> None:
    """Whatever the order of the options; a ranking of all begins with the one that is chosen."""
    for given in (options, options[::-1]):
        choice = choose(given, expanders, near)
        assert (choice.option.group, choice.expander, choice.compared) == (chosen, expander, compared)
        assert ranked(given, expanders, near)[0].group == chosen


def test_a_ranking_tells_all_of_them_apart() -> None:
    """From the best to the worst, equal ones by name."""
    given = [_option("d", nodes=2), _option("c"), _option("a", nodes=3), _option("b")]
    assert [option.group for option in ranked(given, (NODES,), 0)] == ["b", "c", "d", "a"]
    # At 10 % the first two are near ties of 0.587, and of them fewer machines are better; the third is none.
    wastes = [_option("two", "4", "16Gi", nodes=2), _option("far", cpu="16"), _option("one", memory="60Gi")]
    assert [option.group for option in ranked(wastes, (WASTE,), 10)] == ["one", "two", "far"]
    assert [option.group for option in ranked(wastes, (WASTE,), 0)] == ["two", "one", "far"]
    priced = [_option("dear", price=3), _option("cheap", cpu="16", price=2)]
    assert [option.group for option in ranked(priced, (COST,), 0)] == ["cheap", "dear"]
    assert [option.group for option in ranked([*priced, _option("free", "64")], (COST,), 0)] == ["dear", "cheap", "free"]


@pytest.mark.parametrize(("cpu", "memory", "share"), [("1m", "1", 1), ("1m", "0", 1), ("0", "1", 1), ("0", "0", 0)])
def test_the_smallest_amount_is_some(cpu: str, memory: str, share: int) -> None:
    """Of what nobody asked for all is lost."""
    assert waste(msgspec.structs.replace(_option("a", cpu, memory), requested=amounts("0", "0", 0))) == share


@pytest.mark.parametrize(("cpu", "memory", "expected"), [("0", "32Gi", Fraction(3, 4)), ("8", "0", Fraction(1, 2))])
def test_a_machine_that_says_one_resource_is_measured_by_that(cpu: str, memory: str, expected: Fraction) -> None:
    """What it offers to pods is asked only where its capacity says nothing at all: of 32 GiB 8 are used, of 8 cores 4."""
    option = _option("a", "16", "16Gi")
    told = msgspec.structs.replace(option.shape, capacity=amounts(cpu, memory, 110))
    assert waste(msgspec.structs.replace(option, shape=told)) == expected


@pytest.mark.parametrize(
    ("cpu", "memory", "nodes", "expected"),
    [
        ("8", "32Gi", 1, 1 - Fraction(160_340, 388_472)),
        ("8", "32Gi", 2, 1 - Fraction(160_340, 776_944)),
        ("8", "0", 1, Fraction(1, 2)),
        ("8", "0", 2, Fraction(3, 4)),
        ("0", "32Gi", 1, Fraction(3, 4)),
        ("0", "32Gi", 2, Fraction(7, 8)),
        ("0", "0", 1, Fraction(0)),
    ],
)
def test_waste_is_what_is_left_of_the_worth_of_both(cpu: str, memory: str, nodes: int, expected: Fraction) -> None:
    """4 cores and 8 GiB are asked for, at 31,611 micros per core and 4,237 per GiB. A machine that says nothing of one
    resource is measured by the other; one that says nothing of its capacity by what it offers to pods."""
    option = _option("a", cpu, memory, nodes=nodes)
    assert waste(option) == expected
    silent = msgspec.structs.replace(option.shape, capacity=amounts("0", "0", 110))
    assert waste(msgspec.structs.replace(option, shape=silent)) == expected


@pytest.mark.parametrize(
    ("expander", "better", "worse"),
    [
        (COST, _option("z", price=300_000), _option("a", price=400_000)),
        (WASTE, _option("z", cpu="4", memory="8Gi"), _option("a")),
        (NODES, _option("z", nodes=1), _option("a", nodes=2)),
        (PODS, _option("z", pods=3), _option("a", pods=2)),
    ],
)
def test_every_expander_has_its_rule(expander: Expander, better: Option, worse: Option) -> None:
    """It decides against the name, and says so first; one that is new needs a row here as in the table of rules."""
    choice = choose([worse, better], (expander,), 0)
    assert (choice.option.group, choice.expander) == ("z", expander.value)
    assert choice.compared[0].startswith("z ")
    assert ranked([worse, better], (expander,), 0)[0].group == "z"
    assert set(_RULES) == set(Expander)
