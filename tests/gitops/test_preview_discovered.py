"""What a change means for groups that discovery finds: a document of their own, or another tier, may free what was held."""

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import Discovery, GroupFields, Hold, Mode, PolicySet, ScaleDown, Tier, TierMatch
from reconciler.rendering.documents.preview.consequences.all import consequences
from tests.builders import NOW, ClusterBuilder, node_group, policy

FOUND = (Discovery(name="all", provider="clusterAPI"),)
KEPT = GroupFields(hold=Hold(reason="never touch", until_seconds=None))
FREE = "The hold of calm is removed (never touch)."


@pytest.fixture
def world() -> World:
    """Group `calm` has what it needs; its target names 1 and 4 as bounds, without which discovery takes none."""
    cluster = ClusterBuilder()
    cluster.group("calm", nodes=1)
    cluster.pods("calm", 1, cpu="3", on="calm-1")
    found = cluster.world()
    (facts,) = found.targets
    return msgspec.structs.replace(found, targets=(msgspec.structs.replace(facts, min_size=1, max_size=4, size_origin="a"),))


def _told(world: World, before: PolicySet, after: PolicySet) -> list[tuple[str, str]]:
    side = PreviewSide(source="x")
    shown = compare(world, NOW, (side, before), (side, after), DEFAULT_WORK_BUDGET)
    return [(one.grade, one.message) for one in consequences(shown)]


def _tiers(pattern: str, defaults: GroupFields = KEPT, name: str = "kept") -> tuple[Tier, ...]:
    return (Tier(name=name, match=TierMatch(names=(pattern,)), defaults=defaults),)


def test_a_document_for_a_discovered_group_that_writes(world: World) -> None:
    """What discovery finds observes by a default; the new document says Enforce."""
    observing = GroupFields(mode=Mode.OBSERVE)
    own = node_group("calm", min=1, max=4, mode=Mode.ENFORCE)
    told = _told(world, policy(discovery=FOUND, defaults=observing), policy(own, discovery=FOUND, defaults=observing))
    assert told[0] == (
        "caution",
        "This turns writing on for calm, mode Observe -> Enforce. No action follows now. Until the steady state, no node comes "
        "or goes.",
    )  # fmt: skip


def test_a_document_for_a_discovered_group_that_drains_more(world: World) -> None:
    own = node_group("calm", min=None, max=None, scale_down=ScaleDown(utilization_threshold_percent=95))
    assert _told(world, policy(discovery=FOUND), policy(own, discovery=FOUND)) == [
        ("warning", "Nodes of calm may be removed up to 95% utilization (was 50%)."),
    ]


def test_the_same_document_is_told_under_the_name_that_it_gives(world: World) -> None:
    own = node_group("calm", min=None, max=None, scale_down=ScaleDown(utilization_threshold_percent=95))
    (told,) = _told(world, policy(discovery=FOUND), policy(msgspec.structs.replace(own, name="other"), discovery=FOUND))
    assert told == ("warning", "Nodes of other may be removed up to 95% utilization (was 50%).")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (_tiers("^calm"), _tiers("^other")),
        (_tiers("^calm"), ()),
        (_tiers("^calm"), _tiers("^calm", name="renamed", defaults=GroupFields())),
        (_tiers("^calm"), (*_tiers("calm", name="first", defaults=GroupFields()), *_tiers("^calm"))),
    ],
    ids=["match", "gone", "renamed", "another before it"],
)
def test_a_discovered_group_that_another_tier_takes(world: World, before: tuple[Tier, ...], after: tuple[Tier, ...]) -> None:
    told = _told(world, policy(discovery=FOUND, tiers=before), policy(discovery=FOUND, tiers=after))
    assert ("warning", FREE) in told
    assert ("warning", FREE) not in _told(world, policy(discovery=FOUND, tiers=after), policy(discovery=FOUND, tiers=before))


def test_a_tier_that_says_the_same_under_another_name_loosens_nothing(world: World) -> None:
    before, after = (policy(discovery=FOUND, tiers=_tiers("^calm", name=name)) for name in ("kept", "renamed"))
    assert _told(world, before, after) == []


def test_bounds_of_the_target_are_no_change(world: World) -> None:
    """They count with and without a document that names none."""
    before = policy(discovery=FOUND)
    assert _told(world, before, policy(node_group("calm", min=None, max=None), discovery=FOUND)) == []
    told = _told(world, before, policy(node_group("calm", min=None, max=5), discovery=FOUND))
    assert told == [("warning", "calm may grow to 5 nodes (was 4).")]
