"""Why a node stays: every rule in the order in which it is asked, how it ends, and who asks it.

To add a rule, write its reason and its row here. What looks ahead, replaces nodes or drains them goes by the rows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Flag, StrEnum, auto
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.demand.purchase import Bought, came_late
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.limits import LimitLedger
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons import drain_rules as pods
from reconciler.decisions.reasons import kept_nodes as nodes
from reconciler.decisions.reasons.groups import CoolDown, RolloutInProgress
from reconciler.decisions.reasons.owners import WriteDenied
from reconciler.decisions.situation.takeovers import Takeover
from reconciler.plan.reason import Blocker, KeepsNode
from reconciler.policy.documents import Toggle
from reconciler.values.instant import instant_text
from reconciler.values.plural import verb_for
from reconciler.values.quantity import permille_text

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DELAY_DELETION_PREFIX = "delay-deletion.cluster-autoscaler.kubernetes.io/"


class Ends(StrEnum):
    """How it ends that a node is kept."""

    TIME = "with time"
    PODS = "when pods change"
    REMOVALS = "when other nodes leave"
    JOBS = "when pods of Jobs end"
    PERSON = "when somebody changes it"


class Asker(Flag):
    """Who asks what keeps a node. SEARCH looks for nodes that a new one could replace, and TAKEOVER is such a replacement in
    progress. ROLLOUT predicts drains by hand. DRAIN is a removal in progress, which may be called off."""

    PLAN = auto()
    SEARCH = auto()
    TAKEOVER = auto()
    ROLLOUT = auto()
    DRAIN = auto()


PLAN, SEARCH, TAKEOVER, ROLLOUT, DRAIN = Asker
_LOOP = PLAN | SEARCH | TAKEOVER
_ALL = _LOOP | ROLLOUT | DRAIN
Asked = TypeVar("Asked")


class Keep(msgspec.Struct, Generic[Asked], frozen=True):
    """One rule. `rule` is None where another module finds the reason."""

    reason: type[KeepsNode]
    ends: Ends
    asked_by: Asker
    rule: Callable[[Asked], KeepsNode | None] | None = None


class NodeAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node of a group by itself, with its `machine`, and what a plan knows of it. `held_why` is empty if the group is not held.
    The platform would delete `marked` machines instead of this one."""

    world: World
    group: EffectiveGroup
    index: int
    held_why: str
    marked: tuple[Machine, ...]
    machine: Machine | None
    annotations: Mapping[str, str]
    denied: WriteDenied | None = None
    repair_held: nodes.RepairHeld | None = None
    leaving: "NodeLeaving | None" = None
    starting: bool = False


class SoFar(msgspec.Struct, kw_only=True):
    """What a plan has come to while it judges nodes. `waited_for` are nodes that it counts on for pending pods, `receivers` those
    that take pods of other nodes. `gone` counts the nodes that leave by group, and `later` those by tier that leave in no
    later plan than the next. `floor` is what limits with a minimum count."""

    draft: Draft
    bought: Bought
    receivers: set[int]
    floor: LimitLedger | None
    waited_for: frozenset[int] = frozenset()
    gone: Counter[int] = msgspec.field(default_factory=Counter)
    later: Counter[str] = msgspec.field(default_factory=Counter)


class RemovalAsked(msgspec.Struct, frozen=True, gc=False):
    """A node that would leave. `wanted` is false if nothing speaks for it any more. `saves` and `keeps_headroom` are those of the
    kind of removal. `takeover`: the node is being replaced."""

    so_far: SoFar
    group: GroupDraft
    index: int
    wanted: bool
    saves: bool
    keeps_headroom: bool
    takeover: Takeover | None = None

    @property
    def name(self) -> str:
        """The name of the group."""
        return self.group.group.name


class KeptByHold(KeepsNode, frozen=True, kw_only=True):
    """The group of the node may not be changed."""

    code = "GroupHeld"
    why: str

    template = "{why}"


class ScaleDownDisabled(KeepsNode, frozen=True, kw_only=True):
    """The policy disables removals from the group."""

    code = "ScaleDownDisabled"
    group: str

    template = "scaleDown.mode of {group} is Disabled"


class TargetKeepsNodes(KeepsNode, frozen=True, kw_only=True):
    """The platform forbids removals from the target now."""

    code = "TargetKeepsNodes"
    why: str

    template = "{why}"


class PodUnread(KeepsNode, frozen=True, kw_only=True):
    """The node or a pod on it cannot be read, so nobody knows what a removal would end. The node takes no other pods."""

    code = "PodUnread"
    why: str

    template = "{why}"


class MachineMarked(KeepsNode, frozen=True, kw_only=True):
    """A machine of the target is marked for deletion, and nothing else says that it leaves. If replicas fell, the platform would
    delete it first, with its pods. `lift` is the command that removes the mark (empty: the platform has none)."""

    code = "MachineMarked"
    machine: str
    node: str
    lift: str

    def sentence(self) -> str:
        """The mark, its danger, and the way out."""
        mark = (
            f"Machine {self.machine} (node {self.node}) is marked for deletion, but still in use: fewer replicas would delete it"
        )
        return f"{mark}. If nobody is working there, remove the mark with `{self.lift}`" if self.lift else mark


class MachineUpdating(KeepsNode, frozen=True, kw_only=True):
    """The platform changes the machine of the node in place, or is about to."""

    code = "MachineUpdating"
    machine: str

    template = "Machine {machine} is being updated in place"


class NotSelectable(KeepsNode, frozen=True, kw_only=True):
    """The target has no Machines, and the policy does not let the platform choose which node to remove."""

    code = "NotSelectable"
    group: str
    target: str

    template = (
        "{target} has no Machines, so the node to remove cannot be chosen, and scaleDown.withoutMachines of {group} is Block"
    )


class ScaleDownDisabledAnnotation(KeepsNode, frozen=True, kw_only=True):
    """An annotation of the node disables its removal."""

    code = "ScaleDownDisabledAnnotation"
    annotation: str

    template = "annotation {annotation} is true"


class DelayDeletion(KeepsNode, frozen=True, kw_only=True):
    """An annotation of the node delays its deletion for a cleanup."""

    code = "DelayDeletion"
    annotation: str

    template = "annotation {annotation} delays its deletion"


class NodeLeaving(KeepsNode, frozen=True, kw_only=True):
    """The node is already being removed. `taint` if that is the only sign of it."""

    code = "Leaving"
    node: str = ""
    taint: str = ""

    def sentence(self) -> str:
        """Whether it is sure, and what to do where it is not."""
        if not self.taint:
            return "it is already being removed"
        lift = f"`kubectl taint nodes {self.node} {self.taint}-`"
        return f"its taint {self.taint} says that the node is being removed. If nobody works there, remove the taint with {lift}"


class NodeNotStarted(KeepsNode, frozen=True, kw_only=True):
    """The node is new and not ready yet."""

    code = "NotStarted"

    template = "it has not started yet"


class NotUnderutilized(KeepsNode, frozen=True, kw_only=True):
    """The utilization of the node is above its threshold. `utilizationPermille` is null if the node advertises no capacity."""

    code = "NotUnderutilized"
    utilization_permille: int | None
    threshold_percent: int

    def sentence(self) -> str:
        """Utilization and threshold."""
        share = "unknown" if self.utilization_permille is None else permille_text(self.utilization_permille)
        return f"utilization {share} is above the threshold {self.threshold_percent}%"


class GroupWithinMax(KeepsNode, frozen=True, kw_only=True):
    """The node was a candidate because its group was above its maximum. Other nodes leave instead."""

    code = "NotUnderutilized"

    template = "its group returns to its maximum through other nodes"


class AwaitedByPods(KeepsNode, frozen=True, kw_only=True):
    """This plan expects pending pods to run on the node."""

    code = "PendingPods"

    template = "pending pods are expected to run on it"


class ReceivesPods(KeepsNode, frozen=True, kw_only=True):
    """The plan expects pods of removed nodes to move to this node."""

    code = "ReceivesPods"

    template = "pods of removed nodes move to it"


class GroupGrows(KeepsNode, frozen=True, kw_only=True):
    """The group gets nodes in this plan."""

    code = "GroupGrows"
    group: str

    template = "{group} grows in this plan"


class SameDemand(KeepsNode, frozen=True, kw_only=True):
    """The group scaled up for the current demand, so none of its nodes leaves while that demand lasts."""

    code = "SameDemand"
    group: str
    since: str

    template = "{group} scaled up for the current demand since {since} and keeps its nodes while that demand lasts"


class AtMinSize(KeepsNode, frozen=True, kw_only=True):
    """The group is at its minimum."""

    code = "MinSize"
    group: str
    min: int

    template = "{group} is at its minimum size {min}"


class HeadroomNode(KeepsNode, frozen=True, kw_only=True):
    """The node is part of the headroom of its group, or has room for the pods of a CapacityBuffer (`buffer`) or of a
    ProvisioningRequest (`request`)."""

    code = "Headroom"
    group: str
    buffer: str = ""
    request: str = ""

    def sentence(self) -> str:
        """Whose headroom it is."""
        if self.request:
            return f"it has room for ProvisioningRequest {self.request}"
        return f"it has room for CapacityBuffer {self.buffer}" if self.buffer else f"it is headroom of {self.group}"


class AwaitsReplacement(KeepsNode, frozen=True, kw_only=True):
    """The node leaves as soon as its replacement is ready: so many new nodes of the target, or of several targets."""

    code = "AwaitsReplacement"
    target: str
    new_nodes: int = 1

    def sentence(self) -> str:
        """What is still to come."""
        new = "a new node" if self.new_nodes == 1 else f"{self.new_nodes} new nodes"
        return f"it is replaced as soon as {new} of {self.target} {verb_for(self.new_nodes, 'is', 'are')} ready"


def _disabled(one: NodeAsked) -> KeepsNode | None:
    return ScaleDownDisabled(group=one.group.name) if one.group.scale_down.mode is Toggle.DISABLED else None


def _rolls_out(one: NodeAsked) -> KeepsNode | None:
    return RolloutInProgress(group=one.group.name) if one.group.facts is not None and one.group.facts.rolling_out else None


def _target_keeps(one: NodeAsked) -> KeepsNode | None:
    facts = one.group.facts
    if facts is None or not facts.keeps_nodes or one.world.nodes[one.index].name in facts.keeps_nodes_but:
        return None
    return TargetKeepsNodes(why=facts.keeps_nodes)


def _pod_unread(one: NodeAsked) -> KeepsNode | None:
    why = one.world.nodes[one.index].unread
    return PodUnread(why=why) if why else None


def _marked(one: NodeAsked) -> KeepsNode | None:
    if one.group.facts is None or not one.marked:
        return None
    rules = rules_of(one.group.target.kind)
    lift = rules.lifts_mark(one.group.facts, one.marked[0]) if rules is not None else ""
    return MachineMarked(machine=one.marked[0].name, node=one.marked[0].node, lift=lift)


def _updating(one: NodeAsked) -> KeepsNode | None:
    return MachineUpdating(machine=one.machine.name) if one.machine is not None and one.machine.updating else None


def _not_selectable(one: NodeAsked) -> KeepsNode | None:
    selectable = one.group.facts is None or one.group.facts.selectable or one.group.platform_chooses
    return None if selectable else NotSelectable(group=one.group.name, target=str(one.group.target))


def _annotated(one: NodeAsked) -> KeepsNode | None:
    on = one.annotations.get(SCALE_DOWN_DISABLED) == "true"
    return ScaleDownDisabledAnnotation(annotation=SCALE_DOWN_DISABLED) if on else None


def _delayed(one: NodeAsked) -> KeepsNode | None:
    first = min((key for key in one.annotations if key.startswith(DELAY_DELETION_PREFIX)), default="")
    return DelayDeletion(annotation=first) if first else None


def _grows(one: RemovalAsked) -> KeepsNode | None:
    return GroupGrows(group=one.name) if one.group.desired > one.group.situation.current else None


def _same_demand(one: RemovalAsked) -> KeepsNode | None:
    since = one.so_far.bought.keeps(one.group.position, one.index)
    if since is None or not one.saves or came_late(one.so_far.draft, one.index):
        return None
    return SameDemand(group=one.name, since=instant_text(since))


def _at_min(one: RemovalAsked) -> KeepsNode | None:
    left, least = one.group.situation.size - one.so_far.gone[one.group.position] - 1, one.group.group.min_size
    return AtMinSize(group=one.name, min=least) if left < least else None


def _share(one: RemovalAsked) -> KeepsNode | None:
    group, so_far = one.group.group, one.so_far
    return so_far.draft.tier_shares.keeps(group, so_far.later[group.tier]) if one.saves else None


def _share_of_takeover(one: RemovalAsked) -> KeepsNode | None:
    """If the tier has less than its share by now, and the replacement takes from that."""
    draft, group, takeover = one.so_far.draft, one.group.group, one.takeover
    if takeover is None:
        return None
    leaving = sum(draft.groups[draft.members.group_of[index]].group.tier == group.tier for index in takeover.sources)
    tiers = {str(other.group.target): other.group.tier for other in draft.groups}
    if leaving <= sum(part.new for part in takeover.parts if tiers.get(part.target) == group.tier):
        return None
    # It does not count since the replacement began.
    draft.tier_shares.count(group)
    kept = draft.tier_shares.keeps(group)
    draft.tier_shares.count(group, -1)
    return kept


def _headroom(one: RemovalAsked) -> KeepsNode | None:
    draft = one.so_far.draft
    if one.index not in draft.protected or not one.keeps_headroom:
        return None
    buffer, request = draft.kept_for.get(one.index, ""), draft.booked_for.get(one.index, "")
    return HeadroomNode(group=one.name, buffer=buffer, request=request)


def _limit_min(one: RemovalAsked) -> KeepsNode | None:
    floor = one.so_far.floor
    passed = floor.below_min(one.group.group, one.so_far.draft.counted(one.index)) if floor is not None else None
    return nodes.KeptByLimitMin(limit=passed[0].name, resource=passed[1]) if passed is not None else None


def _awaits_replacement(one: RemovalAsked) -> KeepsNode | None:
    if one.takeover is None or not one.takeover.awaited:
        return None
    return AwaitsReplacement(target=", ".join(one.takeover.awaited), new_nodes=sum(one.takeover.awaited.values()))


OF_NODES: tuple[Keep[NodeAsked], ...] = (
    Keep(KeptByHold, Ends.PERSON, _LOOP | DRAIN, lambda one: KeptByHold(why=one.held_why) if one.held_why else None),
    Keep(ScaleDownDisabled, Ends.PERSON, _LOOP | DRAIN, _disabled),
    Keep(RolloutInProgress, Ends.TIME, _LOOP | DRAIN, _rolls_out),
    Keep(TargetKeepsNodes, Ends.PERSON, _ALL, _target_keeps),
    Keep(PodUnread, Ends.PERSON, _ALL, _pod_unread),
    Keep(MachineMarked, Ends.PERSON, _ALL, _marked),
    Keep(MachineUpdating, Ends.TIME, _ALL, _updating),
    Keep(NotSelectable, Ends.PERSON, _LOOP | DRAIN, _not_selectable),
    Keep(ScaleDownDisabledAnnotation, Ends.PERSON, _ALL, _annotated),
    Keep(DelayDeletion, Ends.PERSON, _ALL, _delayed),
    Keep(WriteDenied, Ends.TIME, _LOOP | ROLLOUT, lambda one: one.denied),
    Keep(nodes.RepairHeld, Ends.TIME, _LOOP, lambda one: one.repair_held),
    Keep(NodeLeaving, Ends.TIME, _LOOP | ROLLOUT, lambda one: one.leaving),
    Keep(NodeNotStarted, Ends.TIME, _LOOP | ROLLOUT, lambda one: NodeNotStarted() if one.starting else None),
)
"""What keeps a node whatever happens elsewhere: everything that applies is said."""

OF_REMOVALS: tuple[Keep[RemovalAsked], ...] = (
    Keep(AwaitsReplacement, Ends.TIME, TAKEOVER, _awaits_replacement),
    Keep(GroupWithinMax, Ends.PODS, PLAN, lambda one: None if one.wanted else GroupWithinMax()),
    Keep(AwaitedByPods, Ends.TIME, _LOOP, lambda one: AwaitedByPods() if one.index in one.so_far.waited_for else None),
    Keep(ReceivesPods, Ends.TIME, _LOOP, lambda one: ReceivesPods() if one.index in one.so_far.receivers else None),
    Keep(GroupGrows, Ends.TIME, _LOOP, _grows),
    Keep(SameDemand, Ends.PODS, PLAN, _same_demand),
    Keep(AtMinSize, Ends.PERSON, _LOOP, _at_min),
    Keep(nodes.KeptByShare, Ends.REMOVALS, PLAN, _share),
    Keep(HeadroomNode, Ends.PERSON, _LOOP, _headroom),
    Keep(nodes.KeptByLimitMin, Ends.PERSON, _LOOP | DRAIN, _limit_min),
    Keep(nodes.KeptByShare, Ends.REMOVALS, TAKEOVER, _share_of_takeover),
)
"""What its group, a limit or the plan itself has against a removal: the first that applies is said."""


def _found(ends: Ends, asked_by: Asker, *reasons: type[KeepsNode]) -> tuple[Keep[Any], ...]:
    return tuple(Keep(reason, ends, asked_by) for reason in reasons)


KEEPS: tuple[Keep[Any], ...] = (
    *OF_NODES,
    *_found(Ends.PODS, PLAN, NotUnderutilized),
    *_found(Ends.PERSON, DRAIN, nodes.GroupObserved, nodes.BelowMinSize),
    *_found(Ends.TIME, _ALL, pods.DoNotDisrupt, pods.OnCompletion, pods.JobRunning),
    *_found(Ends.JOBS, _ALL, pods.JobAwaited),
    *_found(Ends.PERSON, _ALL, pods.NotSafeToEvict, pods.DoNotDisruptUnreadable, pods.BlockedNamespace, pods.LocalStorage),
    *_found(Ends.PERSON, _ALL, pods.ControllerUnknown, pods.ControllerNotFound, pods.CustomController, pods.Unreplicated),
    *_found(Ends.PERSON, _ALL, pods.MinReplicas, pods.SystemPod),
    *_found(Ends.PERSON, _LOOP | ROLLOUT, pods.PodNotModelled, pods.SeveralPdbs, nodes.RemovalsHalted),
    *_found(Ends.PODS, _LOOP | ROLLOUT, pods.NotEnoughPdb),
    *_found(Ends.PODS, _LOOP, pods.GangMinimum, pods.GangIndivisible),
    *OF_REMOVALS,
    *_found(Ends.PODS, PLAN | TAKEOVER | ROLLOUT, nodes.NoPlaceToMove, nodes.PlaceNotSafe, nodes.NoPlaceForSome),
    *_found(Ends.PODS, _LOOP, nodes.HeadroomElsewhere, nodes.BudgetUsedUp),
    *_found(Ends.TIME, _LOOP | ROLLOUT, nodes.ReplacesOthers, nodes.NodeNotExamined),
    *_found(Ends.REMOVALS, TAKEOVER, nodes.MovesLater),
    *_found(Ends.TIME, _LOOP, nodes.NotUnneededLongEnough, nodes.NotUnreadyLongEnough, CoolDown),
    *_found(Ends.TIME, _LOOP, nodes.KeptByWindow, nodes.RemovalsOffByWindow),
    *_found(Ends.REMOVALS, _LOOP | ROLLOUT, nodes.DisruptionBudgetUsedUp, nodes.ZoneBudgetUsedUp, nodes.RemovalPaceReached),
    *_found(Ends.PERSON, _LOOP, nodes.NotManaged, nodes.NeedsApproval),
)
"""Every rule. Those about pods are in `drain`, those about places in `scale_down`, and timers in `last_timer`."""


def rules_asked_by(rules: Iterable[Keep[Asked]], asker: Asker) -> tuple[Callable[[Asked], KeepsNode | None], ...]:
    """Those that count for one who asks, in their order."""
    return tuple(keep.rule for keep in rules if asker in keep.asked_by and keep.rule is not None)


def kept_by(rules: Iterable[Callable[[Asked], KeepsNode | None]], asked: Asked) -> Iterator[Blocker]:
    """What keeps a node by these rules, in their order."""
    for rule in rules:
        if (why := rule(asked)) is not None:
            yield blocker_of(why)


@lru_cache(maxsize=4096)
def blocker_of(why: KeepsNode) -> Blocker:
    """`why.blocker()`, made once: most nodes of a large cluster are kept by the same few."""
    return why.blocker()


@cache
def codes_asked_by(asker: Asker) -> frozenset[str]:
    """The codes of all that counts for one who asks."""
    return frozenset(keep.reason.code for keep in KEEPS if asker in keep.asked_by)


ENDING_WITH_JOBS = frozenset(keep.reason.code for keep in KEEPS if keep.ends is Ends.JOBS)
