"""Controllers, disruption budgets, priority classes and namespaces, pruned.

Where `template` stays bytes, it is read only if something asks room for such pods.
"""

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.meta import EMPTY, Int64, LabelSelector, ObjectMeta
from reconciler.cluster.wire.pod import PodTemplate


class DisruptionBudgetSpec(msgspec.Struct, rename="camel"):
    """`spec` of a PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: Int64 | str | None = None
    max_unavailable: Int64 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class DisruptionBudgetStatus(msgspec.Struct, rename="camel"):
    """`status` of a PodDisruptionBudget."""

    observed_generation: Int64 = 0
    disruptions_allowed: Int64 = 0
    current_healthy: Int64 = 0
    desired_healthy: Int64 = 0
    expected_pods: Int64 = 0


class DisruptionBudget(msgspec.Struct, rename="camel"):
    """A PodDisruptionBudget."""

    metadata: ObjectMeta
    spec: DisruptionBudgetSpec
    status: DisruptionBudgetStatus | None = None
    kind: str = ""


class PriorityClass(msgspec.Struct, rename="camel"):
    """A PriorityClass."""

    metadata: ObjectMeta
    value: Int64
    global_default: bool = False
    kind: str = ""


class Namespace(msgspec.Struct, rename="camel"):
    """A Namespace."""

    metadata: ObjectMeta
    kind: str = ""


class ReplicaSpec(msgspec.Struct, rename="camel"):
    """`spec` of a controller with replicas and a label selector."""

    replicas: Int64 | None = None
    selector: LabelSelector | None = None
    template: Raw = EMPTY


class Replicated(msgspec.Struct, rename="camel"):
    """A ReplicaSet or StatefulSet."""

    metadata: ObjectMeta
    spec: ReplicaSpec
    kind: str = ""


class ReplicationControllerSpec(msgspec.Struct, rename="camel"):
    """`spec` of a ReplicationController, whose selector is a map of labels."""

    replicas: Int64 | None = None
    selector: dict[str, str] | None = None
    template: Raw = EMPTY


class ReplicationController(msgspec.Struct, rename="camel"):
    """A ReplicationController."""

    metadata: ObjectMeta
    spec: ReplicationControllerSpec
    kind: str = ""


class ServiceSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Service."""

    selector: dict[str, str] | None = None


class Service(msgspec.Struct, rename="camel"):
    """A Service: which pods it selects."""

    metadata: ObjectMeta
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    kind: str = ""


class DeployedContainer(msgspec.Struct, rename="camel"):
    """What a container runs."""

    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None


class DeployedSpec(msgspec.Struct, rename="camel"):
    """`spec.template.spec` of a Deployment."""

    containers: list[DeployedContainer] | None = None


class DeployedTemplate(msgspec.Struct, rename="camel"):
    """`spec.template` of a Deployment, as far as it says what runs."""

    spec: DeployedSpec | None = None

    @property
    def containers(self) -> list[DeployedContainer]:
        """Those of its pods."""
        return (self.spec.containers if self.spec is not None else None) or []


class DeploymentSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Deployment."""

    replicas: Int64 | None = None
    template: Raw = EMPTY


class Deployment(msgspec.Struct, rename="camel"):
    """A Deployment. What its pods run is read apart (`DeployedTemplate`): one of them may size the same targets."""

    metadata: ObjectMeta
    spec: DeploymentSpec
    kind: str = ""


class JobSpec(msgspec.Struct, rename="camel"):
    """`spec` of a Job."""

    parallelism: Int64 | None = None
    template: Raw = EMPTY


class Job(msgspec.Struct, rename="camel"):
    """A Job."""

    metadata: ObjectMeta
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    kind: str = ""


class DaemonSetSpec(msgspec.Struct, rename="camel"):
    """`spec` of a DaemonSet."""

    template: PodTemplate


class DaemonSet(msgspec.Struct, rename="camel"):
    """A DaemonSet."""

    metadata: ObjectMeta
    spec: DaemonSetSpec
    kind: str = ""
