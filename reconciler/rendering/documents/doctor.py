"""What `doctor` found."""

from collections.abc import Mapping

import msgspec

from reconciler.plan.finding import Finding

FORMAT_VERSION = "1.0"


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
