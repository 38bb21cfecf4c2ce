"""What a tier has grown by, bought again for less: which nodes take part, what is told, what is charged."""

from collections import Counter

import msgspec
import pytest

from reconciler.cluster.pods.pod import AffinityTerm
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.demand.worth import worth
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.growth.cost import rearrange as module
from reconciler.decisions.growth.cost.master import solver
from reconciler.decisions.growth.cost.mixes import Answer, least_cost
from reconciler.decisions.growth.cost.polish import work
from reconciler.decisions.growth.cost.posed_problem import Solver, Weighing, pose
from reconciler.decisions.growth.cost.problem import Mix, Problem
from reconciler.decisions.growth.cost.rearrange import Rearranged, _answer, rearrange
from reconciler.decisions.growth.cost.tier_growth import GrownNode, Growth
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.cost_choices import LeastCostMix, LeastWasteMix, MixGap, SolverMissing
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy import documents
from reconciler.policy.documents import Expander, PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import plan_of
from tests.decisions.growth.cost.worlds import LEAST_COST

LARGE, SMALL = 0, 1  # positions: groups are in order of their names
HOST = "kubernetes.io/hostname"


def draft_of(documents: PolicySet | None = None, budget: int = 10**9) -> Draft:
    """Groups of 10 and of 4 cores from zero; pods of one core, and some that keep apart from each other."""
    cluster = ClusterBuilder()
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.group("small", nodes=0, cpu="4", memory="64Gi")
    cluster.pods("web", 14, cpu="1", memory="1Gi")
    apart = AffinityTerm(topology_key=HOST, selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("db", 3, cpu="1", memory="1Gi", shape={"anti_affinity": (apart,)})
    rules = documents or policy(node_group("large", price_per_hour="0.90"), node_group("small", price_per_hour="0.40"))
    return View.of(cluster.world(), rules, Memory(), NOW, Work(budget)).draft()


def shapes(draft: Draft) -> tuple[int, int]:
    """Of web and db."""
    by_app = {dict(shape.labels)["app"]: index for index, shape in enumerate(draft.world.pod_shapes)}
    return by_app["web"], by_app["db"]


def grown(draft: Draft, nodes: list[GrownNode]) -> Growth:
    """A draft that has these nodes."""
    growth = Growth(draft)
    assert growth.give(nodes)
    return growth


def small_ones(draft: Draft, *loads: int) -> list[GrownNode]:
    """Small nodes with so many pods of web."""
    return [GrownNode(SMALL, ((shapes(draft)[0], pods),)) for pods in loads]


def desired(draft: Draft) -> list[int]:
    """Of the large group and the small one."""
    return [group.desired for group in draft.groups]


def test_a_mix_in_the_stead_of_one_group() -> None:
    """Fourteen cores: four small nodes cost 1.60, a large and a small one 1.30."""
    draft = draft_of()
    web, _ = shapes(draft)
    found = rearrange(draft, draft.groups, grown(draft, small_ones(draft, 4, 4, 4, 2)))
    because = LeastCostMix(
        mix="1 x large + 1 x small", cost_per_hour="1.30", new_nodes=2, one_by_one="a single group", one_by_one_per_hour="1.60",
        one_by_one_nodes=4, solver=True,
    )  # fmt: skip
    bought = [GrownNode(LARGE, ((web, 10),)), GrownNode(SMALL, ((web, 4),))]
    assert found == Rearranged([], bought, because)
    assert found.compared == ("1 x large + 1 x small for 1.30/h", "a single group for 1.60/h")
    assert (desired(draft), draft.added, draft.state.node_count) == ([1, 1], 2, 2)


def test_as_dear_a_mix_on_fewer_nodes() -> None:
    """Ten cores: a large node costs 0.90; three small ones for 0.30 each cost that, too. The number of nodes is told."""
    draft = draft_of(policy(node_group("large", price_per_hour="0.90"), node_group("small", price_per_hour="0.30")))
    web, _ = shapes(draft)
    found = rearrange(draft, draft.groups, grown(draft, small_ones(draft, 4, 4, 2)))
    assert found is not None
    assert found.bought == [GrownNode(LARGE, ((web, 10),))]
    assert found.compared == ("1 x large for 0.90/h on 1 node", "a single group for 0.90/h on 3 nodes")
    assert (
        found.because.sentence() == "LeastCost: 1 x large for 0.90/h on 1 node, and a single group would cost 0.90/h on 3 nodes"
    )
    assert desired(draft) == [1, 0]


def test_what_several_groups_were_bought_for_one_after_the_other() -> None:
    """A large node half empty beside two small ones cost 1.70."""
    draft = draft_of()
    web, _ = shapes(draft)
    found = rearrange(draft, draft.groups, grown(draft, [GrownNode(LARGE, ((web, 6),)), *small_ones(draft, 4, 4)]))
    assert found is not None
    assert isinstance(found.because, LeastCostMix)
    assert (found.because.one_by_one, found.because.one_by_one_per_hour) == ("one group after another", "1.70")
    assert desired(draft) == [1, 1]


def test_nodes_with_pods_under_rules_about_hosts_stay() -> None:
    """Those that keep apart, alone or beside others; empty nodes as well."""
    draft = draft_of()
    web, db = shapes(draft)
    stay = [GrownNode(SMALL, ((db, 1),)), GrownNode(SMALL, tuple(sorted(((db, 1), (web, 3))))), GrownNode(SMALL, ())]
    found = rearrange(draft, draft.groups, grown(draft, [*stay, *small_ones(draft, 4, 4, 4, 2)]))
    assert found is not None
    assert sorted(found.stay) == sorted(stay)
    assert found.bought == [GrownNode(LARGE, ((web, 10),)), GrownNode(SMALL, ((web, 4),))]
    assert desired(draft) == [1, 4]


def test_nothing_cheaper_leaves_the_draft_as_it_was() -> None:
    """Four pods on one small node."""
    draft = draft_of()
    growth = grown(draft, small_ones(draft, 4))
    assert rearrange(draft, draft.groups, growth) is None
    assert growth.nodes() == small_ones(draft, 4)
    assert (desired(draft), draft.added, draft.state.node_count) == ([0, 1], 1, 1)


def test_without_a_solver_it_is_said_what_was_not_compared() -> None:
    """43 pods on four large nodes and a small one for 4.00. Each core costs 0.09 or more, so whether 3.90 is possible is not
    proved."""
    draft = draft_of()
    nodes = [*[GrownNode(LARGE, ((shapes(draft)[0], 10),))] * 4, *small_ones(draft, 3)]
    found = rearrange(draft, draft.groups, grown(draft, nodes), solve=lambda: None)
    assert found == Rearranged(nodes, None, SolverMissing(cost_per_hour="4.00"))
    assert found.compared == ()
    assert desired(draft) == [4, 1]


GAP = MixGap(expander="LeastCost", gap_permille=8, cost_per_hour="1.30", bound_per_hour="1.29", proved=False)


def test_how_far_a_better_mix_may_be_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fourteen cores for 1.30, where the bound is 1.29: 0.77 % is 0.8 %. So it is told of new nodes, and of nodes that stay."""

    def cut_short(problem: Problem, given: Mix, solve: Solver) -> Answer:
        return msgspec.structs.replace(least_cost(problem, given, solve), bound_micros=1_290_000, proved=False)

    monkeypatch.setattr(module, "least_cost", cut_short)
    draft = draft_of()
    found = rearrange(draft, draft.groups, grown(draft, small_ones(draft, 4, 4, 4, 2)))
    assert found is not None
    assert found.gap == GAP
    assert found.bought is not None
    assert found.gap.sentence() == (
        "LeastCost: a better mix may save about 0.8% of 1.30/h, since the lower bound of the search is 1.29/h"
    )
    draft = draft_of(policy(node_group("large", price_per_hour="0.90"), node_group("small", price_per_hour="0.401")))
    nodes = [GrownNode(LARGE, ((shapes(draft)[0], 10),)), *small_ones(draft, 4)]
    kept = rearrange(draft, draft.groups, grown(draft, nodes))
    told = MixGap(expander="LeastCost", gap_permille=9, cost_per_hour="1.301", bound_per_hour="1.29", proved=False)
    assert kept == Rearranged(nodes, None, told)
    assert kept.compared == ()


def test_what_is_proved_is_told_as_proved() -> None:
    """With and without prices."""
    assert msgspec.structs.replace(GAP, proved=True).sentence() == (
        "LeastCost: a better mix may save at most 0.8% of 1.30/h, since no mix costs less than 1.29/h"
    )
    waste = MixGap(expander="LeastWaste", gap_permille=8, cost_per_hour=None, bound_per_hour=None, proved=True)
    assert waste.sentence() == "LeastWaste: a better mix may save at most 0.8% of capacity and nodes"


def test_a_group_of_another_tier_takes_no_part() -> None:
    """Only the small group is asked: its four nodes are what there is."""
    draft = draft_of()
    assert rearrange(draft, draft.groups[SMALL:], grown(draft, small_ones(draft, 4, 4, 4, 2))) is None
    assert desired(draft) == [0, 4]


@pytest.mark.parametrize(("budget", "asked"), [(200, True), (199, False)])
def test_the_work_of_a_mix_is_charged_before_it_is_done(budget: int, asked: bool) -> None:
    """A shape and two groups: two hundred steps, or none where they are not left."""
    draft = draft_of(budget=budget)
    web, _ = shapes(draft)
    posed = pose(draft, draft.groups, small_ones(draft, 4, 4, 4, 2), {web: frozenset()})
    assert posed is not None
    assert work(posed.problem) == 200
    before = draft.work.spent
    assert (_answer(draft, posed, solver) is not None) is asked
    assert draft.work.spent - before == (200 if asked else 0)


def test_of_equal_mixes_the_draft_keeps_its_own() -> None:
    """A small node for 0.40 costs as much as a large one would."""
    rules = policy(node_group("large", price_per_hour="0.40"), node_group("small", price_per_hour="0.40"))
    draft = draft_of(rules)
    growth = grown(draft, small_ones(draft, 4))
    assert rearrange(draft, draft.groups, growth) is None
    assert growth.nodes() == small_ones(draft, 4)


def test_a_bound_that_refuses_the_mix_leaves_the_draft_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that does not take its load after all."""
    monkeypatch.setattr(module, "_takes", lambda *_: False)
    draft = draft_of()
    nodes = small_ones(draft, 4, 4, 4, 2)
    growth = grown(draft, nodes)
    assert rearrange(draft, draft.groups, growth) is None
    assert (growth.nodes(), desired(draft)) == (nodes, [0, 4])


@pytest.mark.parametrize(("refused", "sizes"), [((), [1, 1, 1]), (("b",), [2, 0, 1]), (("a", "b"), [1, 4, 0])])
def test_a_sibling_that_does_not_take_the_load_leaves_it_to_the_group(
    refused: tuple[str, ...], sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fourteen cores: a large node and one of `a`, which has a node already, so that it is the turn of its sibling `b`. Where
    that refuses the load the node is one of `a`; where both do, the four of `b` stay."""
    cluster = ClusterBuilder()
    cluster.pods("full", 1, cpu="4", on=list(cluster.group("a", nodes=1, cpu="4", memory="64Gi")))
    cluster.group("b", nodes=0, cpu="4", memory="64Gi")
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.pods("web", 14, cpu="1", memory="1Gi")
    small = (node_group(name, price_per_hour="0.40", balance_with="pair") for name in "ab")
    draft = View.of(
        cluster.world(), policy(*small, node_group("large", price_per_hour="0.90")), Memory(), NOW, Work(10**9)
    ).draft()
    plain = module._takes
    monkeypatch.setattr(module, "_takes", lambda d, group, *rest: group.group.name not in refused and plain(d, group, *rest))
    web = {dict(shape.labels)["app"]: index for index, shape in enumerate(draft.world.pod_shapes)}["web"]
    rearrange(draft, draft.groups, grown(draft, [GrownNode(1, ((web, pods),)) for pods in (4, 4, 4, 2)]))
    assert [group.desired for group in draft.groups] == sizes


def test_without_a_price_the_mix_is_the_one_that_wastes_less() -> None:
    """Fourteen cores: four small nodes have 16 and 256 GiB, a large and a small one exactly 14, and 128 GiB."""
    draft = draft_of(policy(node_group("large"), node_group("small", price_per_hour="0.40")))
    web, _ = shapes(draft)
    found = rearrange(draft, draft.groups, grown(draft, small_ones(draft, 4, 4, 4, 2)))
    because = LeastWasteMix(
        mix="1 x large + 1 x small", cpu_milli=14_000, memory_bytes=128 << 30, new_nodes=2, one_by_one="a single group",
        one_by_one_cpu_milli=16_000, one_by_one_memory_bytes=256 << 30, one_by_one_nodes=4,
    )  # fmt: skip
    assert found == Rearranged([], [GrownNode(LARGE, ((web, 10),)), GrownNode(SMALL, ((web, 4),))], because)
    assert found.expander == "LeastWaste"
    assert found.compared == (
        "1 x large + 1 x small: 14 cpu and 128Gi memory on 2 nodes",
        "a single group: 16 cpu and 256Gi memory on 4 nodes",
    )


@pytest.mark.parametrize(
    ("percent", "ours", "others", "better"),
    [
        (0, (2, 0), (1, 1), False),  # 20 cores, 128 GiB on 2 nodes; 14 cores, 128 GiB on 2 nodes
        (0, (1, 1), (2, 0), True),
        (10, (1, 0), (0, 3), True),
        (0, (3, 0), (0, 4), False),  # 0.8372 on 3 nodes; 0.8197 on 4
        (1, (3, 0), (0, 4), False),
        (2, (3, 0), (0, 4), True),
        (2, (0, 4), (3, 0), False),
        (1, (0, 4), (3, 0), True),
    ],
)
def test_near_ties_in_waste_go_to_fewer_nodes(percent: int, ours: tuple[int, int], others: tuple[int, int], better: bool) -> None:
    """Eight cores and 8 GiB are requested, worth 286,784. A large node has 10 cores and 64 GiB, worth 587,278; a small one 4 and
    64, worth 397,612."""
    draft = draft_of(policy(node_group("large"), node_group("small"), near_tie_percent=percent))
    requested = worth(Resources(cpu_milli=8_000, memory_bytes=8 << 30))
    pair = [[GrownNode(LARGE, ())] * large + [GrownNode(SMALL, ())] * small for large, small in (ours, others)]
    assert Weighing(Expander.LEAST_WASTE, requested).better(draft, *pair) is better


def _whole(group: EffectiveGroup) -> EffectiveGroup:
    return msgspec.structs.replace(group, scale_up=msgspec.structs.replace(group.scale_up, growth=documents.Growth.ZERO_OR_MAX))


def test_groups_that_grow_whole_stay() -> None:
    """Their nodes come all or none."""
    draft = draft_of()
    large = draft.groups[LARGE]
    large.group = _whole(large.group)
    nodes = small_ones(draft, 4, 4, 4, 2)
    assert rearrange(draft, draft.groups, grown(draft, nodes)) is None
    small = draft.groups[SMALL]
    small.group = _whole(small.group)
    again = draft_of()
    assert rearrange(again, [], grown(again, small_ones(again, 4, 4, 4, 2))) is None


def test_what_stays_and_what_is_bought_instead_add_up() -> None:
    """Three pods that keep apart share three small nodes with nine others; of the fourteen left ten go to a large node."""
    cluster = ClusterBuilder()
    cluster.group("large", nodes=0, cpu="10", memory="64Gi")
    cluster.group("small", nodes=0, cpu="4", memory="64Gi")
    apart = AffinityTerm(topology_key=HOST, selector=selector(app="db"), namespaces=("shop",))
    cluster.pods("db", 3, cpu="1", memory="1Gi", shape={"anti_affinity": (apart,)}, node_selector={"pool": "small"}, priority=9)
    cluster.pods("web", 23, cpu="1", memory="1Gi")
    groups = (node_group("large", price_per_hour="0.90"), node_group("small", price_per_hour="0.40"))
    plan = plan_of(cluster.world(), policy(*groups, expanders=LEAST_COST))
    told = {
        line.name: [(reason.code, reason.data.get("pods"), reason.data.get("nodes")) for reason in line.reasons]
        for line in plan.groups
    }
    assert told == {
        "large": [("PendingPods", 10, 1), ("LeastCostMix", None, None)],
        "small": [("PendingPods", 12, 3), ("PendingPods", 4, 1), ("LeastCostMix", None, None)],
    }
    assert sorted(Counter(line.group for line in plan.pods).items()) == [("large", 10), ("small", 16)]
    waste = plan_of(cluster.world(), policy(*groups, expanders=(Expander.LEAST_WASTE,), near_tie_percent=0))
    assert all(reason.code != "LeastCostMix" for line in waste.groups for reason in line.reasons)
