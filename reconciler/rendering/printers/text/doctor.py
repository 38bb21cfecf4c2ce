"""What `doctor` found, as JSON and as lines for people."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.decisions.lints.finding import Finding
from reconciler.rendering.printers.lines import paragraph
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.rendering.words.plain import listed, plain
from reconciler.rendering.words.wording import count, one_sentence

FORMAT_VERSION = "1.0"
_WIDTH = 100


class CheckLine(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a live cluster. `state` is Pass, Warn or Fail; `advice` is empty where there is nothing to do."""

    code: str
    state: str
    message: str
    advice: str


class DoctorDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`installation` is what runs here. `cluster` is empty when none was looked at; `checks` are those of a live one. `findings`
    is what is worth fixing there. `not_checked` names what nobody looked at, and why."""

    format_version: str = FORMAT_VERSION
    installation: Mapping[str, str]
    cluster: str = ""
    checks: tuple[CheckLine, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the loop cannot run there."""
        return any(check.state == "Fail" for check in self.checks)


def not_checked(no_live_cluster: str, *, snapshot: bool) -> tuple[str, ...]:
    """What `doctor` could not look at. `no_live_cluster` says why there was none; empty: there was one."""
    if not no_live_cluster:
        return ()
    live = f"rights, versions, clocks and other autoscalers of a live cluster: {no_live_cluster}"
    return (live,) if snapshot else (live, "nodes, workloads and targets: neither a live cluster nor a snapshot was given")


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
        return f"no finding about the objects of the cluster; see {count(open_checks, 'check')} above"
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
