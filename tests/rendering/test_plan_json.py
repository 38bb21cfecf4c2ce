"""A plan as JSON."""

import json

import msgspec

from reconciler.plan.plan import Plan
from reconciler.rendering.printers.json_text import json_text


def test_reads_back_as_the_same_plan(mixed_plan: Plan):
    """Nothing is lost on the way."""
    assert msgspec.json.decode(json_text(mixed_plan), type=Plan) == mixed_plan


def test_keys_in_the_order_of_the_design(mixed_plan: Plan):
    """The document starts with its format version and the keys of an action stand as declared."""
    document = json.loads(json_text(mixed_plan))
    assert next(iter(document)) == "formatVersion"
    assert list(document["actions"][0]) == ["kind", "group", "target", "from", "to", "nodes", "machines", "bound", "reason"]
    assert json_text(mixed_plan).endswith("\n}\n")
