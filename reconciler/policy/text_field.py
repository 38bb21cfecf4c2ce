"""The commonest key: one text."""

from reconciler.policy.field import Field, Kind


def text_field(
    yaml_key: str, kind: Kind, description: str, example: str, attribute: str, *, required: bool = True, pattern: str = ""
) -> Field:
    """A key that holds a text of some kind."""
    return Field(
        yaml_key=yaml_key,
        kind=kind,
        description=description,
        examples=(example,),
        required=required,
        attribute=attribute,
        pattern=pattern,
    )
