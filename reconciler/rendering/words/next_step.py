"""What a person does so that a held group is decided here again."""

from collections.abc import Sequence

from reconciler.decisions.ownership.handover import FromTopology
from reconciler.decisions.ownership.owner import declared_by, held_for_a_person
from reconciler.plan.plan import (
    GroupLine,
    OwnerState,
    Plan,
)
from reconciler.policy.documents import Mode
from reconciler.rendering.words.plain import plain


def next_step(line: GroupLine, groups: Sequence[str] = ()) -> str:
    """One sentence; empty for a group that is not held, and where only the end of what holds it helps. `groups` are all that are
    held so (none: this one)."""
    if not line.held:
        return ""
    if line.owner.state in (OwnerState.OURS, OwnerState.ADOPTABLE):
        names = " ".join(groups or (line.name,))
        return f"`reconciler hold {names} --release` ends a hold on the target. A hold in git (spec.hold) ends there"
    handed = next((reason.message for reason in line.reasons if reason.code == FromTopology.code), "")
    if handed:
        return handed
    if line.owner.state is OwnerState.UNKNOWN:
        return "until the evidence can be read and agrees, nothing is written"
    if held_for_a_person(line.owner):
        return (
            f"nothing: after that it is decided here again. To keep the size, `reconciler hold {line.name}`. "
            "spec.humanHoldTime of the NodeGroup, else of the policy, limits how long a person's write holds"
        )
    if declared_by(line.owner):
        return (
            f"the policy takes it over first (spec.adoptFrom: [{line.owner.by}]). Then {line.owner.by} leaves spec.replicas "
            "out, since left out by its only owner it becomes 1, or what both size annotations allow"
        )
    return ""


def all_placed_words(plan: Plan) -> str:
    """What becomes of pending pods that all have a place in the plan."""
    return "all would get a place, but mode Observe writes nothing" if plan.mode == Mode.OBSERVE else "all get a place"


def next_block(line: GroupLine) -> tuple[str, ...]:
    """YAML to copy for that step; empty where there is none."""
    block = next((reason.data.get("block") for reason in line.reasons if line.held and reason.code == FromTopology.code), None)
    return tuple(plain(str(one)) for one in block) if isinstance(block, (list, tuple)) else ()
