"""The pages as a whole: each is listed under its own title, and each alert has its section in the runbook."""

import re

import pytest
import yaml

from tests.deploy.rendered import DEPLOY
from tests.docs.test_documents import ROOT

DOCS = ROOT / "docs"
RUNBOOK = (DOCS / "how-to" / "runbook.md").read_text(encoding="utf-8")
_ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", re.M)
_TITLE = re.compile(r"^# (.+)$", re.M)
_PARTS = ("**Symptom.** ", "**Cause.** ", "```sh\n", "**Do.** ")


def _alerts() -> list[str]:
    (rule,) = yaml.safe_load_all((DEPLOY / "monitoring" / "alerts.yaml").read_text(encoding="utf-8"))
    return [one["alert"] for group in rule["spec"]["groups"] for one in group["rules"]]


def test_every_page_is_listed_by_its_title() -> None:
    """The menu of the site shows the titles of the pages, so that both lists read the same."""
    listed = {path: title for title, path in _ENTRY.findall((DOCS / "index.md").read_text(encoding="utf-8"))}
    pages = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md") if path != DOCS / "index.md"}
    titles = {name: found[1] for name, path in pages.items() if (found := _TITLE.search(path.read_text(encoding="utf-8")))}
    assert listed == titles


def test_no_group_of_the_index_is_long() -> None:
    """A reader finds a page among at most a dozen."""
    groups = (DOCS / "index.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(groups) > 6
    assert {group.partition("\n")[0]: len(_ENTRY.findall(group)) for group in groups if len(_ENTRY.findall(group)) > 12} == {}


@pytest.mark.parametrize(
    "words", ["HPA", "VPA", "KEDA", "GKE", "AKS", "EKS", "OpenShift", "Karpenter", "Runbook", "Argo CD", "Flux"]
)
def test_the_index_has_the_words_that_people_look_for(words: str) -> None:
    """Each is in the title of a page."""
    assert any(words in title for title, _ in _ENTRY.findall((DOCS / "index.md").read_text(encoding="utf-8")))


def test_every_alert_has_its_section_in_the_runbook() -> None:
    """In the order of the rules; no section is of an alert that is gone."""
    assert re.findall(r"^## (.+)$", RUNBOOK, re.M) == _alerts()


@pytest.mark.parametrize("alert", _alerts())
def test_a_section_has_symptom_cause_commands_and_a_remedy(alert: str) -> None:
    """In this order."""
    section = RUNBOOK.split(f"\n## {alert}\n", 1)[1].split("\n## ", 1)[0]
    places = [section.find(part) for part in _PARTS]
    assert min(places) > 0
    assert places == sorted(places)
