"""Notes about groups."""

import msgspec

from reconciler.policy.documents import Consolidation, PolicySet, ScaleDown, Toggle
from reconciler.rendering.words.group_notes import group_notes
from tests.builders import ClusterBuilder, node_group, policy
from tests.decisions.deciding import plan_of


def _rules(unneeded_seconds: int) -> PolicySet:
    scale_down = ScaleDown(unneeded_time_seconds=unneeded_seconds, consolidation=Consolidation(mode=Toggle.ENABLED))
    groups = (
        node_group("small", price_per_hour="0.20", scale_down=scale_down),
        node_group("big", price_per_hour="0.80", scale_down=scale_down),
    )
    return policy(*groups)


def test_a_replacement_is_noted_until_it_begins() -> None:
    """Two pods of 3 cores on 16: two nodes of 4 cores for half of the price. When it begins, its action says so."""
    cluster = ClusterBuilder()
    cluster.group("small", nodes=0, cpu="4")
    cluster.group("big", nodes=1, cpu="16")
    cluster.pods("web", 2, cpu="3", on="big-1")
    (later,) = group_notes(plan_of(cluster.world(), _rules(600)))
    assert (later.code, later.groups) == ("CouldBeRepacked", ("big",))
    now = plan_of(cluster.world(), _rules(0))
    assert [action.nodes for action in now.actions] == [("big-1",)]
    assert group_notes(now) == ()
    others = msgspec.structs.replace(now, actions=(msgspec.structs.replace(now.actions[0], nodes=("big-2",)),))
    assert [note.code for note in group_notes(others)] == ["CouldBeRepacked"]
