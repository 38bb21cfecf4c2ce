"""The page of a process that runs the loops of many clusters: those with a problem first, each with a way to its own page."""

from urllib.parse import quote

from reconciler import __version__
from reconciler.rendering.documents.fleet.status import (
    ClusterStatus,
    FleetStatusDocument,
    by_rank,
    state_words,
    wave_title,
    wave_words,
)
from reconciler.rendering.printers.html.element import Html, joined, tag
from reconciler.rendering.printers.html.page import Following, Head, Section, document, scrolling

TITLE = "Fleet"
_CLASSES = ("bad", "warn", None)


def fleet_html(status: FleetStatusDocument, period_seconds: int) -> str:
    """The whole page. It updates itself, with scripts and without."""
    head = Head(
        title=TITLE,
        lead=f"{status.summary}.",
        facts=(("namespace", status.namespace), ("instances", str(len(status.instances)))),
        figures=(),
        warning=status.problem or None,
    )
    heads = joined(tag("th", name, scope="col") for name in ("Cluster", "Policy", "Run by", "State"))
    body = joined(_row(one) for one in by_rank(status))
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body), class_="stack")
    sections = [Section("clusters", "Clusters", scrolling("Table of clusters", table), str(len(status.clusters)))]
    if status.waves:
        lines = joined(
            tag("tr", tag("th", wave_title(one), scope="row"), tag("td", wave_words(one), class_="why small"))
            for one in status.waves
        )
        sections.append(Section("rollout", "Rollout", tag("table", tag("tbody", lines)), str(len(status.waves))))
    following = Following(period_seconds=period_seconds, shown_at=status.now)
    return document(head, tuple(sections), (), (f"reconciler {__version__}",), following)


def _row(one: ClusterStatus) -> Html:
    name = tag("a", one.cluster, href=f"clusters/{quote(one.cluster)}/{quote(one.policy, safe='')}/") if one.here else one.cluster
    runs = "this instance" if one.here else one.holder or "nobody"
    return tag(
        "tr",
        tag("th", name, scope="row", class_="name"),
        tag("td", one.policy, data_as="Policy"),
        tag("td", runs, data_as="Run by"),
        tag("td", state_words(one), class_="why small", data_as="State"),
        class_=_CLASSES[one.rank], data_item=True, data_counted=True,
    )  # fmt: skip
