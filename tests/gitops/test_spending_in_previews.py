"""How much of each spending limit the nodes of a steady state cost, under main and under this PR."""

import json

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import alone, compare
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import Limit, PolicySet
from reconciler.policy.values.label_selector import Selector
from reconciler.rendering.documents.preview.change_figures import limit_rows
from reconciler.rendering.documents.preview.values import preview_values
from reconciler.rendering.printers.json_text import json_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

EURO = 1_000_000
SIDE = PreviewSide(source="x")


def _world() -> World:
    """Two full nodes, and pods for three more."""
    cluster = ClusterBuilder()
    cluster.group("web", nodes=2)
    for number in (1, 2):
        cluster.pods(f"full{number}", 1, cpu="4", on=f"web-{number}")
    cluster.pods("waits", 3, cpu="4")
    return cluster.world()


def _policy(most_nodes: int, euros: float | None, *, resource: str = "pricePerHour", currency: str = "EUR") -> PolicySet:
    limits = () if euros is None else (Limit(name="budget", max=((resource, round(euros * EURO)), ("nodes", 100))),)
    return policy(node_group("web", max=most_nodes, price_per_hour="0.50"), limits=limits, currency=currency)


def _rows(before: PolicySet, after: PolicySet) -> list[tuple[str, ...]]:
    shown = compare(_world(), NOW, (SIDE, before), (SIDE, after), DEFAULT_WORK_BUDGET)
    return list(limit_rows(shown))


def test_a_larger_group_uses_more_of_the_limit() -> None:
    """Three nodes at 0.50 under main, five under this PR; the limit on nodes is not about money."""
    assert _rows(_policy(3, 4), _policy(5, 4)) == [("limit budget, per hour", "€1.50 of €4.00", "€2.50 of €4.00", "€1.50 left")]


def test_growth_that_the_limit_stops() -> None:
    """2.40 per hour pay for four nodes of 0.50: 0.40 are left, less than one node."""
    assert _rows(_policy(9, 9), _policy(9, 2.4)) == [("limit budget, per hour", "€2.50 of €9.00", "€2.00 of €2.40", "€0.40 left")]


def test_a_limit_that_is_new_and_one_that_goes() -> None:
    """A month has 730 hours: 5 x 0.50 x 730 = 1825."""
    monthly = _policy(5, 2000, resource="pricePerMonth")
    assert _rows(_policy(5, None), monthly) == [("limit budget, per month", "no limit", "€1,825.00 of €2,000.00", "€175.00 left")]
    assert _rows(monthly, _policy(5, None)) == [("limit budget, per month", "€1,825.00 of €2,000.00", "no limit", "no limit")]
    assert _rows(_policy(5, None), _policy(4, None)) == []


def test_nodes_that_cost_more_than_the_limit_already() -> None:
    """What is there stays: two nodes cost 1.00."""
    assert _rows(_policy(5, None), _policy(5, 0.7))[0][2:] == ("€1.00 of €0.70", "-€0.30 left")


def test_a_limit_over_other_groups_counts_none_of_these() -> None:
    limit = Limit(name="gpu", groups=Selector(match_labels=(("team", "ml"),)), max=(("pricePerHour", EURO),))
    rules = policy(node_group("web", max=5, price_per_hour="0.50"), limits=(limit,), currency="EUR")
    assert _rows(rules, rules) == [("limit gpu, per hour", "€0.00 of €1.00", "€0.00 of €1.00", "€1.00 left")]


def test_json_and_digest() -> None:
    """Programs get both sides as decimal strings. Another limit is another preview, although nothing else differs."""
    previews: list[Preview] = [
        compare(_world(), NOW, (SIDE, _policy(5, 4)), (SIDE, _policy(5, euros)), DEFAULT_WORK_BUDGET) for euros in (4, 5)
    ]
    (pair,) = json.loads(json_text(preview_values(previews[1])))["limits"]
    assert pair["today"] == {"limit": "budget", "resource": "pricePerHour", "spent": "2.50", "max": "4.00", "currency": "EUR"}
    assert (pair["after"]["spent"], pair["after"]["max"]) == ("2.50", "5.00")
    assert previews[0].digest != previews[1].digest
    single = alone(_world(), NOW, SIDE, (SIDE, _policy(5, 4)), DEFAULT_WORK_BUDGET, no_base="new")
    assert [one.spent for one in single.spent_after] == ["2.50"]
