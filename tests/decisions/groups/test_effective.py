"""Effective values: the order of the sources, and the origin that each value carries."""

import msgspec
import pytest

from reconciler.cluster.target import OwnerEvidence, TargetOption
from reconciler.decisions.groups.effective_groups import claimed_targets, effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.platforms.openshift.kinds import MACHINE_SET
from reconciler.policy.documents import (
    Discovery,
    GroupFields,
    Mode,
    PolicySet,
    ScaleDown,
    Size,
    TargetAnnotations,
    Tier,
    TierMatch,
    Window,
)
from reconciler.policy.place import Place
from tests.builders import NOW, ClusterBuilder, node_group, policy

ORIGIN = "annotation cluster.x-k8s.io/autoscaling-options-scaledownunneededtime"


def _down(seconds: int) -> ScaleDown:
    return ScaleDown(unneeded_time_seconds=seconds)


def _group(rules: PolicySet, **target: object) -> EffectiveGroup:
    cluster = ClusterBuilder()
    cluster.target("general", 1, **target)
    return effective_groups(cluster.world(), rules, NOW)[0]


def _option(seconds: int) -> TargetOption:
    return TargetOption(key="scaleDown.unneededTime", value=seconds, origin=ORIGIN)


def test_of_two_sets_of_one_name_in_two_apis_one_is_discovered() -> None:
    """Where OpenShift mirrors a MachineSet into Cluster API: the one that decides, though discovery would take both."""
    cluster = ClusterBuilder()
    sets = [("openshift-machine-api", MACHINE_SET), ("openshift-cluster-api", "MachineSet"), ("elsewhere", "MachineSet")]
    for namespace, _ in sets:
        cluster.target("workers", 1, namespace=namespace, min_size=1, max_size=4)
    targets = [
        msgspec.structs.replace(facts, ref=msgspec.structs.replace(facts.ref, kind=dict(sets)[facts.ref.namespace]))
        for facts in cluster.world().targets
    ]
    world = msgspec.structs.replace(cluster.world(), targets=tuple(targets))
    rules = policy(discovery=tuple(Discovery(name=name, provider=name) for name in ("clusterAPI", "openshift")))
    claimed = [(ref.kind, ref.namespace) for ref, _, _ in claimed_targets(rules, world)]
    assert sorted(claimed) == [("MachineSet", "elsewhere"), (MACHINE_SET, "openshift-machine-api")]


def test_the_document_wins_over_annotation_tier_and_defaults() -> None:
    """All five sources are written; the chain lists them from near to far."""
    places = {"spec.scaleDown.unneededTime": Place("policies/general.yaml", 14, 5)}
    rules = policy(
        node_group("general", tier="spot", scale_down=_down(60), places=places),
        tiers=(Tier(name="spot", defaults=GroupFields(scale_down=_down(180))),),
        defaults=GroupFields(scale_down=_down(240)),
    )
    found = _group(rules, options=(_option(120),))
    assert found.scale_down.unneeded_time_seconds == 60
    assert [(origin.source, origin.value) for origin in found.chains["scaleDown.unneededTime"]] == [
        ("policies/general.yaml:14:5", "1m"),
        (ORIGIN, "2m"),
        ("policies/test.yaml:1:1 (tier spot)", "3m"),
        ("policies/test.yaml:1:1 (policy defaults)", "4m"),
        ("built-in", "10m"),
    ]


def test_each_source_wins_when_the_nearer_ones_are_silent() -> None:
    """Annotation over tier, tier over defaults, defaults over built-in."""
    tiers = (Tier(name="spot", defaults=GroupFields(scale_down=_down(180))),)
    defaults = GroupFields(scale_down=_down(240))
    bare = node_group("general", tier="spot")
    assert _group(policy(bare, tiers=tiers, defaults=defaults), options=(_option(120),)).scale_down.unneeded_time_seconds == 120
    assert _group(policy(bare, tiers=tiers, defaults=defaults)).scale_down.unneeded_time_seconds == 180
    assert _group(policy(node_group("general"), defaults=defaults)).scale_down.unneeded_time_seconds == 240
    assert _group(policy(node_group("general"))).scale_down.unneeded_time_seconds == 600


def test_target_annotations_can_be_ignored() -> None:
    """targetAnnotations: Ignore leaves them out of the chain."""
    rules = policy(node_group("general"), target_annotations=TargetAnnotations.IGNORE)
    assert _group(rules, options=(_option(120),)).scale_down.unneeded_time_seconds == 600


def test_sizes_come_from_the_annotations_when_the_document_is_silent() -> None:
    """Both size annotations give the range; a written bound wins over its annotation."""
    silent = node_group("general", min=None, max=None)
    sizes = {"min_size": 2, "max_size": 7, "size_origin": "size annotations"}
    found = _group(policy(silent), **sizes)
    assert (found.min_size, found.max_size) == (2, 7)
    assert _group(policy(node_group("general", min=None, max=3)), **sizes).max_size == 3


def test_without_any_maximum_the_group_never_grows() -> None:
    """size.max from nowhere: the current size, and a reason."""
    found = _group(policy(node_group("general", min=None, max=None)))
    assert found.max_size == 1
    assert [reason.code for reason in found.reasons] == ["NoMaxSize"]
    assert [origin.value for origin in found.chains["size.max"]] == ["current size"]


def test_a_tier_takes_groups_by_name_pattern() -> None:
    """`^h100-` is a search: the first tier that matches takes the group."""
    cluster = ClusterBuilder()
    cluster.target("h100-a", 1)
    tiers = (Tier(name="other", match=TierMatch(names=("^a",))), Tier(name="reserved", match=TierMatch(names=("^h100-",))))
    found = effective_groups(cluster.world(), policy(node_group("h100-a"), tiers=tiers), NOW)[0]
    assert (found.tier, found.tier_rank) == ("reserved", 1)


def test_a_group_may_only_be_stricter_than_its_policy() -> None:
    """Observe on either side means Observe."""
    for outer, inner, expected in (
        (Mode.ENFORCE, Mode.OBSERVE, Mode.OBSERVE),
        (Mode.OBSERVE, Mode.ENFORCE, Mode.OBSERVE),
        (Mode.ENFORCE, None, Mode.ENFORCE),
    ):
        assert _group(policy(node_group("general", mode=inner), mode=outer)).mode is expected


def test_an_open_window_moves_the_bounds_until_it_closes() -> None:
    """NOW is Friday 2027-01-15 08:00 UTC, 09:00 in Berlin: the window from 07:00 Berlin time for 12 h is open until 18:00 UTC."""
    window = Window(schedule="0 7 * * mon-fri", time_zone="Europe/Berlin", duration_seconds=12 * 3600, size=Size(min=10))
    found = _group(policy(node_group("general", min=2, max=40, windows=(window,))))
    assert (found.min_size, found.max_size) == (10, 40)
    assert found.reasons[0].message == "window #1 (0 7 * * mon-fri) is open until 2027-01-15T18:00:00Z"


def test_a_window_moves_the_bounds_that_it_has() -> None:
    """A maximum alone leaves a minimum of 0, a minimum alone the maximum."""
    at = {"schedule": "0 7 * * *", "duration_seconds": 7200}
    for size, bounds in ((Size(max=3), (0, 3)), (Size(min=2), (2, 40)), (Size(max=50), (0, 40))):
        found = _group(policy(node_group("general", min=0, max=40, windows=(Window(size=size, **at),))))
        assert (found.min_size, found.max_size) == bounds


def test_largest_minimum_and_smallest_maximum_of_open_windows_win() -> None:
    """Two windows open at once."""
    one = Window(name="a", schedule="0 7 * * *", duration_seconds=7200, size=Size(min=3, max=9))
    two = Window(name="b", schedule="30 7 * * *", duration_seconds=7200, size=Size(min=5, max=12))
    found = _group(policy(node_group("general", min=1, max=40, windows=(one, two))))
    assert (found.min_size, found.max_size) == (5, 9)


def test_a_hold_on_the_target_counts_like_one_in_the_policy() -> None:
    """The annotation holds without a word in git, and says where it stands."""
    evidence = OwnerEvidence(hold="recovering node h100-3")
    held = _group(policy(node_group("general")), evidence=evidence)
    assert held.hold == "recovering node h100-3 (annotation reconciler.dev/hold)"
    assert _group(policy(node_group("general"))).hold == ""


@pytest.mark.parametrize(("until", "hold", "ends"), [
    ("2027-01-15T08:00:00Z", "", None),
    ("2027-01-15T08:00:01Z", "repair (annotation reconciler.dev/hold)", NOW + 1),
])  # fmt: skip
def test_a_hold_on_the_target_is_over_at_the_instant_that_it_names(until: str, hold: str, ends: int | None) -> None:
    """NOW is 2027-01-15T08:00:00Z."""
    found = _group(policy(node_group("general")), evidence=OwnerEvidence(hold=f"repair; until {until}"))
    assert (found.hold, found.hold_until_seconds) == (hold, ends)


@pytest.mark.parametrize(("replicas", "most", "current"), [(7, 7, 7), (0, 0, 0), (None, 0, 0)])
def test_without_a_maximum_a_group_keeps_its_size(replicas: int | None, most: int, current: int) -> None:
    """One that is not known counts as none."""
    cluster = ClusterBuilder()
    cluster.target("general", replicas)
    (found,) = effective_groups(cluster.world(), policy(node_group("general", max=None)), NOW)
    (reason,) = [reason for reason in found.reasons if reason.code == "NoMaxSize"]
    assert (found.max_size, reason.data["current"]) == (most, current)


def test_a_group_has_the_namespace_of_its_document_and_open_windows_their_names() -> None:
    """A window without a name is told by its place and schedule; a discovered group has no document."""
    windows = tuple(Window(name=name, schedule="0 0 * * *", duration_seconds=86_400) for name in ("day", ""))
    found = _group(policy(msgspec.structs.replace(node_group("general", windows=windows), namespace="reconciler")))
    assert [reason.data["window"] for reason in found.reasons if reason.code == "WindowOpen"] == ["day", "#2 (0 0 * * *)"]
    assert found.namespace == "reconciler"
    cluster = ClusterBuilder()
    cluster.target("free", 1, min_size=0, max_size=3)
    discovered = policy(discovery=(Discovery(name="all", provider="clusterAPI"),))
    assert [one.namespace for one in effective_groups(cluster.world(), discovered, NOW)] == [""]


def test_what_a_discovered_target_says_itself_wins_over_its_tier() -> None:
    """Without a document it comes first; where its annotations are not read it says nothing."""
    for read, seconds in ((TargetAnnotations.READ, 120), (TargetAnnotations.IGNORE, 180)):
        rules = policy(
            tiers=(Tier(name="spot", defaults=GroupFields(scale_down=_down(180))),),
            discovery=(Discovery(name="all", provider="clusterAPI", tier="spot"),),
            target_annotations=read,
        )
        found = _group(rules, options=(_option(120),), min_size=0, max_size=3)
        assert (found.tier, found.scale_down.unneeded_time_seconds) == ("spot", seconds)
