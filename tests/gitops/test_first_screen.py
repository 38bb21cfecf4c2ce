"""What a reviewer with half a minute sees of a preview: the gravest effect first, nothing to scroll sideways for."""

import os
import secrets
import shutil
from pathlib import Path

import pytest

from reconciler.cli.inputs.cluster_files import load_world
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.gitops.preview import compare
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.tree import read_tree
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Grade
from reconciler.rendering.printers.markdown.preview import preview_markdown
from reconciler.rendering.printers.text.preview import preview_text
from tests.gitops.random_previews import MOST_COLUMNS, first_words, prose_lines, random_preview

ROOT = Path(__file__).resolve().parents[2]
NUMBER = int(os.environ.get("RANDOM_PREVIEWS", "12"))


def gravest_words(preview: Preview) -> str:
    """The gravest effect, counted from both sides here and not by the renderer; empty where nothing gets worse."""
    before, after = preview.impact_before, preview.impact_after
    assert preview.comparison is not None
    lost, got = set(after.waiting) - set(before.waiting), set(before.waiting) - set(after.waiting)
    if more := max(0, len(lost) - len(got)):
        return f"{more} more pod{'s have' if more > 1 else ' has'} nowhere to run"
    if lost:
        return f"{len(lost)} pod{'s lose their' if len(lost) > 1 else ' loses its'} place"
    if any(one.path == "mode" for one in preview.loosened):
        return "turns writing on"
    removed = len(set(after.nodes_gone) - set(before.nodes_gone)) - len(set(before.nodes_gone) - set(after.nodes_gone))
    if removed > 0:
        return f"{removed} more node{'s are' if removed > 1 else ' is'} removed"
    evictions = len(after.evicted_settled) - len(before.evicted_settled)
    if evictions > 0:
        return f"{evictions} more eviction"
    return ""


def check(preview: Preview) -> None:
    markdown, text = preview_markdown(preview), preview_text(preview)
    wide = [line for line in markdown.splitlines() if len(line) > MOST_COLUMNS]
    assert not wide
    assert [line for line in text.splitlines() if len(line) > MOST_COLUMNS] == []
    assert max(map(len, prose_lines(markdown))) <= MOST_COLUMNS
    gravest = gravest_words(preview)
    for shown in (markdown, text):
        assert gravest.lower() in first_words(shown).lower()
    graded = [one.grade for one in consequences(preview)]
    assert graded == sorted(graded, key=list(Grade).index)
    assert bool(gravest) <= (graded[:1] == [Grade.CAUTION])
    if not preview.changed:
        assert markdown.startswith("## No effect: ")


def test_random_previews() -> None:
    """Of many random changes of policies. RANDOM_PREVIEWS says how many."""
    for _ in range(NUMBER):
        seed = secrets.randbits(32)
        try:
            check(random_preview(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


# Every example, with a change that its policy could see.

EXAMPLES = {
    "quickstart": ("examples/quickstart", "policies", "mode: Enforce", "mode: Observe"),
    "quickstart, smaller": ("examples/quickstart", "policies", "size: {min: 2, max: 10}", "size: {min: 2, max: 3}"),
    "quickstart, looser": ("examples/quickstart", "policies", "unneededTime: 10m ", "unneededTime: 0s "),
    "eks": ("examples/eks/cluster", "examples/eks/policies", "mode: Observe", "mode: Enforce"),
    "openshift": ("examples/openshift/cluster", "examples/openshift/policies", "mode: Observe", "mode: Enforce"),
    "crusoe": ("examples/crusoe/story/1-not-ready", "examples/crusoe/policies", "mode: Observe", "mode: Enforce"),
}


@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "turned round"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, *, turned: bool, tmp_path: Path) -> None:
    """Each with a change of one value, and with the change taken back."""
    cluster, policies, old, new = EXAMPLES[name]
    world = load_world(ROOT / cluster)
    sides = []
    for at, (found, instead) in enumerate((("", ""), (old, new))):
        target = tmp_path / str(at)
        shutil.copytree(ROOT / policies, target, ignore=shutil.ignore_patterns("tests"))
        changed = 0
        for file in target.glob("*.yaml") if found else ():
            text = file.read_text(encoding="utf-8")
            changed += text.count(found)
            file.write_text(text.replace(found, instead), encoding="utf-8")
        assert changed or not found
        files = {file.name: file.read_bytes() for file in target.rglob("*.yaml")}
        (rules,) = read_tree(files, now_seconds=world.captured_seconds).sets
        sides.append((PreviewSide(source=str(at)), rules))
    before, after = reversed(sides) if turned else sides
    check(compare(world, world.captured_seconds, before, after, DEFAULT_WORK_BUDGET))
