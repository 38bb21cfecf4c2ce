"""What `doctor` found, as lines for people."""

from collections.abc import Sequence

from reconciler.plan.finding import Finding
from reconciler.rendering.documents.doctor import DoctorDocument
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.plain import listed, plain
from reconciler.rendering.words.wording import count

_WIDTH = 100


def doctor_text(document: DoctorDocument, *, wide: bool = False) -> str:
    """The installation, the checks, the findings: those that differ in names and figures only are told once, one by one if
    `wide`."""
    fold = EVERYTHING if wide else Fold()
    lines = [f"{key:<11} {value}" for key, value in document.installation.items()]
    if document.checks:
        lines += ["", f"cluster {plain(document.cluster)}"]
        for check in document.checks:
            lines += paragraph(f"{check.message} [{check.code}]", _WIDTH, 2, f"{check.state:<5}")
            if check.advice:
                lines += paragraph(f"advice: {check.advice}", _WIDTH, 7)
    if document.cluster:
        lots = _lots(document.findings, fold)
        together = "" if len(lots) == len(document.findings) else ", alike ones together"
        title = f"{count(len(document.findings), 'finding')}{together}"
        lines += ["", title if document.findings else _no_finding(document)]
        for lot in lots:
            lines += ["", *_lot(lot, fold)]
    if document.not_checked:
        lines += ["", "not checked"]
        for what in document.not_checked:
            lines += paragraph(plain(what), _WIDTH, 2, "- ")
    return "\n".join(lines) + "\n"


def _no_finding(document: DoctorDocument) -> str:
    """It says that nothing needs fixing only if no check says otherwise."""
    open_checks = sum(check.state != "Pass" for check in document.checks)
    if open_checks:
        return f"no findings about the objects of the cluster. See {count(open_checks, 'check')} above"
    return "nothing to mend"


def _lots(findings: Sequence[Finding], fold: Fold) -> list[list[Finding]]:
    lots: dict[tuple[str, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = (finding.code, finding.advice) if fold.lots else (str(number),)
        lots.setdefault(key, []).append(finding)
    return list(lots.values())


def _lot(lot: Sequence[Finding], fold: Fold) -> list[str]:
    first = lot[0]
    objects = tuple(dict.fromkeys(finding.object for finding in lot))
    nodes = tuple(node for finding in lot for node in finding.nodes)
    message = one_sentence([finding.message for finding in lot]) or f"for example {first.message}"
    about = objects[0] if len(objects) == 1 else f"{count(len(objects), 'object')}: {listed(objects, fold.names)}"
    lines = paragraph(f"{about} [{first.code}]", _WIDTH, 0)
    lines += paragraph(message, _WIDTH, 2)
    lines += paragraph(f"nodes: {listed(nodes, fold.names)}", _WIDTH, 2) if nodes else []
    return lines + paragraph(f"advice: {first.advice}", _WIDTH, 2)
