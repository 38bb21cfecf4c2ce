"""The result of a simulated run: waiting times of pods, node hours, cost, evictions."""

from collections.abc import Mapping
from functools import partial

from reconciler.plan.money import money
from reconciler.plan.replay import RunTotals
from reconciler.plan.waiting_times import waited_seconds
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.simulation.figures.ledger import Ledger


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
    ledger = Ledger(start_seconds, end_seconds, started_nodes, {}, waiting, {}, price_micros)
    for event in events:
        ledger.read(event)
    totals = ledger.close(end_seconds)
    counts, whole = totals.counts, end_seconds - start_seconds
    waited = partial(waited_seconds, totals.waits, totals.never_placed, whole_seconds=whole)
    return RunTotals(
        seconds=whole,
        pods_placed=totals.waits.total(),
        pods_never_placed=totals.never_placed,
        wait_p50_seconds=waited(50),
        wait_p95_seconds=waited(95),
        wait_max_seconds=waited(100),
        pods_pending=pending,
        node_seconds=totals.node_seconds,
        cost=money(totals.cost_micros) if price_micros else None,
        currency=currency,
        unpriced=totals.unpriced,
        evictions=counts[Happened.POD_EVICTED],
        nodes_joined=counts[Happened.NODE_JOINED],
        nodes_removed=counts[Happened.NODE_GONE],
        machines_failed=counts[Happened.MACHINE_FAILED],
        writes_refused=counts[Happened.WRITE_REFUSED],
    )
