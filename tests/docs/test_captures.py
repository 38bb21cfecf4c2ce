"""Commands that capture a cluster: what they print tells who owns replicas."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "README.md"]
_CAPTURE = re.compile(r"(?:kubectl|oc) get [^\n`]*-o (?:json|yaml)[^\n`]*")
# SOURCE: kubectl 1.21 and later leave managedFields out of JSON and YAML unless --show-managed-fields is given.
_TARGETS = re.compile(r"machine(?:deployment|set|pool)s")
_SHOWN = [
    (page.relative_to(ROOT).as_posix(), found)
    for page in _PAGES
    for found in _CAPTURE.findall(page.read_text())
    if _TARGETS.search(found)
]


def test_there_are_such_commands() -> None:
    assert {page for page, _ in _SHOWN} >= {"docs/how-to/cluster-api.md", "examples/openshift/README.md"}


@pytest.mark.parametrize(("page", "command"), _SHOWN)
def test_captured_targets_keep_their_managed_fields(page: str, command: str) -> None:
    """Without them every group is held."""
    assert "--show-managed-fields" in command, page
