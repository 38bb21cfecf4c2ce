"""Bounds of a group: size, windows, hold, as fields."""

from reconciler.policy.field import Equivalents, Field, Kind

_CAPI = "cluster.x-k8s.io/"
MOST_NODES = 100_000
"""More than the largest clusters have: a bound for every size, since each node that a policy asks for is worked on."""

_MIN = Field(
    yaml_key="min",
    kind=Kind.INTEGER,
    description="The smallest number of nodes.",
    unit="nodes",
    examples=(2,),
    minimum=0,
    maximum=MOST_NODES,
    equivalents=Equivalents(
        cluster_autoscaler="--nodes=MIN:MAX:NAME",
        openshift="MachineAutoscaler spec.minReplicas",
        cluster_api=_CAPI + "cluster-api-autoscaler-node-group-min-size",
        auto_scaling_group="MinSize",
    ),
    attribute="min",
)

_MAX = Field(
    yaml_key="max",
    kind=Kind.INTEGER,
    description="The largest number of nodes.",
    unit="nodes",
    examples=(40,),
    minimum=0,
    maximum=MOST_NODES,
    equivalents=Equivalents(
        cluster_autoscaler="--nodes=MIN:MAX:NAME",
        openshift="MachineAutoscaler spec.maxReplicas",
        cluster_api=_CAPI + "cluster-api-autoscaler-node-group-max-size",
        auto_scaling_group="MaxSize",
    ),
    attribute="max",
)


def size(description: str, *, required: bool = False) -> Field:
    """Bounds in nodes."""
    return Field(
        yaml_key="size", kind=Kind.OBJECT, description=description, required=required, children=(_MIN, _MAX), attribute="size"
    )


WINDOWS = Field(
    yaml_key="windows",
    kind=Kind.LIST,
    description=(
        "Recurring time spans in which narrower bounds apply. Of the group's own bounds and those of all open windows, "
        "the largest min and the smallest max win."
    ),
    attribute="windows",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One recurring time span.",
        children=(
            Field(
                yaml_key="name",
                kind=Kind.NAME,
                description="What plans call this window.",
                examples=("working-hours",),
                attribute="name",
            ),
            Field(
                yaml_key="schedule",
                kind=Kind.CRON,
                description=(
                    "When the window opens: minute, hour, day of month, month, day of week, as CronJob reads them. "
                    "A time that the clock skips does not happen, one that it repeats happens twice."
                ),
                examples=("0 7 * * mon-fri",),
                required=True,
                attribute="schedule",
            ),
            Field(
                yaml_key="timeZone",
                kind=Kind.TIME_ZONE,
                description="The time zone of the schedule.",
                examples=("Europe/Berlin",),
                attribute="time_zone",
            ),
            Field(
                yaml_key="duration",
                kind=Kind.DURATION,
                description="How long the window stays open.",
                unit="seconds",
                examples=("12h",),
                required=True,
                minimum=1,
                attribute="duration_seconds",
            ),
            size("The bounds while the window is open: a larger min, a smaller max, or both.", required=True),
        ),
    ),
)

HOLD = Field(
    yaml_key="hold",
    kind=Kind.OBJECT,
    description="Nothing is written for the group; the plan still shows what would be done.",
    attribute="hold",
    children=(
        Field(
            yaml_key="reason",
            kind=Kind.STRING,
            description="Why; printed in every plan.",
            examples=("recovering node h100-3",),
            required=True,
            attribute="reason",
        ),
        Field(
            yaml_key="until",
            kind=Kind.INSTANT,
            description="When the hold ends by itself; without it, the hold lasts until it is taken out.",
            examples=("2026-11-21T18:00:00Z",),
            attribute="until_seconds",
        ),
    ),
)
