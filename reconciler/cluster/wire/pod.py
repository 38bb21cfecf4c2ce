"""Pods, pruned. Parts that are equal for all pods of a template stay bytes, so that they are decoded once a template."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64, LabelRequirement, LabelSelector

Amounts = dict[str, str | int | float]

_AUTOSCALER = "cluster-autoscaler.kubernetes.io/"
DO_NOT_DISRUPT = "reconciler.dev/do-not-disrupt"
KARPENTER_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
# SOURCE: the Cluster Autoscaler's API; the second is the name before its group had a version 1.
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
CONSUMES_BEFORE = _AUTOSCALER + "consume-provisioning-request"


class PodAnnotations(msgspec.Struct, omit_defaults=True, gc=False):
    """The annotations that decisions read; all others are skipped without being built."""

    mirror: str | None = msgspec.field(default=None, name="kubernetes.io/config.mirror")
    safe_to_evict: str | None = msgspec.field(default=None, name=_AUTOSCALER + "safe-to-evict")
    safe_local_volumes: str | None = msgspec.field(default=None, name=_AUTOSCALER + "safe-to-evict-local-volumes")
    daemonset_pod: str | None = msgspec.field(default=None, name=_AUTOSCALER + "daemonset-pod")
    enable_ds_eviction: str | None = msgspec.field(default=None, name=_AUTOSCALER + "enable-ds-eviction")
    pod_scale_up_delay: str | None = msgspec.field(default=None, name=_AUTOSCALER + "pod-scale-up-delay")
    do_not_disrupt: str | None = msgspec.field(default=None, name=DO_NOT_DISRUPT)
    karpenter_do_not_disrupt: str | None = msgspec.field(default=None, name=KARPENTER_DO_NOT_DISRUPT)
    consumes: str | None = msgspec.field(default=None, name=CONSUMES)
    consumes_before: str | None = msgspec.field(default=None, name=CONSUMES_BEFORE)


class PodMeta(msgspec.Struct, rename="camel", gc=False):
    """`metadata` of a pod."""

    name: str
    namespace: str
    uid: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Raw = EMPTY
    annotations: PodAnnotations | None = None
    owner_references: Raw = EMPTY


class ContainerResources(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """`resources` of a container or pod; claims of it are read from the pod."""

    requests: Raw = EMPTY
    limits: Raw = EMPTY


class Container(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A container or init container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    resources: ContainerResources | None = None
    ports: Raw = EMPTY
    restart_policy: str | None = None
    restart_policy_rules: Raw = EMPTY


class RestartRule(msgspec.Struct, rename="camel", gc=False):
    """One `restartPolicyRules` item of a container."""

    action: str


class ContainerPort(msgspec.Struct, rename="camel", gc=False):
    """A container port."""

    container_port: Int64 = 0
    host_port: Int64 = 0
    protocol: str = "TCP"
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class ClaimSource(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A volume that is a claim."""

    claim_name: str
    read_only: bool = False


class EmptyDir(msgspec.Struct, omit_defaults=True, gc=False):
    """An emptyDir; medium Memory holds nothing that a drain would lose."""

    medium: str | None = None


class Present(msgspec.Struct, gc=False):
    """A source of which only the presence matters."""


class InTreeDisk(msgspec.Struct, omit_defaults=True, gc=False):
    """A disk named in the pod itself, whichever type: each type uses some of the fields."""

    pd_name: str | None = msgspec.field(default=None, name="pdName")
    volume_id: str | None = msgspec.field(default=None, name="volumeID")
    disk_name: str | None = msgspec.field(default=None, name="diskName")
    volume_path: str | None = msgspec.field(default=None, name="volumePath")
    iqn: str | None = None
    monitors: list[str] | None = None
    image: str | None = None
    pool: str | None = None
    read_only: bool | None = msgspec.field(default=None, name="readOnly")


class Volume(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A pod volume; sources that neither scheduling nor a drain looks at are skipped."""

    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    empty_dir: EmptyDir | None = None
    host_path: Present | None = None
    gce_persistent_disk: InTreeDisk | None = msgspec.field(default=None, name="gcePersistentDisk")
    aws_elastic_block_store: InTreeDisk | None = msgspec.field(default=None, name="awsElasticBlockStore")
    azure_disk: InTreeDisk | None = None
    cinder: InTreeDisk | None = None
    vsphere_volume: InTreeDisk | None = None
    iscsi: InTreeDisk | None = None
    rbd: InTreeDisk | None = None
    portworx_volume: InTreeDisk | None = None


class SchedulingGate(msgspec.Struct, gc=False):
    """A gate that keeps the scheduler from looking at the pod."""

    name: str


class SchedulingGroup(msgspec.Struct, rename="camel", gc=False, forbid_unknown_fields=True):
    """`spec.schedulingGroup`: the PodGroup of the pod."""

    pod_group_name: str


class PodSpec(msgspec.Struct, rename="camel", gc=False):
    """`spec` of a pod or of a pod template."""

    containers: list[Container]
    init_containers: list[Container] | None = None
    volumes: list[Volume] | None = None
    node_name: str | None = None
    node_selector: Raw = EMPTY
    affinity: Raw = EMPTY
    tolerations: Raw = EMPTY
    topology_spread_constraints: Raw = EMPTY
    overhead: Raw = EMPTY
    resources: ContainerResources | None = None
    resource_claims: Raw = EMPTY
    scheduling_gates: list[SchedulingGate] | None = None
    priority: Int64 | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: Int64 | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    runtime_class_name: str | None = None


class WholePodSpec(PodSpec, rename="camel", gc=False, forbid_unknown_fields=True, kw_only=True):
    """`spec` of a pod. Apart from the first two, the fields that it adds decide neither where the pod may run nor what its end
    costs. A pod with any other field is not modelled: `not_modelled` names such fields, sorted.

    SOURCE: k8s.io/api/core/v1, version 1.37.
    """

    scheduling_group: SchedulingGroup | None = None
    # Whether other pods go for it. A node for it is needed all the same, but all pods of a PodGroup must agree.
    preemption_policy: str | None = None
    # The kubelet ends the pod.
    active_deadline_seconds: Raw = EMPTY
    # Identities, names and settings inside the pod.
    automount_service_account_token: Raw = EMPTY
    dns_config: Raw = EMPTY
    dns_policy: Raw = EMPTY
    enable_service_links: Raw = EMPTY
    host_aliases: Raw = EMPTY
    host_ipc: Raw = msgspec.field(default=EMPTY, name="hostIPC")
    host_pid: Raw = msgspec.field(default=EMPTY, name="hostPID")
    hostname: Raw = EMPTY
    hostname_override: Raw = EMPTY
    image_pull_secrets: Raw = EMPTY
    security_context: Raw = EMPTY
    service_account: Raw = EMPTY
    service_account_name: Raw = EMPTY
    set_hostname_as_fqdn: Raw = msgspec.field(default=EMPTY, name="setHostnameAsFQDN")
    share_process_namespace: Raw = EMPTY
    subdomain: Raw = EMPTY
    # They have no requests.
    ephemeral_containers: Raw = EMPTY
    # They answer objects of kind Eviction. The eviction of a drain does not ask them.
    eviction_responders: Raw = EMPTY
    # kube-scheduler does not read it; a node of the wrong system is kept away by selectors and taints.
    os: Raw = EMPTY
    # They say when the pod is ready.
    readiness_gates: Raw = EMPTY
    # No pod has a field of this name.
    not_modelled: tuple[str, ...] = msgspec.field(default=(), name="/")


class PodCondition(msgspec.Struct, rename="camel", gc=False):
    """One condition of a pod."""

    type: str
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


class ContainerStatus(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """What the kubelet has allocated to and set for a container."""

    name: str = ""
    resources: ContainerResources | None = None
    allocated_resources: Raw = EMPTY


class PodStatus(msgspec.Struct, rename="camel", gc=False):
    """`status` of a pod."""

    phase: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ContainerResources | None = None
    allocated_resources: Raw = EMPTY
    nominated_node_name: str | None = None
    resource_claim_statuses: Raw = EMPTY


class Pod(msgspec.Struct, rename="camel", gc=False):
    """A pod."""

    metadata: PodMeta
    spec: WholePodSpec
    status: PodStatus | None = None
    kind: str = ""


class TemplateMeta(msgspec.Struct, rename="camel", gc=False):
    """`metadata` of a pod template."""

    labels: Raw = EMPTY
    annotations: PodAnnotations | None = None


class PodTemplate(msgspec.Struct, rename="camel", gc=False):
    """`spec.template` of a controller."""

    spec: PodSpec
    metadata: TemplateMeta | None = None


class Toleration(msgspec.Struct, rename="camel", gc=False):
    """One toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeSelectorTerm(msgspec.Struct, rename="camel"):
    """One node selector term."""

    match_expressions: list[LabelRequirement] | None = None
    match_fields: list[LabelRequirement] | None = None


class NodeSelector(msgspec.Struct, rename="camel"):
    """Terms of which one must match."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(msgspec.Struct, rename="camel"):
    """Node affinity; what is only preferred is skipped."""

    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class PodAffinityTerm(msgspec.Struct, rename="camel"):
    """One required inter-pod term."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodAffinity(msgspec.Struct, rename="camel"):
    """Inter-pod affinity or anti-affinity; what is only preferred is skipped."""

    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(msgspec.Struct, rename="camel"):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(msgspec.Struct, rename="camel"):
    """One `spec.topologySpreadConstraints` item."""

    topology_key: str
    max_skew: Int64
    when_unsatisfiable: str
    min_domains: Int64 | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ResourceClaim(msgspec.Struct, rename="camel", gc=False):
    """One `spec.resourceClaims` item (dynamic resource allocation)."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ResourceClaimStatus(msgspec.Struct, rename="camel", gc=False):
    """One `status.resourceClaimStatuses` item; without a name no claim was needed."""

    name: str
    resource_claim_name: str | None = None
