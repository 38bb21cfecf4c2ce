"""One tree for many clusters: which documents count where, and which value wins."""

import itertools
import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.policy.documents import NodeGroupPolicy
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.tree import read_tree, read_trees
from reconciler.values.cluster_identity import ClusterIdentity
from tests.policy.texts import NOW

EU_7 = ClusterIdentity(name="eu-7", namespace="eu", labels=(("region", "eu"), ("ring", "1")))
US_1 = ClusterIdentity(name="us-1", namespace="us", labels=(("region", "us"),))
UNREAD = ClusterIdentity(name="eu-7")
EU, NAMED = {"labels": {"matchLabels": {"region": "eu"}}}, {"names": ["eu-7"]}


def _policy(name: str, spec: Mapping[str, Any], clusters: Mapping[str, Any] | None = None, *, base: str = "fleet") -> bytes:
    extra: dict[str, Any] = {} if clusters is None else {"clusters": clusters}
    extra |= {} if name == base else {"basePolicyRef": {"name": base}}
    head = {"apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroupPolicy", "metadata": {"name": name}}
    return json.dumps({**head, "spec": {**extra, **spec}}).encode()


def _group(name: str, clusters: Mapping[str, Any] | None = None, policy: str = "fleet") -> bytes:
    extra = {} if clusters is None else {"clusters": clusters}
    target = {"clusterAPI": {"kind": "MachineDeployment", "namespace": "eu", "name": name}}
    head = {"apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": name}}
    return json.dumps({**head, "spec": {"policyRef": {"name": policy}, "target": target, **extra}}).encode()


def _tree(*texts: bytes, cluster: ClusterIdentity | None) -> PolicyTree:
    return read_tree({f"{number}.yaml": text for number, text in enumerate(texts)}, now_seconds=NOW, cluster=cluster)


def _only(tree: PolicyTree) -> NodeGroupPolicy:
    assert tree.problems == ()
    (found,) = tree.sets
    return found.policy


def test_names_override_labels_and_labels_override_the_policy() -> None:
    """Of one value on three levels, the one of the most specific document counts."""
    texts = (
        _policy("fleet", {"currency": "USD", "humanHoldTime": "1h", "nearTiePercent": 1}),
        _policy("eu", {"currency": "EUR", "humanHoldTime": "2h"}, EU),
        _policy("eu-7", {"currency": "CHF"}, NAMED),
    )
    for order in itertools.permutations(texts):
        policy = _only(_tree(*order, cluster=EU_7))
        assert (policy.name, policy.currency, policy.human_hold_time_seconds, policy.near_tie_percent) == (
            "fleet",
            "CHF",
            7200,
            1,
        )
        there = _only(_tree(*order, cluster=US_1))
        assert (there.currency, there.human_hold_time_seconds) == ("USD", 3600)


def test_each_value_has_the_place_where_it_was_written() -> None:
    """Explanations name the file of the document that won."""
    policy = _only(
        _tree(_policy("fleet", {"currency": "USD", "nearTiePercent": 1}), _policy("eu", {"currency": "EUR"}, EU), cluster=EU_7)
    )
    assert (policy.places["spec.currency"].path, policy.places["spec.nearTiePercent"].path) == ("1.yaml", "0.yaml")


def test_named_items_merge_and_other_lists_count_as_a_whole() -> None:
    """Tiers and limits merge by name, new ones come last; a list of expanders is one value."""
    policy = _only(
        _tree(
            _policy("fleet", {
                "tiers": [{"name": "spot", "defaults": {"size": {"min": 1, "max": 5}}}, {"name": "on-demand"}],
                "limits": [{"name": "all", "max": {"nodes": 10, "cpu": 40}}], "expanders": ["LeastWaste", "LeastNodes"],
            }),
            _policy("eu", {
                "tiers": [{"name": "gpu"}, {"name": "spot", "defaults": {"size": {"max": 9}}}],
                "limits": [{"name": "all", "max": {"nodes": 20}}], "expanders": ["MostPods"],
            }, EU),
            cluster=EU_7,
        )
    )  # fmt: skip
    assert [(tier.name, tier.defaults.size.min, tier.defaults.size.max) for tier in policy.tiers] == [
        ("spot", 1, 9), ("on-demand", None, None), ("gpu", None, None),
    ]  # fmt: skip
    assert [limit.max for limit in policy.limits] == [(("cpu", 40_000), ("nodes", 20))]
    assert [str(one) for one in policy.expanders] == ["MostPods"]


def test_an_alternative_replaces_the_other_one() -> None:
    """Of keys that exclude each other, only that of the more specific document is left."""
    selector = {"matchLabels": {"a": "b"}}
    policy = _only(
        _tree(
            _policy("fleet", {"limits": [{"name": "x", "groups": selector, "max": {"nodes": 9}}],
                              "discovery": [{"name": "d", "clusterAPI": {"labels": {"a": "b"}}}]}),
            _policy("eu", {"discovery": [{"name": "d", "aws": {"region": "eu-central-1", "tags": {"x": "y"}}}]}, EU),
            cluster=EU_7,
        )
    )  # fmt: skip
    assert [(item.provider, item.region, item.labels) for item in policy.discovery] == [("aws", "eu-central-1", ())]


@pytest.mark.parametrize(("below", "above", "holds"), [
    (None, "2030-01-01T00:00:00Z", "below"), ("2031-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "below"),
    ("2030-01-01T00:00:00Z", None, "above"), ("2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z", "above"),
])  # fmt: skip
def test_a_more_specific_hold_never_ends_a_longer_one(below: str | None, above: str | None, holds: str) -> None:
    """A hold of the fleet cannot be shortened by a cluster: the one that ends last counts."""

    def hold(reason: str, until: str | None) -> dict[str, Any]:
        return {"defaults": {"hold": {"reason": reason, **({"until": until} if until else {})}}}

    policy = _only(_tree(_policy("fleet", hold("below", below)), _policy("eu", hold("above", above), EU), cluster=EU_7))
    assert policy.defaults.hold is not None
    assert policy.defaults.hold.reason == holds


def test_startup_taints_are_added_together() -> None:
    """As of several levels of one policy."""

    def taints(*keys: str) -> dict[str, Any]:
        return {"defaults": {"template": {"startupTaints": [{"key": key, "effect": "NoSchedule"} for key in keys]}}}

    policy = _only(_tree(_policy("fleet", taints("a", "b")), _policy("eu", taints("b", "c"), EU), cluster=EU_7))
    assert sorted(taint.key for taint in policy.defaults.template.startup_taints) == ["a", "b", "c"]


def test_a_random_stack_gives_what_merging_plain_mappings_gives() -> None:
    """Scalars of random documents: the value of the most specific one that has it, worked out with dictionaries."""
    chance = random.Random()
    fields = ("unneededTime", "unreadyTime")
    for _ in range(60):
        written = [{name: f"{chance.randint(1, 50)}m" for name in fields if chance.random() < 0.6} for _ in range(3)]
        texts = [
            _policy(name, {"defaults": {"scaleDown": values}}, clusters)
            for (name, clusters), values in zip((("fleet", None), ("eu", EU), ("eu-7", NAMED)), written, strict=True)
        ]
        chance.shuffle(texts)
        merged = {key: value for values in written for key, value in values.items()}
        scale_down = _only(_tree(*texts, cluster=EU_7)).defaults.scale_down
        got = {"unneededTime": scale_down.unneeded_time_seconds, "unreadyTime": scale_down.unready_time_seconds}
        assert {key: f"{value // 60}m" for key, value in got.items() if value is not None} == merged


def test_equally_specific_documents_may_agree() -> None:
    """The same value twice is no contradiction; different ones are an error at both places."""
    same = _tree(_policy("fleet", {}), _policy("a", {"currency": "EUR"}, EU), _policy("b", {"currency": "EUR"}, EU), cluster=EU_7)
    assert _only(same).currency == "EUR"
    tree = _tree(
        _policy("fleet", {}), _policy("a", {"currency": "EUR"}, EU),
        _policy("b", {"currency": "CHF"}, {"labels": {"matchLabels": {"ring": "1"}}}), cluster=EU_7,
    )  # fmt: skip
    (problem,) = tree.problems
    assert (problem.code, problem.place.path, problem.related[0][0].path) == ("EquallySpecific", "2.yaml", "1.yaml")
    assert tree.sets == ()


def test_only_a_cluster_shows_that_labels_meet() -> None:
    """Two selectors that meet in one cluster hold that cluster alone."""
    texts = (
        _policy("fleet", {}), _policy("a", {"currency": "EUR"}, EU),
        _policy("b", {"currency": "CHF"}, {"labels": {"matchLabels": {"ring": "1"}}}),
    )  # fmt: skip
    assert _tree(*texts, cluster=None).problems == ()
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    eu, us = read_trees(files, (EU_7, US_1), now_seconds=NOW)
    assert ([problem.code for problem in eu.problems], us.problems, len(us.sets)) == (["EquallySpecific"], (), 1)


def test_a_tree_is_checked_for_every_cluster_that_it_names() -> None:
    """A bound that only one cluster has is checked with what the others write."""
    texts = (
        _policy("fleet", {"defaults": {"size": {"min": 4}}, "tiers": [{"name": "spot"}]}),
        _policy("eu-7", {"defaults": {"size": {"max": 2}}}, NAMED),
    )
    (problem,) = _tree(*texts, cluster=None).problems
    assert (problem.code, _tree(*texts, cluster=US_1).problems) == ("MinAboveMax", ())


def test_a_cluster_whose_labels_are_unknown_gets_no_policy() -> None:
    """It may be any of those that the labels select."""
    tree = _tree(_policy("fleet", {}), _policy("eu", {"currency": "EUR"}, EU), cluster=UNREAD)
    assert ([problem.code for problem in tree.problems], tree.sets) == (["LabelsNotRead"], ())
    named = _tree(_policy("fleet", {}), _policy("eu", {"currency": "EUR"}, {"names": ["eu/eu-7"]}), cluster=UNREAD)
    assert [problem.code for problem in named.problems] == ["LabelsNotRead"]


def test_labels_that_a_redacted_snapshot_hides_are_unknown() -> None:
    """A label that is shown decides; one that may be hidden refuses the cluster."""
    hidden = ClusterIdentity(name="eu-7", namespace="eu", labels=(("region", "eu"),), hidden=True)
    shown = _tree(_policy("fleet", {}), _policy("eu", {"currency": "EUR"}, EU), cluster=hidden)
    assert _only(shown).currency == "EUR"
    ring = {"labels": {"matchLabels": {"ring": "1"}}}
    tree = _tree(_policy("fleet", {}), _policy("one", {"currency": "EUR"}, ring), cluster=hidden)
    assert ([problem.code for problem in tree.problems], tree.sets) == (["LabelsNotRead"], ())
    assert "redacted" in tree.problems[0].message


def test_groups_count_where_they_and_their_policy_count() -> None:
    """The same name may stand in two clusters, and a group of a policy that is elsewhere is nobody's."""
    texts = (
        _policy("fleet", {}, EU), _group("a", NAMED), _group("b", {"names": ["us-1"]}), _group("c"),
        _policy("other", {}, {"names": ["us-1"]}, base="other"), _group("d", policy="other"),
    )  # fmt: skip
    tree = _tree(*texts, cluster=EU_7)
    assert [(found.policy.name, [group.name for group in found.groups]) for found in tree.sets] == [("fleet", ["a", "c"])]
    tree = _tree(*texts, cluster=US_1)
    assert [(found.policy.name, [group.name for group in found.groups]) for found in tree.sets] == [("other", ["d"])]
    assert _tree(*texts, cluster=ClusterIdentity(name="x", labels=())).sets == ()


def test_discovery_finds_the_targets_of_its_cluster_alone() -> None:
    """An item without a name is narrowed to the cluster; one with another name is an error there."""
    policy = _only(_tree(_policy("fleet", {"discovery": [{"name": "d", "clusterAPI": {}}]}), _policy("eu", {}, EU), cluster=EU_7))
    assert [(item.cluster_name, item.namespaces) for item in policy.discovery] == [("eu-7", ("eu",))]
    texts = (_policy("fleet", {"discovery": [{"name": "d", "clusterAPI": {"clusterName": "us-1"}}]}), _policy("eu", {}, EU))
    assert [problem.code for problem in _tree(*texts, cluster=EU_7).problems] == ["OtherCluster"]


def test_clusters_read_one_after_the_other_do_not_mix() -> None:
    """What one cluster narrows is not seen by the next."""
    files = {"0.yaml": _policy("fleet", {"discovery": [{"name": "d", "clusterAPI": {}}]}), "1.yaml": _policy("eu-7", {}, NAMED)}
    eu, us = read_trees(files, (EU_7, US_1), now_seconds=NOW)
    assert [tree.sets[0].policy.discovery[0].cluster_name for tree in (eu, us)] == ["eu-7", "us-1"]


def test_a_tree_without_clusters_is_the_same_for_every_cluster() -> None:
    """Who has one cluster notices nothing."""
    alone = _tree(_policy("fleet", {"discovery": [{"name": "d", "clusterAPI": {}}]}), _group("a"), cluster=None)
    assert not alone.for_many
    assert alone == _tree(_policy("fleet", {"discovery": [{"name": "d", "clusterAPI": {}}]}), _group("a"), cluster=EU_7)


ROLE = "arn:aws:iam::123456789012:role/reconciler"


def _found(name: str, region: str = "eu-central-1", role: str = "") -> dict[str, Any]:
    """A discovery item of Auto Scaling groups."""
    return {"name": name, "aws": {"region": region, "tags": {"team": "a"}, **({"roleARN": role} if role else {})}}


def test_the_account_and_region_of_a_cluster() -> None:
    """An override names them for its clusters. It repeats what an item must have; its tags are added to those of the fleet."""
    texts = (
        _policy("fleet", {"discovery": [_found("asg")]}),
        _policy(
            "eu-7", {"discovery": [{"name": "asg", "aws": {"region": "eu-west-1", "roleARN": ROLE, "tags": {"at": "7"}}}]}, NAMED
        ),
    )
    (mine,), (other,) = (_only(_tree(*texts, cluster=one)).discovery for one in (EU_7, US_1))
    assert (mine.region, mine.role_arn, mine.tags) == ("eu-west-1", ROLE, (("at", "7"), ("team", "a")))
    assert (other.region, other.role_arn, other.tags) == ("eu-central-1", "", (("team", "a"),))


def test_one_account_in_each_region() -> None:
    """A group is known by its region and name, which two accounts may both have."""
    items = [_found("a", role=ROLE), _found("b", role=ROLE), _found("c", "eu-west-1"), _found("d", "eu-west-1", ROLE)]
    problems = _tree(_policy("fleet", {"discovery": items}), cluster=None).problems
    assert [(one.code, one.message) for one in problems] == [
        ("OneAccountInRegion", "'d' and 'c' discover targets of two accounts in eu-west-1"),
    ]  # fmt: skip


@pytest.mark.parametrize(("role", "codes"), [("", ["OneAccountInRegion"]), (ROLE, []), (f"{ROLE}-2", [])])
def test_a_group_next_to_discovery_in_another_account_names_its_role(role: str, codes: list[str]) -> None:
    target = {"aws": {"autoScalingGroup": "a", "region": "eu-central-1", **({"roleARN": role} if role else {})}}
    head = {"apiVersion": "reconciler.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "a"}}
    group = json.dumps({**head, "spec": {"policyRef": {"name": "fleet"}, "target": target}}).encode()
    tree = _tree(_policy("fleet", {"discovery": [_found("asg", role=ROLE)]}), group, cluster=None)
    assert [one.code for one in tree.problems] == codes
