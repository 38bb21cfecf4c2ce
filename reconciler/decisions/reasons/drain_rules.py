"""Reasons why a pod keeps its node: one type for each drain rule, and for disruption budgets."""

from reconciler.plan.reason import KeepsNode
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text


class NotSafeToEvict(KeepsNode, frozen=True, kw_only=True):
    """The pod's annotation forbids its eviction."""

    code = "NotSafeToEvict"

    template = 'annotation cluster-autoscaler.kubernetes.io/safe-to-evict is "false"'


class OnCompletion(KeepsNode, frozen=True, kw_only=True):
    """The pod's annotation delays its eviction until the pod ends."""

    code = "OnCompletion"

    template = 'annotation safe-to-evict is "on-completion": the node stays until the pod ends'


class DoNotDisrupt(KeepsNode, frozen=True, kw_only=True):
    """An annotation of the pod or node forbids its disruption, up to `until`. If that is empty, it has no end."""

    code = "DoNotDisrupt"
    annotation: str
    until: str

    def sentence(self) -> str:
        """With the end, if the annotation has one."""
        return (
            f"annotation {self.annotation} keeps it until {self.until}" if self.until else f"annotation {self.annotation} is true"
        )


class DoNotDisruptUnreadable(KeepsNode, frozen=True, kw_only=True):
    """An annotation that may forbid a disruption has a value that nobody understands, so it does."""

    code = "DoNotDisruptUnreadable"
    annotation: str
    value: str

    template = 'annotation {annotation} is "{value}", not true, false, a duration or an instant: it holds without an end'


class JobRunning(KeepsNode, frozen=True, kw_only=True):
    """The pod of a Job has not finished, and `drain.jobs` is Block."""

    code = "JobRunning"
    job: str

    template = "it is a pod of Job {job}, and drain.jobs is Block"


class JobAwaited(KeepsNode, frozen=True, kw_only=True):
    """The pod of a Job has not finished, and `drain.jobs` is Wait. It is awaited up to `until`; if that is empty, without an end
    (`drain.maxPodAge`)."""

    code = "JobAwaited"
    job: str
    until: str

    def sentence(self) -> str:
        """What the node waits for, and the bound if there is one."""
        bound = f", until {self.until} at the latest" if self.until else ""
        return f"the node waits until this pod of Job {self.job} has finished{bound}"


class Unreplicated(KeepsNode, frozen=True, kw_only=True):
    """The pod has no controller (`drain.unreplicated`)."""

    code = "Unreplicated"

    template = "it has no controller that would recreate it"


class CustomController(KeepsNode, frozen=True, kw_only=True):
    """The pod's controller has a kind that the drain rules do not know (`drain.customControllers`)."""

    code = "CustomController"
    kind: str

    template = "its controller is a {kind}, a kind that the drain rules do not know"


class ControllerUnknown(KeepsNode, frozen=True, kw_only=True):
    """The snapshot lacks controllers of this kind, or the pod's controller cannot be read (`why`): it may be gone."""

    code = "ControllerUnknown"
    kind: str
    name: str
    why: str = ""

    def sentence(self) -> str:
        """What is missing."""
        if self.why:
            return f"its controller {self.kind} {self.name} cannot be read: {self.why}"
        return f"the snapshot has no {self.kind} objects, so its controller {self.name} may be gone"


class ControllerNotFound(KeepsNode, frozen=True, kw_only=True):
    """The pod's controller is gone."""

    code = "ControllerNotFound"
    kind: str
    name: str

    template = "its controller {kind} {name} is gone"


class MinReplicas(KeepsNode, frozen=True, kw_only=True):
    """The pod's controller runs fewer replicas than `drain.minReplicas`."""

    code = "MinReplicas"
    kind: str
    name: str
    replicas: int
    least: int

    template = "{kind} {name} has {replicas:replica}, fewer than {least}"


class SystemPod(KeepsNode, frozen=True, kw_only=True):
    """A kube-system pod has no PodDisruptionBudget. If `timeoutSeconds` is null, its age does not matter."""

    code = "SystemPod"
    timeout_seconds: int | None

    def sentence(self) -> str:
        """With the age up to which it blocks, if the policy sets one."""
        until = "" if self.timeout_seconds is None else f", younger than {duration_text(self.timeout_seconds)}"
        return f"kube-system pod without a PodDisruptionBudget{until}"


class LocalStorage(KeepsNode, frozen=True, kw_only=True):
    """The pod has local volumes that are not declared safe to lose. The first ones are named, the others counted."""

    code = "LocalStorage"
    volumes: tuple[str, ...]
    more: int

    def sentence(self) -> str:
        """The volumes by name."""
        more = f" and {count_text(self.more, 'other')}" if self.more else ""
        return f"local storage would be lost: volume {', '.join(self.volumes)}{more}"


class BlockedNamespace(KeepsNode, frozen=True, kw_only=True):
    """The policy never drains pods of this namespace."""

    code = "BlockedNamespace"
    namespace: str

    template = "drain.blockedNamespaces names {namespace}"


class PodNotModelled(KeepsNode, frozen=True, kw_only=True):
    """The pod uses a scheduling feature that is not modelled."""

    code = "NotModelled"
    feature: str

    template = "it uses {feature}, which is not modelled, so no other node is known to fit"


class GangMinimum(KeepsNode, frozen=True, kw_only=True):
    """Without the pods of this node, and of nodes that leave before it, fewer pods of a PodGroup run than its `minCount`
    (`drain.podGroups`)."""

    code = "GangMinimum"
    group: str
    min_count: int
    running: int
    leaving: int

    template = "PodGroup {group} needs {min_count:pod}, {running} of its pods run, and the drain takes {leaving} of them"


class GangIndivisible(KeepsNode, frozen=True, kw_only=True):
    """The pods of a PodGroup may only be disrupted together (`spec.disruptionMode`), and others of them run on other nodes
    (`drain.podGroups`)."""

    code = "GangIndivisible"
    group: str
    running: int
    leaving: int

    template = (
        "spec.disruptionMode of PodGroup {group} disrupts its pods only together, "
        "and the drain takes {leaving} of its {running:pod}"
    )


class SeveralPdbs(KeepsNode, frozen=True, kw_only=True):
    """Several PodDisruptionBudgets cover the pod. The eviction API returns an error (measured on kube-apiserver 1.36)."""

    code = "SeveralPdbs"
    budgets: tuple[str, ...]

    template = "several PodDisruptionBudgets cover it ({budgets}), and the eviction API rejects that"


class NotEnoughPdb(KeepsNode, frozen=True, kw_only=True):
    """A PodDisruptionBudget allows fewer evictions than the drain needs."""

    code = "NotEnoughPdb"
    budget: str
    allowed: int
    needed: int

    def sentence(self) -> str:
        """How many it allows, and how many are needed. Nearly every node of a cluster may say it."""
        allowed = count_text(self.allowed, "eviction")
        return f"PodDisruptionBudget {self.budget} allows {allowed}, the drain needs {self.needed}"
