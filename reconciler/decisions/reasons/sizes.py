"""Reasons about the current, next and allowed size of a node group."""

from decimal import Decimal

from reconciler.decisions.reasons.code_words import in_words
from reconciler.plan.money import money_text
from reconciler.plan.reason import Because
from reconciler.values.money import HOURS_PER_MONTH, PRICE_HOURS
from reconciler.values.plural import count_text
from reconciler.values.quantity import amount_text


class BelowMin(Because, frozen=True, kw_only=True):
    """The group is below its minimum. One write raises it."""

    code = "BelowMin"
    current: int
    min: int

    template = "{current:replica} {current:is|are} below the minimum {min}"


class MinNotReached(Because, frozen=True, kw_only=True):
    """The group cannot reach its minimum, because another bound is lower."""

    code = "MinNotReached"
    reached: int
    min: int
    bound: str

    template = "the group reaches only {reached} of its minimum {min}: {bound}"


class AboveMax(Because, frozen=True, kw_only=True):
    """The group is above its maximum. Nodes are drained within the budgets until it is not."""

    code = "AboveMax"
    current: int
    max: int

    template = "{current:replica} {current:is|are} above the maximum {max}"


class PlatformBound(Because, frozen=True, kw_only=True):
    """The platform does not allow a bound of the policy, so the platform's bound applies. `side` is most or least."""

    code = "PlatformBound"
    bound: str
    wanted: int
    allowed: int
    side: str
    origin: str

    def sentence(self) -> str:
        """The desired bound, the allowed one with its origin, and which applies."""
        where = "above" if self.side == "most" else "below"
        return (
            f"{self.bound} {self.wanted} is {where} {self.allowed}, the {self.side} that {self.origin} allow: "
            f"{self.allowed} applies"
        )


class PendingPods(Because, frozen=True, kw_only=True):
    """The group grows for pods that fit on no existing node."""

    code = "PendingPods"
    pods: int
    nodes: int
    expander: str
    compared: tuple[str, ...]
    others: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The pods, the nodes, the expander, why other groups offered nothing, and which were too different to balance with."""
        against = f", chosen by {self.expander.removesuffix(',')}" if self.expander else ". No other group can grow for them now"
        if self.compared:
            chosen, *rest = self.compared
            against += f": {chosen}" + (f" rather than {' or '.join(rest)}" if rest else "")
        text = f"{count_text(self.pods, 'pending pod')} on {count_text(self.nodes, 'new node')}{against}"
        if self.others:
            text = f"{text}{'. Not possible: ' if self.expander else ': '}{', '.join(in_words(other) for other in self.others)}"
        return f"{text}. Not balanced with {', '.join(self.apart)}" if self.apart else text


class GrownForShare(Because, frozen=True, kw_only=True):
    """The group grows in place of another tier, because its own tier would have less than its share (`tiers[].share`)."""

    code = "GrownForShare"
    nodes: int
    tier: str
    percent: int
    instead: str

    template = (
        "{nodes:new node} {nodes:is|are} of tier {tier} instead of {instead}: at least {percent}% of all nodes are of tier {tier}"
    )


class ShareNotReached(Because, frozen=True, kw_only=True):
    """The tier of the group has less than its share (`tiers[].share`). `needed` of `total` nodes would hold it. `unable` are its
    groups that may not grow now, each with the code of the reason."""

    code = "ShareNotReached"
    tier: str
    percent: int
    nodes: int
    total: int
    needed: int
    unable: tuple[str, ...] = ()

    def sentence(self) -> str:
        """What the tier has and needs, and what changes that."""
        has = f"tier {self.tier} has {self.nodes} of {count_text(self.total, 'node')}, and its share of {self.percent}% is"
        now = f". {', '.join(self.unable)} cannot grow now" if self.unable else ""
        return f"{has} {self.needed}. New nodes are of this tier if pods can run there{now}"


_NAMED_BUFFERS = 3


class Headroom(Because, frozen=True, kw_only=True):
    """The group grows to restore its headroom. `what` is `nodes` or `pods`. `buffers` are the CapacityBuffers that it is for,
    if it is not for headroom of the policy."""

    code = "Headroom"
    wanted: int
    free: int
    nodes: int
    what: str
    buffers: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The desired, the free and the added amount."""
        wanted = count_text(self.wanted, self.what.removesuffix("s"))
        if self.buffers:
            more = len(self.buffers) - _NAMED_BUFFERS
            rest = f" and {count_text(more, 'other')}" if more > 0 else ""
            noun = "CapacityBuffer" if len(self.buffers) == 1 else "CapacityBuffers"
            wanted = f"{wanted} of {noun} {', '.join(self.buffers[:_NAMED_BUFFERS])}{rest}"
        return f"headroom of {wanted} has {self.free} free: {count_text(self.nodes, 'node')} more"


class HeadroomShort(Because, frozen=True, kw_only=True):
    """The group cannot provide its headroom, because of a maximum or a limit."""

    code = "HeadroomShort"
    missing: int
    what: str

    def sentence(self) -> str:
        """What is missing, and why."""
        return f"headroom lacks {count_text(self.missing, self.what.removesuffix('s'))}, but the group cannot grow further"


class AtMaxSize(Because, frozen=True, kw_only=True):
    """The group cannot grow: it is at its maximum."""

    code = "AtMaxSize"
    group: str
    max: int

    template = "{group} is at its maximum size {max}"


class LimitReached(Because, frozen=True, kw_only=True):
    """The group cannot grow: one more node would exceed a limit."""

    code = "LimitReached"
    group: str
    limit: str
    resource: str
    used: int
    unmanaged: int
    node: int
    max: int

    def sentence(self) -> str:
        """The limit, the amount in use, how much of it is unmanaged, and what one node adds."""
        used, node, most = (amount_text(self.resource, value) for value in (self.used, self.node, self.max))
        foreign = f" ({amount_text(self.resource, self.unmanaged)} of it unmanaged)" if self.unmanaged else ""
        there = f"limit {self.limit} allows {most} {self.resource}: {used} in use{foreign}"
        return f"{there}, one more node of {self.group} adds {node}"


class SpendingLimitReached(Because, frozen=True, kw_only=True):
    """The group cannot grow: one more node would cost more than a limit allows. Amounts are in millionths of the currency."""

    code = "SpendingLimitReached"
    group: str
    limit: str
    resource: str
    currency: str
    used_micros: int
    node_micros: int
    max_micros: int

    def sentence(self) -> str:
        """The limit, what the nodes cost that it counts, and what one node adds."""
        used, node, most = (
            money_text(Decimal(amount).scaleb(-6), self.currency)
            for amount in (self.used_micros, self.node_micros, self.max_micros)
        )
        per = "month" if PRICE_HOURS.get(self.resource) == HOURS_PER_MONTH else "hour"
        return f"limit {self.limit} allows {most} per {per}: {used} in use, one more node of {self.group} costs {node}"


class LimitUnknown(Because, frozen=True, kw_only=True):
    """The group cannot grow: what a limit of the cluster allows is not known."""

    code = "LimitUnknown"
    group: str
    limit: str
    why: str

    template = "limit {limit} is not known, so {group} does not grow: {why}"


class PriceUnknown(Because, frozen=True, kw_only=True):
    """The group cannot grow: a spending limit selects it, and it has no price."""

    code = "PriceUnknown"
    group: str
    limit: str

    template = "{group} has no price, and limit {limit} bounds its cost: set pricePerHour"


class RoomTaken(Because, frozen=True, kw_only=True):
    """The group cannot grow: the platform has no more machines for it. `new` is how many this plan already adds."""

    code = "RoomTaken"
    group: str
    room: str
    why: str
    new: int

    def sentence(self) -> str:
        """The pool of machines, what it has, and how much this plan takes."""
        taken = f", {count_text(self.new, 'node')} more in this plan" if self.new else ""
        return f"{self.room} has no room for one more node of {self.group}: {self.why}{taken}"


class CapacityEnds(Because, frozen=True, kw_only=True):
    """The group cannot grow: the platform ends its machines soon. `at` is when the platform begins."""

    code = "CapacityEnds"
    group: str
    what: str
    at: str

    template = "{group} does not grow: the platform ends its machines from {at} on, with {what}"


class RoomBeforeEnd(Because, frozen=True, kw_only=True):
    """The group grows for pods whose nodes the platform ends soon. `at` is when the platform begins."""

    code = "RoomBeforeEnd"
    pods: int
    nodes: int
    what: str
    at: str

    template = "{nodes:new node} for {pods:pod} whose node the platform ends from {at} on, with {what}"


class RoomForRepair(Because, frozen=True, kw_only=True):
    """The group grows for pods whose nodes are broken (`health.repair`)."""

    code = "RoomForRepair"
    pods: int
    nodes: int
    condition: str
    status: str

    template = "{nodes:new node} for {pods:pod} whose node is broken: condition {condition} is {status}"


class ZoneShiftedAway(Because, frozen=True, kw_only=True):
    """The group cannot grow: a new node might come to a zone that work is moved away from. `until` is when that ends by itself
    (empty: nobody knows)."""

    code = "ZoneShiftedAway"
    group: str
    zone: str
    moved: str
    until: str

    def sentence(self) -> str:
        """The zone, and what is moved away from it."""
        shift = shift_text(self.moved, self.zone, self.until)
        return f"{self.group} does not grow: its next node may come to {self.zone}, and {shift}"


class CameElsewhere(Because, frozen=True, kw_only=True):
    """Nodes that pods need in a zone came in other zones, so the group is not expected to make nodes there for a while."""

    code = "CameElsewhere"
    zone: str
    came: str
    times: int
    until: str

    def sentence(self) -> str:
        """What was promised, what came, and when it is tried again."""
        came = f"came in {self.came}" if self.came else "did not come"
        return (
            f"new nodes for pods that need zone {self.zone} {came} ({count_text(self.times, 'time')}). "
            f"The group is tried for {self.zone} again from {self.until}, when a node joins there, "
            "or after a change of the policy or the target"
        )


class ZoneTried(Because, frozen=True, kw_only=True):
    """Nodes did not come in a zone before, or none ever has. One node is added there first."""

    code = "ZoneTried"
    group: str

    template = "{group} has never made a node in this zone, so one node is tried first. More follow once it has joined there"


class ZoneAvoided(Because, frozen=True, kw_only=True):
    """Work is moved away from a zone of the group, so its new nodes come to other zones."""

    code = "ZoneAvoided"
    zone: str
    moved: str
    until: str

    def sentence(self) -> str:
        """The zone, and until when."""
        return f"new nodes come to other zones than {self.zone}: {shift_text(self.moved, self.zone, self.until)}"


def shift_text(moved: str, zone: str, until: str) -> str:
    """A zonal shift in words; `until` may be empty."""
    return f"a zonal shift moves {moved} away from {zone}{f' until {until}' if until else ''}"


class ReservedCapacity(Because, frozen=True, kw_only=True):
    """New nodes of the group take reserved capacity, which is paid for anyway."""

    code = "ReservedCapacity"
    room: str
    why: str
    left: int

    template = "{room}: {why}, {left} free for new nodes"


class ReservedFirst(Because, frozen=True, kw_only=True):
    """The group grew before the others of its tier, because it has free reserved capacity."""

    code = "ReservedFirst"
    nodes: int
    room: str
    left: int

    template = "{nodes:node} {nodes:takes|take} free capacity of {room} before other groups of the tier grow ({left} were free)"


class OnlyWhole(Because, frozen=True, kw_only=True):
    """The group grows to its maximum at once or not at all, and not all of its nodes can be added."""

    code = "OnlyWhole"
    group: str
    missing: int
    possible: int
    bound: str

    template = "{group} only grows to its maximum in one step, by {missing:node}, but only {possible} can be added: {bound}"


class GrownWhole(Because, frozen=True, kw_only=True):
    """The group grows to its maximum in one step, with more nodes than the pods need."""

    code = "GrownWhole"
    nodes: int
    needed: int
    max: int

    template = "{nodes:node} where {needed} would do: it grows to its maximum {max} in one step"


class PaceReached(Because, frozen=True, kw_only=True):
    """The plan already adds as many nodes as one plan may."""

    code = "PaceReached"
    group: str
    max: int

    template = "this plan already adds {max:node}, the most that pace.maxAddedNodes allows"


class NoMaxSize(Because, frozen=True, kw_only=True):
    """No source gives a maximum, so the group never grows."""

    code = "NoMaxSize"
    current: int

    template = "no source gives size.max, so the group stays at {current}"


class MaxPodsGuessed(Because, frozen=True, kw_only=True):
    """The group grows, and nothing states how many pods a new node of it takes."""

    code = "MaxPodsGuessed"
    pods: int

    template = "{pods:pod} on a new node is a guess, because no node of the group is ready. Set template.capacity.pods"


class SmallerThanTemplate(Because, frozen=True, kw_only=True):
    """Nodes of the group offer less than its template. For a new node, the smaller amount of each resource applies."""

    code = "SmallerThanTemplate"
    node: str
    differs: str

    template = (
        "its nodes offer less than its template ({differs}, node {node}): for a new one, the smaller amount of each resource "
        "applies"
    )


class Probing(Because, frozen=True, kw_only=True):
    """The group grows by one node to learn a label in which its nodes differ. The node promises nothing."""

    code = "Probing"
    pods: int
    labels: tuple[str, ...]

    def sentence(self) -> str:
        """For which pods, and which label."""
        return (
            f"1 node is added as a probe for {count_text(self.pods, 'pending pod')}: it promises nothing, and shows its "
            f"{' and '.join(self.labels)}"
        )


class TemplateUntried(Because, frozen=True, kw_only=True):
    """The template changed, and all existing nodes come from the previous one and are smaller."""

    code = "TemplateUntried"
    group: str

    template = (
        "the nodes of {group} come from its previous template and are smaller than the new one. "
        "It grows one node at a time until a node of the new template exists"
    )
