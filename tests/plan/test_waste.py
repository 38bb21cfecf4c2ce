"""What idle capacity costs, split by what keeps its nodes: amounts are worked out by hand, at 730 hours a month."""

import re
from pathlib import Path

import msgspec
import pytest

from reconciler.decisions.removal.keeps import KEEPS, Ends
from reconciler.plan.plan import Action, ActionKind, Bound, Cost, GroupLine, NodeLine, NodeState, Ownership, OwnerState, Plan
from reconciler.plan.reason import Blocker, Reason
from reconciler.plan.saved import read_saved, with_files
from reconciler.plan.waste import FREE, SETTINGS, Waste, Wastes, wastes
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of

DOCS = Path(__file__).parents[2] / "docs/reference/policy.md"
ENDS_ELSEWHERE = frozenset({
    "ControllerNotFound", "ControllerUnknown", "DelayDeletion", "DoNotDisruptUnreadable", "MachineMarked", "NotEnoughPdb",
    "NotManaged", "NotModelled", "NotSafeToEvict", "PodUnread", "RemovalsHalted", "SameDemand", "ScaleDownDisabledAnnotation",
    "SeveralPdbs", "TargetKeepsNodes",
})  # fmt: skip
"""What objects of the cluster say, and no line of the policy."""


def _group(name: str = "general", price: str | None = "0.10") -> GroupLine:
    return GroupLine(
        name=name, target=f"MachineDeployment prod/{name}", tier="", current=1, desired=1, min=0, max=9, price_per_hour=price,
        owner=Ownership(state=OwnerState.OURS),
    )  # fmt: skip


def _node(name: str, used: int | None, *blockers: Blocker, group: str | None = "general") -> NodeLine:
    return NodeLine(
        node=name, group=group, state=NodeState.UNDERUTILIZED, utilization_permille=used, removable=not blockers,
        blockers=blockers,
    )  # fmt: skip


def _because(code: str, pod: str = "", **data: str) -> Blocker:
    return Blocker(code=code, pod=pod, message="why", data=data)


def _table(*nodes: NodeLine, groups: tuple[GroupLine, ...] = (_group(),), actions: tuple[Action, ...] = ()) -> Wastes:
    plan = Plan(now="", mode="Enforce", summary="", groups=groups, nodes=nodes, actions=actions, cost=Cost(currency="EUR"))
    return wastes(plan)


def test_what_is_requested_and_what_is_idle_are_the_cost() -> None:
    """Two nodes of 0.10 are 146 a month. One is used by 40%, the other by 70%: 80.30 are requested, 43.80 and 21.90 idle."""
    table = _table(_node("a", 400, _because("MinSize")), _node("b", 700, _because("NotUnderutilized")))
    assert (table.currency, table.nodes, table.unknown_nodes) == ("EUR", 2, 0)
    assert (table.cost_per_month, table.requested_per_month) == ("146.00", "80.30")
    assert table.rows == (
        Waste(
            code="MinSize", group="general", object="general", nodes=1, per_month="43.80", alone_per_month="43.80",
            setting="size.min",
        ),
        Waste(
            code="NotUnderutilized", group="general", object="general", nodes=1, per_month="21.90", alone_per_month="21.90",
            setting="scaleDown.utilizationThresholdPercent",
        ),
    )  # fmt: skip


def test_a_saved_plan_has_all_that_the_table_needs() -> None:
    """One core of four is requested, at 0.20 an hour: 36.50 of 146.00 a month. The pod has no other node to move to."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", memory="16Gi")
    cluster.pods("web", 1, cpu="1", on="general-1")
    plan = plan_of(cluster.world(), policy(node_group("general", price_per_hour="0.20")))
    table = wastes(read_saved(msgspec.json.encode(with_files(plan, {}))))
    assert (table.cost_per_month, table.requested_per_month) == ("146.00", "36.50")
    assert [(one.code, one.per_month, one.setting) for one in table.rows] == [
        ("NoPlaceToMove", "109.50", "scaleDown.consolidation.mode")
    ]


def test_the_first_blocker_is_charged_and_the_only_one_is_named_so() -> None:
    """Pods of one kind of blocker are one row with the first pod by name. Of 73 each, one node has nothing else against it."""
    local, used = _because("LocalStorage", "shop/b"), _because("NotUnderutilized")
    table = _table(_node("a", 0, local, used), _node("b", 0, _because("LocalStorage", "shop/a")))
    (row,) = table.rows
    assert (row.code, row.object, row.nodes) == ("LocalStorage", "shop/a", 2)
    assert (row.per_month, row.alone_per_month, row.setting) == ("146.00", "73.00", "drain.localStorage")


def test_a_disruption_budget_is_an_object_of_its_own() -> None:
    """Whichever of its pods it keeps."""
    rows = _table(
        _node("a", 0, _because("NotEnoughPdb", "shop/web-1", budget="shop/web")),
        _node("b", 0, _because("NotEnoughPdb", "shop/web-2", budget="shop/web")),
        _node("c", 0, _because("NotEnoughPdb", "shop/db-1", budget="shop/db")),
    ).rows
    assert [(row.object, row.nodes, row.setting) for row in rows] == [("shop/web", 2, ""), ("shop/db", 1, "")]


def test_nodes_that_leave_are_no_waste_that_stays() -> None:
    action = Action(
        kind=ActionKind.REMOVE_NODE, group="general", target="t", from_=2, to=1, nodes=("a",), reason=Reason("Empty", ""),
        bound=Bound(resource_version="1", replicas=2, owner_digest="", policy_digest=""),
    )  # fmt: skip
    table = _table(_node("a", 0), _node("b", 0), actions=(action,))
    assert table.leaving_per_month == "73.00"
    assert [(row.code, row.per_month) for row in table.rows] == [(FREE, "73.00")]


def test_what_has_no_price_is_counted_and_not_guessed() -> None:
    groups = (_group(), _group("unpriced", None))
    table = _table(_node("a", 0, group="unpriced"), _node("b", None), _node("c", 0, group=None), groups=groups)
    assert table == Wastes(currency="EUR", unknown_nodes=2)


def test_a_node_that_is_full_wastes_nothing() -> None:
    """Requests above what it offers are no negative waste."""
    table = _table(_node("a", 1000, _because("NotUnderutilized")), _node("b", 1200, _because("NotUnderutilized")))
    assert (table.cost_per_month, table.requested_per_month, table.rows) == ("146.00", "146.00", ())


@pytest.mark.parametrize("code", sorted({keep.reason.code for keep in KEEPS if keep.ends in (Ends.PERSON, Ends.PODS)}))
def test_every_lasting_cause_has_a_setting_or_none_that_could_change_it(code: str) -> None:
    assert (code in SETTINGS) != (code in ENDS_ELSEWHERE)


@pytest.mark.parametrize("setting", sorted(set(SETTINGS.values())))
def test_every_setting_is_a_key_of_the_policy(setting: str) -> None:
    """The reference has a row for it, or for what is below it."""
    assert re.search(rf"^\| `spec\.{re.escape(setting)}[.\[`]", DOCS.read_text(), re.MULTILINE)
