"""Tags that no node could bear as a label, taint or resource: left out, and told."""

import pytest

from tests.aws.documents import TEMPLATE, facts, group


@pytest.mark.parametrize(
    ("tag", "value", "said"),
    [
        ("label/", "a", 'invalid key "" of a label or taint'),
        ("label/team name", "a", 'invalid key "team name" of a label or taint'),
        ("label/Example.com/team", "a", 'invalid key "Example.com/team" of a label or taint'),
        ("label/" + "x" * 64, "a", "invalid key"),
        ("label/team", "two words", 'invalid value "two words" of a label or taint'),
        ("label/team", "-a", 'invalid value "-a" of a label or taint'),
        ("label/team", "x" * 64, "invalid value"),
        ("taint/team", "a b:NoSchedule", 'invalid value "a b" of a label or taint'),
        ("taint/te am", "a:NoSchedule", 'invalid key "te am" of a label or taint'),
        ("taint/", "a:NoSchedule", "is not a taint key=value:Effect"),
        ("resources/", "4", 'invalid resource name ""'),
        ("resources/my gpu", "4", 'invalid resource name "my gpu"'),
    ],
)
def test_what_no_node_can_bear(tag: str, value: str, said: str) -> None:
    found = facts(group(tags={TEMPLATE + tag: value}))
    assert [said in problem and problem.startswith(f"tag {TEMPLATE}{tag}") for problem in found.problems if said in problem] == [
        True
    ]
    assert not {name for name, _ in found.template.labels} - {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}
    assert found.template.taints == ()


@pytest.mark.parametrize(
    ("tag", "value"),
    [("label/team", ""), ("label/example.com/team", "a.B_c-1"), ("label/" + "x" * 63, "y" * 63), ("label/a", "0")],
)
def test_what_a_node_can_bear(tag: str, value: str) -> None:
    found = facts(group(tags={TEMPLATE + tag: value}))
    assert (tag.removeprefix("label/"), value) in found.template.labels
    assert not [problem for problem in found.problems if "label" in problem]
