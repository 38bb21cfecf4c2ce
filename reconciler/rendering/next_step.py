"""What a person does so that a held group is decided here again."""

from reconciler.decisions.ownership.handover import FromTopology
from reconciler.decisions.ownership.owner import declared_by, held_for_a_person
from reconciler.plan.plan import GroupLine, OwnerState


def next_step(line: GroupLine) -> str:
    """One sentence; empty for a group that is not held, and where only the end of what holds it helps."""
    if not line.held:
        return ""
    if line.owner.state in (OwnerState.OURS, OwnerState.ADOPTABLE):
        return f"`reconciler hold {line.name} --release` ends a hold on the target; one in git (spec.hold) is taken out there"
    handed = next((reason.message for reason in line.reasons if reason.code == FromTopology.code), "")
    if handed:
        return handed
    if line.owner.state is OwnerState.UNKNOWN:
        return "what the evidence names must be readable and must agree; until then nothing is written"
    if held_for_a_person(line.owner):
        return (
            f"nothing: at that instant it is decided here again. To keep the size, `reconciler hold {line.name}`; "
            "spec.humanHoldTime of the policy says how long a person's write holds"
        )
    if declared_by(line.owner):
        return (
            f"whoever runs {line.owner.by} leaves spec.replicas out, or the policy takes it over: "
            f"spec.adoptFrom: [{line.owner.by}]"
        )
    return ""
