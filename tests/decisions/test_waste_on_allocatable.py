"""LeastWaste by what pods can really use, where the Cluster Autoscaler takes the capacity of the machine."""

from fractions import Fraction

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.growth.expanders import Option, choose, waste
from reconciler.policy.documents import Expander
from tests.builders import amounts


def _option(group: str, capacity: tuple[str, str], allocatable: tuple[str, str]) -> Option:
    """One node for 3 cores and 6 GiB."""
    return Option(
        position=0,
        group=group,
        shape=NodeShape(capacity=amounts(*capacity, 110), allocatable=amounts(*allocatable, 110)),
        nodes=1,
        pods=1,
        requested=amounts("3", "6Gi", 1),
        price_micros=None,
    )


def test_waste_is_measured_on_allocatable() -> None:
    """3 of 3 cores and 6 of 12 GiB: 0 + 0.5. Of the capacity (4 cores, 16 GiB) it would be 0.25 + 0.625."""
    assert waste(_option("reserving", ("4", "16Gi"), ("3", "12Gi"))) == Fraction(1, 2)


def test_the_choice_follows_what_is_left_for_pods() -> None:
    """The larger machine keeps so much for itself that less of it is wasted: 0.5 against 0.25 + 0.5 = 0.75."""
    options = [_option("a-plain", ("4", "12Gi"), ("4", "12Gi")), _option("b-reserving", ("6", "24Gi"), ("3", "12Gi"))]
    assert choose(options, (Expander.LEAST_WASTE,)).option.group == "b-reserving"
