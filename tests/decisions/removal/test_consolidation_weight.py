"""What a replacement saves against the pods that it moves (`scaleDown.consolidation.minSavingPerMovedPod`).

Two nodes of 0.20 with one pod each go for one of 0.30: that saves 0.10 an hour and moves 2 pods.
"""

import pytest

from reconciler.plan.plan import ActionKind
from reconciler.policy.documents import Budget, Consolidation, PodWeight, PolicySet, ScaleDown, Toggle
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import codes, group, of_kind, plan_of

NAMES = ("small-1", "small-2")


def _cluster(*ages: int, nodes: int = 2) -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.group("small", nodes=nodes, cpu="4")
    cluster.group("mega", nodes=0, cpu="10")
    for name, age in zip(NAMES, ages, strict=True):
        cluster.pods(f"on-{name}", 1, cpu="3", on=name, age=age)
    return cluster


def _consolidation(pod_weights: tuple[PodWeight, ...], wanted: dict[str, str]) -> Consolidation[None]:
    return Consolidation(mode=Toggle.ENABLED, pod_weights=pod_weights, **wanted)


def _rules(weight: str | None, *pod_weights: PodWeight) -> PolicySet:
    wanted = {} if weight is None else {"min_saving_per_moved_pod": weight}
    scale_down = ScaleDown(unneeded_time_seconds=0, consolidation=_consolidation(pod_weights, wanted))
    prices = {"small": "0.20", "mega": "0.30"}
    groups = [node_group(name, price_per_hour=price, scale_down=scale_down) for name, price in prices.items()]
    return policy(*groups, budgets=(Budget(nodes=100),))


@pytest.mark.parametrize(
    ("weight", "ages", "replaced"),
    [
        (None, (60, 60), True),
        ("0", (60, 60), True),
        ("0.05", (3600, 7200), True),  # 2 x 0.05 = 0.10
        ("0.050001", (3600, 7200), False),
        ("0.05", (3599, 7200), False),  # 3 x 0.05 = 0.15
        ("0.033333", (3599, 7200), True),  # 3 x 0.033333 = 0.099999
        ("0.033334", (3599, 7200), False),
        ("0.025", (60, 60), True),  # 4 x 0.025 = 0.10
        ("0.025001", (60, 60), False),
    ],
)
def test_each_moved_pod_has_a_weight_and_a_young_one_has_it_twice(
    weight: str | None, ages: tuple[int, int], *, replaced: bool
) -> None:
    """To the millionth, and to the second of an hour."""
    plan = plan_of(_cluster(*ages).world(), _rules(weight))
    assert [one.nodes for one in of_kind(plan, ActionKind.REPLACE)] == [NAMES] * replaced
    assert ("CouldBeReplaced" in codes(group(plan, "small"))) is replaced


def _weight(weight: int, **labels: str) -> PodWeight:
    return PodWeight(labels=tuple(labels.items()), weight=weight)


ON_1, ALSO = {"app": "on-small-1"}, {"app": "on-small-1", "tier": "db"}


@pytest.mark.parametrize(
    ("pod_weights", "age", "most"),
    [
        ((_weight(3, **ON_1),), 3600, "0.025"),  # (3 + 1) x 0.025 = 0.10
        ((_weight(3, **ON_1),), 60, "0.014285"),  # (2 x 3 + 1) x 0.014285 = 0.099995
        ((_weight(3, **ON_1), _weight(4, **ON_1), _weight(2, **ON_1)), 3600, "0.02"),  # (4 + 1) x 0.02
        ((_weight(0, **ON_1),), 60, "0.1"),  # (0 + 1) x 0.10, young or not
        ((_weight(0, **ON_1), _weight(0, app="on-small-2")), 60, "1000"),
        ((_weight(100, **ALSO), _weight(100, app="other")), 3600, "0.05"),  # no pod has all the labels: (1 + 1) x 0.05
    ],
    ids=["one label", "young", "the largest", "zero", "both zero", "other labels"],
)
def test_pods_with_some_labels_weigh_more_or_less(pod_weights: tuple[PodWeight, ...], age: int, most: str) -> None:
    """Up to this amount for each pod they are replaced, and with a millionth more they are not."""
    world = _cluster(age, 7200).world()
    plans = [plan_of(world, _rules(weight, *pod_weights)) for weight in (most, f"{float(most) + 0.000001:.6f}")]
    assert [len(of_kind(plan, ActionKind.REPLACE)) for plan in plans] == [1, 1 if most == "1000" else 0]


@pytest.mark.parametrize(
    ("ages", "words"),
    [
        ((3600, 3600), "saves 0.10/h (25%) by moving 2 pods"),
        ((60, 3600), "saves 0.10/h (25%) by moving 2 pods, 1 of them started within the hour"),
    ],
)
def test_the_message_shows_both(ages: tuple[int, int], words: str) -> None:
    """What is saved, and what is moved for it."""
    (action,) = of_kind(plan_of(_cluster(*ages).world(), _rules(None)), ActionKind.REPLACE)
    assert action.reason.message.endswith(words)


def test_a_node_whose_pods_weigh_more_than_it_costs_is_left_out() -> None:
    """Twenty pods weigh 20 x 0.02 = 0.40 and their node costs 0.20. The other two go without it: 0.10 for 2 x 0.02."""
    cluster = _cluster(7200, 7200, nodes=3)
    cluster.pods("many", 20, cpu="120m", on="small-3", age=7200)
    world = cluster.world()
    replaced = [[one.nodes for one in of_kind(plan_of(world, _rules(weight)), ActionKind.REPLACE)] for weight in ("0", "0.02")]
    assert replaced == [[(*NAMES, "small-3")], [NAMES]]
