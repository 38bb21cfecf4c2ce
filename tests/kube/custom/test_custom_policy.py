"""Custom resources as a policy: what is read, what is held alone, what stays in force."""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reconciler.kube.custom import custom_policy
from reconciler.kube.custom.custom_in_force import InForce
from reconciler.kube.custom.custom_object import CustomObject
from reconciler.kube.custom.custom_policy import Judged, judge
from reconciler.kube.custom.custom_reader import CustomReader
from reconciler.kube.custom.custom_text import CustomText
from reconciler.policy.documents import NodeGroup, PolicySet
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import Drafts
from reconciler.policy.tree import read_tree
from tests.kube.custom_resources import group, policy

NOW = 1_800_000_000


def judged(*items: CustomObject, before: Judged | None = None) -> Judged:
    texts = tuple(CustomText.of(item) for item in items)
    return judge(texts, "prod", NOW, before.in_force if before is not None else None, CustomReader(), "infra")


def decided(found: Judged) -> PolicySet:
    assert found.in_force is not None
    made = found.in_force.policy_set(CustomReader())
    assert made is not None
    return made


def groups(found: Judged) -> dict[str, NodeGroup]:
    return {entry.name: entry for entry in decided(found).groups}


def told(found: Judged) -> list[tuple[str, str, str]]:
    """Document, code and place of every problem."""
    return [(title, p.code, str(p.place)) for title, problems in sorted(found.problems.items()) for p in problems]


def changed(item: CustomObject, **fields: Any) -> CustomObject:
    return msgspec.structs.replace(item, generation=item.generation + 1, spec={**item.spec, **fields})


def test_objects_read_as_files_do():
    """The same documents as objects and as a tree give the same digest, the words of YAML 1.1 in labels included."""
    labelled = msgspec.structs.replace(group("a"), labels={"answer": "no", "reserve": "h100", "x": ""})
    found = decided(judged(policy(mode="Enforce"), labelled, group("b", low=2)))
    written = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}
spec: {mode: Enforce, tiers: [{name: spot}, {name: on-demand}]}
"""
    for name, low, labels in (("a", 0, '{answer: "no", reserve: h100, x: ""}'), ("b", 2, "{}")):
        written += f"""\
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: infra, labels: {labels}}}
spec:
  policyRef: {{name: prod}}
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: {name}}}}}
  size: {{min: {low}, max: 5}}
"""
    tree = read_tree({"all.yaml": written.encode()}, now_seconds=NOW)
    assert not tree.problems
    assert found.digest == tree.sets[0].digest


def test_places_name_object_and_field():
    """A value is found by the object and its field, since nobody has seen the lines."""
    found = groups(judged(policy(), group("a", scaleDown={"unneededTime": "5m"})))["a"]
    assert str(found.places["spec.scaleDown.unneededTime"]) == "NodeGroup infra/a spec.scaleDown.unneededTime"
    assert str(found.place) == "NodeGroup infra/a"


@pytest.mark.parametrize(("fields", "code", "where"), [
    ({"size": {"min": 6, "max": 5}}, "MinAboveMax", "spec.size.min"),
    ({"scaleDown": {"unneededTme": "5m"}}, "UnknownField", "spec.scaleDown.unneededTme"),
    ({"scaleDown": {"unneededTime": "5 minutes"}}, "BadDuration", "spec.scaleDown.unneededTime"),
    ({"tier": "sport"}, "UnknownTier", "spec.tier"),
    ({"windows": [{"schedule": "0 7 * * *"}]}, "ScheduleWithoutDuration", "spec.windows[0].schedule"),
    ({"template": {"labels": {"a\x85b": "c"}}}, "BadLabel", "spec.template.labels.a\x85b"),
])  # fmt: skip
def test_problems_name_the_field(fields: dict[str, Any], code: str, where: str):
    """Problems of one value, of several, and of several documents, in lists, and behind a line break that YAML knows."""
    found = judged(policy(), changed(group("a"), **fields))
    assert ("NodeGroup infra/a", code, f"NodeGroup infra/a {where}") in told(found)


def test_invalid_group_is_held_alone():
    """Its last good version stays with a hold that names the problem; the other group is changed as it says."""
    before = judged(policy(), group("a", low=1), group("b"))
    a, b = groups(before)["a"], groups(before)["b"]
    assert (a.hold, b.hold) == (None, None)
    found = judged(
        policy(), changed(group("a", low=1), size={"min": 9, "max": 5}), changed(group("b"), size={"min": 3}), before=before
    )
    held, other = groups(found)["a"], groups(found)["b"]
    assert (held.size.min, held.size.max, other.size.min, other.hold) == (1, 5, 3, None)
    assert held.hold is not None
    assert "The last good version stays in force" in held.hold.reason
    assert str(held.places["spec.hold"]) == "NodeGroup infra/a spec.size.min"
    assert (held.places["spec.hold"].line, held.places["spec.hold"].column) == (0, 0)


def fails_for(monkeypatch: pytest.MonkeyPatch, raises: Callable[[list[NodeGroup]], Exception | None]) -> None:
    """A made-up defect while documents are checked together."""
    whole = custom_policy.check_drafts

    def check(drafts: Drafts, *rest: Any) -> None:
        error = raises([draft.document for draft in drafts.groups])
        if error is not None:
            raise error
        whole(drafts, *rest)

    monkeypatch.setattr(custom_policy, "check_drafts", check)


def test_a_defect_is_told_of_each_object_that_meets_it(monkeypatch: pytest.MonkeyPatch):
    """With its own error and where that is in the product. The others are used."""
    fails_for(monkeypatch, lambda groups: next((ValueError(one.name) for one in groups if one.name in ("b", "c")), None))
    found = judged(policy(), *(group(name) for name in "abcd"))
    assert told(found) == [(f"NodeGroup infra/{name}", "Unreadable", f"NodeGroup infra/{name}") for name in "bc"]
    for name in "bc":
        (problem,) = found.problems[f"NodeGroup infra/{name}"]
        said = r"a defect of reconciler \(ValueError at kube/custom/custom_policy\.py:[0-9]+\): " + name + r" \(sha256:"
        assert re.search(said, problem.message)
    assert [one.name for one in decided(found).groups if one.hold is None] == ["a", "d"]


def test_a_defect_of_two_objects_together(monkeypatch: pytest.MonkeyPatch):
    """The one that came later is held."""
    fails_for(monkeypatch, lambda groups: KeyError("x") if {"a", "c"} <= {one.name for one in groups} else None)
    before = judged(policy(), group("a"))
    found = judged(policy(), group("a"), group("b"), group("c"), before=before)
    assert [title for title, _, _ in told(found)] == ["NodeGroup infra/c"]
    assert [one.name for one in decided(found).groups if one.hold is None] == ["a", "b"]


def test_a_defect_that_the_policy_in_force_meets(monkeypatch: pytest.MonkeyPatch):
    """It stays in force, and the defect is told."""
    before = judged(policy(), group("a"))
    fails_for(monkeypatch, lambda _: OverflowError("x"))
    found = judged(policy(), group("a"), before=before)
    assert decided(found).digest == decided(before).digest
    assert told(found) == [("NodeGroupPolicy prod", "Unreadable", "NodeGroupPolicy prod")]


def test_objects_that_name_clusters_do_not_count():
    """A group that does is held alone. A policy that does leaves the last good one in force."""
    named = {"clusters": {"names": ["eu-7"]}}
    first = judged(policy(), group("a"), group("b"))
    found = judged(policy(), changed(group("a"), **named), group("b"), before=first)
    assert told(found) == [("NodeGroup infra/a", "ClustersInResource", "NodeGroup infra/a spec.clusters")]
    assert [group.name for group in decided(found).groups if group.clusters.names] == []
    base = changed(policy(), **named, basePolicyRef={"name": "fleet"})
    found = judged(base, group("a"), group("b"), before=first)
    assert {code for _, code, _ in told(found)} == {"ClustersInResource"}
    assert decided(found).digest == decided(first).digest


def test_group_that_never_was_good_keeps_its_target_alone():
    """Of an object that was never good only name and target count."""
    found = groups(judged(policy(), group("a", tier="sport", scaleDown={"unneededTime": "1h"})))["a"]
    assert (found.target.name, found.tier, found.scale_down.unneeded_time_seconds) == ("a", None, None)
    assert found.hold is not None
    assert "It has never been valid" in found.hold.reason


def test_group_that_never_was_good_stays_so():
    """A second mistake makes no good version of the first one."""
    first = judged(policy(), group("a", tier="sport"))
    found = groups(judged(policy(), changed(group("a", tier="sport"), tier="sprot"), before=first))["a"]
    assert (found.tier, found.size.max) == (None, None)
    assert found.hold is not None
    assert "It has never been valid" in found.hold.reason


def test_invalid_group_of_nobody_is_not_ours():
    """An object that does not say its policy is told, and not held in ours."""
    found = judged(policy(), group("a"), changed(group("b"), policyRef={"nme": "prod"}))
    assert list(groups(found)) == ["a"]
    assert {title for title, _, _ in told(found)} == {"NodeGroup infra/b"}


def test_group_whose_target_is_unreadable_and_new():
    """Nothing is known that could be left alone: it is told, and the others go on."""
    broken = changed(group("a"), target={"clusterAPI": {"kind": "MachineDeployment", "namespace": "prod"}})
    found = judged(policy(), broken, group("b"))
    assert list(groups(found)) == ["b"]
    assert told(found)[0][:2] == ("NodeGroup infra/a", "MissingField")


def test_mended_group_is_decided_again():
    """Nothing of the hold is left."""
    first = judged(policy(), group("a"))
    bad = judged(policy(), changed(group("a"), tier="sport"), before=first)
    good = judged(policy(), changed(group("a"), tier="spot"), before=bad)
    assert (groups(good)["a"].hold, groups(good)["a"].tier, good.problems) == (None, "spot", {})


def test_second_bad_version_keeps_the_last_good_one():
    """Held over two mistakes, the version before both stays."""
    first = judged(policy(), group("a", low=2))
    second = judged(policy(), changed(group("a", low=3), tier="sport"), before=first)
    third = judged(policy(), changed(group("a", low=4), tier="sprot"), before=second)
    assert groups(third)["a"].size.min == 2


def test_invalid_policy_leaves_the_last_good_one():
    """The policy of before decides, with the groups of now."""
    before = judged(policy(humanHoldTime="2h"), group("a"))
    found = judged(policy(humanHoldTime="2 hours"), group("a"), group("b"), before=before)
    assert decided(found).policy.human_hold_time_seconds == 7200
    assert list(groups(found)) == ["a", "b"]
    assert told(found) == [("NodeGroupPolicy prod", "BadDuration", "NodeGroupPolicy prod spec.humanHoldTime")]


def test_policy_that_contradicts_itself_leaves_the_last_good_one():
    """What is wrong only across its own parts holds no group."""
    before = judged(policy(humanHoldTime="2h"), group("a"))
    lost = [{"name": "x", "clusterAPI": {"namespaces": ["prod"]}, "tier": "sport"}]
    found = judged(policy(discovery=lost), changed(group("a"), size={"min": 1}), before=before)
    assert (decided(found).policy.human_hold_time_seconds, decided(found).policy.discovery) == (7200, ())
    assert (groups(found)["a"].hold, groups(found)["a"].size.min) == (None, 1)
    assert [title for title, _, _ in told(found)] == ["NodeGroupPolicy prod"]


def test_invalid_policy_and_no_earlier_one():
    """Nothing is decided."""
    found = judged(policy(humanHoldTime="2 hours"), group("a"))
    assert (found.in_force, len(found.policy_problems)) == (None, 1)


def test_deleted_policy_leaves_the_last_good_one():
    """Its groups are judged and decided as before."""
    before = judged(policy(), group("a"))
    found = judged(group("a"), group("b", low=9), before=before)
    assert (found.missing, decided(found).policy.name) == ("there is no NodeGroupPolicy prod", "prod")
    assert [name for name, entry in groups(found).items() if entry.hold is None] == ["a"]


def test_groups_of_other_policies_are_left_alone():
    """They are neither read nor judged; one that names a policy which nobody has is told."""
    found = judged(policy(), policy("test"), group("a"), group("b", policy="test", tier="sport"), group("c", policy="prd"))
    assert list(groups(found)) == ["a"]
    assert told(found) == [("NodeGroup infra/c", "UnknownPolicy", "NodeGroup infra/c spec.policyRef.name")]


def test_group_that_loses_its_policy_is_held():
    """A mistyped reference is no way out of the policy; one to another policy that is there is."""
    before = judged(policy(), group("a"), group("b"))
    found = judged(policy(), policy("test"), group("a", policy="prd"), group("b", policy="test"), before=before)
    assert list(groups(found)) == ["a"]
    assert groups(found)["a"].hold is not None


def test_deleted_group_leaves_the_policy():
    """The others stay as they were."""
    before = judged(policy(), group("a"), group("b"))
    assert list(groups(judged(policy(), group("b"), before=before))) == ["b"]


def test_of_two_with_one_target_the_older_stands():
    """The younger one is told, and is no second group of the target."""
    found = judged(policy(), group("old", target="x"), group("new", target="x"))
    assert list(groups(found)) == ["old"]
    assert told(found) == [("NodeGroup infra/new", "SharedTarget", "NodeGroup infra/new spec.target")]


def test_change_does_not_take_a_target_away_from_a_group_in_force():
    """An older object that is changed to the target of a younger one is held with its own target."""
    before = judged(policy(), group("old"), group("new"))
    found = judged(policy(), changed(group("old", target="new")), group("new"), before=before)
    assert (groups(found)["new"].hold, groups(found)["old"].target.name) == (None, "old")
    assert groups(found)["old"].hold is not None


def test_equal_names_in_two_namespaces():
    """The second is called by its namespace too, and held."""
    both = [{"name": name, "targets": {"namespaces": ["prod"]}} for name in ("infra", "other")]
    found = judged(policy(groupNamespaces=both), group("a"), group("a", namespace="other", target="b"))
    assert sorted(groups(found)) == ["a", "other/a"]
    assert (groups(found)["a"].hold, groups(found)["other/a"].target.name) == (None, "b")
    assert told(found)[0][:2] == ("NodeGroup other/a", "DuplicateName")


def test_groups_that_break_a_limit_of_the_policy_are_held():
    """The policy was good with the groups of before: the change that is too much is held, the rest goes on."""
    limits = [{"name": "cluster", "max": {"nodes": 10}}]
    before = judged(policy(limits=limits), group("a", low=2), group("b", low=2))
    found = judged(
        policy(limits=limits), changed(group("a"), size={"min": 9, "max": 9}), group("b", low=2), before=before
    )  # fmt: skip
    assert (groups(found)["a"].size.min, groups(found)["b"].hold) == (2, None)
    assert groups(found)["a"].hold is not None


def test_restart_gives_the_same_policy():
    """What was kept as bytes is the same policy with the same holds and the same revision."""
    before = judged(policy(), group("a"), group("b"))
    found = judged(policy(), changed(group("a"), tier="sport"), group("b"), group("c", tier="x"), before=before)
    assert found.in_force is not None
    again = InForce.from_files(found.in_force.files())
    assert again == found.in_force
    assert again.policy_set(CustomReader()) == decided(found)


@pytest.mark.parametrize("files", [
    {}, {"NodeGroup infra/a": b"{}"}, {"NodeGroupPolicy prod": b"no JSON"},
    {"NodeGroupPolicy prod": b"{}", "held.json": b"[]"},
])  # fmt: skip
def test_kept_bytes_of_another_form(files: dict[str, bytes]):
    """Told as a fault of the store, never as a crash."""
    with pytest.raises(ValueError):  # noqa: PT011 - each has words of its own
        InForce.from_files(files)


def test_lines_and_fields_agree():
    """Each line of the text is the field that it is said to be, over nested lists, empty values and odd characters."""
    item = group("a", windows=[{"schedule": "0 7 * * *", "duration": "1h", "size": {"min": 1}}], template={"taints": []})
    item = msgspec.structs.replace(item, labels={"odd": 'a"b\\c\u2028d😀'})
    text = CustomText.of(item)
    lines = text.text.decode().split("\n")
    assert len(lines) == len(text.fields)
    assert msgspec.json.decode(text.text)["metadata"]["labels"] == {"odd": 'a"b\\c\u2028d😀'}
    assert lines[text.fields.index("spec.windows[0].size.min")].strip() == '"min": 1'
    assert lines[text.fields.index("spec.template.taints")].strip() == '"taints": []'
    findings = Findings()
    assert text.read(findings) is not None
    assert not findings.failed
