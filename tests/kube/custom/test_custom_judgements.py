"""Custom resources as a policy, one mistake after the other: what a judgement says of each, and what it keeps."""

from typing import Any

import msgspec
import pytest

from reconciler.kube.custom.custom_in_force import InForce
from reconciler.kube.custom.custom_policy import Judged
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.place import Place
from tests.kube.custom.test_custom_policy import changed, groups, judged, told
from tests.kube.custom_resources import group, policy


def test_a_first_policy_with_groups_that_do_not_all_fit() -> None:
    """What the groups ask for together is more than it allows: it is in force for those that fit, and the others are told."""
    limits = [{"name": "cluster", "max": {"nodes": 3}}]
    found = judged(policy(limits=limits), group("a", low=2), group("b", low=2))
    assert found.policy_problems == ()
    assert told(found) == [("NodeGroup infra/b", "LimitBelowMinimums", "NodeGroup infra/b")]
    assert {name: entry.hold is None for name, entry in groups(found).items()} == {"a": True, "b": False}


def test_kept_policy_that_cannot_be_read_any_more() -> None:
    """Nested deeper than is read, with no newer one that is good: nothing is decided, and nothing fails."""
    kept = InForce.from_files({"NodeGroupPolicy prod": b"[" * 200 + b"]" * 200})
    before = Judged(in_force=kept)
    found = judged(policy(humanHoldTime="2 hours"), group("a"), before=before)
    assert (found.in_force, found.missing, len(found.policy_problems)) == (None, "", 1)
    found = judged(group("a"), before=before)
    assert (found.in_force, found.missing) == (None, "there is no NodeGroupPolicy prod")


def test_place_of_a_reference_is_a_field() -> None:
    """Without a line, since nobody has seen one."""
    found = judged(policy(), group("c", policy="prd"))
    ((problem,),) = found.problems.values()
    assert problem.place == Place("NodeGroup infra/c spec.policyRef.name", 0, 0)
    assert problem.message == "unknown NodeGroupPolicy 'prd': this cluster has no such policy"


def test_place_of_a_refused_group_is_a_field() -> None:
    """It claims nothing, and is told why."""
    found = judged(policy(), group("a"), group("b", namespace="shop"))
    assert list(groups(found)) == ["a"]
    ((title, (problem,)),) = found.problems.items()
    assert (title, problem.place.path.startswith("NodeGroup shop/b "), problem.place.line, problem.place.column) == (
        "NodeGroup shop/b", True, 0, 0
    )  # fmt: skip
    assert [(refused.title, refused.code) for refused in found.refused] == [(title, problem.code)]


def test_target_that_cannot_be_read_is_no_target_that_is_refused() -> None:
    """The mistake is told, not what would follow from it."""
    mine = [{"name": "infra", "targets": {"namespaces": ["prod"]}}]
    item = group("a")
    target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": 7, "name": "a"}}
    found = judged(policy(groupNamespaces=mine), changed(item, target=target))
    assert found.refused == ()
    ((title, _, place),) = told(found)
    assert (title, place) == ("NodeGroup infra/a", "NodeGroup infra/a spec.target.clusterAPI.namespace")
    (problem,) = found.problems[title]
    assert (problem.place.line, problem.place.column, problem.source, problem.width) == (0, 0, "", 1)
    assert list(groups(found)) == []


@pytest.mark.parametrize("target", [
    {"clusterAPI": {"kind": "Gadget", "namespace": "prod", "name": "a"}},
    {"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod"}},
    {},
])  # fmt: skip
def test_group_whose_target_is_not_known_sizes_nothing(target: dict[str, Any]) -> None:
    """One that never was good and does not say what it sizes is told and is no group."""
    found = judged(policy(), changed(group("a"), target=target))
    assert list(groups(found)) == []
    assert "NodeGroup infra/a" in found.problems


@pytest.mark.parametrize("name", ["", "A_B"])
def test_group_whose_name_is_none_sizes_nothing(name: str) -> None:
    """What an API server would not have let in is told and is no group."""
    found = judged(policy(), msgspec.structs.replace(group("a"), name=name))
    assert list(groups(found)) == []
    assert found.problems


def test_documents_are_read_once_and_forgotten() -> None:
    """As long as they are kept; of groups and of policies."""
    reader, texts = CustomReader(), [CustomText.of(item) for item in (group("a"), group("b"), policy())]
    a, b, prod = texts
    first = reader.group(a), reader.group(b), reader.policy(prod)
    reader.keep([a, prod])
    assert (reader.group(a) is first[0], reader.group(b) is first[1], reader.policy(prod) is first[2]) == (True, False, True)
    reader.keep([b])
    assert (reader.group(a) is first[0], reader.policy(prod) is first[2]) == (False, False)


def test_held_that_was_good_keeps_its_last_good_version_for_ever() -> None:
    """One mistake after the other: what is kept is what was good, with the newest mistake as the reason; mended it is used."""
    good = judged(policy(), group("a", low=2))
    once = judged(policy(), changed(group("a", low=3), tier="sport"), before=good)
    twice = judged(policy(), changed(group("a", low=4), size={"min": 9, "max": 1}), before=once)
    for found in (once, twice):
        entry = groups(found)["a"]
        assert (entry.size.min, entry.hold is not None) == (2, True)
        assert entry.hold is not None
        assert entry.hold.reason.endswith(". The last good version stays in force")
    assert groups(judged(policy(), group("a", low=4), before=twice))["a"].hold is None


def test_never_good_stays_never_good() -> None:
    """Its earlier version is no last good one; its name and its target are all that count."""
    first = judged(policy(), group("a", tier="sport", low=2))
    again = judged(policy(), changed(group("a", low=3), tier="spork"), before=first)
    for found in (first, again):
        entry = groups(found)["a"]
        assert entry.hold is not None
        assert entry.hold.reason.endswith(". It has never been valid")
        assert (entry.target.name, entry.size.min, entry.tier) == ("a", None, None)


def test_group_that_is_deeper_than_is_read() -> None:
    """Nobody knows what it says: it is told and sizes nothing; one that was good keeps its last good version."""
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    found = judged(policy(), changed(group("a"), windows=deep), group("b"))
    assert list(groups(found)) == ["b"]
    assert list(found.problems) == ["NodeGroup infra/a"]
    kept = judged(policy(), changed(group("a"), windows=deep), before=judged(policy(), group("a", low=2)))
    assert (groups(kept)["a"].size.min, groups(kept)["a"].hold is not None) == (2, True)
