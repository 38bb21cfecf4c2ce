"""A plan as JSON: the value itself, nothing added."""

import msgspec

from reconciler.plan.plan import Plan


def plan_json(plan: Plan) -> str:
    """Two spaces of indentation, keys in declared order, data of reasons by key; ends with a newline."""
    return msgspec.json.format(msgspec.json.encode(plan, order="deterministic"), indent=2).decode() + "\n"
