"""The results of demand over time under one or two policies: how long pods waited, and what the nodes cost."""

import msgspec


class RunTotals(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Totals over `seconds` of virtual time. Waiting times are from a pod's creation (or the start of the run) to its binding.
    `pods_never_placed` had no node when they ended, or at the end of the run. If a waiting time is that of such a pod, it is
    `seconds`, and the true one is longer. `cost` is null if no group has a price; `unpriced` names groups without a price."""

    seconds: int
    pods_placed: int
    pods_never_placed: int
    wait_p50_seconds: int
    wait_p95_seconds: int
    wait_max_seconds: int
    pods_pending: int
    node_seconds: int
    cost: str | None
    currency: str
    unpriced: tuple[str, ...]
    evictions: int
    nodes_joined: int
    nodes_removed: int
    machines_failed: int
    writes_refused: int


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One target of a replay. `cost` is None without a price."""

    target: str
    node_seconds: int
    peak_nodes: int
    grown_nodes: int
    removed_nodes: int
    cost: str | None


class TargetNodes(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes of one target over time. Nodes without a target that is sized have an empty name."""

    target: str
    nodes: tuple[int, ...]


class ReplaySeries(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The same policy over time, in columns. Entry i covers `step_seconds` from `start` + i * `step_seconds`, or the rest of the
    replay.

    There are at most 240 entries. Demand, capacity and pending pods are the most in that time. Demand is the requests of running
    and waiting pods without those of DaemonSets. Capacity is the allocatable of all nodes. `nodes` and `targets` are from the
    instant with the most nodes, so the largest is `peak_nodes`. `targets` are the ones with most node hours; other nodes are the
    rest of `nodes`. `evictions` happened in that time, preemptions included. They add up to those of the figures. `cost` is the
    total from `start` to the end of that time. The last one is the cost of the figures. It is None without any price.
    """

    step_seconds: int
    demand_cpu_milli: tuple[int, ...]
    demand_memory_bytes: tuple[int, ...]
    capacity_cpu_milli: tuple[int, ...]
    capacity_memory_bytes: tuple[int, ...]
    pending_pods: tuple[int, ...]
    nodes: tuple[int, ...]
    targets: tuple[TargetNodes, ...]
    evictions: tuple[int, ...]
    cost: tuple[str, ...] | None


class ReplayFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One policy over the whole trace: both availability and cost, because each costs the other.

    Waiting times cover all pods, moved ones included, from creation to binding, by nearest rank. `pods_never_placed` had no node
    when they ended, or at the end. If a waiting time falls on one of them, it is the length of the replay and means longer.

    Figures begin at `start` of the replay. `lead_grown_nodes` joined in the time before, in which the first demand lasts.
    `start_nodes` existed at `start`. `held_groups` were held in every decision. `groups_without_template` had none at the start.
    `could_grow`: at least one group was neither.

    `unplaced_pod_seconds` is the time of all pods without a node, those that never got one included. `served_ppm` is the share of
    pod time with a node, in millionths. Nodes count from joining until they are gone. `lost_pod_seconds` is how long evicted and
    preempted pods had run: work to do again if it was not saved. `lost_cost` is the part of their nodes' prices for that time.
    `zone_spread_permille`, if pods require a spread, is their share outside their fullest zone over the largest possible share,
    as a mean over time. Costs are None if no target has a price.
    """

    policy: str
    source: str
    pods_placed: int
    pods_never_placed: int
    wait_p50_seconds: int
    wait_p95_seconds: int
    wait_p99_seconds: int
    wait_max_seconds: int
    pods_pending: int
    unplaced_pod_seconds: int
    served_ppm: int
    node_seconds: int
    start_nodes: int
    peak_nodes: int
    cost: str | None
    lost_pod_seconds: int
    lost_cost: str | None
    lead_grown_nodes: int
    grown_nodes: int
    removed_nodes: int
    evictions: int
    machines_failed: int
    writes_refused: int
    zone_spread_permille: int | None
    decisions: int
    could_grow: bool
    held_groups: tuple[str, ...]
    groups_without_template: tuple[str, ...]
    unpriced: tuple[str, ...]
    targets: tuple[GroupFigures, ...]
    series: ReplaySeries


class Replay(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A trace under one policy, or under two on the same cluster. `start` and `end` are the instants of the virtual clock.
    `unobserved_seconds` is how much of the trace nobody saw."""

    trace: str
    cluster: str
    start: str
    end: str
    seconds: int
    unobserved_seconds: int
    peak_demand_pods: int
    currency: str
    sides: tuple[ReplayFigures, ...]
