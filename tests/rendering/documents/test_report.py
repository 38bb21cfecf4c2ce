"""The report of a loop, in every format."""

import json

import pytest

from reconciler.plan.waste import Waste, Wastes
from reconciler.plan.week import Hour, News, Week
from reconciler.rendering.documents.report import HeldGroup, report_document, report_tree
from reconciler.rendering.printers.chat import MOST_CHARACTERS, slack_body, teams_body
from reconciler.rendering.printers.markdown.document import document_markdown
from reconciler.rendering.printers.text.document import document_text

NOW = 1_800_000_000  # 2027-01-15T08:00:00Z
DAY = 24 * 3600
BEFORE = Hour(at_seconds=NOW - DAY - 3600, decided_seconds=3600, node_seconds=7200, cost_micros=2_000_000, added=1)
LAST = Hour(
    at_seconds=NOW - 3600, decided_seconds=1800, node_seconds=7200, cost_micros=2_500_000, unplaced_pod_seconds=5400,
    most_waiting=4, added=3, removed=1, kept={"LocalStorage": 7200, "TooYoung": 360},
    waits={10: 8, 90: 2}, longest_wait_seconds=75, pods_never_placed=1,
)  # fmt: skip
NEWS = (
    News(at_seconds=NOW - 50, last_seconds=NOW - 50, subject="general", code="ScaledUp", words="2 -> 5, pods wait"),
    News(at_seconds=NOW - 90, last_seconds=NOW - 60, subject="big", code="Held", words="<b> & `x`", warning=True, times=3),
    News(at_seconds=NOW - 2 * DAY, last_seconds=NOW - 2 * DAY, subject="old", code="Held", words="long ago"),
)
WEEK = Week(currency="USD", hours=(BEFORE, LAST), news=NEWS)


def test_figures_beside_those_before() -> None:
    document = report_document(WEEK, "prod", NOW, DAY, [HeldGroup(group="big", since="yesterday", why="a person")], "broken")
    assert document.summary == (
        "3 nodes added and 1 removed in the last 24h, cost $2.50 (+25 % against the time before), "
        "and 1.5 pod hours without a node."
    )
    text = document_text(report_tree(document), width=0)
    for line in (
        "A newer policy is not in force: broken",
        "big is held since yesterday: a person",
        "Cost                      $2.50  $2.00",
        "Nodes on average            4.0    2.0",
        "Time to schedule, p50 10s -",
        "Time to schedule, p95 longer than 1m15s -",
        "Pods that never got a node 1 0",
        "LocalStorage  2.0",
    ):
        assert " ".join(line.split()) in " ".join(text.split()), text
    assert [one.code for one in document.news] == ["Held", "ScaledUp"]
    assert "long ago" not in text


def test_texts_of_others_stay_text_in_markdown() -> None:
    text = document_markdown(report_tree(report_document(WEEK, "prod", NOW, DAY)))
    before, _, rest = text.partition("```diff\n")
    fenced, _, after = rest.partition("\n```\n")
    assert "! 2027-01-15T07:59:00Z big: Held (3 times): <b> & `x`" in fenced
    assert "<b>" not in before + after


def test_figures_that_are_zero_are_left_out() -> None:
    text = document_markdown(report_tree(report_document(Week(currency="USD", hours=(LAST,)), "prod", NOW, DAY)))
    assert "Removals that failed" not in text
    assert "| Nodes removed | 1 |" in text


@pytest.mark.parametrize("most", [1, 4000])
def test_bodies_for_chats_are_bounded_and_escaped(most: int) -> None:
    many = tuple(
        News(
            at_seconds=NOW,
            last_seconds=NOW,
            subject=f"group-{number}",
            code="Held",
            words="<!channel> " + "x" * 250,
            warning=True,
        )
        for number in range(most)
    )
    tree = report_tree(report_document(Week(currency="USD", hours=(LAST,), news=(*NEWS, *many)), "prod", NOW, DAY))
    slack, teams = json.dumps(slack_body(tree)), json.dumps(teams_body(tree))
    assert len(slack) < MOST_CHARACTERS + 500
    assert len(teams) < 28_000
    assert "<!channel>" not in slack
    assert ("&lt;b&gt; &amp; 'x'" in slack) == (most == 1)
    assert slack_body(tree)["text"].startswith("*3 nodes added and 1 removed in the last 24h, ")  # type: ignore[attr-defined]


def test_waste_names_the_line_of_the_policy() -> None:
    """Each row has what it is about, its nodes, both amounts, and the key with its place. The note has the sum."""
    rows = (
        Waste(
            code="NotUnderutilized", group="general", object="general", nodes=12, per_month="410.2", alone_per_month="400.00",
            setting="scaleDown.utilizationThresholdPercent", place="policies/prod.yaml:14:5",
        ),
        Waste(code="NotEnoughPdb", group="general", object="shop/web", nodes=1, per_month="9.8", alone_per_month="9.8"),
    )  # fmt: skip
    waste = Wastes(currency="USD", nodes=20, unknown_nodes=2, cost_per_month="1460.00", requested_per_month="1040.00", rows=rows)
    text = document_text(report_tree(report_document(Week(currency="USD", waste=waste), "prod", NOW, DAY)), width=0)
    for line in (
        "NotUnderutilized general 12 $410.20 $400.00 scaleDown.utilizationThresholdPercent (policies/prod.yaml:14:5)",
        "NotEnoughPdb general: shop/web 1 $9.80 $9.80 -",
        "$1,040.00 of $1,460.00 a month is requested by pods.",
        "2 nodes without a price or a utilization.",
    ):
        assert line in " ".join(text.split()), text


def test_without_waste_there_is_no_table_of_it() -> None:
    text = document_text(report_tree(report_document(WEEK, "prod", NOW, DAY)), width=0)
    assert "idle capacity" not in text
