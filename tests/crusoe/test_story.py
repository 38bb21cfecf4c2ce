"""The example: what the server tells, and what the plans at its turns are made from, is what is committed."""

from tests.crusoe.service.server import Service
from tests.crusoe.story import EXAMPLE, told


def test_the_story_is_told_as_it_happens(service: Service) -> None:
    """All of it stands in the README, and the snapshots are those of its turns. `python -m tests.crusoe.story` writes them."""
    seen: dict[str, dict[str, bytes]] = {}
    lines = "".join(f"{line}\n" for line in told(service, seen))
    assert f"```text\n{lines}```" in (EXAMPLE / "README.md").read_text(encoding="utf-8")
    committed = {turn.name: {path.name: path.read_bytes() for path in turn.iterdir()} for turn in (EXAMPLE / "story").iterdir()}
    assert committed == seen


def test_the_checklist_begins_with_what_matters_most() -> None:
    """Its first line is the question that nobody could answer."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    first = text.partition("## The checklist")[2].partition("\n1. ")[2]
    assert first.startswith("**Does lowering the count delete a machine?**")
