"""Changes of `reconciler/decisions` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/decisions/decide.py": {
        "entry.outcome is PodOutcome.FITS_EXISTING and entry.node -> entry.node": "no other outcome names a node",
        "entry.outcome is PodOutcome.FITS_EXISTING and entry.node -> entry.outcome is PodOutcome.FITS_EXISTING": (
            "that outcome always names a node"
        ),
        "entry.outcome is PodOutcome.FITS_EXISTING and entry.node -> entry.outcome is PodOutcome.FITS_EXISTING or entry.node": (
            "that outcome and a node always come together"
        ),
    },
    "reconciler/decisions/removal/approval_ceiling.py": {
        "nodes > 0 -> nodes >= 0": "a span with no nodes in it is dropped further down",
        "self._free or 0 -> self._free": "asked only where there is a ceiling, which is a number then",
    },
    "reconciler/decisions/removal/budgets.py": {
        "budget.percent or 0 -> budget.percent": "a budget has a count or a percentage, or it is refused as it is read",
        "budget.duration_seconds or 0 -> budget.duration_seconds": "a schedule without a duration is refused as it is read",
    },
    "reconciler/decisions/removal/candidates.py": {
        "state is NodeState.IN_USE and reason is RemovalReason.UNDERUTILIZED -> reason is RemovalReason.UNDERUTILIZED": (
            "nodes in no other state have that reason"
        ),
    },
    "reconciler/decisions/removal/consolidation.py": {
        "not targets or not self._sources -> not targets": "without nodes to replace the loop below ends before it begins",
        "targets and self._sources -> self._sources": "without groups to grow the best of none ends the loop",
        "targets and self._sources -> targets": "without nodes to replace nothing is saved, which ends the loop",
        "targets and self._sources -> targets or self._sources": "without either of them nothing is saved, which ends the loop",
    },
    "reconciler/decisions/removal/drain_report.py": {
        "True -> False": "what a hold says of a node is left out of the report, and it changes nothing else there",
    },
    "reconciler/decisions/removal/scale_down.py": {
        "not c.blockers and c.group is not None and (c.index not in apart) -> not c.blockers and c.index not in apart": (
            "a node of no group has a blocker that says so"
        ),
        "group is None or own -> own": "a node of no group has a blocker that says so",
        "found.short or 0 -> found.short": "asked only where a shape lacks a place",
        "node != candidate.index and any((self._draft.state.fits(shape, node) for shape in candidate.moving)) -> "
        "any((self._draft.state.fits(shape, node) for shape in candidate.moving))": (
            "a node that headroom stands on and that is little used was kept for that before"
        ),
    },
}
