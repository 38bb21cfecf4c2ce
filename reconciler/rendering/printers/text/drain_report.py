"""The drain report for a terminal, and as JSON."""

from reconciler.decisions.removal.drains.drain_report import DrainReport, NodeDrain, Pin
from reconciler.rendering.documents.blocks import Column
from reconciler.rendering.printers.columns import Row, table
from reconciler.rendering.printers.lines import Style, Tone
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.plain import listed, plain
from reconciler.values.plural import count_text

_MOST_PINS = 20


def drain_report_text(report: DrainReport, *, width: int, colour: bool = False) -> str:
    """The table, the blockers of every node that is safe nowhere, and the pods that pin the most money."""
    style = Style(colour=colour)
    lines = [
        style.paint(f"cluster {plain(report.cluster or '(unnamed)')} · {count_text(len(report.nodes), 'node')}", Tone.HEADING),
        "",
    ]
    columns = [
        Column(heading="node", shrinks=True),
        Column(heading="group", shrinks=True),
        Column(heading="used", right=True),
        *(Column(heading=f"{percent}%", right=True) for percent in report.thresholds),
        Column(heading=f"{report.currency}/h", right=True),
    ]
    lines += table(columns, [_row(node) for node in report.nodes], width, style)
    counts = [sum(node.safe[at] for node in report.nodes) for at in range(len(report.thresholds))]
    counted = ", ".join(f"{count} at {percent}%" for count, percent in zip(counts, report.thresholds, strict=True))
    lines += ["", f"safe to remove, each on its own: {counted}"]
    for node in report.nodes:
        if node.blockers:
            lines += ["", style.paint(f"{plain(node.node)} stays", Tone.HELD)]
            for blocker in node.blockers:
                pod = f"{blocker.pod}: " if blocker.pod else ""
                lines += paragraph(f"{pod}{blocker.message} [{blocker.code}]", width, 2, "- ")
    if report.pins:
        lines += ["", style.paint("What pins the most", Tone.HEADING)]
        for pin in report.pins[:_MOST_PINS]:
            lines += _pin(pin, report.currency, width)
        if len(report.pins) > _MOST_PINS:
            lines.append(f"  and {count_text(len(report.pins) - _MOST_PINS, 'more pod')} (-o json lists all)")
    if report.without_requests:
        count = len(report.without_requests)
        names = listed(report.without_requests, 4)
        counted = "1 running pod requests" if count == 1 else f"{count} running pods request"
        lines += [
            "",
            *paragraph(f"{counted} neither cpu nor memory, so no decision sees them: {names}", width, 0),
        ]
    return "\n".join(lines) + "\n"


def _row(node: NodeDrain) -> Row:
    used = "-" if node.utilization_permille is None else f"{node.utilization_permille / 10:.1f}%"
    safe = tuple("safe" if entry else "-" for entry in node.safe)
    tone = Tone.GOOD if any(node.safe) else None
    return Row("", (node.node, node.group or "-", used, *safe, node.price_per_hour or "-"), tone)


def _pin(pin: Pin, currency: str, width: int) -> list[str]:
    price = f"{pin.price_per_hour} {currency}/h" if pin.price_per_hour is not None else "no price"
    head = f"{pin.pod}: {price}, {', '.join(pin.codes)} on {listed(pin.nodes, 3)}"
    return [*paragraph(head, width, 2, "- "), *(line for text in pin.advice for line in paragraph(text, width, 4))]
