"""Which pods are demand, how the scheduler places them, and what restricts removals: health, drain rules, budgets, pace."""

from reconciler.policy.documents import BlockRule, InclusionPolicy, JobRule, RemovalReason, WhenUnsatisfiable
from reconciler.policy.field import Field, Kind, Loosens, from_tightest
from reconciler.policy.field_tables.membership import selector

PODS = Field(
    yaml_key="pods",
    kind=Kind.OBJECT,
    description="Which pods count as demand.",
    attribute="pods",
    children=(
        Field(
            yaml_key="expendableBelowPriority",
            loosens=Loosens.UP,
            kind=Kind.INTEGER,
            description="Pods with a lower priority never add a node and never keep one.",
            examples=(-10,),
            minimum=-(2**31),
            maximum=2**31 - 1,
            cluster_autoscaler="--expendable-pods-priority-cutoff",
            attribute="expendable_below_priority",
        ),
        Field(
            yaml_key="newPodDelay",
            loosens=Loosens.SAFE,
            kind=Kind.DURATION,
            description="How old a pending pod must be before a node is added for it.",
            unit="seconds",
            examples=("30s",),
            minimum=0,
            cluster_autoscaler="--new-pod-scale-up-delay",
            attribute="new_pod_delay_seconds",
        ),
        Field(
            yaml_key="burstPause",
            loosens=Loosens.SAFE,
            kind=Kind.DURATION,
            description="Growth waits while pods that need a node are still arriving, until none has come for this long.",
            unit="seconds",
            examples=("2s",),
            minimum=0,
            attribute="burst_pause_seconds",
        ),
        Field(
            yaml_key="burstLimit",
            loosens=Loosens.SAFE,
            kind=Kind.DURATION,
            description="No pod waits longer than this for the end of a burst.",
            unit="seconds",
            examples=("10s",),
            minimum=0,
            attribute="burst_limit_seconds",
        ),
        Field(
            yaml_key="schedulerNames",
            kind=Kind.LIST,
            description="Only pods of these schedulers count.",
            examples=(("default-scheduler",),),
            unique=True,
            minimum=1,
            cluster_autoscaler="--allowed-scheduler-names",
            attribute="scheduler_names",
            item=Field(yaml_key="", kind=Kind.STRING, description="One scheduler.", examples=("default-scheduler",)),
        ),
        Field(
            yaml_key="gangLabels",
            kind=Kind.LIST,
            description="Pods of one namespace with the same value of such a label are a gang. A plan places all or none.",
            examples=(("scheduling.x-k8s.io/pod-group",),),
            unique=True,
            attribute="gang_labels",
            item=Field(yaml_key="", kind=Kind.LABEL_KEY, description="One label.", examples=("scheduling.x-k8s.io/pod-group",)),
        ),
    ),
)


def _inclusion(yaml_key: str, attribute: str, description: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        kind=Kind.ENUM,
        description=description,
        enum=tuple(InclusionPolicy),
        examples=("Honor",),
        attribute=attribute,
    )


SCHEDULER = Field(
    yaml_key="scheduler",
    kind=Kind.OBJECT,
    description="How kube-scheduler is configured in this cluster.",
    attribute="scheduler",
    children=(
        Field(
            yaml_key="defaultConstraints",
            kind=Kind.LIST,
            description="The `defaultConstraints` of its plugin PodTopologySpread, with `defaultingType: List`. They apply to "
            "pods of `pods.schedulerNames` without topologySpreadConstraints. If omitted, its system defaults, which only score.",
            attribute="default_constraints",
            item=Field(
                yaml_key="",
                kind=Kind.OBJECT,
                description="One constraint. Its selector comes from the Services and the controller of each pod.",
                children=(
                    Field(
                        yaml_key="maxSkew",
                        kind=Kind.INTEGER,
                        description="How many more pods a domain may have than the one with the fewest.",
                        unit="pods",
                        examples=(1,),
                        minimum=1,
                        maximum=2**31 - 1,
                        required=True,
                        attribute="max_skew",
                    ),
                    Field(
                        yaml_key="topologyKey",
                        kind=Kind.LABEL_KEY,
                        description="The label of nodes whose values are the domains.",
                        examples=("topology.kubernetes.io/zone",),
                        required=True,
                        attribute="topology_key",
                    ),
                    Field(
                        yaml_key="whenUnsatisfiable",
                        kind=Kind.ENUM,
                        description="DoNotSchedule keeps a pod pending. ScheduleAnyway only scores, so it changes no decision.",
                        enum=tuple(WhenUnsatisfiable),
                        examples=("DoNotSchedule",),
                        required=True,
                        attribute="when_unsatisfiable",
                    ),
                    Field(
                        yaml_key="minDomains",
                        kind=Kind.INTEGER,
                        description="With fewer domains than this, the smallest count is 0.",
                        unit="domains",
                        examples=(3,),
                        minimum=1,
                        maximum=2**31 - 1,
                        attribute="min_domains",
                    ),
                    _inclusion(
                        "nodeAffinityPolicy",
                        "node_affinity_policy",
                        "Honor counts only nodes that the pod's node selector and affinity allow. Ignore counts all.",
                    ),
                    _inclusion(
                        "nodeTaintsPolicy",
                        "node_taints_policy",
                        "Honor counts only nodes without taints, and those whose taints the pod tolerates. Ignore counts all.",
                    ),
                ),
            ),
        ),
    ),
)

HEALTH = Field(
    yaml_key="health",
    kind=Kind.OBJECT,
    description="Removals stop while more managed nodes than both numbers allow are not Ready.",
    attribute="health",
    children=(
        Field(
            yaml_key="maxUnreadyPercent",
            loosens=Loosens.UP,
            kind=Kind.PERCENT,
            description="Percent of managed nodes that may be not Ready.",
            unit="percent",
            examples=(45,),
            minimum=0,
            maximum=100,
            cluster_autoscaler="--max-total-unready-percentage",
            attribute="max_unready_percent",
        ),
        Field(
            yaml_key="okUnreadyCount",
            loosens=Loosens.UP,
            kind=Kind.INTEGER,
            description="This many nodes may always be not Ready.",
            unit="nodes",
            examples=(3,),
            minimum=0,
            maximum=2**31 - 1,
            cluster_autoscaler="--ok-total-unready-count",
            attribute="ok_unready_count",
        ),
    ),
)


def _rule(yaml_key: str, attribute: str, description: str, flag: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        loosens=BlockRule.ALLOW,
        kind=Kind.ENUM,
        description=description,
        enum=tuple(BlockRule),
        examples=("Allow",),
        cluster_autoscaler=flag,
        attribute=attribute,
    )


DRAIN = Field(
    yaml_key="drain",
    kind=Kind.OBJECT,
    description="Which pods keep their node. Block keeps it, Allow lets the pod be evicted.",
    attribute="drain",
    children=(
        _rule(
            "systemPodsWithoutPDB",
            "system_pods_without_pdb",
            "Pods in kube-system without a PodDisruptionBudget.",
            "--skip-nodes-with-system-pods",
        ),
        Field(
            yaml_key="systemPodTimeout",
            loosens=Loosens.DOWN,
            kind=Kind.DURATION,
            description="The age after which such a pod no longer keeps its node. With Never, it always does.",
            unit="seconds",
            default="Never",
            enum=("Never",),
            examples=("1h",),
            minimum=0,
            cluster_autoscaler="--blocking-system-pod-distruption-timeout",
            attribute="system_pod_timeout_seconds",
        ),
        _rule(
            "localStorage",
            "local_storage",
            "Pods with hostPath or emptyDir volumes that are not declared safe to lose.",
            "--skip-nodes-with-local-storage",
        ),
        _rule("unreplicated", "unreplicated", "Pods without a controller.", ""),
        _rule(
            "customControllers",
            "custom_controllers",
            "Pods of controllers other than the built-in ones.",
            "--skip-nodes-with-custom-controller-pods",
        ),
        Field(
            yaml_key="jobs",
            loosens=from_tightest(JobRule),
            kind=Kind.ENUM,
            description=(
                "Running pods of Jobs. Block keeps their node. Wait keeps it until they have finished, and its unneeded time "
                "runs meanwhile. Wait cordons nothing. Allow lets them be evicted like others."
            ),
            enum=tuple(JobRule),
            examples=("Wait",),
            attribute="jobs",
        ),
        Field(
            yaml_key="maxPodAge",
            loosens=Loosens.DOWN,
            kind=Kind.DURATION,
            description=(
                "With `jobs: Wait`, the age from which a Job's pod no longer keeps its node. It counts from the creation of the "
                "pod, or of its node if that is later. With Never, the wait has no bound."
            ),
            unit="seconds",
            default="Never",
            enum=("Never",),
            examples=("6h",),
            minimum=0,
            attribute="max_pod_age_seconds",
        ),
        Field(
            yaml_key="minReplicas",
            loosens=Loosens.DOWN,
            kind=Kind.INTEGER,
            description="Pods of a ReplicaSet or ReplicationController with fewer replicas keep their node.",
            unit="pods",
            examples=(2,),
            minimum=0,
            maximum=2**31 - 1,
            cluster_autoscaler="--min-replica-count",
            attribute="min_replicas",
        ),
        Field(
            yaml_key="blockedNamespaces",
            loosens=Loosens.FEWER,
            kind=Kind.LIST,
            description="Pods in these namespaces keep their node, regardless of their annotations.",
            examples=(("payments",),),
            unique=True,
            attribute="blocked_namespaces",
            item=Field(yaml_key="", kind=Kind.OBJECT_NAME, description="One namespace.", examples=("payments",)),
        ),
    ),
)

BUDGETS = Field(
    yaml_key="budgets",
    kind=Kind.LIST,
    description=(
        "How many nodes may be leaving at the same time. The most restrictive open budget wins. An entry without reasons "
        "covers all reasons. An entry without a schedule is always open. If omitted, Empty nodes leave all at once, other "
        "nodes 10% at a time. So 100 nodes with pods take ten rounds of evictions; with `nodes: 1`, a hundred."
    ),
    cluster_autoscaler="--max-scale-down-parallelism, --max-drain-parallelism",
    attribute="budgets",
    item=Field(
        yaml_key="",
        kind=Kind.OBJECT,
        description="One budget.",
        children=(
            Field(
                yaml_key="name",
                loosens=Loosens.SAFE,
                kind=Kind.NAME,
                description="What plans call this budget.",
                examples=("night",),
                attribute="name",
            ),
            Field(
                yaml_key="nodes",
                loosens=Loosens.UP,
                kind=Kind.INTEGER_OR_PERCENT,
                description='A number, or a share of the Ready managed nodes that the budget covers ("10%", rounded up).',
                unit="nodes",
                examples=(1, "10%"),
                required=True,
                minimum=0,
                maximum=2**31 - 1,
                attribute="nodes",
            ),
            Field(
                yaml_key="zones",
                loosens=Loosens.UP,
                kind=Kind.INTEGER,
                description=(
                    "In how many zones nodes may be leaving at the same time. If omitted, in any number. Nodes without "
                    "the label topology.kubernetes.io/zone count as one more zone."
                ),
                unit="zones",
                examples=(1,),
                minimum=1,
                maximum=1000,
                attribute="zones",
            ),
            selector("groups", "Only the nodes of groups with these labels.", attribute="groups"),
            selector("nodeSelector", "Only nodes with these labels.", attribute="node_selector"),
            Field(
                yaml_key="reasons",
                kind=Kind.LIST,
                description="The reasons for removal that this budget covers. If omitted, all.",
                examples=(("Empty",),),
                unique=True,
                minimum=1,
                attribute="reasons",
                item=Field(
                    yaml_key="", kind=Kind.ENUM, description="One reason.", enum=tuple(RemovalReason), examples=("Empty",)
                ),
            ),
            Field(
                yaml_key="schedule",
                kind=Kind.CRON,
                description="When the budget opens, as a CronJob schedule. It needs a duration.",
                examples=("0 22 * * *",),
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
                description="How long the budget stays open. It needs a schedule.",
                unit="seconds",
                examples=("8h",),
                minimum=1,
                attribute="duration_seconds",
            ),
        ),
    ),
)


def _delay(yaml_key: str, attribute: str, example: str, description: str, flag: str) -> Field:
    return Field(
        yaml_key=yaml_key,
        loosens=Loosens.DOWN,
        kind=Kind.DURATION,
        description=description,
        unit="seconds",
        examples=(example,),
        minimum=0,
        cluster_autoscaler=flag,
        attribute=attribute,
    )


PACE = Field(
    yaml_key="pace",
    kind=Kind.OBJECT,
    description="Cool-downs, and the most changes of one plan.",
    attribute="pace",
    children=(
        _delay(
            "delayAfterAdd",
            "delay_after_add_seconds",
            "10m",
            "How long removals wait after nodes were added.",
            "--scale-down-delay-after-add",
        ),
        _delay(
            "delayAfterDelete",
            "delay_after_delete_seconds",
            "0s",
            "How long removals wait after a node was removed.",
            "--scale-down-delay-after-delete",
        ),
        _delay(
            "delayAfterFailure",
            "delay_after_failure_seconds",
            "3m",
            "How long removals wait after a removal failed.",
            "--scale-down-delay-after-failure",
        ),
        Field(
            yaml_key="maxAddedNodes",
            loosens=Loosens.UP,
            kind=Kind.INTEGER,
            description="The most nodes that one plan adds.",
            unit="nodes",
            examples=(100,),
            minimum=0,
            maximum=2**31 - 1,
            cluster_autoscaler="--max-nodes-per-scaleup",
            attribute="max_added_nodes",
        ),
        Field(
            yaml_key="maxRemovedPercent",
            loosens=Loosens.UP,
            kind=Kind.PERCENT,
            description="The largest share of the managed nodes that one plan removes, rounded up.",
            unit="percent",
            examples=(10,),
            minimum=0,
            maximum=100,
            attribute="max_removed_percent",
        ),
        Field(
            yaml_key="requireApprovalAbove",
            loosens=Loosens.UP,
            kind=Kind.INTEGER,
            description=(
                "How many nodes each group may lose within 24 hours. More need an approval in a signed commit. If omitted, "
                "no approval is required."
            ),
            unit="nodes",
            examples=(5,),
            minimum=0,
            maximum=2**31 - 1,
            attribute="require_approval_above",
        ),
    ),
)
