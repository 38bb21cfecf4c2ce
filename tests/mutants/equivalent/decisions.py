"""Changes of `reconciler/decisions` that change nothing that anybody could see."""

EQUIVALENT: dict[str, dict[str, str]] = {
    "reconciler/decisions/removal/approval_ceiling.py": {
        "nodes > 0 -> nodes >= 0": "a span with no nodes in it is dropped further down",
        "self._free or 0 -> self._free": "asked only where there is a ceiling, which is a number then",
    },
    "reconciler/decisions/removal/budgets.py": {
        "budget.percent or 0 -> budget.percent": "a budget has a count or a percentage, or it is refused as it is read",
        "budget.duration_seconds or 0 -> budget.duration_seconds": "a schedule without a duration is refused as it is read",
    },
}
