"""One tree of blocks and its printers; lines that are cut are counted by what they are about, with the gravest of them."""

import re
from typing import get_args

import msgspec
import pytest
from markdown_it import MarkdownIt

from reconciler.plan.preview import Preview
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.documents.blocks import (
    FEWER,
    OTHERWISE,
    Alarm,
    Block,
    Code,
    Column,
    Difference,
    Document,
    Foreign,
    Item,
    Items,
    Meaning,
    Named,
    Names,
    OverTime,
    Paragraph,
    Problems,
    Section,
    Sources,
    Table,
    cut,
    gravest_first,
)
from reconciler.rendering.printers.markdown.document import document_markdown
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.rendering.printers.text.document import document_text
from reconciler.rendering.printers.text.preview import preview_text
from reconciler.rendering.words.plain import plain
from tests.gitops.random_previews import random_preview
from tests.rendering.printers.html.test_html_replay import figures, replay

LINES = (
    Difference(FEWER, "web: 4 pods wait", Meaning.DANGER, 4),
    Difference(OTHERWISE, "api: 3 pods wait", Meaning.HELD, 3),
    Difference(OTHERWISE, "db waits"),
)


def test_cut_counts_what_is_left_out_and_names_the_first_of_it():
    """3 + 1 pods are left out after the first line, and 4 + 3 + 1 after none; what is left of one line is that line."""
    assert cut(LINES, 3, "pod") == LINES
    assert cut(LINES, 1, "pod") == (
        LINES[0],
        Difference(OTHERWISE, "and 4 more pods, the gravest: api: 3 pods wait", Meaning.HELD, 4),
    )
    assert cut(LINES, 0, "pod") == (Difference(FEWER, "and 8 more pods, the gravest: web: 4 pods wait", Meaning.DANGER, 8),)
    assert cut(LINES, 2, "pod")[-1].sentence == "and 1 more pod: db waits"


def test_what_was_cut_before_is_counted_again_in_full():
    assert cut(cut(LINES, 1, "pod"), 0, "pod")[0].number == 8


def test_danger_comes_first():
    assert tuple(gravest_first(tuple(reversed(LINES)))) == LINES


# A preview is one tree: what one printer says stands in the same place for the other.

# Few values that change stand first, many stand last.
ORDER = (
    "Policy", "Groups", "Declared sizes", "Replay", "Actions", "Pods", "Nodes", "Problems", "Warnings about the policy", "Policy",
)  # fmt: skip
PROBLEM = Problem(severity=Severity.WARNING, code="Code", message="a hold that has ended", place=Place("a.yaml", 3, 4))


def with_everything(seed: int) -> Preview:
    size = SizeChange(place=PROBLEM.place, what="MachineDeployment a/b", path="spec.replicas", before="3", after="5")
    shown = replay(figures("before", 90, "0.384"), figures("after", 30, "0.768"))
    return msgspec.structs.replace(
        random_preview(seed),
        warnings=(PROBLEM,),
        sizes=(size,),
        replay=shown,
        untouched=tuple(f"quiet-{number}" for number in range(30)),
    )


@pytest.mark.parametrize("seed", range(8))
def test_text_and_markdown_tell_the_same_in_one_order(seed: int):
    preview = with_everything(seed)
    in_text = re.findall(rf"^({'|'.join(ORDER)})(?::|$)", preview_text(preview), re.M)
    in_markdown = re.findall(rf"(?:^### |<summary>)({'|'.join(ORDER)})(?: \(|$)", preview_markdown(preview), re.M)
    few = in_text[0] == "Policy"
    order = ORDER[:-1] if few else ORDER[1:]
    assert in_text == in_markdown == [heading for heading in order if heading in in_text]
    assert {"Declared sizes", "Replay", "Warnings about the policy"} <= set(in_text)


def test_where_there_is_no_room_names_and_warnings_go_before_the_last_effects():
    """The names of untouched groups first, then news of groups, then warnings, then lines of what differs."""
    preview = with_everything(0)
    whole = preview_markdown(preview)
    without_names = preview_markdown(preview, limit=len(whole) - 1)
    assert "<summary>30 groups untouched" not in without_names
    assert "Left out, since a comment has a limited length: 30 groups untouched. `-o json`" in without_names.replace("\n", " ")
    assert "<summary>Warnings" in without_names
    without_news = preview_markdown(preview, limit=len(without_names) - 1)
    assert "<summary>Also new about groups" not in without_news
    without_warnings = preview_markdown(preview, limit=len(without_news) - 1)
    assert "<summary>Warnings" not in without_warnings
    left_out = "length: 30 groups untouched, Also new about groups, Warnings about the policy."
    assert left_out in without_warnings.replace("\n", " ")
    assert without_warnings.count("more declared size") == 0


def every_block(text: str) -> tuple[Block, ...]:
    """One block of each kind, with `text` wherever others write."""
    problem = msgspec.structs.replace(PROBLEM, message=text, source=text, hint=text)
    return (
        Paragraph(("a word of ", Foreign(text))),
        Alarm(Meaning.HELD, ((Foreign(text),),)),
        Alarm(Meaning.DANGER, ((Foreign(text),),), "Caution"),
        Table(columns=(Column(heading=Foreign(text)), Column(heading="n", right=True)), rows=((Foreign(text), "1"),)),
        Table(columns=(Column(heading=""),), rows=((Foreign(text),),), title="folded"),
        Named((("today", text),)),
        Code((plain(text),)),
        Items((Item(text=text, bullet="- ", items=(Item(text=text, shorter=(text, "x")),), block=(plain(text),)),)),
        Paragraph((text,), strong=True),
        Names("2 names", (text, text)),
        Problems("Problems", (problem,)),
        OverTime(replay(figures(text, 1, "1")), (text,)),
        Sources((("snapshot", (text, text)),)),
        Section("Section", 1, (Difference("!", text, Meaning.HELD),), blocks=(Paragraph((Foreign(text),)),)),
    )


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "**b** [x](y) @all #1", "a|b`c``d", "\x1b[31m\u202ered", "::error::x"]
)
def test_no_block_lets_a_text_of_others_through(text: str):
    """Parsed as markdown there is no tag, link or emphasis that is not ours; nothing hidden is left in any output."""
    blocks = every_block(text)
    assert {type(block) for block in blocks} == set(get_args(Block))
    document = Document(title="T", lead=(Foreign(text),), facts=(("cluster", text), ("now", text)), blocks=blocks)
    markdown, terminal = document_markdown(document), document_text(document, width=80)
    assert not {"\x1b", "\u202e"} & {*markdown, *terminal}
    assert "::error::" not in markdown + terminal
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    inline = [child for token in tokens for child in token.children or ()]
    ours = re.compile(r"</?(details|summary|sub)>")
    types = [token.type for token in inline if token.type not in ("text", "code_inline", "softbreak", "html_inline")]
    assert types == ["strong_open", "strong_close"]
    tags = [token.content for token in (*tokens, *inline) if token.type in ("html_inline", "html_block")]
    assert not [tag for told in tags for tag in re.findall(r"<[^>]*>", told) if not ours.fullmatch(tag)]
