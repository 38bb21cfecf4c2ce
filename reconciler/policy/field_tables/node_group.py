"""`kind: NodeGroup` as fields."""

from reconciler.policy.field import Field, Kind, text_field
from reconciler.policy.field_tables.group_fields import GROUP_FIELDS
from reconciler.policy.field_tables.membership import selector
from reconciler.policy.field_tables.node_group_policy import document, metadata
from reconciler.policy.platform_keys import platform_keys

_TARGET = Field(
    yaml_key="target",
    kind=Kind.OBJECT,
    description="The object whose replicas this group sizes.",
    required=True,
    attribute="target",
    exactly_one_of=tuple(keys.provider for keys in platform_keys()),
    children=tuple(keys.target for keys in platform_keys()),
)

NODE_GROUP = document(
    "NodeGroup",
    "A node group: which target it sizes, and how.",
    metadata(namespaced=True),
    Field(
        yaml_key="spec",
        kind=Kind.OBJECT,
        description="What is wanted of the group.",
        required=True,
        children=(
            Field(
                yaml_key="policyRef",
                kind=Kind.OBJECT,
                description="The NodeGroupPolicy that this group belongs to.",
                required=True,
                children=(text_field("name", Kind.OBJECT_NAME, "Its name.", "prod", "policy_ref"),),
            ),
            _TARGET,
            selector(
                "nodes",
                "Which nodes belong to the group, only where that cannot be read from the target.",
                attribute="nodes",
            ),
            Field(
                yaml_key="tier",
                kind=Kind.NAME,
                description="The tier of the policy; else the first tier that matches the group.",
                examples=("on-demand",),
                attribute="tier",
            ),
            *GROUP_FIELDS,
        ),
    ),
)
