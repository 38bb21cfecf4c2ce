"""The report of a loop, from what it keeps on the API server."""

from reconciler.control.live.plan_record import plan_in
from reconciler.control.live.source_standing import standing_in
from reconciler.control.live.week_record import week_in
from reconciler.kube.connection.api import Api
from reconciler.kube.leading.state import StateObject
from reconciler.plan.plan import GroupLine
from reconciler.plan.week import Week
from reconciler.rendering.documents.report import HeldGroup, ReportDocument, report_document
from reconciler.values.clauses import clauses


def loop_report(api: Api, namespace: str, policy: str, now_seconds: int, since_seconds: int) -> ReportDocument:
    """The last `since_seconds` of a policy's loop. Raises `StateUnavailableError`."""
    state = StateObject(api, namespace, policy)
    week = week_in(state) or Week()
    plan, standing = plan_in(state), standing_in(state)
    held = [
        HeldGroup(group=group.line.name, since=group.held_since, why=_why(group.line))
        for group in (plan.groups if plan is not None else ())
        if group.line.held
    ]
    conditions = standing.conditions if standing is not None else ()
    refused = next((one.message for one in conditions if one.type == "Stalled" and one.status == "True"), "")
    return report_document(week, policy, now_seconds, since_seconds, held, refused)


def _why(line: GroupLine) -> str:
    return next((reason.message for reason in line.reasons), "") or clauses(line.owner.evidence)
