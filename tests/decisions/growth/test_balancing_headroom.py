"""Growth shared by siblings, and room kept free."""

import msgspec
import pytest

from reconciler.decisions.groups.similar_groups import difference, ignored_labels
from reconciler.decisions.growth.siblings import siblings
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Growth, Headroom, HeadroomPods, Hold, ScaleUp, Tier
from tests.builders import NOW, ClusterBuilder, amounts, machine_deployment, node_group, policy
from tests.decisions.deciding import blocker_codes, group, of_kind, plan_of


def _zonal(*names: str) -> ClusterBuilder:
    cluster = ClusterBuilder()
    for name in names:
        cluster.group(name, nodes=0, labels={"pool": "all", "topology.kubernetes.io/zone": name})
    return cluster


def test_named_siblings_share_new_nodes_one_at_a_time_to_the_smallest() -> None:
    """Seven nodes over three empty siblings: 3, 2, 2."""
    cluster = _zonal("a", "b", "c")
    cluster.pods("web", 7, cpu="4")
    plan = plan_of(cluster.world(), policy(*(node_group(name, balance_with="general") for name in "abc")))
    assert [line.desired for line in plan.groups] == [3, 2, 2]
    told = [line.reasons[0].data for line in plan.groups]
    assert [(data["pods"], data["nodes"]) for data in told] == [(3, 3), (2, 2), (2, 2)]


def test_balancing_is_off_until_asked() -> None:
    """Without balanceWith one group takes all."""
    cluster = _zonal("a", "b")
    cluster.pods("web", 4, cpu="4")
    assert [line.desired for line in plan_of(cluster.world(), policy(node_group("a"), node_group("b"))).groups] == [4, 0]


def test_a_sibling_at_its_maximum_leaves_the_rest_to_the_others() -> None:
    """Maximum one: the other sibling takes three."""
    cluster = _zonal("a", "b")
    cluster.pods("web", 4, cpu="4")
    rules = policy(node_group("a", balance_with="x", max=1), node_group("b", balance_with="x"))
    assert [line.desired for line in plan_of(cluster.world(), rules).groups] == [1, 3]


def test_auto_ignores_zones_and_says_which_label_broke_similarity() -> None:
    """a and b differ in their zone only; c has another instance type and stays apart."""
    cluster = _zonal("a", "b")
    cluster.group("c", nodes=0, labels={"pool": "all", "node.kubernetes.io/instance-type": "other"})
    cluster.pods("web", 4, cpu="4")
    plan = plan_of(cluster.world(), policy(*(node_group(name, balance_with="Auto") for name in "abc")))
    assert [line.desired for line in plan.groups] == [2, 2, 0]
    message = group(plan, "a").reasons[-1].message
    assert message.endswith("Not balanced with c: label node.kubernetes.io/instance-type: none and other")


def test_similarity_allows_small_differences_of_memory_only() -> None:
    """1.5 % of memory capacity passes and 1.6 % does not; cpu must be equal."""
    shapes = {}
    for name, cpu, memory in (
        ("one", "4", "10000Mi"),
        ("near", "4", "9850Mi"),
        ("far", "4", "9840Mi"),
        ("cpu", "3900m", "10000Mi"),
    ):
        cluster = ClusterBuilder()
        cluster.node(name, cpu, memory)
        shapes[name] = cluster.world().node_shapes[0]
    ignored = ignored_labels(policy().policy)
    assert difference(shapes["one"], shapes["near"], ignored) == ""
    assert difference(shapes["one"], shapes["far"], ignored) == "memory 9.8Gi and 9.6Gi"
    assert difference(shapes["one"], shapes["cpu"], ignored) == "cpu 4 and 3.9"


@pytest.mark.parametrize(("allocatable", "said"), [("9500Mi", ""), ("9499Mi", "allocatable memory 9.8Gi and 9.3Gi")])
def test_similarity_allows_five_percent_of_allocatable(allocatable: str, said: str) -> None:
    """The same capacity of 10000Mi; 500Mi less to give pass, 501Mi do not."""
    cluster = ClusterBuilder()
    cluster.node("one", "4", "10000Mi")
    shape = cluster.world().node_shapes[0]
    other = msgspec.structs.replace(shape, allocatable=amounts("4", allocatable, 110))
    assert difference(shape, other, frozenset()) == said


def test_presets_name_labels_to_ignore() -> None:
    """The AWS preset lets node group names differ."""
    rules = policy(balancing_presets=("AWS",), balancing_ignore_labels=("team",))
    assert {"eks.amazonaws.com/nodegroup", "team", "kubernetes.io/hostname"} <= ignored_labels(rules.policy)


def test_an_empty_node_of_another_zone_is_no_headroom() -> None:
    """A group of two zones makes nodes in the one where its node is full: one more, although the other zone's is empty."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2, labels={"topology.kubernetes.io/zone": "b"})
    cluster.node("other", labels={"topology.kubernetes.io/zone": "a"})
    cluster.machine("other", machine_deployment("general"), node="other")
    cluster.pods("full", 1, cpu="4", on="general-1")
    plan = plan_of(cluster.world(), policy(node_group("general", headroom=Headroom(nodes_per_zone=1))))
    assert group(plan, "general").desired == 3


def test_headroom_nodes_are_bought_once_and_kept() -> None:
    """One empty node wanted, none there: one more. With it there: nothing, and it does not go."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("full", 1, cpu="4", on="general-1")
    rules = policy(node_group("general", headroom=Headroom(nodes=1)))
    (action,) = of_kind(plan_of(cluster.world(), rules), ActionKind.RESIZE)
    assert (action.to, action.reason.code) == (2, "Headroom")
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2)
    cluster.pods("full", 1, cpu="4", on="general-1")
    settled = plan_of(cluster.world(), rules, Memory(unneeded_since={"general-2": NOW - 9999}))
    assert not settled.actions
    assert blocker_codes(settled, "general-2") == ["Headroom"]


def test_an_upcoming_empty_node_is_headroom() -> None:
    """Two asked for, one registered and full: the second will be free."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, replicas=2)
    cluster.pods("full", 1, cpu="4", on="general-1")
    assert not plan_of(cluster.world(), policy(node_group("general", headroom=Headroom(nodes=1)))).actions


def test_headroom_comes_after_pending_pods() -> None:
    """One pending pod takes the free node, so one more is bought; beyond the maximum the lack is reported."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("web", 1, cpu="4")
    rules = policy(node_group("general", headroom=Headroom(nodes=2), max=2))
    line = group(plan_of(cluster.world(), rules), "general")
    assert line.desired == 2
    assert [reason.code for reason in line.reasons] == ["Headroom", "HeadroomShort"]


def test_headroom_for_pods_of_one_shape() -> None:
    """Room for three pods of 2 cores: one fits beside the pod of 2 cores, the other two share a new node."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.pods("half", 1, cpu="2", on="general-1", traits={"safe_to_evict": "false"})
    pods = HeadroomPods(count=3, requests=(("cpu", 2000),))
    assert group(plan_of(cluster.world(), policy(node_group("general", headroom=Headroom(pods=(pods,))))), "general").desired == 2


def test_headroom_in_every_zone() -> None:
    """Two zonal groups, one spare node each."""
    cluster = _zonal("a", "b")
    rules = policy(*(node_group(name, headroom=Headroom(nodes_per_zone=1)) for name in "ab"))
    assert [line.desired for line in plan_of(cluster.world(), rules).groups] == [1, 1]


def test_who_shares_the_growth_of_a_group() -> None:
    """Groups of its name and tier that may grow node by node; nobody where it is off, grows whole, or is not known."""
    cluster = _zonal("a", "b", "back", "held", "lone", "low", "other", "whole")
    cluster.target("unknown", 0)
    fields: dict[str, dict[str, object]] = {
        "a": {}, "b": {}, "back": {}, "held": {"hold": Hold(reason="repair")}, "lone": {"balance_with": "Off"},
        "low": {"tier": "second"}, "other": {"balance_with": "others"}, "unknown": {},
        "whole": {"scale_up": ScaleUp(growth=Growth.ZERO_OR_MAX)},
    }  # fmt: skip
    groups = [node_group(name, **{"balance_with": "pair", "tier": "first", **own}) for name, own in fields.items()]
    backoff = BackoffState(failures=1, failed_seconds=NOW - 1, until_seconds=NOW + 299)
    rules = policy(*groups, tiers=(Tier(name="first"), Tier(name="second")))
    draft = View.of(cluster.world(), rules, Memory(backoffs={"back": backoff}), NOW, Work(1_000)).draft()
    shared = {
        group.group.name: [other.group.name for other in siblings(draft, group)[0]]
        for group in draft.groups
        if group.group.name not in ("back", "held")
    }
    assert shared == {
        "a": ["a", "b"], "b": ["a", "b"], "lone": ["lone"], "other": ["other"], "unknown": ["unknown"], "whole": ["whole"],
        "low": ["low"],
    }  # fmt: skip
