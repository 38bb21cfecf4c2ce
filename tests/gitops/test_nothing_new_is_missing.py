"""Of random mistakes in policies: what `plan` and `doctor` say of the new policy alone, the preview says too."""

import random
import re
from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide
from reconciler.decisions.lints.cluster import findings_of
from reconciler.decisions.memory import Memory
from reconciler.gitops.preview import compare
from reconciler.plan.plan import GroupLine, Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.documents import (
    Budget,
    Headroom,
    Hold,
    Limit,
    Mode,
    NodeGroup,
    PolicySet,
    Size,
    Template,
    Tier,
    Window,
)
from reconciler.policy.pace import Pace
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.rendering.words.group_notes import group_notes
from tests.builders import NOW, ClusterBuilder, node_group, policy
from tests.gitops.random_previews import random_sides

SIDE = PreviewSide(source="policies")
GIB = 1 << 30


def _misspelled(group: NodeGroup) -> NodeGroup:
    return msgspec.structs.replace(group, target=msgspec.structs.replace(group.target, name=f"{group.name}x"))


def _template(cpu_milli: int) -> Template:
    return Template(capacity=(("cpu", cpu_milli), ("memory", 16 * GIB), ("pods", 110)))


GROUP_MISTAKES: dict[str, Callable[[random.Random, NodeGroup], dict[str, object]]] = {
    "a target that does not exist": lambda _, group: {"target": _misspelled(group).target},
    "a template": lambda draw, _: {"template": _template(draw.choice((2_000, 8_000, 16_000)))},
    "no maximum": lambda _, group: {"size": Size(min=group.size.min)},
    "headroom": lambda draw, _: {"headroom": Headroom(nodes=draw.randint(1, 9))},
    "a minimum": lambda draw, group: {"size": Size(min=draw.randint(0, 12), max=max(12, group.size.max or 0))},
    "a maximum": lambda draw, _: {"size": Size(min=0, max=draw.randint(0, 3))},
    "another tier": lambda draw, _: {"tier": draw.choice(("spot", "on-demand"))},
    "no price": lambda _, __: {"price_per_hour": None},
    "a hold": lambda _, __: {"hold": Hold(reason="repairs the disk")},
    "only observed": lambda _, __: {"mode": Mode.OBSERVE},
    "a window": lambda draw, _: {"windows": (
        Window(name="day", schedule=f"0 {draw.randint(0, 23)} * * *", duration_seconds=28_800, size=Size(min=draw.randint(1, 4))),
    )},
}  # fmt: skip
OWN_MISTAKES: dict[str, Callable[[random.Random], dict[str, object]]] = {
    "shares of tiers": lambda draw: {"tiers": (Tier(name="on-demand", share_percent=draw.choice((40, 90))), Tier(name="spot"))},
    "a limit": lambda draw: {"limits": (Limit(name="cluster", max=(("nodes", draw.randint(1, 9)),)),)},
    "a limit of money": lambda draw: {"limits": (Limit(name="money", max=(("pricePerHour", draw.randint(1, 9) * 100_000),)),)},
    "budgets": lambda draw: {"budgets": (Budget(nodes=draw.randint(0, 2)),)},
    "pace": lambda draw: {"pace": Pace(max_added_nodes=draw.randint(1, 3), max_removed_percent=draw.choice((1, 100)))},
    "mode": lambda draw: {"mode": draw.choice((Mode.OBSERVE, Mode.ENFORCE))},
    "another name": lambda _: {"name": "other"},
}


def _mistaken(draw: random.Random, rules: PolicySet) -> tuple[PolicySet, list[str]]:
    groups, own, made = list(rules.groups), {}, []
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(groups))
        if draw.random() < 0.7:
            name = draw.choice(list(GROUP_MISTAKES))
            groups[at] = msgspec.structs.replace(groups[at], **GROUP_MISTAKES[name](draw, groups[at]))
        else:
            name = draw.choice(list(OWN_MISTAKES))
            own |= OWN_MISTAKES[name](draw)
        made.append(name)
    document = msgspec.structs.replace(rules.policy, **own)
    return msgspec.structs.replace(policy(*groups), policy=document), made


def _squeezed(text: str) -> str:
    """Without blanks, since long names are broken too, and without what marks names."""
    return re.sub(r"[\s`]", "", text).lower()


def _said(world: World, rules: PolicySet) -> dict[tuple[str, str], str]:
    """Sentences of the plan and of the findings, each by its code and what it is about."""
    plan: Plan = decide(world, rules, Memory(), NOW)[0]
    said = {(one.code, one.object): one.message for one in plan.problems}
    said |= {(note.code, name): note.sentence for note in group_notes(plan) for name in note.groups}
    for line in (line for line in plan.groups if line.held):
        said["held", line.name] = _why_held(line)
        said |= {(one.code, line.name): one.message for one in line.reasons if one.code not in ("GroupHeld", "TargetMissing")}
    for one in findings_of(world, rules, Memory(), NOW, DEFAULT_WORK_BUDGET):
        # The plan may say the same in other words.
        said.setdefault((one.code, one.object.removeprefix("NodeGroup ")), one.message)
    return said


def _why_held(line: GroupLine) -> str:
    """The last words of why: a hold's own, or what is wrong with the target."""
    reasons = {reason.code: reason.message for reason in line.reasons}
    return "does not exist" if "TargetMissing" in reasons else reasons.get("GroupHeld", "").rpartition(": ")[2].partition(" (")[0]


@pytest.mark.seeds(10)
def test_what_is_new_is_told(seed: int) -> None:
    """Sentences of plan and doctor about the second policy, where neither had one of that code on that object for the first."""
    draw = random.Random(seed)
    world, before, _ = random_sides(seed)
    after, made = _mistaken(draw, before)
    shown = _squeezed(preview_text(compare(world, NOW, (SIDE, before), (SIDE, after), DEFAULT_WORK_BUDGET), wide=True))
    known = _said(world, before)
    missing = {key: words for key, words in _said(world, after).items() if key not in known and _squeezed(words) not in shown}
    assert not missing, (made, missing, shown)


def _full(*, most: int, **fields: object) -> Preview:
    """A group with two full nodes, which nothing asks to grow under main, and another rule for it."""
    cluster = ClusterBuilder()
    for node in cluster.group("general", nodes=2, cpu="4"):
        cluster.pods("web", 1, cpu="4", on=node)
    before, after = policy(node_group("general", max=9)), policy(node_group("general", max=most, **fields))
    return compare(cluster.world(), NOW, (SIDE, before), (SIDE, after), DEFAULT_WORK_BUDGET)


def test_a_warning_is_in_the_first_line() -> None:
    """Three empty nodes are wanted, and one may come: two are missing."""
    shown = preview_text(_full(most=3, headroom=Headroom(nodes=3)))
    assert shown.startswith("general lacks headroom for 2 nodes, general 2 -> 3 nodes\n")
    assert "! general: headroom lacks 2 nodes, but the group cannot grow further." in shown


def test_a_note_is_below() -> None:
    """A window that is open is no warning."""
    day = Window(name="day", schedule="0 0 * * *", duration_seconds=86_400, size=Size(min=1))
    shown = preview_text(_full(most=9, windows=(day,)))
    assert "Also new about groups: 1\n  ~ general: window day is open until 2027-01-16T00:00:00Z\n" in shown
