"""CapacityQuotas are limits where the policy says so; one that is not known stops growth."""

import msgspec
import pytest

from reconciler.cluster.wire import capacity_quota as wire
from reconciler.cluster.workloads.capacity_quota import CapacityQuota, capacity_quota
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.plan import Plan
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import Limit, LimitsFrom, NodeGroup, QuotaReading
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code
from reconciler.rendering.printers.text.explanation.group import explain_group
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, plan_of, pod

READ = LimitsFrom(capacity_quotas=QuotaReading.READ)
IN_ZONE_A = LabelSelector((Requirement("zone", "In", ("a",)),))


def _full(*quotas: CapacityQuota, captured: bool = True) -> World:
    """A full node of 4 cores in each of two zones, and nine pods of 4 cores that wait."""
    cluster = ClusterBuilder()
    for zone in "ab":
        cluster.group(zone, nodes=1, labels={"zone": zone})
        cluster.pods(f"full-{zone}", 1, cpu="4", on=f"{zone}-1")
    cluster.pods("web", 9, cpu="4")
    world = cluster.world()
    kinds = (*world.captured, "CapacityQuota") if captured else world.captured
    return msgspec.structs.replace(world, quotas=quotas, captured=kinds)


def _plan(world: World, *, read: bool = True, limits: tuple[Limit, ...] = (), **fields: object) -> Plan:
    groups: tuple[NodeGroup, ...] = tuple(node_group(zone, max=30, **fields) for zone in "ab")
    return plan_of(world, policy(*groups, limits=limits, limits_from=READ if read else LimitsFrom()))


def _sizes(plan: Plan) -> tuple[int, int]:
    return group(plan, "a").desired, group(plan, "b").desired


@pytest.mark.parametrize(
    ("quota", "nodes"),
    [
        (CapacityQuota(name="q", max=(("nodes", 5),)), 5),
        (CapacityQuota(name="q", max=(("cpu", 19_999),)), 4),  # 4 x 4 cores
        (CapacityQuota(name="q", max=(("cpu", 16_000), ("nodes", 9))), 4),
        (CapacityQuota(name="q", max=(("nodes", 1),)), 2),  # what is there stays
        (CapacityQuota(name="q", max=(("nvidia.com/gpu", 0),)), 11),  # nobody asks for any
    ],
)
def test_growth_stops_at_a_quota_over_all_nodes(quota: CapacityQuota, nodes: int) -> None:
    assert sum(_sizes(_plan(_full(quota)))) == nodes


def test_a_quota_counts_the_nodes_that_it_selects() -> None:
    """Two nodes in zone a; the other pods go to b."""
    plan = _plan(_full(CapacityQuota(name="q", selector=IN_ZONE_A, max=(("nodes", 2),))))
    assert _sizes(plan)[0] <= 2
    assert sum(_sizes(plan)) == 11


def test_the_reason_names_the_quota() -> None:
    plan = _plan(_full(CapacityQuota(name="small", max=(("nodes", 2),))))
    told = [reason.message for reason in pod(plan, "shop/web-1").reasons if reason.code == "LimitReached"]
    assert told[0] == "limit CapacityQuota small allows 2 nodes: 2 in use, one more node of a adds 1"


def test_limits_of_the_policy_apply_as_well() -> None:
    """The tighter one of both counts."""
    world = _full(CapacityQuota(name="q", max=(("nodes", 6),)))
    for most, nodes in ((4, 4), (8, 6)):
        assert sum(_sizes(_plan(world, limits=(Limit(name="own", max=(("nodes", most),)),)))) == nodes


def test_without_the_field_quotas_are_not_read() -> None:
    world = _full(CapacityQuota(name="q", max=(("nodes", 2),)))
    plan = _plan(world, read=False)
    assert sum(_sizes(plan)) == 11
    assert sum(_sizes(_plan(_full(captured=False), read=False))) == 11


def test_no_quota_is_no_limit() -> None:
    """The kind was read, and there is none."""
    assert sum(_sizes(_plan(_full()))) == 11


@pytest.mark.parametrize("world", [_full(CapacityQuota(name="q", problem="it is odd")), _full(captured=False)])
def test_what_is_not_known_stops_growth(world: World) -> None:
    """A quota that nobody understands, and quotas that nobody has read: no node, and the plan says so even when nothing waits."""
    plan = _plan(world)
    assert _sizes(plan) == (1, 1)
    assert "LimitUnknown" in codes(pod(plan, "shop/web-1"))
    (problem,) = [one for one in plan.problems if one.code == "LimitUnknown"]
    assert problem.object.startswith("CapacityQuota")
    below = _plan(world, min=3)
    assert _sizes(below) == (1, 1)
    assert "MinNotReached" in codes(group(below, "a"))


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ((Limit(name="n", max=(("nodes", 4),)),), 4),
        ((Limit(name="n", max=(("pricePerHour", 1_600_000),)),), 3),  # 3 x 0.50
        ((), 6),
    ],
)
def test_a_group_without_a_template_counts_as_nodes_at_their_price(limits: tuple[Limit, ...], sizes: int) -> None:
    """Nothing tells what a new node is: below its minimum the group grows all the same, as far as nodes and money allow."""
    cluster = ClusterBuilder()
    for zone in "ab":
        cluster.target(zone, 1)
    groups = tuple(node_group(zone, min=3, max=9, price_per_hour="0.50") for zone in "ab")
    assert sum(_sizes(plan_of(cluster.world(), policy(*groups, limits=limits)))) == sizes


def test_a_preview_shows_what_reading_them_causes() -> None:
    """Nine pods get nodes today; with a quota of four nodes, seven of them stay without one."""
    world = _full(CapacityQuota(name="q", max=(("nodes", 4),)))
    groups = tuple(node_group(zone, max=30) for zone in "ab")
    sides = [
        (PreviewSide(source=source), policy(*groups, limits_from=LimitsFrom(capacity_quotas=reading)))
        for source, reading in (("main", QuotaReading.IGNORE), ("pr", QuotaReading.READ))
    ]
    preview = compare(world, NOW, sides[0], sides[1], DEFAULT_WORK_BUDGET)
    told = {one.code: one for one in consequences(preview)}
    assert Code.PODS_WITHOUT_NODE in told
    assert "7" in told[Code.PODS_WITHOUT_NODE].message


def test_explain_lists_the_quota_among_the_limits() -> None:
    world = _full(CapacityQuota(name="small", max=(("cpu", 20_000),)))
    rules = policy(*(node_group(zone, max=30) for zone in "ab"), limits_from=READ)
    plan, memory = decide(world, rules, Memory(), NOW)
    lines = explain_group(Case.of(world, rules, plan, NOW, memory), "a", 120)
    assert any("CapacityQuota small" in line and "20" in line for line in lines)


def _read(spec: object) -> CapacityQuota:
    text = msgspec.json.encode({"metadata": {"name": "q"}, "spec": spec})
    return capacity_quota(msgspec.json.decode(text, type=wire.CapacityQuota))


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"cpu": 64, "memory": "256Gi"}, (("cpu", 64_000), ("memory", 256 * 2**30))),
        ({"nodes": "12", "nvidia.com/gpu": 16}, (("nodes", 12), ("nvidia.com/gpu", 16))),
        ({"cpu": "2k"}, (("cpu", 2_000_000),)),
    ],
)
def test_amounts_of_a_quota(resources: dict[str, object], expected: tuple[tuple[str, int], ...]) -> None:
    assert _read({"limits": {"resources": resources}}) == CapacityQuota(name="q", max=expected)


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}])
def test_an_empty_selector_selects_all_nodes(selector: object) -> None:
    assert _read({"selector": selector, "limits": {"resources": {"nodes": 1}}}).selector == LabelSelector()


def test_requirements_of_a_selector() -> None:
    selector = {"matchLabels": {"zone": "a"}, "matchExpressions": [{"key": "control-plane", "operator": "DoesNotExist"}]}
    expected = LabelSelector((Requirement("control-plane", "DoesNotExist", ()), Requirement("zone", "In", ("a",))))
    assert _read({"selector": selector, "limits": {"resources": {"nodes": 1}}}).selector == expected


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"limits": {}},
        {"limits": {"resources": {}}},
        {"limits": {"resources": {"cpu": "many"}}},
        {"limits": {"resources": {"cpu": -1}}},
        {"limits": {"resources": {"gpus": 1}}},
        {"limits": {"resources": {"pricePerHour": 1}}},
        {"limits": {"resources": {"cpu": 1}, "devices": {}}},
        {"limits": {"resources": {"cpu": 1}}, "scope": "Namespace"},
        {"limits": {"resources": {"cpu": 1}}, "selector": {"names": ["a"]}},
        {"limits": {"resources": {"cpu": 1}}, "selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
        {"limits": {"resources": {"cpu": {"most": 1}}}},
    ],
)
def test_what_is_not_understood_says_why(spec: object) -> None:
    """Also a field that a later version may add."""
    found = _read(spec)
    assert (found.max, found.selector) == ((), LabelSelector())
    assert found.problem
