"""What a rollout of one group would take: the replacement of all its nodes, predicted. Nothing here is ever carried out."""

import msgspec

from reconciler.plan.plan import Ownership
from reconciler.plan.reason import Blocker, Reason

ROLLOUT_VERSION = "1.0"


class Bound(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that bounds how many nodes are replaced at the same time: to `nodes`."""

    nodes: int
    reason: Reason


class Wave(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Nodes that are drained together, in order, once `adds` new ones are ready. `pods` have to move: `to_new` of them fit on new
    nodes of the group, the rest on nodes that are there. `waits_for` puts other nodes off: disruption budgets, and PodGroups as
    `PodGroup namespace/name`. `turns` is how many evictions follow each other on one node. `seconds` is how long the wave takes,
    new nodes included."""

    adds: int
    nodes: tuple[str, ...]
    pods: int
    to_new: int
    waits_for: tuple[str, ...] = ()
    turns: int
    seconds: int


class KeptNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A node that cannot be drained, with everything that keeps it."""

    node: str
    blockers: tuple[Blocker, ...]


class PacingBudget(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A PodDisruptionBudget (`namespace/name`) over `pods` pods on `nodes` nodes of the group. It allows `allowed` evictions
    now."""

    budget: str
    allowed: int
    pods: int
    nodes: int


class RolloutTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long it takes. `new_node_seconds` is the time until a new node is ready. It is the median of `observed` nodes of the
    group, or with 0 of them the longest time that the policy allows. `seconds` is the whole. Pods end within their grace period.
    The time that they need to start elsewhere is unknown and not included. `starts_at` is when a budget of the policy lets the
    first node go (None: now)."""

    new_node_seconds: int
    observed: int
    seconds: int
    starts_at: str | None = None

    @property
    def learned(self) -> bool:
        """Whether the time of a new node is an observed one. Otherwise it is a bound, and so is the whole."""
        return self.observed > 0


class RolloutCost(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the nodes beyond the present ones cost: at the same time per hour, and in all. None: the group has no price."""

    surge_per_hour: str | None
    in_all: str | None
    currency: str


class Rollout(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The prediction for one group. `nodes` are to be replaced, `at_once` of them at most together, with `surge` nodes beyond the
    present ones. `bounds` say why not more. `obstacles` concern the group, `kept` single nodes. `held` is why this reconciler
    writes nothing for the group anyway (null: nothing forbids it). `last_adds` nodes are added after the last wave. If what
    `in_place_if` says is true, machines are updated in place instead (empty: that never happens)."""

    format_version: str = ROLLOUT_VERSION
    now: str
    cluster: str
    policy: str
    group: str
    target: str
    summary: str
    current: int
    max: int
    owner: Ownership
    held: str | None
    in_place_if: str
    nodes: int
    at_once: int
    surge: int
    bounds: tuple[Bound, ...]
    obstacles: tuple[Reason, ...]
    waves: tuple[Wave, ...]
    last_adds: int
    kept: tuple[KeptNode, ...]
    budgets: tuple[PacingBudget, ...]
    time: RolloutTime
    cost: RolloutCost

    @property
    def replaced(self) -> int:
        """Nodes that the waves replace."""
        return sum(len(wave.nodes) for wave in self.waves)
