"""Pictures of a cluster beside the comparison of two policies: now, and where each of them brings it."""

import pytest

from reconciler.gitops.preview import alone, compare
from reconciler.plan.picture import Picture, Pictures
from reconciler.plan.preview import Preview, PreviewSide
from tests.builders import NOW, ClusterBuilder, node_group, policy

SIDE = PreviewSide(source="main", revision="abc")
STEPS = 1_000_000
ONE, FOUR = policy(node_group("general", min=1)), policy(node_group("general", min=4))


def _previews(**pictured: bool) -> tuple[Preview, Preview]:
    """One node, at least one at the base and four at the head; and the head alone."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4")
    world = cluster.world()
    return (
        compare(world, NOW, (SIDE, ONE), (SIDE, FOUR), STEPS, **pictured),
        alone(world, NOW, SIDE, (SIDE, FOUR), STEPS, no_base="it is new", **pictured),
    )


def _nodes(picture: Picture | None) -> int | None:
    return None if picture is None else len(picture.nodes)


def _counted(pictures: Pictures | None) -> tuple[int | None, ...]:
    assert pictures is not None
    return tuple(_nodes(picture) for picture in (pictures.now, pictures.rest, pictures.rest_before))


def test_how_many_nodes_are_seen() -> None:
    """One now, four at rest, one with the base; where there is no base, none of it."""
    compared, only = _previews(pictured=True)
    assert _counted(compared.pictures) == (1, 4, 1)
    assert _counted(only.pictures) == (1, 4, None)


@pytest.mark.parametrize("pictured", [{}, {"pictured": False}])
def test_pictures_are_made_for_who_wants_them(pictured: dict[str, bool]) -> None:
    assert [preview.pictures for preview in _previews(**pictured)] == [None, None]


def test_groups_that_a_change_does_not_touch() -> None:
    """Those that both sides have and that come out alike: not the one that grows, nor the one that is new."""
    cluster = ClusterBuilder()
    for name in ("grows", "new", "same"):
        cluster.group(name, nodes=1, cpu="4")
    base = policy(node_group("grows", min=1), node_group("same", min=1))
    head = policy(node_group("grows", min=2), node_group("new", min=1), node_group("same", min=1))
    assert compare(cluster.world(), NOW, (SIDE, base), (SIDE, head), STEPS).untouched == ("same",)
