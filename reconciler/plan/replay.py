"""What demand over time came to under one or two policies: how long pods waited, and what the nodes cost."""

from collections.abc import Sequence

import msgspec

# Waiting times by nearest rank. Pods that never got a node stand behind all others: nobody knows how long they would have waited.


def _rank(percent: int, pods: int) -> int:
    return max(1, -(-pods * percent // 100))


def falls_on_never(percent: int, placed: int, never: int) -> bool:
    """Whether so many percent of the pods reach into those that never got a node; 100 is the longest."""
    return _rank(percent, placed + never) > placed and never > 0


def waited_seconds(waits: Sequence[int], never: int, percent: int, whole_seconds: int) -> int:
    """The percentile of sorted waits and of so many pods that never got a node; `whole_seconds` where it falls on one of these.
    0 of none."""
    if falls_on_never(percent, len(waits), never):
        return whole_seconds
    return waits[_rank(percent, len(waits) + never) - 1] if waits else 0


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One target of a replay. `cost` None: it has no price."""

    target: str
    node_seconds: int
    peak_nodes: int
    grown_nodes: int
    removed_nodes: int
    cost: str | None


class TargetNodes(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes of one target over time; those that nobody sizes have an empty name."""

    target: str
    nodes: tuple[int, ...]


class ReplaySeries(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The same policy over time, in columns: entry i tells of the `step_seconds` from `start` + i * `step_seconds` on, or of what
    is left of the replay.

    There are at most 240 entries. Demand, capacity and pending pods are the most in that time. Demand is what the pods request
    that run or wait, those of DaemonSets excepted; capacity is the allocatable of all nodes. `nodes` and `targets` are of the
    instant with the most nodes, so the largest is `peak_nodes`. `targets` are the ones with most node hours; other nodes are the
    rest of `nodes`. `evictions` happened in that time, preemptions included, and add up to those of the figures. `cost` runs up
    from `start` to the end of that time; the last one is the cost of the figures, and None without any price.
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
    """One policy over the whole trace: availability and cost, both, since the one is bought with the other.

    Waiting times are of all pods, moved ones included, from creation to binding, by nearest rank. `pods_never_placed` had no node
    when they ended, or at the end; a waiting time that falls on one of them is the length of the replay, and means longer.
    Figures begin at `start` of the replay; `lead_grown_nodes` joined in the time before, in which the first demand lasts, and
    `start_nodes` were there. `held_groups` were held in every decision, `groups_without_template` had none when it began;
    `could_grow`: at least one group was neither.
    `unplaced_pod_seconds` sums over all pods the time without a node, of those that never got one too; `served_ppm` is the share
    of the time of all pods that had one, in millionths. Nodes count from joining until they are gone. `lost_pod_seconds` is how
    long evicted and preempted pods had run, work that has to be done again where it is not saved; `lost_cost` is the
    part of their nodes' prices that they took in that time. `zone_spread_permille`, where pods ask for it: the mean over time
    of the share of them outside their fullest zone, over the most that is possible. Costs are None when no target has a
    price.
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
    """A trace under one policy, or two on the same cluster. `start` and `end` are the instants of the virtual clock."""

    trace: str
    cluster: str
    start: str
    end: str
    seconds: int
    peak_demand_pods: int
    currency: str
    sides: tuple[ReplayFigures, ...]
