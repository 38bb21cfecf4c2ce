"""A preview of a policy that is renamed: its targets still bear the mark of the old name."""

import msgspec

from reconciler.gitops.preview import compare
from reconciler.plan.plan import OwnerState
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import PolicySet
from reconciler.rendering.documents.blocks import plain_sentence
from reconciler.rendering.documents.preview.headline import headline
from tests.builders import NOW, ClusterBuilder, node_group, policy

SIDE = PreviewSide(source="main", revision="abc")


def _called(name: str) -> PolicySet:
    made = policy(node_group("general", min=1))
    return msgspec.structs.replace(made, policy=msgspec.structs.replace(made.policy, name=name))


def _owner_at_head(mark: str) -> OwnerState:
    cluster = ClusterBuilder()
    cluster.target("general", 1, annotations=(("reconciler.dev/policy", mark),))
    preview = compare(cluster.world(), NOW, (SIDE, _called("old")), (SIDE, _called("new")), 1_000_000)
    (line,) = preview.plan.groups
    return line.owner.state


def test_the_old_name_holds_nothing_and_a_third_one_does() -> None:
    """The live loop takes the targets over once nobody runs the old name; those of another policy are not its to take."""
    assert (_owner_at_head("old"), _owner_at_head("third")) == (OwnerState.OURS, OwnerState.HELD)


def test_the_headline_names_the_renaming() -> None:
    """It is a difference, although nothing moves."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    preview = compare(cluster.world(), NOW, (SIDE, _called("old")), (SIDE, _called("new")), 1_000_000)
    assert plain_sentence(headline(preview)) == "metadata.name old -> new: no decision changes"
