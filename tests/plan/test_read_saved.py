"""A saved plan is read back within what a plan can say; anything else is refused with a sentence."""

import msgspec
import pytest

from reconciler.plan.plan import Plan
from reconciler.plan.saved import SavedPlanError, read_saved
from reconciler.plan.summary import plan_digest
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of


def _plan() -> Plan:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    return plan_of(cluster.world(), policy(node_group("general", price_per_hour="0.20")))


@pytest.mark.parametrize("amount", ["1e999999999", "NaN", "-Infinity", "0x10", "", " 1", "1" * 40, "1_0"])
@pytest.mark.parametrize("place", ["current_per_hour", "desired_per_hour", "settled_per_hour", "price_per_hour"])
def test_a_price_that_is_not_a_decimal_string_is_refused(amount: str, place: str) -> None:
    """With a digest that fits: who edits a plan can compute it."""
    plan = _plan()
    if place == "price_per_hour":
        groups = tuple(msgspec.structs.replace(group, price_per_hour=amount) for group in plan.groups)
        plan = msgspec.structs.replace(plan, groups=groups)
    else:
        plan = msgspec.structs.replace(plan, cost=msgspec.structs.replace(plan.cost, **{place: amount}))
    edited = msgspec.structs.replace(plan, digest=plan_digest(plan))
    with pytest.raises(SavedPlanError, match="invalid price"):
        read_saved(msgspec.json.encode(edited))


def test_a_plan_is_read_back_as_it_was() -> None:
    """Its prices are decimal strings."""
    plan = _plan()
    assert read_saved(msgspec.json.encode(plan)) == plan
    assert plan.groups[0].price_per_hour == "0.20"
