"""Whose NodeGroups a policy takes, as fields."""

from reconciler.policy.field import Field, Kind

GROUP_NAMESPACES = Field(
    yaml_key="groupNamespaces",
    kind=Kind.LIST,
    description="Namespaces whose NodeGroups count; all others are refused. Left out: as custom resources, those of the "
    "namespace in which the reconciler runs, with any target; in a tree, all.",
    list_key="name",
    attribute="group_namespaces",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One namespace.",
        children=(
            Field(
                yaml_key="name",
                kind=Kind.OBJECT_NAME,
                description="The namespace.",
                examples=("team-a",),
                required=True,
                attribute="name",
            ),
            Field(
                yaml_key="targets",
                kind=Kind.OBJECT,
                description="At which targets its NodeGroups may aim. Left out: at those in the same namespace.",
                attribute="targets",
                children=(
                    Field(
                        yaml_key="namespaces",
                        kind=Kind.LIST,
                        description="Targets in these namespaces; else in that of the NodeGroup.",
                        examples=(("capi-team-a",),),
                        attribute="namespaces",
                        unique=True,
                        item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("capi-team-a",)),
                    ),
                    Field(
                        yaml_key="names",
                        kind=Kind.LIST,
                        description="Targets with a name that one of these regular expressions matches as a whole; else with "
                        "any. A target that is in no namespace (an Auto Scaling group) is allowed only by such a name.",
                        examples=(("team-a-.*",),),
                        attribute="names",
                        unique=True,
                        item=Field(yaml_key="", kind=Kind.REGEX, description="One expression.", examples=("team-a-.*",)),
                    ),
                ),
            ),
        ),
    ),
)
