"""The fields of `headroom`: room that is kept free beyond pending demand."""

from reconciler.policy.field import Field, Kind
from reconciler.policy.field_tables.bounds import MOST_NODES

HEADROOM = Field(
    yaml_key="headroom",
    kind=Kind.OBJECT,
    description="Room that is kept free beyond pending demand, within max and limits: nodes, nodesPerZone or pods.",
    attribute="headroom",
    at_most_one_of=("nodes", "nodesPerZone", "pods"),
    children=(
        Field(
            yaml_key="nodes",
            kind=Kind.INTEGER,
            description="So many empty nodes.",
            unit="nodes",
            examples=(1,),
            minimum=0,
            maximum=MOST_NODES,
            attribute="nodes",
        ),
        Field(
            yaml_key="nodesPerZone",
            kind=Kind.INTEGER,
            description="So many empty nodes in each zone that the group spans.",
            unit="nodes",
            examples=(1,),
            minimum=0,
            maximum=MOST_NODES,
            attribute="nodes_per_zone",
        ),
        Field(
            yaml_key="pods",
            kind=Kind.LIST,
            description="Room for so many pods of given shapes.",
            attribute="pods",
            item=Field(
                yaml_key="",
                kind=Kind.OBJECT,
                description="Room for pods of one shape.",
                children=(
                    Field(
                        yaml_key="name",
                        kind=Kind.NAME,
                        description="What plans call this room.",
                        examples=("burst",),
                        attribute="name",
                    ),
                    Field(
                        yaml_key="count",
                        kind=Kind.INTEGER,
                        description="How many pods.",
                        unit="pods",
                        examples=(5,),
                        required=True,
                        minimum=1,
                        maximum=MOST_NODES,
                        attribute="count",
                    ),
                    Field(
                        yaml_key="requests",
                        kind=Kind.RESOURCE_MAP,
                        description="What one of them requests.",
                        examples=("cpu: 500m",),
                        required=True,
                        resources=("cpu", "memory", "ephemeral-storage"),
                        attribute="requests",
                    ),
                ),
            ),
        ),
    ),
)
