"""How far a better mix may be: told once for all groups of the mix, in every format."""

import msgspec

from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.picture import Picture, Pictures
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.markdown.plan import plan_markdown
from reconciler.rendering.printers.text.plan import plan_text
from tests.builders import NOW
from tests.decisions.growth.cost.worlds import random_demand

NO_PICTURES = Pictures(now=Picture(nodes=(), waiting=0))


def test_a_gap_stands_once_in_each_format() -> None:
    """200 pods of ten shapes on two groups. The search ends at a mix whose cost is above its bound."""
    plan, _ = decide(*random_demand(1, pods=200, shapes=10), Memory(), NOW)
    gaps = [(line.name, reason) for line in plan.groups for reason in line.reasons if reason.code == "MixGap"]
    assert len(gaps) == 2
    data = gaps[0][1].data
    assert data["costPerHour"] == plan.cost.desired_per_hour
    assert 0 < float(str(data["boundPerHour"])) < float(str(data["costPerHour"]))
    said = " ".join(gaps[0][1].message.split())
    names = ", ".join(name for name, _ in gaps)
    assert " ".join(plan_text(plan).split()).count(f"{names}: {said}") == 1
    assert " ".join(plan_markdown(plan).split()).count(said) == 1
    assert said in plan_html(plan, NO_PICTURES)
    told = msgspec.json.decode(json_text(plan))["groups"]
    assert [line["name"] for line in told if "MixGap" in [reason["code"] for reason in line["reasons"]]] == [
        name for name, _ in gaps
    ]
