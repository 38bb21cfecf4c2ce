"""The result of a simulated run: waiting times of pods, node hours, cost, evictions."""

from collections.abc import Mapping

from reconciler.plan.money import money, price_of_nodes
from reconciler.plan.replay import RunTotals
from reconciler.plan.waiting_times import waited_seconds
from reconciler.simulation.embedded.journal import Event, Happened


def summarize(
    events: list[Event],
    start_seconds: int,
    end_seconds: int,
    started_nodes: Mapping[str, str],
    waiting: Mapping[str, int],
    pending: int,
    price_micros: Mapping[str, int],
    currency: str,
) -> RunTotals:
    """`started_nodes`: node -> target at the start; `waiting`: pods that waited at the start -> since when; `price_micros`:
    price an hour by target."""
    waiting_since = {pod: max(since, start_seconds) for pod, since in waiting.items()}
    alive = dict.fromkeys(started_nodes, start_seconds)
    target_of = dict(started_nodes)
    seconds: dict[str, int] = {}
    waits: list[int] = []
    never = 0
    counts: dict[Happened, int] = {}
    for event in events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
        match event.kind:
            case Happened.POD_CREATED:
                waiting_since[event.object] = event.at_seconds
            case Happened.POD_BOUND:
                waits.append(event.at_seconds - waiting_since.pop(event.object, event.at_seconds))
            case Happened.POD_GONE if event.object in waiting_since:
                del waiting_since[event.object]
                never += 1
            case Happened.NODE_JOINED:
                alive[event.object] = event.at_seconds
                target_of[event.object] = event.target
            case Happened.NODE_GONE if event.object in alive:
                target = target_of[event.object]
                seconds[target] = seconds.get(target, 0) + event.at_seconds - alive.pop(event.object)
            case _:
                pass
    for node, since in alive.items():
        seconds[target_of[node]] = seconds.get(target_of[node], 0) + end_seconds - since
    waits.sort()
    never += len(waiting_since)
    whole = end_seconds - start_seconds
    return RunTotals(
        seconds=whole,
        pods_placed=len(waits),
        pods_never_placed=never,
        wait_p50_seconds=waited_seconds(waits, never, 50, whole),
        wait_p95_seconds=waited_seconds(waits, never, 95, whole),
        wait_max_seconds=waited_seconds(waits, never, 100, whole),
        pods_pending=pending,
        node_seconds=sum(seconds.values()),
        cost=money(price_of_nodes(seconds, price_micros)) if price_micros else None,
        currency=currency,
        unpriced=tuple(sorted(target for target in seconds if target and target not in price_micros)),
        evictions=counts.get(Happened.POD_EVICTED, 0),
        nodes_joined=counts.get(Happened.NODE_JOINED, 0),
        nodes_removed=counts.get(Happened.NODE_GONE, 0),
        machines_failed=counts.get(Happened.MACHINE_FAILED, 0),
        writes_refused=counts.get(Happened.WRITE_REFUSED, 0),
    )
