"""A tier of very many groups is asked in short rounds: everything is served all the same, and where it should be."""

import pytest

from reconciler.cluster.pods.pod import SpreadConstraint
from reconciler.decisions.growth import scale_up
from reconciler.decisions.growth.options import options_of
from reconciler.decisions.growth.shortlist import FEW_GROUPS, Shortlist
from reconciler.decisions.memory import Memory
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Expander
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import plan_of

ZONE = "topology.kubernetes.io/zone"


def _plan(groups: int, most: int = 100, pods: int = 60) -> Plan:
    """Groups of growing size over three zones, and pods of three spread workloads."""
    cluster = ClusterBuilder()
    names = [f"g{number:02d}" for number in range(groups)]
    for number, name in enumerate(names):
        cluster.group(name, nodes=0, cpu=str(2 + number // 3), memory="64Gi", labels={ZONE: "abc"[number % 3]})
    for app in "xyz":
        spread = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=selector(app=app))
        cluster.pods(app, pods // 3, cpu="1", shape={"spread": (spread,)})
    return plan_of(cluster.world(), policy(*(node_group(name, max=most) for name in names)))


@pytest.mark.parametrize("groups", [30, 60, 90])
def test_every_pod_is_served_and_zones_are_even(groups: int) -> None:
    """Twenty pods a workload: 7, 7 and 6 in the zones, whether all groups are asked each time (30) or few of them."""
    plan = _plan(groups)
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    for app in "xyz":
        zones = [int(str(line.group)[1:]) % 3 for line in plan.pods if line.pod.startswith(f"shop/{app}-")]
        assert sorted(zones.count(zone) for zone in range(3)) == [6, 7, 7]


def test_groups_that_the_short_rounds_leave_out_serve_when_the_others_are_full() -> None:
    """Ninety groups of one node at most, of 2 to 31 cores in each zone. The eight largest have 220 cores for 240 pods."""
    plan = _plan(90, most=1, pods=720)
    assert {line.outcome for line in plan.pods} == {PodOutcome.TRIGGERS_SCALE_UP}
    assert sum(line.desired > 0 for line in plan.groups) > 3 * 8


def test_few_groups_are_asked_between_two_rounds_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ninety groups in three classes: 90 the first time, then 8 of each class."""
    asked: list[int] = []

    def counted(draft, groups, waiting, keys, filling, refuted):
        asked.append(len(groups))
        return options_of(draft, groups, waiting, keys, filling, refuted)

    monkeypatch.setattr(scale_up, "options_of", counted)
    _plan(90)
    assert asked[0] == 90
    assert asked.count(24) > asked.count(90)
    assert set(asked) == {90, 24}


@pytest.mark.parametrize(("groups", "asked"), [(FEW_GROUPS, (32, 32, 32)), (FEW_GROUPS + 1, (33, 8, 33))])
def test_all_groups_are_asked_again_when_a_quarter_of_the_pods_is_left(groups: int, asked: tuple[int, ...]) -> None:
    """A hundred pods wait, then 26, then 25. Of very many groups alike eight are asked in between, of few all."""
    cluster = ClusterBuilder()
    names = [f"g{number:02d}" for number in range(groups)]
    for number, name in enumerate(names):
        cluster.group(name, nodes=0, cpu=str(2 + number), memory="64Gi", labels={"pool": "x"})
    cluster.pods("web", 100, cpu="1")
    draft = View.of(cluster.world(), policy(*map(node_group, names)), Memory(), NOW, Work(10**9)).draft()
    shortlist = Shortlist(draft.groups, frozenset(), (Expander.LEAST_WASTE,), 0)
    shape = next(iter(draft.world.pods.shape))
    found = [len(shortlist.groups(100))]
    assert shortlist.learn(options_of(draft, list(draft.groups), [(shape, 100)], frozenset()))
    found += [len(shortlist.groups(26)), len(shortlist.groups(25))]
    assert tuple(found) == asked


def test_a_shortlist_with_nothing_to_offer_asks_all() -> None:
    """Once; what a class was known for stays."""
    cluster = ClusterBuilder()
    names = [f"g{number:02d}" for number in range(FEW_GROUPS + 1)]
    for name in names:
        cluster.group(name, nodes=0, labels={"pool": "x"})
    cluster.pods("web", 100, cpu="1")
    draft = View.of(cluster.world(), policy(*map(node_group, names)), Memory(), NOW, Work(10**9)).draft()
    shortlist = Shortlist(draft.groups, frozenset(), (Expander.LEAST_WASTE,), 0)
    shape = next(iter(draft.world.pods.shape))
    assert len(shortlist.groups(100)) == len(names)
    options = options_of(draft, list(draft.groups), [(shape, 100)], frozenset())
    assert shortlist.learn(options)
    assert len(shortlist.groups(99)) == 8
    assert not shortlist.learn([])
    assert len(shortlist.groups(99)) == len(names)
