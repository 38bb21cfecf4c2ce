"""Which groups selectors and tiers take, and which document gives a value."""

import pytest

from reconciler.policy.documents import NodeGroup, NodeGroupPolicy, Tier, TierMatch
from reconciler.policy.levels import tier_rank
from reconciler.policy.values.label_selector import Selector, may_match
from reconciler.values.label_selector import Requirement
from tests.policies import node_group, policy


def _rank(group: NodeGroup, policy: NodeGroupPolicy) -> int | None:
    return tier_rank(policy, group.tier, group.name, group.labels)


def _needs(operator: str, *values: str) -> Selector:
    return Selector(match_expressions=(Requirement(key="a", operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "labels", "complete", "answer"),
    [
        (Selector(match_labels=(("a", "1"),)), {"a": "1"}, True, True),
        (Selector(match_labels=(("a", "1"),)), {"a": "2"}, True, False),
        (Selector(match_labels=(("a", "1"),)), {}, True, False),
        (Selector(match_labels=(("a", "1"),)), {}, False, None),
        (Selector(match_labels=(("a", "1"), ("b", "2"))), {"a": "9"}, False, False),
        (_needs("In", "1", "2"), {"a": "2"}, True, True),
        (_needs("In", "1", "2"), {"a": "3"}, True, False),
        (_needs("NotIn", "1"), {"a": "2"}, True, True),
        (_needs("NotIn", "1"), {"a": "1"}, True, False),
        (_needs("NotIn", "1"), {}, True, True),
        (_needs("NotIn", "1"), {}, False, None),
        (_needs("Exists"), {"a": ""}, True, True),
        (_needs("Exists"), {}, True, False),
        (_needs("DoesNotExist"), {"a": ""}, False, False),
        (_needs("DoesNotExist"), {}, True, True),
        (_needs("DoesNotExist"), {}, False, None),
    ],
)
def test_selectors(selector: Selector, labels: dict[str, str], complete: bool, answer: bool | None) -> None:
    """As Kubernetes evaluates them; None where labels that are not written could decide."""
    assert may_match(selector, labels, complete=complete) is answer


def test_tiers_take_groups_by_name_or_label_in_order() -> None:
    """A tier that is named wins, then the first whose expression or labels match; expressions are not anchored."""
    tiers = (
        Tier(name="reserved", match=TierMatch(names=("^h100-", "gpu"))),
        Tier(name="spot", match=TierMatch(labels=Selector(match_labels=(("life", "short"),)))),
        Tier(name="rest"),
    )
    document = policy(tiers=tiers).policy
    assert _rank(node_group("h100-a"), document) == 0
    assert _rank(node_group("big-gpu-b"), document) == 0
    assert _rank(node_group("x", labels=(("life", "short"),)), document) == 1
    assert _rank(node_group("h100-a", tier="rest"), document) == 2
    assert _rank(node_group("x"), document) is None
