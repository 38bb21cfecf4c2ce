"""Label selectors as fields."""

from reconciler.policy.field import Field, Kind
from reconciler.values.label_selector import LABEL_OPERATORS


def selector(yaml_key: str, description: str, *, attribute: str) -> Field:
    """A Kubernetes label selector under `yaml_key`."""
    return Field(
        yaml_key=yaml_key,
        kind=Kind.SELECTOR,
        description=description + " All requirements must hold; an empty selector is an error.",
        attribute=attribute,
        children=(
            Field(
                yaml_key="matchLabels",
                kind=Kind.LABEL_MAP,
                description="Labels that must be there with these values.",
                examples=("pool: general-a",),
                attribute="match_labels",
            ),
            Field(
                yaml_key="matchExpressions",
                kind=Kind.LIST,
                description="Requirements on labels.",
                attribute="match_expressions",
                item=Field(
                    yaml_key="",
                    kind=Kind.OBJECT,
                    description="One requirement.",
                    children=(
                        Field(
                            yaml_key="key",
                            kind=Kind.LABEL_KEY,
                            description="The label.",
                            examples=("topology.kubernetes.io/zone",),
                            required=True,
                            attribute="key",
                        ),
                        Field(
                            yaml_key="operator",
                            kind=Kind.ENUM,
                            description="How the label is compared.",
                            enum=LABEL_OPERATORS,
                            examples=("In",),
                            required=True,
                            attribute="operator",
                        ),
                        Field(
                            yaml_key="values",
                            kind=Kind.LIST,
                            description="The values for In and NotIn; left out for Exists and DoesNotExist.",
                            examples=(("a", "b"),),
                            unique=True,
                            attribute="values",
                            item=Field(yaml_key="", kind=Kind.STRING, description="One value.", examples=("a",)),
                        ),
                    ),
                ),
            ),
        ),
    )
