"""What policies say about rows."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.platform.policy_keys import PolicyKeys

KEYS = PolicyKeys(
    target=Field(
        yaml_key="orchard",
        kind=Kind.OBJECT,
        description="A row of an orchard.",
        constants=(("provider", "orchard"), ("kind", "TreeRow")),
        children=(
            text_field("row", Kind.STRING, "Its name.", "north", "name"),
            text_field("field", Kind.STRING, "Where it is.", "valley", "region"),
        ),
    ),
    discovery=Field(
        yaml_key="orchard",
        kind=Kind.OBJECT,
        description="Rows of a field.",
        constants=(("provider", "orchard"),),
        children=(text_field("field", Kind.STRING, "Which field.", "valley", "region"),),
    ),
)
