"""Names the skipped files next to policies, for those who ask."""

from reconciler.cli.outputs.telling import tell
from reconciler.policy.policy_tree import PolicyTree


def tell_neighbours(tree: PolicyTree) -> None:
    """A line on stderr for each."""
    for one in tree.neighbours:
        what = f"document of another kind: {one.message}" if one.code == "OtherKind" else f"{one.message} [{one.code}]"
        tell(f"skipped: {one.path}: {what}")
