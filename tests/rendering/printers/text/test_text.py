"""A plan on a terminal."""

import re
from pathlib import Path

import msgspec
import pytest

from reconciler.plan.plan import Plan
from reconciler.rendering.printers.text.plan import plan_text

GOLDEN = Path(__file__).parents[2] / "golden"
LONG = "ip-10-120-33-7.eu-central-1.compute.internal-and-a-pool-with-a-very-long-name-for-batch-work"


def test_mixed_plan(mixed_plan: Plan):
    """The whole text of a plan with everything in it, read by a person and kept."""
    assert plan_text(mixed_plan) == (GOLDEN / "mixed.txt").read_text(encoding="utf-8")


def test_nothing_to_say():
    """A plan of an empty cluster is its head and its foot."""
    plan = Plan(now="2026-11-21T18:00:00Z", mode="Enforce", summary="No changes.", digest="sha256:00")
    none = (
        "Node groups: none\n"
        "  no NodeGroup names one and discovery finds none. `reconciler init` writes a first policy from the\n"
        "    existing objects"
    )
    assert plan_text(plan) == f"mode Enforce\nnow 2026-11-21T18:00:00Z\n\n{none}\n\nNo changes.\nsha256:00\n"


def test_colour_only_where_asked(mixed_plan: Plan):
    """Without the flag no escape; with it the same text once the codes are taken out."""
    painted, bare = plan_text(mixed_plan, colour=True), plan_text(mixed_plan)
    assert "\x1b" not in bare
    assert "\x1b[36m" in painted
    assert not {"\x1b[31m", "\x1b[32m"} & set(re.findall(r"\x1b\[\d+m", painted)), "more and fewer are neither bad nor good"
    assert re.sub(r"\x1b\[\d*m", "", painted) == bare


def group_rows(text: str) -> list[str]:
    """Rows of the table of groups, without the lines on which a reason goes on."""
    table = text.split("Node groups: ")[1].split("\n\n", maxsplit=1)[0].splitlines()[2:]
    return [line for line in table if line[4] != " "]


@pytest.mark.parametrize("wide", [False, True])
def test_width(mixed_plan: Plan, wide: bool):
    """Long names are shortened to fit 100 columns, unless `wide` asks for all of them."""
    groups = tuple(msgspec.structs.replace(group, name=f"{LONG}-{group.name}") for group in mixed_plan.groups)
    nodes = tuple(msgspec.structs.replace(node, node=f"{node.node}.{LONG}") for node in mixed_plan.nodes)
    text = plan_text(msgspec.structs.replace(mixed_plan, groups=groups, nodes=nodes), wide=wide)
    assert max(len(line) for line in text.splitlines()) > 100 if wide else max(len(line) for line in text.splitlines()) <= 100
    table = group_rows(text)
    assert all(f"{LONG}-{group.name.removeprefix(LONG)}"[-4:] in line for group, line in zip(groups, table, strict=True))
    assert (f"{LONG}-h100" in text.split("Actions")[0]) is wide


def test_names_that_differ_stay_different(mixed_plan: Plan):
    """Shortening never makes two groups look like one, even where that costs columns."""
    names = [f"{'a' * 40}{middle}{'z' * 60}" for middle in ("-x-", "-y-", "-q-", "-w-")]
    groups = tuple(msgspec.structs.replace(group, name=name) for group, name in zip(mixed_plan.groups, names, strict=True))
    rows = group_rows(plan_text(msgspec.structs.replace(mixed_plan, groups=groups)))
    assert len({row.split()[0 if row.startswith("    ") else 1] for row in rows}) == 4


def test_escape_sequences_do_not_reach_the_terminal(mixed_plan: Plan):
    """A hold reason or a manager name with an escape sequence is printed, not obeyed."""
    evil = msgspec.structs.replace(mixed_plan.groups[0].owner, by="x\x1b]0;owned\x07", evidence=("a\x1b[2Jb\nc",))
    plan = msgspec.structs.replace(
        mixed_plan,
        cluster="\x1b[31m",
        summary="\x9b0m",
        groups=(msgspec.structs.replace(mixed_plan.groups[0], owner=evil), *mixed_plan.groups[1:]),
    )
    text = plan_text(plan)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "evidence: a\\x1b[2Jb c" in text


def test_same_plan_same_bytes(mixed_plan: Plan):
    """Rendering twice gives one text."""
    assert plan_text(mixed_plan, colour=True) == plan_text(mixed_plan, colour=True)
