"""What `doctor` found, as JSON and as lines for people."""

from collections.abc import Mapping

import msgspec

from reconciler.decisions.lints.finding import Finding
from reconciler.rendering.json_text import json_text
from reconciler.rendering.plain import plain
from reconciler.rendering.text.paragraph import paragraph

FORMAT_VERSION = "1.0"
_WIDTH = 100


class CheckLine(msgspec.Struct, frozen=True, kw_only=True):
    """One check of a live cluster. `state` is Pass, Warn or Fail; `advice` is empty where there is nothing to do."""

    code: str
    state: str
    message: str
    advice: str


class DoctorDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`installation` is what runs here; `cluster` is empty when none was looked at; `checks` are those of a live one;
    `findings` is what is worth mending there."""

    format_version: str = FORMAT_VERSION
    installation: Mapping[str, str]
    cluster: str = ""
    checks: tuple[CheckLine, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the loop cannot run there."""
        return any(check.state == "Fail" for check in self.checks)


def doctor_json(document: DoctorDocument) -> str:
    """Two spaces of indentation; ends with a newline."""
    return json_text(document, None)


def doctor_text(document: DoctorDocument) -> str:
    """The installation, the checks, the findings."""
    lines = [f"{key:<11} {value}" for key, value in document.installation.items()]
    if document.checks:
        lines += ["", f"cluster {plain(document.cluster)}"]
        for check in document.checks:
            lines += paragraph(f"{check.message} [{check.code}]", _WIDTH, 2, f"{check.state:<5}")
            if check.advice:
                lines += paragraph(f"advice: {check.advice}", _WIDTH, 7)
    if document.cluster:
        count = len(document.findings)
        lines += ["", f"{count} findings" if count else "nothing to mend"]
    for finding in document.findings:
        lines += ["", f"{finding.code}, {plain(finding.object)}"]
        lines += paragraph(finding.message, _WIDTH, 2)
        lines += paragraph(f"advice: {finding.advice}", _WIDTH, 2)
    return "\n".join(lines) + "\n"
