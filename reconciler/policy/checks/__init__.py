"""Checks across values and documents: what a single value cannot show. One file per subject."""

from collections.abc import Callable

from reconciler.policy.checks.devices import check_devices
from reconciler.policy.checks.limits import check_limits
from reconciler.policy.checks.overlap import Overlaps
from reconciler.policy.checks.references import check_references
from reconciler.policy.checks.scheduler import check_default_constraints
from reconciler.policy.checks.sizes import check_group_sizes, check_idle_windows, check_level_sizes
from reconciler.policy.checks.templates import check_group_template, check_templates
from reconciler.policy.checks.times import check_times
from reconciler.policy.checks.weights import check_pod_weights
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import AnyDraft, Drafts


def check_drafts(
    drafts: Drafts, findings: Findings, now_seconds: int, overlaps_of: Callable[[AnyDraft], Overlaps] | None = None
) -> None:
    """All checks, over all documents. `now_seconds` is what holds and windows are checked against. `overlaps_of` gives the budget
    that a document's windows are looked at within; without it all documents have one.

    Of groups that exclude each other, or that together are more than a limit, those that come first stand.
    """
    check_references(drafts, findings)
    together = Overlaps(now_seconds)
    documents: tuple[AnyDraft, ...] = (*drafts.policies, *drafts.groups)
    for draft in documents:
        check_level_sizes(draft, findings, overlaps_of(draft) if overlaps_of is not None else together)
        check_templates(draft, findings)
        check_devices(draft, findings)
        check_times(draft, findings, now_seconds)
    for policy in drafts.policies:
        check_default_constraints(policy, findings)
        groups = drafts.groups_of(policy.document.name)
        for group in groups:
            with findings.because_of(group.path):
                check_group_sizes(group, policy, findings)
                check_group_template(group, policy, findings)
        check_idle_windows(policy, groups, findings)
        check_limits(policy, groups, findings)
        check_pod_weights(policy, groups, findings)
