"""Totals of a run, by hand."""

from reconciler.plan.replay import RunTotals
from reconciler.simulation.embedded.journal import Happened, Journal
from reconciler.simulation.scenarios.run_summary import summarize

HOUR = 3_600


def _summary(journal: Journal, **options: object) -> RunTotals:
    defaults = {"started_nodes": {"n1": "A"}, "waiting": {}, "pending": 0, "price_micros": {"A": 200_000}, "currency": "EUR"}
    return summarize(journal.events, 0, 2 * HOUR, **{**defaults, **options})


def test_node_hours_and_cost():
    """One node for two hours, one of the same price for half an hour: 2.5 hours at 0.20."""
    journal = Journal()
    journal.add(HOUR, Happened.NODE_JOINED, "n2", target="A")
    journal.add(HOUR + 1_800, Happened.NODE_GONE, "n2", target="A")
    summary = _summary(journal)
    assert (summary.node_seconds, summary.cost) == (9_000, "0.50")


def test_targets_without_price_are_named_and_left_out():
    """Two hours of a node that nobody priced cost nothing, and say so."""
    summary = _summary(Journal(), started_nodes={"n1": "A", "n2": "B"})
    assert (summary.node_seconds, summary.cost, summary.unpriced) == (4 * HOUR, "0.40", ("B",))


def test_waiting_times_by_nearest_rank():
    """Twenty pods wait 1 to 20 seconds: half within 10, 95 percent within 19."""
    journal = Journal()
    for wait in range(1, 21):
        journal.add(100, Happened.POD_CREATED, f"shop/p{wait}")
        journal.add(100 + wait, Happened.POD_BOUND, f"shop/p{wait}")
    summary = _summary(journal)
    assert (summary.pods_placed, summary.wait_p50_seconds, summary.wait_p95_seconds, summary.wait_max_seconds) == (20, 10, 19, 20)


def test_pods_that_waited_before_the_run_count_from_its_start():
    """A pod that was pending for a day and is bound after a minute waited a minute."""
    journal = Journal()
    journal.add(60, Happened.POD_BOUND, "shop/old")
    assert _summary(journal, waiting={"shop/old": -86_400}).wait_max_seconds == 60


def test_pods_that_never_get_a_node_wait_longest():
    """Of four pods two wait 10 s; one was pending at the start and is taken away, one is pending at the end of the two hours."""
    journal = Journal()
    for number in range(3):
        journal.add(100, Happened.POD_CREATED, f"shop/p{number}")
    for number in range(2):
        journal.add(110, Happened.POD_BOUND, f"shop/p{number}")
    journal.add(200, Happened.POD_GONE, "shop/old")
    summary = _summary(journal, waiting={"shop/old": 0})
    assert (summary.pods_placed, summary.pods_never_placed) == (2, 2)
    assert (summary.wait_p50_seconds, summary.wait_p95_seconds, summary.wait_max_seconds) == (10, 2 * HOUR, 2 * HOUR)
