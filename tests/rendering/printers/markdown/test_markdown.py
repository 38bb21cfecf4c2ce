"""A plan for a pull request."""

from pathlib import Path

import msgspec
import pytest
from markdown_it import MarkdownIt

from reconciler.plan.plan import Ownership, OwnerState, Plan, PlanProblem
from reconciler.rendering.printers.markdown.code import code, fenced
from reconciler.rendering.printers.markdown.plan import plan_markdown

GOLDEN = Path(__file__).parents[2] / "golden"
GITHUB = MarkdownIt("commonmark", {"html": True}).enable("table")


def test_mixed_plan(mixed_plan: Plan):
    """The whole markdown of a plan with everything in it, read by a person and kept."""
    assert plan_markdown(mixed_plan) == (GOLDEN / "mixed.md").read_text(encoding="utf-8")


def test_marks_stand_in_column_0(mixed_plan: Plan):
    """GitHub colours a diff line by its first character."""
    block = plan_markdown(mixed_plan).split("```diff\n")[1].split("\n```")[0].splitlines()
    assert [line[:2] for line in block] == ["+ ", "- ", "! "]


@pytest.mark.parametrize("limit", [65_536, 3000, 2000, 1200, 900])
def test_fits_and_says_what_is_left_out(mixed_plan: Plan, limit: int):
    """Within any limit that takes the head: complete, or with a sentence naming what is missing, the summary always there."""
    text = plan_markdown(mixed_plan, limit=limit)
    assert len(text) <= limit
    assert mixed_plan.summary in text
    assert ("Left out" in text) == (limit < 3500)


def test_details_go_in_the_declared_order(mixed_plan: Plan):
    """Nodes go first, then reasons of pods; problems stay longest."""
    whole = len(plan_markdown(mixed_plan))
    slightly_less = plan_markdown(mixed_plan, limit=whole - 1)
    assert "limited length: Nodes. " in slightly_less
    assert "batch/giant-*" in slightly_less
    little = plan_markdown(mixed_plan, limit=1230)
    assert "<summary>Problems and kinds that were not captured" in little
    assert "<summary>Held groups and their owners" not in little


def test_ten_thousand_groups_fit(mixed_plan: Plan):
    """Where even the changes are too many, lines are cut from the end and counted."""
    group = mixed_plan.groups[1]
    groups = tuple(msgspec.structs.replace(group, name=f"group-{number:05}") for number in range(10_000))
    text = plan_markdown(msgspec.structs.replace(mixed_plan, groups=groups, actions=(), pods=(), nodes=()))
    shown = text.count("\n+ group-")
    assert len(text) <= 65_536
    assert shown > 1000
    assert f"{10_000 - shown} lines of changes" in text


def test_astral_characters_count_twice(mixed_plan: Plan):
    """The length is counted in UTF-16 units, the strictest way in which a host may count."""
    problems = tuple(PlanProblem(code="X", message="\N{GRINNING FACE}" * 4_000) for _ in range(400))
    text = plan_markdown(msgspec.structs.replace(mixed_plan, problems=problems))
    assert len(text.encode("utf-16-le")) // 2 <= 65_536
    assert "\N{GRINNING FACE}" not in text  # 40,000 of them would fit by code points, but are 80,000 units


EVIL = (
    "</details><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "```\n# heading\n```",
    "` @octocat #12 `` **bold** [link](https://example.invalid)",
    "| cell | cell |\n| --- | --- |",
    "\\|pipe",
    "-->",
)


@pytest.mark.parametrize("evil", EVIL)
def test_text_of_others_stays_text(mixed_plan: Plan, evil: str):
    """Whatever stands in names and reasons, the parsed document has the same structure as with harmless ones."""
    assert _structure(_with(mixed_plan, evil)) == _structure(_with(mixed_plan, "harmless"))


def _with(plan: Plan, text: str) -> str:
    owner = Ownership(state=OwnerState.HELD, by=text, evidence=(text,))
    return plan_markdown(
        msgspec.structs.replace(
            plan,
            cluster=text,
            policy=text,
            groups=tuple(msgspec.structs.replace(group, name=text + group.name, tier=text, owner=owner) for group in plan.groups),
            actions=tuple(msgspec.structs.replace(action, group=text + action.group) for action in plan.actions),
            pods=tuple(msgspec.structs.replace(pod, pod=text + pod.pod) for pod in plan.pods),
            nodes=tuple(msgspec.structs.replace(node, node=text + node.node) for node in plan.nodes),
            problems=(PlanProblem(code=text, object=text, message=text),),
            not_captured=(text,),
        )
    )


def _structure(markdown: str) -> list[tuple[str, str]]:
    """Types of all tokens, with the text of those that a browser would take as HTML or as prose."""
    found = []
    for token in GITHUB.parse(markdown):
        if token.type == "html_block":
            found.append((token.type, token.content))
        elif token.type == "inline":
            # Where a line of prose ends hangs on the lengths of the names in it.
            told = "".join("\0" if child.type == "code_inline" else child.content or " " for child in token.children or ())
            found += [(child.type, "") for child in token.children or () if child.type not in ("text", "softbreak")]
            found.append((token.type, told.replace(" ", "")))
        else:
            found.append((token.type, token.info))
    return found


@pytest.mark.parametrize(
    ("text", "span"),
    [("a", "`a`"), ("", ""), ("a`b", "``a`b``"), ("`a``", "``` `a`` ```"), ("a|b", "`a\\x7cb`"), ("a\nb", "`a b`")],
)
def test_code_span(text: str, span: str):
    """The delimiter is the shortest run of backticks that does not stand in the text."""
    assert code(text) == span


def test_fence_is_longer_than_any_run_inside():
    """A line of four backticks does not end the block."""
    assert fenced(["````"], "text") == ["`````text", "````", "`````"]
