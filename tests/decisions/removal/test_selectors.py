"""Label selectors as Kubernetes evaluates them: those of a policy, and those of objects of the cluster."""

import msgspec
import pytest

from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.policy.values.label_selector import Selector, selector_matches
from reconciler.values.label_selector import LabelSelector, Requirement, selects
from tests.builders import ClusterBuilder

LABELS = {"app": "web", "tier": "front"}
CASES = [
    ("app", "In", ("web", "api"), True),
    ("app", "In", ("api",), False),
    ("zone", "In", ("a",), False),
    ("app", "NotIn", ("api",), True),
    ("app", "NotIn", ("web", "api"), False),
    ("zone", "NotIn", ("a",), True),
    ("app", "Exists", (), True),
    ("zone", "Exists", (), False),
    ("app", "DoesNotExist", (), False),
    ("zone", "DoesNotExist", (), True),
]


@pytest.mark.parametrize(("key", "operator", "values", "holds"), CASES)
def test_one_requirement(key: str, operator: str, values: tuple[str, ...], holds: bool) -> None:
    """SOURCE: Kubernetes' documentation of labels: NotIn and DoesNotExist hold for objects without the key."""
    of_policy = Selector(match_expressions=(Requirement(key=key, operator=operator, values=values),))
    assert selector_matches(of_policy, LABELS) is holds
    assert selects(LabelSelector((Requirement(key, operator, values),)), LABELS) is holds


def test_all_requirements_must_hold() -> None:
    """Equal labels and expressions together; an empty selector matches everything, and none matches nothing."""
    front = Requirement(key="tier", operator="In", values=("front",))
    assert selector_matches(Selector(match_labels=(("app", "web"),), match_expressions=(front,)), LABELS)
    assert not selector_matches(Selector(match_labels=(("app", "api"),), match_expressions=(front,)), LABELS)
    assert not selector_matches(Selector(match_labels=(("app", "web"), ("tier", "back"))), LABELS)
    assert selector_matches(Selector(), LABELS)
    assert selects(LabelSelector(()), LABELS)
    assert not selects(None, LABELS)
    both = (Requirement("app", "In", ("web",)), Requirement("zone", "Exists", ()))
    assert not selects(LabelSelector(both), LABELS)


@pytest.mark.parametrize(
    ("requirements", "covered"),
    [
        ((), True),
        ((("app", "In", ("web",)),), True),
        ((("app", "In", ("api", "web")),), True),
        ((("app", "In", ("api",)),), False),
        ((("zone", "NotIn", ("a",)), ("app", "In", ("web",))), True),
        ((("app", "In", ("web",)), ("tier", "In", ("back",))), False),
        ((("app", "Exists", ()),), True),
        ((("zone", "Exists", ()),), False),
    ],
)
def test_disruption_budgets_over_a_pod(requirements: tuple[tuple[str, str, tuple[str, ...]], ...], covered: bool) -> None:
    """By their selectors, in the namespace of the pod alone."""
    cluster = ClusterBuilder()
    cluster.pods("web", 1, labels=LABELS)
    cluster.pods("web", 1, labels=LABELS, namespace="lab")
    cluster.budget("web", allowed=1)
    world = cluster.world()
    found = LabelSelector(tuple(Requirement(*one) for one in requirements))
    ledger = DisruptionLedger(cluster.world(budgets=(msgspec.structs.replace(world.budgets[0], selector=found),)))
    shapes = {shape.namespace: number for number, shape in enumerate(world.pod_shapes)}
    assert ledger.budgets_of(shapes["shop"]) == ((0,) if covered else ())
    assert ledger.budgets_of(shapes["lab"]) == ()


def test_what_is_left_of_a_budget() -> None:
    """Two disruptions: three pods go one after the other; beside a pod of another node, no more than what is left may."""
    cluster = ClusterBuilder()
    cluster.pods("web", 1, labels=LABELS)
    cluster.pods("free", 1)
    cluster.budget("web", allowed=2)
    world = cluster.world()
    ledger = DisruptionLedger(world)
    web, free = (
        next(n for n, shape in enumerate(world.pod_shapes) if dict(shape.labels)["app"] == app) for app in ("web", "free")
    )
    assert (ledger.short({web: 2, free: 9}), ledger.short({web: 3})) == ((), ())
    ledger.take({web: 1})
    assert (ledger.short({web: 1}), ledger.short({web: 2})) == ((), (0,))
    ledger.take({web: 1}, -1)
    ledger.take({web: 2, free: 9})
    assert (ledger.left, ledger.short({web: 1}), ledger.short({free: 1})) == ([0], (0,), ())
    ledger.take({web: 1}, -1)
    assert (ledger.left, ledger.short({web: 1})) == ([1], ())


def test_a_budget_that_its_controller_has_not_seen_allows_nothing() -> None:
    """Its numbers are those of another time."""
    cluster = ClusterBuilder()
    cluster.pods("web", 1)
    cluster.budget("web", allowed=2)
    (budget,) = cluster.world().budgets
    assert DisruptionLedger(cluster.world(budgets=(msgspec.structs.replace(budget, observed=False),))).left == [0]
