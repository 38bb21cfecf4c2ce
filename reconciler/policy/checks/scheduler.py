"""Default constraints of kube-scheduler: no two for the same key and action, with which kube-scheduler would not start."""

from reconciler.policy.documents import NodeGroupPolicy
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import Draft


def check_default_constraints(policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    """SOURCE: kube-scheduler 1.36, `ValidatePodTopologySpreadArgs`; the keys of DefaultConstraint have its other rules."""
    first: dict[tuple[str, str], int] = {}
    for index, one in enumerate(policy.document.scheduler.default_constraints):
        path = f"spec.scheduler.defaultConstraints[{index}]"
        seen = first.setdefault((one.topology_key, one.when_unsatisfiable), index)
        if seen == index or not policy.sound(path):
            continue
        related = ((policy.place(f"spec.scheduler.defaultConstraints[{seen}]"), "the first one"),)
        message = f"there are two default constraints for {one.topology_key} with {one.when_unsatisfiable}"
        policy.report(findings, "DuplicateItem", path, message, "keep one of them", related=related)
