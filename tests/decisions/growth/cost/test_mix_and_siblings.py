"""LeastCost is never dearer than one group after the other, even where siblings of other prices share a mix."""

import pytest

from reconciler.policy.documents import Expander
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import group, plan_of


@pytest.mark.parametrize(
    ("shared", "sizes", "cost"), [("Off", [2, 0, 1], "2.40"), ("pair", [1, 0, 2], "2.70")], ids=["alone", "shared"]
)
def test_a_mix_that_sharing_makes_dearer_is_not_bought(shared: str, sizes: list[int], cost: str) -> None:
    """Three pods of 4 cores: two machines of 8 at 1.00, or one of them and one of 4 at 0.70, which is less. Where that one's
    turn is its sibling's at 2.00 (it has a node already, the sibling none), the mix would be 3.00: two of 8 are bought."""
    cluster = ClusterBuilder()
    cluster.pods("full", 1, cpu="4", on=list(cluster.group("a", nodes=1)))
    cluster.group("b", nodes=0)
    cluster.group("large", nodes=0, cpu="8", memory="32Gi")
    cluster.pods("web", 3, cpu="4", memory="4Gi")
    rules = policy(
        node_group("a", price_per_hour="0.70", balance_with=shared),
        node_group("b", price_per_hour="2.00", balance_with=shared),
        node_group("large", price_per_hour="1.00"),
        expanders=(Expander.LEAST_COST,),
    )
    plan = plan_of(cluster.world(), rules)
    assert [group(plan, name).desired for name in ("a", "b", "large")] == sizes
    assert plan.cost.desired_per_hour == cost
