"""From a draft to numbers and back: what is posed, and growth that is taken back and given again."""

import msgspec
import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth.cost.posed_problem import Posed, pose
from reconciler.decisions.growth.cost.problem import Cap, Filling, Item, Offer, Problem
from reconciler.decisions.growth.cost.rearrange import _takes
from reconciler.decisions.growth.cost.tier_growth import GrownNode, Growth
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import Limit, PolicySet
from reconciler.policy.pace import Pace
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.growth.cost.zones import ZONE

GIB = 1 << 30
LARGE, SMALL = 0, 1  # positions: groups are in order of their names


def cluster_of(pods: int = 14) -> ClusterBuilder:
    """Groups of 10 and of 4 cores from zero, half a core of each for a DaemonSet, and pods of one core that wait."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4", memory="64Gi", labels={ZONE: "a"})
    cluster.group("large", nodes=0, cpu="10", memory="64Gi", labels={ZONE: "b"})
    cluster.pods("web", pods, cpu="1", memory="1Gi")
    cluster.daemonset("agent", cpu="500m")
    return cluster


def rules(*, small: int = 9, large: int = 8, **fields: object) -> PolicySet:
    """Prices of both."""
    groups = (("small", small, "0.40"), ("large", large, "0.90"))
    return policy(*(node_group(name, max=most, price_per_hour=price) for name, most, price in groups), **fields)


def draft_of(documents: PolicySet | None = None, cluster: ClusterBuilder | None = None) -> Draft:
    """The draft before anything grows."""
    world = (cluster or cluster_of()).world()
    return View.of(world, documents or rules(), Memory(), NOW, Work(10**9)).draft()


def web(draft: Draft) -> int:
    """The shape of the pods that wait."""
    return next(index for index, shape in enumerate(draft.world.pod_shapes) if shape.namespace == "shop")


def grown(draft: Draft) -> list[GrownNode]:
    """Fourteen pods on four small nodes with three and one with two."""
    shape = web(draft)
    return [*([GrownNode(SMALL, ((shape, 3),))] * 4), GrownNode(SMALL, ((shape, 2),))]


def posed(draft: Draft, *, keys: frozenset[str] = frozenset()) -> Posed | None:
    """Over both groups."""
    return pose(draft, draft.groups, grown(draft), {web(draft): keys})


def test_what_is_posed() -> None:
    """Cpu, memory and pods of both, without what the DaemonSet takes, up to the maximum of each."""
    draft = draft_of()
    need = (1000, GIB, 1)
    offers = (Offer(900_000, (9_500, 64 * GIB, 109), 8), Offer(400_000, (3_500, 64 * GIB, 109), 9))
    given = ((Filling(1, (2,)), 1), (Filling(1, (3,)), 4))
    assert posed(draft) == Posed(Problem((Item(14, need, (True, True)),), offers), (web(draft),), (LARGE, SMALL), given)


def test_nodes_of_a_mix() -> None:
    """Group by group, full ones first."""
    found = posed(draft_of())
    assert found is not None
    shape = found.shapes[0]
    mix = ((Filling(0, (3,)), 1), (Filling(0, (9,)), 2), (Filling(1, (1,)), 1))
    assert found.nodes(mix) == [
        GrownNode(LARGE, ((shape, 9),)), GrownNode(LARGE, ((shape, 9),)), GrownNode(LARGE, ((shape, 3),)),
        GrownNode(SMALL, ((shape, 1),)),
    ]  # fmt: skip


def test_pods_keep_to_their_domain() -> None:
    """Under rules about zones the small group's zone keeps its pods, and no other group lets them in."""
    found = posed(draft_of(), keys=frozenset({ZONE}))
    assert found is not None
    assert found.problem.items == (Item(14, (1000, GIB, 1), (False, True)),)


def test_pods_in_two_domains_are_two_items() -> None:
    """Ten in the zone of the large node, two in that of the small one."""
    draft = draft_of()
    shape = web(draft)
    nodes = [GrownNode(LARGE, ((shape, 9),)), GrownNode(LARGE, ((shape, 1),)), GrownNode(SMALL, ((shape, 2),))]
    found = pose(draft, draft.groups, nodes, {shape: frozenset({ZONE})})
    assert found is not None
    assert [(item.count, item.offers) for item in found.problem.items] == [(2, (False, True)), (10, (True, False))]
    assert found.shapes == (shape, shape)
    assert found.given == ((Filling(0, (0, 1)), 1), (Filling(0, (0, 9)), 1), (Filling(1, (2, 0)), 1))


def test_items_are_in_canonical_order() -> None:
    """By shape, then by domain; a group without the label is a domain before all others."""
    cluster = cluster_of()
    cluster.group("nowhere", nodes=0, cpu="4", memory="64Gi")
    cluster.pods("api", 3, cpu="2", memory="1Gi")
    draft = draft_of(policy(*rules().groups, node_group("nowhere", price_per_hour="0.50")), cluster)
    positions = {group.group.name: group.position for group in draft.groups}
    api, web_shape = sorted(index for index, shape in enumerate(draft.world.pod_shapes) if shape.namespace == "shop")
    both = ((api, 1), (web_shape, 1))
    nodes = [GrownNode(positions[name], both) for name in ("small", "nowhere", "large")]
    found = pose(draft, draft.groups, nodes[::-1], dict.fromkeys((api, web_shape), frozenset({ZONE})))
    assert found is not None
    assert found.shapes == (api, api, api, web_shape, web_shape, web_shape)
    offers = [item.offers for item in found.problem.items]
    # large (zone b), nowhere, small (zone a)
    assert offers == [(False, True, False), (False, False, True), (True, False, False)] * 2
    assert {item.count for item in found.problem.items} == {1}


def test_which_nodes_let_pods_in() -> None:
    """Pods of 6 cores that spread over zones: not on 4 cores, not where a taint keeps them out, and wherever else there is a
    node, though one zone is ahead now: as many go to each zone as before."""
    cluster = ClusterBuilder()
    (full,) = cluster.group("ahead", nodes=1, cpu="6", labels={ZONE: "a"})
    cluster.group("behind", nodes=0, cpu="8", labels={ZONE: "b"})
    cluster.group("large", nodes=0, cpu="8", labels={ZONE: "a"})
    cluster.group("small", nodes=0, cpu="4", memory="64Gi", labels={ZONE: "a"})
    cluster.group("tainted", nodes=0, cpu="8", labels={ZONE: "a"}, taints=("dedicated=x:NoSchedule",))
    spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app="web"))
    cluster.pods("web", 3, cpu="6", on=[full, None, None], shape={"spread": (spread,)})
    names = ("ahead", "behind", "large", "small", "tainted")
    draft = draft_of(policy(*(node_group(name, price_per_hour="1") for name in names)), cluster)
    large, shape = names.index("large"), web(draft)
    nodes = [GrownNode(large, ((shape, 1),))]
    (item,) = (pose(draft, draft.groups, nodes, {shape: frozenset({ZONE})}) or pytest.fail("not posed")).problem.items
    assert item.offers == (True, False, True, False, False)


@pytest.mark.parametrize(
    ("fields", "caps"),
    [
        ({"pace": Pace(max_added_nodes=14)}, ()),
        ({"pace": Pace(max_added_nodes=13)}, (Cap(13, (1, 1)),)),
        ({"limits": (Limit(name="cores", max=(("cpu", 140_000),)),)}, ()),
        ({"limits": (Limit(name="cores", max=(("cpu", 139_999),)),)}, (Cap(139_999, (10_000, 4_000)),)),
        (
            {"limits": (Limit(name="a", nodes=Selector(match_labels=(("pool", "large"),)), max=(("cpu", 30_000),)),)},
            (Cap(30_000, (10_000, 0)),),
        ),
        (
            {"limits": (Limit(name="all", max=(("nodes", 6), ("cpu", 50_000))),), "pace": Pace(max_added_nodes=5)},
            (Cap(50_000, (10_000, 4_000)), Cap(6, (1, 1)), Cap(5, (1, 1))),
        ),
    ],
)
def test_bounds_over_several_groups(fields: dict[str, object], caps: tuple[Cap, ...]) -> None:
    """Those that a node for each of fourteen pods could reach: what a limit leaves, what a node takes of it, and the pace."""
    found = posed(draft_of(rules(**fields)))
    assert found is not None
    assert found.problem.caps == caps


def test_what_grew_before_counts() -> None:
    """Two nodes of three that the pace allows, and of the limit's cores, are gone."""
    limit = Limit(name="cores", max=(("cpu", 50_000),))
    draft = draft_of(rules(pace=Pace(max_added_nodes=3), limits=(limit,)))
    group = draft.groups[LARGE]
    assert group.group.template is not None
    draft.grow(group, group.group.template, 2)
    found = posed(draft)
    assert found is not None
    assert found.problem.caps == (Cap(30_000, (10_000, 4_000)), Cap(1, (1, 1)))
    assert [offer.most for offer in found.problem.offers] == [1, 1]


def test_what_cannot_be_posed() -> None:
    """Nodes of a group that may not grow. A group that may not grow needs no price."""
    assert posed(draft_of(rules(small=0))) is None
    draft = draft_of(rules(large=0))
    assert pose(draft, draft.groups, [*grown(draft), GrownNode(LARGE, ((web(draft), 1),))], {web(draft): frozenset()}) is None
    shut = policy(node_group("small", price_per_hour="0.40"), node_group("large", max=0))
    found = posed(draft_of(shut))
    assert found is not None
    assert found.positions == (SMALL,)


def test_without_a_price_a_node_counts_its_worth() -> None:
    """31,611 micros per core, 4,237 per GiB: 126,444 and 271,168 for 4 cores and 64 GiB, 316,110 and 271,168 for 10 cores. Each
    node counts a tenth of a small one more."""
    found = posed(draft_of(policy(node_group("small", price_per_hour="0.40"), node_group("large"))))
    assert found is not None
    assert [offer.price_micros for offer in found.problem.offers] == [587_278 + 39_761, 397_612 + 39_761]


def test_a_group_without_template_takes_no_part() -> None:
    """Nobody knows what its nodes are: it is not posed, and grows by none."""
    cluster = cluster_of()
    cluster.target("unknown", 0)
    draft = draft_of(policy(*rules().groups, node_group("unknown", price_per_hour="0.01")), cluster)
    found = posed(draft)
    assert found is not None
    assert found.positions == (LARGE, SMALL)
    assert not Growth(draft).add(GrownNode(2, ((web(draft), 1),)), 1)


def test_growth_is_taken_back_and_given_again() -> None:
    """The nodes with the pods that they serve, without the DaemonSet's; sizes, limits and places as they were at the point."""
    draft = draft_of(rules(limits=(Limit(name="all", max=(("nodes", 6),)),)))
    shape, growth = web(draft), Growth(draft)
    nodes = grown(draft)
    assert growth.give(nodes)
    assert sorted(growth.nodes()) == sorted(nodes)
    assert (draft.groups[SMALL].desired, draft.added, draft.state.node_count) == (5, 5, 5)
    growth.take_back()
    assert growth.nodes() == []
    assert (draft.groups[SMALL].desired, draft.added, draft.state.node_count) == (0, 0, 0)
    template = draft.groups[SMALL].group.template
    assert template is not None
    assert draft.room(draft.groups[SMALL], template)[0] == 6
    assert growth.add(GrownNode(SMALL, ((shape, 1),)), 6)
    assert growth.nodes() == [GrownNode(SMALL, ((shape, 1),))] * 6
    assert not growth.add(GrownNode(LARGE, ((shape, 1),)), 1)


@pytest.mark.parametrize(("times", "added"), [(8, True), (9, False)])
def test_growth_within_bounds(times: int, added: bool) -> None:
    """Eight large nodes at most: nine of them are refused, and none is added."""
    draft = draft_of()
    growth = Growth(draft)
    assert growth.add(GrownNode(LARGE, ((web(draft), 2),)), times) is added
    assert draft.groups[LARGE].desired == (8 if added else 0)
    assert not growth.give([GrownNode(SMALL, ())] * 10)


def test_pods_that_went_to_nodes_that_were_there_are_bound_again() -> None:
    """Taking growth back drops them as well."""
    cluster = cluster_of()
    cluster.group("there", nodes=1, cpu="2", memory="64Gi")
    documents = rules()
    draft = draft_of(policy(*documents.groups, node_group("there")), cluster)
    shape, growth = web(draft), Growth(draft)
    draft.state.place(shape, 1, [0])
    growth.note(shape, 0, 1)
    growth.note(shape, 1, 1)
    growth.take_back()
    assert draft.state.bound(0) == ()
    assert growth.give([])
    assert draft.state.bound(0) == ((shape, 1),)


@pytest.mark.parametrize(
    ("pods", "keys", "takes"),
    [(3, (), True), (4, (), False), (3, (ZONE,), True), (4, (ZONE,), False)],
)
def test_a_node_takes_what_it_was_bought_for(pods: int, keys: tuple[str, ...], takes: bool) -> None:
    """Three pods of one core beside the DaemonSet on four, and no fourth; the draft is as it was."""
    draft = draft_of()
    shape = web(draft)
    assert _takes(draft, draft.groups[SMALL], ((shape, pods),), {shape: frozenset(keys)}) is takes
    assert (draft.state.node_count, draft.groups[SMALL].desired) == (0, 0)


@pytest.mark.parametrize("keys", [(), (ZONE,)])
def test_a_tainted_node_takes_none(keys: tuple[str, ...]) -> None:
    """Whatever it was bought for; one that comes after a pod that may go there is asked too."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4", taints=("dedicated=x:NoSchedule",))
    cluster.pods("web", 1, cpu="1", tolerations=("dedicated",))
    cluster.pods("shut", 1, cpu="1")
    draft = draft_of(policy(node_group("small")), cluster)
    shapes = {dict(shape.labels)["app"]: index for index, shape in enumerate(draft.world.pod_shapes)}
    known = dict.fromkeys(shapes.values(), frozenset(keys))
    for load, takes in (((("web", 1),), True), ((("web", 1), ("shut", 1)), False), ((("shut", 1), ("web", 1)), False)):
        assert _takes(draft, draft.groups[0], tuple((shapes[app], pods) for app, pods in load), known) is takes
    untemplated = msgspec.structs.replace(draft.groups[0].group, template=None)
    draft.groups[0].group = untemplated
    assert not _takes(draft, draft.groups[0], ((shapes["web"], 1),), known)
