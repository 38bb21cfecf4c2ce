"""Reasons about pending pods."""

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.decisions.reasons.code_words import rejection_words
from reconciler.plan.reason import Because
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text


class RoomOnNode(Because, frozen=True, kw_only=True):
    """An existing node has room. kube-scheduler will place the pod."""

    code = "RoomOnNode"
    node: str

    template = "{node} has room for it"


class RoomAfterOthers(Because, frozen=True, kw_only=True):
    """The node that kube-scheduler nominated has room once its preempted pods are gone. `ending` of them are terminating."""

    code = "RoomAfterOthers"
    node: str
    ending: int
    until: str

    def sentence(self) -> str:
        """Where, how many of them, and when they should be gone."""
        others = count_text(self.ending, "pod") if self.ending else "pods"
        are = "is" if self.ending == 1 else "are"
        due = f"due at {self.until}"
        return f"{self.node}, nominated by kube-scheduler, has room once {others} of lower priority {are} gone, {due}"


class RoomBesideOthers(Because, frozen=True, kw_only=True):
    """Pods terminate for another pod that kube-scheduler nominated for their node. They leave room for this pod as well."""

    code = "RoomBesideOthers"
    node: str
    ending: int
    until: str

    def sentence(self) -> str:
        """Where, how many end, and when they should be gone."""
        are = "is" if self.ending == 1 else "are"
        gone = f"once {count_text(self.ending, 'pod')} of lower priority {are} gone, due at {self.until}"
        return f"{self.node} has room for it next to the pod that kube-scheduler nominated, {gone}"


class RoomOnUpcoming(Because, frozen=True, kw_only=True):
    """A requested node that has not joined yet will have room."""

    code = "RoomOnUpcoming"
    node: str
    group: str

    template = "{node} of {group}, already requested, will have room for it"


class PromisedElsewhere(Because, frozen=True, kw_only=True):
    """Another policy of this cluster adds a node for the pod. `namespace` has its Lease, which `holder` holds."""

    code = "PromisedElsewhere"
    policy: str
    namespace: str
    holder: str

    template = "policy {policy} adds a node for it (its Lease is in namespace {namespace}, held by {holder})"


class NewNode(Because, frozen=True, kw_only=True):
    """A node that this plan adds will run the pod."""

    code = "NewNode"
    group: str
    tier: str
    expander: str

    def sentence(self) -> str:
        """The group, and what chose it."""
        group = f"{self.group} (tier {self.tier})" if self.tier else self.group
        chosen = f"chosen by {self.expander}" if self.expander else "the only group that can now"
        return f"no node has room, so {group} grows for it, {chosen}"


class NoGroupFits(Because, frozen=True, kw_only=True):
    """No group offers a node that could run the pod."""

    code = "NoGroupFits"
    groups: int
    nodes: int = 0
    rejections: tuple[str, ...] = ()

    def sentence(self) -> str:
        """How many groups were examined, and why the existing nodes reject it."""
        return f"no new node of any of {count_text(self.groups, 'group')} could run it{_on_nodes(self.nodes, self.rejections)}"


class GroupsExhausted(Because, frozen=True, kw_only=True):
    """Nodes of some groups could run the pod, but none of these groups may grow."""

    code = "GroupsExhausted"
    groups: tuple[str, ...]
    nodes: int = 0
    rejections: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Which groups, and why the existing nodes reject it."""
        return f"{', '.join(self.groups)} could run it, but none may grow now{_on_nodes(self.nodes, self.rejections)}"


class GroupRejects(Because, frozen=True, kw_only=True):
    """A new node of one group would not run the pod."""

    code = "GroupRejects"
    group: str
    plugins: tuple[str, ...]
    why: str

    template = "{group}: {why}"


PROBE, AWAIT, IN_VAIN, NONE = "Probe", "Await", "InVain", "None"
"""What happens where nobody states a label of the next node."""


def _step_text(step: str, until: str) -> str:
    """What happens to learn a label of the next node."""
    steps = {
        PROBE: "One node is added as a probe, which promises nothing",
        AWAIT: "A node on its way will show it",
        IN_VAIN: (
            "Nodes were added one at a time and did not help. "
            f"The next one is tried from {until}, or after a change of the policy or the target"
        ),
        NONE: "The group cannot add a node to learn it now",
    }
    return steps.get(step, "")


class LabelUnknown(Because, frozen=True, kw_only=True):
    """The pod has a rule about a label in which the nodes of a group differ. So nobody knows whether the next one would run it.
    `step`: a node is added to learn it (Probe) or on its way (Await). InVain: two did not help. None: none can be added now."""

    code = "LabelUnknown"
    group: str
    labels: tuple[str, ...]
    values: tuple[str, ...]
    step: str = ""
    until: str = ""

    def sentence(self) -> str:
        """What is unknown, what happens, and what to write."""
        label = " and ".join(self.labels)
        return (
            f"{self.group}: {label} of its next node is unknown (nodes there have {', '.join(self.values)}). "
            f"{_step_text(self.step, self.until)}. If all new nodes have the same value, write it in template.labels. "
            "If the platform spreads them over zones, write these in template.zones"
        )


class SizeDoubtful(Because, frozen=True, kw_only=True):
    """The template of a group would run the pod, and its nodes have less than that. Nobody knows whether the present template
    made them. `step` as in `LabelUnknown`."""

    code = "SizeDoubtful"
    group: str
    step: str = ""
    until: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """What a probe shows."""
        return ("size",)

    def sentence(self) -> str:
        """What is in doubt, and what happens."""
        return (
            f"{self.group}: its template would run the pod, and its nodes have less. Another template may have made them. "
            f"{_step_text(self.step, self.until)}"
        )


class ResourceNotOffered(Because, frozen=True, kw_only=True):
    """The pod asks for a resource that no group is known to offer. `keys` would declare it, the policy's first."""

    code = "ResourceNotOffered"
    resource: str
    keys: tuple[str, ...]

    def sentence(self) -> str:
        """Which resource, and where to write it."""
        return f"no group is known to offer {self.resource}. If new nodes have it, declare it in {' or '.join(self.keys)}"


class ZoneNotCertain(Because, frozen=True, kw_only=True):
    """The pod could run in one zone of a group but not in another, and the platform chooses the zone of a new node. `step` as in
    `LabelUnknown`; empty: too many nodes would come elsewhere first."""

    code = "ZoneNotCertain"
    group: str
    zones: tuple[str, ...]
    zone: str
    why: str
    step: str = ""
    until: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """What a probe shows."""
        return (ZONE_LABEL,)

    def sentence(self) -> str:
        """The possible zones of the next node, and why one of them rejects the pod."""
        where = self.zones[0] if len(self.zones) == 1 else f"any of {', '.join(self.zones)}"
        refused = f"a node in {self.zone} would not run the pod: {self.why}"
        step = f"{_step_text(self.step, self.until)}. " if self.step else ""
        return (
            f"{self.group}: the platform puts its next node in {where}, and {refused}. "
            f"{step}A group that has one zone makes it certain"
        )


TEMPORARY_TAINT = "if nodes lose such a taint once they are set up, name it in template.startupTaints"
"""What to do about a taint that is all that stands in the way."""


class TemplateRefuted(Because, frozen=True, kw_only=True):
    """The template of a group accepts the pod, but an empty node made from it does not. Another node would not help."""

    code = "TemplateRefuted"
    group: str
    node: str
    why: str

    template = "{group} would not help: its template accepts the pod, but its empty node {node} rejects it: {why}"


class TemplateRefutedBefore(Because, frozen=True, kw_only=True):
    """A node made from the group's template rejected such a pod. The node is gone now."""

    code = "TemplateRefutedBefore"
    group: str
    node: str
    why: str
    until: str

    template = (
        "{group} did not help such a pod: its node {node} rejected it: {why}. "
        "The group is tried again from {until}, or after a change of the policy or the target"
    )


class Expendable(Because, frozen=True, kw_only=True):
    """The pod's priority is below the cut-off: it runs on spare capacity only."""

    code = "Expendable"
    priority: int
    cutoff: int

    template = "its priority {priority} is below {cutoff}, so it never adds or keeps a node"


class Delayed(Because, frozen=True, kw_only=True):
    """The pod is younger than the delay for new pods."""

    code = "Delayed"
    delay_seconds: int
    until: str

    def sentence(self) -> str:
        """The delay and its end."""
        return f"new pods wait {duration_text(self.delay_seconds)} after their creation, this one until {self.until}"


class AboveReplicas(Because, frozen=True, kw_only=True):
    """The controller of the pod has more pods than replicas. It deletes those without a node first."""

    code = "AboveReplicas"
    controller: str
    replicas: int
    pods: int

    template = "{controller} has {pods:pod} for {replicas:replica}, and deletes this one"


class Arriving(Because, frozen=True, kw_only=True):
    """Pods belong to a burst that is still arriving. Nodes are added when the burst is complete."""

    code = "BurstArriving"
    pause_seconds: int
    limit_seconds: int
    until: str

    def sentence(self) -> str:
        """What ends the wait."""
        pause, limit = duration_text(self.pause_seconds), duration_text(self.limit_seconds)
        return f"pods are still arriving: nodes are added after {pause} without a new pod, after {limit} at most, at {self.until}"


class NotModelled(Because, frozen=True, kw_only=True):
    """The pod uses something that is not modelled. The reconciler never guesses."""

    code = "NotModelled"
    feature: str

    template = "it uses {feature}, which is not modelled, so no node is added or kept for it"


class NotJudged(Because, frozen=True, kw_only=True):
    """Judging the pod failed by a defect of the product. All other pods are judged."""

    code = "NotJudged"
    why: str

    template = "it is not judged, so no node is added or kept for it: {why}. Please report it"


class DefaultSpread(Because, frozen=True, kw_only=True):
    """The pod has no spread constraints, so the scheduler's default constraints apply (`scheduler.defaultConstraints`)."""

    code = "DefaultSpread"
    topology_key: str
    max_skew: int
    min_domains: int
    selector: str

    template = (
        "by scheduler.defaultConstraints, pods with {selector} spread over {topology_key}, with a skew of at most {max_skew}"
    )


class NotExamined(Because, frozen=True, kw_only=True):
    """The work budget of this plan ran out before this pod."""

    code = "NotExamined"
    spent: int

    template = "the work budget of this plan ran out after {spent:step}, before this pod"


class ShareUsed(Because, frozen=True, kw_only=True):
    """The pods of this namespace used their share of the work budget. The rest is for pods of other namespaces."""

    code = "ShareUsed"
    namespace: str
    share: int
    spent: int

    template = (
        "namespace {namespace} used {spent:step} of this plan, its share ({share}, plus the unused shares of others). "
        "Its other pods wait for the next plans"
    )


class GangIncomplete(Because, frozen=True, kw_only=True):
    """Too few pods of a gang fit, so no node is added for them. Gangs of a label need all their pods. Gangs of a PodGroup need as
    many as its `minCount` lacks (`label` is empty)."""

    code = "GangIncomplete"
    gang: str
    label: str
    pods: int
    needed: int
    placed: int
    first: str

    def sentence(self) -> str:
        """What the gang lacks."""
        of = f"label {self.label}" if self.label else "PodGroup"
        needs = "all" if self.needed == self.pods else str(self.needed)
        pods = count_text(self.pods, "pod")
        return (
            f"only {self.placed} of {pods} of gang {self.gang} ({of}) would fit, and it needs {needs}: {self.first} fits nowhere"
        )


class GangWaits(Because, frozen=True, kw_only=True):
    """The PodGroup has fewer pods than its `minCount`, so kube-scheduler binds none of them."""

    code = "GangWaits"
    group: str
    min_count: int
    pods: int

    template = "PodGroup {group} has {pods:pod}, and minCount is {min_count}: none runs before the others are created"


class GangPreempts(Because, frozen=True, kw_only=True):
    """kube-scheduler makes room for the gang, which fits on present nodes without pods of lower priority. It gets new nodes if
    that has not happened after a minute."""

    code = "GangPreempts"
    group: str
    lower: int

    template = (
        "PodGroup {group} fits on present nodes without {lower:pod} of lower priority, and kube-scheduler makes that room. "
        "It gets new nodes if it still waits after a minute"
    )


class PodGroupGated(Because, frozen=True, kw_only=True):
    """Some pods of the PodGroup have scheduling gates. Since 1.37, kube-scheduler binds none of the others before."""

    code = "PodGroupGated"
    group: str
    gated: int

    template = (
        "{gated:pod} of PodGroup {group} {gated:has|have} scheduling gates, "
        "and kube-scheduler binds none of the group before these are gone"
    )


class PodGroupUnknown(Because, frozen=True, kw_only=True):
    """Nobody knows how many pods of the PodGroup have to run together."""

    code = "PodGroupUnknown"
    group: str
    why: str

    template = "its PodGroup {group} {why}"


class PodGroupRejected(Because, frozen=True, kw_only=True):
    """kube-scheduler binds no pod of the PodGroup, since its parts contradict each other."""

    code = "PodGroupRejected"
    group: str
    why: str

    template = "kube-scheduler rejects PodGroup {group}: {why}"


class OtherScheduler(Because, frozen=True, kw_only=True):
    """The pod uses a scheduler that the policy does not name."""

    code = "OtherScheduler"
    scheduler: str

    template = "it waits for scheduler {scheduler}, which the policy does not name"


def _on_nodes(nodes: int, rejections: tuple[str, ...]) -> str:
    """The most frequent rejections. Each node is in one of the numbers."""
    if not rejections:
        return ""
    existing = "the existing node" if nodes == 1 else f"any of {nodes} existing nodes"
    return f", nor does it fit on {existing}: {rejection_words(rejections)}"
