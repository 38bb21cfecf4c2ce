"""What could replace nodes: the old nodes, the new ones, what it saves, and what the pods that move must save."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from reconciler.cluster.pods.pod import LONGEST_GRACE_SECONDS
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import TierState
from reconciler.decisions.removal.candidates import Candidate
from reconciler.decisions.removal.rollouts.rollout_pace import start_time
from reconciler.policy.documents import Disruption, PodWeight, RemovalReason, Toggle
from reconciler.values.money import HOURS_PER_MONTH, parse_money, price_text

YOUNG_SECONDS = 3600
"""A pod younger than this starts again within the hour, so that it counts twice."""

REPACKED_SECONDS = 3600
"""So long new nodes of a repack are in no other one. In an hour, 15% saved pay for ten minutes in which old and new nodes run."""
BALANCED_PARTS = 2
"""With `disruption: Balanced`, a moved pod must save one part in so many of what a pod costs on average."""

PAYBACK_SECONDS = 86400
"""With `disruption: Balanced`, the saving must pay within a day for the time in which old and new nodes run."""


class ReturnTier(msgspec.Struct, frozen=True, kw_only=True):
    """A tier that nodes return to, with its capacity so far, and its wait by now."""

    name: str
    state: TierState
    wait_seconds: int

    def due_seconds(self, created_seconds: int) -> int:
        """When a node of a lower tier may return that was created then (Unix time)."""
        return max(self.state.since_seconds, created_seconds) + self.wait_seconds


class Opportunity(msgspec.Struct, frozen=True, kw_only=True):
    """New nodes for `nodes` (World indices, in World order): `adds` says how many of the group at a position. Prices are in
    millionths per hour, 0 where one is unknown. `wait_seconds` is how long this must have been true, by the groups of the nodes.
    `enabled`: all of them consolidate. It moves `pods`, of which `young_pods` are younger than an hour, and `weight_micros` is
    what these must save. `payback_seconds`: when it has paid for the time in which old and new nodes run (0: nobody asked).
    `elsewhere`: some of them take room on nodes that stay. `returns`: the new node is of a preferred tier,
    and `dues` are when each of the nodes may return (Unix time)."""

    adds: tuple[tuple[int, int], ...]
    nodes: tuple[int, ...]
    saving_micros: int
    price_micros: int
    pods: int
    young_pods: int = 0
    weight_micros: int = 0
    payback_seconds: int = 0
    enabled: bool
    wait_seconds: int
    elsewhere: bool = False
    returns: "ReturnTier | None" = None
    dues: tuple[int, ...] = ()

    @property
    def reason(self) -> RemovalReason:
        """What budgets count its nodes by."""
        return RemovalReason.CONSOLIDATED if self.returns is None else RemovalReason.RETURNED

    @property
    def saving_percent(self) -> int:
        """The share of the present price that is saved, rounded down."""
        return self.saving_micros * 100 // self.price_micros

    @property
    def net_micros(self) -> int:
        """What is saved beyond what the moved pods weigh."""
        return self.saving_micros - self.weight_micros

    @property
    def figures(self) -> dict[str, Any]:
        """What reasons say of it."""
        return {
            "saving_per_hour": price_text(self.saving_micros),
            "saving_per_month": price_text(self.saving_micros * HOURS_PER_MONTH),
            "saving_percent": self.saving_percent,
            "pods": self.pods,
            "young_pods": self.young_pods,
            "weight_per_hour": price_text(self.weight_micros),
            "payback_seconds": self.payback_seconds,
        }

    @property
    def new_nodes(self) -> int:
        """How many nodes are added."""
        return sum(count for _, count in self.adds)

    def names(self, draft: Draft) -> tuple[str, ...]:
        """Those of its nodes."""
        return tuple(draft.world.nodes[index].name for index in self.nodes)

    def mix(self, draft: Draft) -> str:
        """What is added; empty for nothing."""
        return " + ".join(f"{count} x {draft.groups[position].group.name}" for position, count in self.adds)

    def by(self, draft: Draft) -> str:
        """The group of the one new node."""
        return draft.groups[self.adds[0][0]].group.name


def price_of(group: GroupDraft | None) -> int:
    """Of one node, in millionths per hour; 0 where it is unknown."""
    return 0 if group is None else group.group.price_micros or 0


def as_return(
    draft: Draft, target: GroupDraft, chosen: list[Candidate], tier: ReturnTier, dues: Mapping[int, int]
) -> Opportunity:
    """One new node of a preferred tier for these nodes; `dues` by node."""
    prices = [target.group.price_micros, *(source.group.group.price_micros for source in chosen if source.group is not None)]
    known = [price for price in prices if price is not None]
    own, *others = known if len(known) == len(prices) else (0,)
    before = sum(others)
    nodes = tuple(sorted(source.index for source in chosen))
    return Opportunity(
        adds=((target.position, 1),),
        nodes=nodes,
        saving_micros=before - own,
        price_micros=before,
        pods=sum(sum(source.moving.values()) for source in chosen),
        young_pods=sum(_young(draft, source).total() for source in chosen),
        enabled=True,
        wait_seconds=0,
        returns=tier,
        dues=tuple(dues[index] for index in nodes),
    )


def _young(draft: Draft, source: Candidate) -> Counter[int]:
    """How many of the pods that move are younger than an hour, by shape."""
    pods, since = draft.world.pods, draft.now_seconds - YOUNG_SECONDS
    young = Counter(pods.shape[row] for row in source.pods if pods.created_seconds[row] > since)
    return young & Counter(source.moving)


class Weights:
    """What a replacement of a node must save for its pods alone, in millionths per hour. `nodes` are all of the cluster."""

    def __init__(self, draft: Draft, nodes: Iterable[Candidate]) -> None:
        self._draft = draft
        self._nodes = nodes
        self._starts: dict[int, int] = {}
        self.late: dict[int, int] = {}
        """By node: after how long the best set with it pays, of those that save enough but pay too late."""

    @cached_property
    def _balanced(self) -> int:
        priced = [one for one in self._nodes if price_of(one.group)]
        pods = sum(sum(one.moving.values()) for one in priced)
        return sum(price_of(one.group) for one in priced) // (BALANCED_PARTS * pods) if pods else 0

    def of(self, source: Candidate) -> int:
        """Of one node."""
        if source.group is None:
            return 0
        rule = source.group.group.scale_down.consolidation
        each = parse_money(rule.min_saving_per_moved_pod)
        balanced = rule.disruption is Disruption.BALANCED
        each = max(each, self._balanced) if balanced else each
        if not each:
            return 0
        shapes, counts = self._draft.world.pod_shapes, _young(self._draft, source)
        for shape, count in source.moving.items():
            counts[shape] += count * (2 if balanced and shapes[shape].priority > 0 else 1)
        if not rule.pod_weights:
            return each * counts.total()
        return each * sum(count * self._weight(rule.pod_weights, shape) for shape, count in counts.items())

    def _weight(self, weights: tuple[PodWeight, ...], shape: int) -> int:
        """How often pods of a shape count: the largest of the weights for their labels, or once."""
        labels = self._draft.world.pod_shapes[shape].labels
        return max((one.weight for one in weights if set(one.labels).issubset(labels)), default=1)

    def together_seconds(self, adds: Iterable[int], chosen: Iterable[Candidate]) -> int:
        """How long old and new nodes run: until the slowest group (by position) has new ones, and the last pod has ended."""
        pods, traits = self._draft.world.pods, self._draft.world.pod_traits
        moved = (row for source in chosen for row in source.pods if pods.shape[row] in source.moving)
        grace = max((traits[pods.traits[row]].grace_seconds for row in moved), default=0)
        return max(map(self._start_seconds, adds), default=0) + min(grace, LONGEST_GRACE_SECONDS)

    def _start_seconds(self, position: int) -> int:
        if position not in self._starts:
            self._starts[position] = start_time(self._draft, self._draft.groups[position]).seconds
        return self._starts[position]


def as_consolidation(
    draft: Draft, weights: Weights, adds: Mapping[int, int], chosen: Sequence[Candidate], *, elsewhere: bool = False
) -> Opportunity | None:
    """What it saves to replace these nodes by so many new ones of each group (by position); None: too little."""
    groups = [source.group.group for source in chosen if source.group is not None]
    before = sum(group.price_micros or 0 for group in groups)
    saving = before - sum(price_of(draft.groups[position]) * count for position, count in adds.items())
    weight = sum(weights.of(source) for source in chosen)
    if saving < max(weight, 1):
        return None
    if saving * 100 < before * max(group.scale_down.consolidation.min_saving_percent for group in groups):
        return None
    enabled = all(group.scale_down.consolidation.mode is Toggle.ENABLED for group in groups)
    payback = 0
    if any(group.scale_down.consolidation.disruption is Disruption.BALANCED for group in groups):
        payback = -(-(before - saving) * weights.together_seconds(adds, chosen) // saving)
    if payback > PAYBACK_SECONDS:
        if enabled:
            weights.late.update({one.index: min(payback, weights.late.get(one.index, payback)) for one in chosen})
        return None
    return Opportunity(
        adds=tuple(sorted(adds.items())),
        nodes=tuple(sorted(source.index for source in chosen)),
        saving_micros=saving,
        price_micros=before,
        pods=sum(sum(source.moving.values()) for source in chosen),
        young_pods=sum(_young(draft, source).total() for source in chosen),
        weight_micros=weight,
        payback_seconds=payback,
        enabled=enabled,
        wait_seconds=max(group.scale_down.unneeded_time_seconds for group in groups),
        elsewhere=elsewhere,
    )
