"""What else decides about pods than their own text: disruption budgets, controllers and Services."""

import msgspec

from reconciler.values.label_selector import LabelSelector


class DisruptionBudget(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A PodDisruptionBudget with the status that its controller wrote.

    `min_available` and `max_unavailable` keep the text of the spec (`2`, `80%`), so that a simulation can recompute
    `disruptions_allowed`. `observed` is False when status lags behind spec: then nothing may be disrupted.
    """

    namespace: str
    name: str
    selector: LabelSelector | None
    disruptions_allowed: int
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    min_available: str = ""
    max_unavailable: str = ""
    unhealthy_pod_eviction: str = "IfHealthyBudget"
    observed: bool = True


class Controller(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A controller of pods: ReplicaSet, ReplicationController, StatefulSet, Job, DaemonSet, Deployment. `autoscaler`: it is a
    Deployment that runs a Cluster Autoscaler. `selector` is that of the first three; None has no requirement."""

    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    replicas: int | None = None
    autoscaler: bool = False
    selector: LabelSelector | None = None


class Service(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A Service: the labels of the pods that it selects, sorted. None and an empty map select nothing here."""

    namespace: str
    name: str
    selector: tuple[tuple[str, str], ...] = ()
