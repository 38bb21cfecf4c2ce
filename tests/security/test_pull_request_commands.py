"""No text of others is a line that a runner of workflows obeys, a terminal acts on, or that ends where it should not.

`FUZZ_TEXTS=20000` takes so many texts through every field of every format; a few hundred are taken by default.
"""

import json
import os
import random
from pathlib import Path

import msgspec
import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import InputError, guarded
from reconciler.plan.picture import Pictures
from reconciler.plan.preview import Preview, PreviewSide, SnapshotSeen
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem, Severity
from reconciler.rendering.documents.preview.values import preview_values
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.html.preview import preview_html
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.markdown.plan import plan_markdown
from reconciler.rendering.printers.markdown.preview import preview_markdown, refused_markdown
from reconciler.rendering.printers.problem_lines import render_text
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.rendering.printers.text.preview import preview_text
from tests.gitops.repositories import POLICY, group, write_cluster
from tests.rendering.hostile import hostile_pictures, hostile_plan
from tests.security.workflow_runner import carried_out, commands

TEXTS = int(os.environ.get("FUZZ_TEXTS", "240"))
_PARTS = (
    "::add-mask::x", "::error file=a,line=1::x", "##[add-mask]x", "##[error]x", "#\u00ad#[add-mask]x", ":\u034f:add-mask::x",
    "::stop-commands::x", "##[group]", "::set-output name=a::b", "::\u200dadd-mask::x", "::debug::", "##vso[task.setvariable]x",
    "\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1b[2J", "\x1b]0;t\x07", "\x9b1m", "\0", "\x08", "\u202e",
    " ", "  ", "\t", "\u00a0", "\u3000", "\u2003", "\u200b", "\ufeff", "word", "a" * 97, "b" * 131, "`", "```", "|", "<b>", "-->",
    "%0A", "%3A%3A", "\\n", '"', "'", ":", "#", "[", "]", "##", "::", "\U000e0001", "\ufe0f", "é", "汉字", "]]>", "&#58;&#58;",
)  # fmt: skip
_ACTED_ON = {*map(chr, (*range(9), *range(11, 32), *range(127, 160))), *"\u200b\u200e\u200f\u2028\u2029\u202e\u2066\ufeff"}


def texts(seed: int, number: int) -> list[str]:
    choose = random.Random(seed)
    return ["".join(choose.choices(_PARTS, k=choose.randint(1, 7))) for _ in range(number)]


def problem(text: str) -> Problem:
    place = Place(text, 1, 1)
    return Problem(
        severity=Severity.ERROR, code="Invalid", message=text, place=place, source=text, hint=text, related=((place, text),)
    )  # fmt: skip


def rendered(text: str) -> dict[str, str]:
    """Every format, with `text` in every field that comes from others."""
    plan, pictures = hostile_plan(text), hostile_pictures(text)
    side = PreviewSide(source=text, revision=text)
    seen = SnapshotSeen(source=text, digest=text, captured_at=text, changed=True)
    alone = Preview(
        base=side, head=side, plan=plan, no_base=text, warnings=(problem(text),), base_problems=(problem(text),),
        untouched=(text,), snapshot=seen, pictures=Pictures(now=pictures.now),
    )  # fmt: skip
    return {
        "text": plan_text(plan, width=72), "wide": plan_text(plan, wide=True), "markdown": plan_markdown(plan),
        "json": json_text(plan), "html": plan_html(plan, pictures),
        "preview text": preview_text(alone, width=72), "preview markdown": preview_markdown(alone),
        "preview json": json_text(preview_values(alone)), "preview html": preview_html(alone),
        "refused": refused_markdown((problem(text),), side, side), "problems": render_text((problem(text),)),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_no_text_of_others_is_a_command(seed: int):
    """In no format is there a line that a runner reads as a command, with commands not even stopped."""
    for text in texts(seed, max(1, TEXTS // 4)):
        for name, output in rendered(text).items():
            assert not commands(output), (name, text, commands(output)[:1])


@pytest.mark.parametrize("seed", range(2))
def test_nothing_steers_a_terminal(seed: int):
    """Text and markdown hold no character that is acted on or hidden, JSON none that is not escaped."""
    for text in texts(seed, max(1, TEXTS // 10)):
        for name, output in rendered(text).items():
            assert not _ACTED_ON & set(output), (name, text, _ACTED_ON & set(output))


def test_json_says_what_was_said():
    """Escapes are spelling: a program reads the same text."""
    for text in texts(7, 40):
        assert json.loads(json_text(hostile_plan(text)))["summary"] == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("text", ["\n::add-mask::x", "a\x1b]0;t\x07", "##[add-mask]x", "\r::error::x", "\u202e"])
def test_errors_are_plain(text: str, capsys: pytest.CaptureFixture[str]):
    """Whatever an error quotes; also one of the command line, whose words may be names of branches."""
    InputError(f"policy {text} is none").show()
    guarded(cli, ["preview", "--base", "main", "--no-such-option", text])
    guarded(cli, ["schema", text])
    told = capsys.readouterr().err
    assert "policy" in told
    assert not commands(told)
    assert not _ACTED_ON & set(told)


HOSTILE = (
    "hold on to this word " * 5 + "::add-mask::x", "##[error]x", "a\n::error::x", "b" * 97 + "::add-mask::x",
    "\x1b[2J\n ::debug::x",
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Policies and a cluster with such texts in names of files, in reasons and in what is no policy at all."""
    base, head = tmp_path / "base", tmp_path / "head"
    for directory in (base, head):
        directory.mkdir()
        (directory / "prod.yaml").write_text(POLICY)
    for number, text in enumerate(HOSTILE):
        held = group("general" if not number else f"g{number}") + f"  hold: {{reason: {json.dumps(text)}}}\n"
        (head / f"{number}.yaml").write_text(held)
    (head / "::add-mask::x.yaml").write_text(group("quiet"))
    (head / "##[error]x.yaml").write_text(group("other"))
    write_cluster(tmp_path / "cluster")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    return tmp_path


@pytest.mark.parametrize("words", [
    "preview --base-dir {0}/base --head-dir {0}/head --cluster {0}/cluster -o text",
    "preview --base-dir {0}/base --head-dir {0}/head --cluster {0}/cluster -o markdown",
    "preview --base-dir {0}/base --head-dir {0}/head --cluster {0}/cluster -o json",
    "plan --policy {0}/head --cluster {0}/cluster",
    "explain group general --policy {0}/head --cluster {0}/cluster",
    "explain group nothing --policy {0}/head --cluster {0}/cluster",
    "explain value general/hold.reason --policy {0}/head --cluster {0}/cluster",
    "validate {0}/head", "validate {0}/broken", "validate {0}/broken -o json", "validate {0}/broken -o sarif",
    "plan --policy {0}/broken --cluster {0}/cluster", "plan --policy {0}/base --cluster {0}/broken-cluster",
    "preview --base-dir {0}/base --head-dir {0}/broken --cluster {0}/cluster -o markdown",
])  # fmt: skip
def test_a_command_under_a_pipeline(tree: Path, capsys: pytest.CaptureFixture[str], words: str):
    """Nothing is a command but the one line that stops them, which comes first and holds a secret of this run."""
    broken = tree / "broken"
    broken.mkdir()
    for number, text in enumerate(HOSTILE):
        (broken / f"{number}.yaml").write_text(f"{json.dumps(text)}: [\n")
    (broken / "::add-mask::x.yaml").write_text("kind: NodeGroup\n")
    (broken / "##[error]x.yaml").write_text("a: b: c\n")
    (tree / "broken-cluster").mkdir()
    (tree / "broken-cluster" / "::add-mask::x.json").write_text('{"kind": "\\n::error::x", "items": 3}')
    guarded(cli, words.format(tree).split())
    printed = capsys.readouterr()
    first, *rest = printed.err.splitlines(keepends=True)
    assert first.startswith("::stop-commands::")
    assert len(first.removeprefix("::stop-commands::").strip()) == 64
    assert commands("".join(rest)) == []
    assert commands(printed.out) == []
    assert carried_out(printed.err + printed.out) == []
    assert not _ACTED_ON & set(printed.out + printed.err)


def test_our_own_annotations_are_still_read(tree: Path, capsys: pytest.CaptureFixture[str]):
    """`validate -o github` prints commands: exactly one for each problem."""
    (tree / "head" / "::add-mask::x.yaml").write_text("kind: NodeGroup\n")
    guarded(cli, ["validate", str(tree / "head"), "-o", "github"])
    printed = capsys.readouterr()
    assert commands(printed.err) == []
    assert carried_out(printed.out) == printed.out.splitlines()
    assert all(line.startswith(("::error file=", "::warning file=")) for line in printed.out.splitlines())


def test_another_run_has_another_token(tree: Path, capsys: pytest.CaptureFixture[str]):
    """Nobody can know it before."""
    tokens = set()
    for _ in range(3):
        guarded(cli, ["validate", str(tree / "base")])
        tokens.add(capsys.readouterr().err.splitlines()[0])
    assert len(tokens) == 3


def test_the_trap_works():
    """The runner here obeys what the real one does."""
    assert commands("  ::add-mask::x\n ::ADD-MASK::x\na ::error::x") == ["  ::add-mask::x", " ::ADD-MASK::x"]
    hidden = "a ##[error]x\nb ::error::x\n\u00a0::error::y\n:\u200d:error::z"
    assert commands(hidden) == ["a ##[error]x", "\u00a0::error::y", ":\u200d:error::z"]
    assert carried_out("::stop-commands::t\n::error::x\n::t::\n::error::y") == ["::error::y"]
    assert msgspec.json.encode("#") == b'"#"'
