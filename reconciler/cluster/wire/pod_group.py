"""PodGroups of scheduling.k8s.io, pruned."""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64, ObjectMeta


class GangPolicy(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec.schedulingPolicy.gang`."""

    min_count: Int64


class SchedulingPolicy(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec.schedulingPolicy`. Exactly one is set."""

    basic: dict[str, Raw] | None = None
    gang: GangPolicy | None = None


class PodGroupSpec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`spec` of a PodGroup, as far as it is modelled. A field that is not known here may decide where its pods run.

    SOURCE: k8s.io/api/scheduling, v1alpha2 of 1.36 and v1beta1 of 1.37. Not listed, since they decide who runs where:
    `schedulingConstraints`, `resourceClaims` and `parentCompositePodGroupName`.
    """

    scheduling_policy: SchedulingPolicy
    priority: Int64 | None = None
    disruption_mode: dict[str, dict[str, Raw]] | str | None = None
    preemption_policy: str | None = None
    # Where the group comes from. Its controller has copied what counts.
    workload_ref: Raw = EMPTY
    pod_group_template_ref: Raw = EMPTY
    # `priority` is what it means.
    priority_class_name: Raw = EMPTY


class PodGroup(msgspec.Struct, rename="camel"):
    """A PodGroup. Its `spec` is read apart: one that cannot be read must not make the whole view unreadable."""

    metadata: ObjectMeta
    kind: str = ""
    spec: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))
