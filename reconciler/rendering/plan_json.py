"""A plan as JSON: the value itself, nothing added."""

from reconciler.plan.plan import Plan
from reconciler.rendering.json_text import json_text


def plan_json(plan: Plan) -> str:
    """Two spaces of indentation, keys in declared order, data of reasons by key; ends with a newline."""
    return json_text(plan)
