"""The pages of the reference say what the code says."""

import csv
import re

import pytest

from docs.generator.flags import becomes, default_here, flags
from docs.generator.pages import DOCS, PAGES, page
from reconciler.cli.main import COMMANDS
from reconciler.policy.fields import document_kinds, walk


@pytest.mark.parametrize("name", sorted(PAGES))
def test_committed_page_is_current(name: str) -> None:
    """When this fails: python -m docs.generator."""
    assert (DOCS / name).read_text(encoding="utf-8") == page(name)


def test_every_command_has_a_chapter() -> None:
    """As the list of `--help` has it."""
    assert re.findall("^## (.*)$", page("reference/commands.md"), re.M) == list(COMMANDS)


def test_every_flag_has_an_answer() -> None:
    """What the importer makes of it, or a reason; never neither, and no flag of the table is unknown."""
    silent = [flag.name for flag in flags() if not any(becomes(flag)) or "unknown" in becomes(flag)[1]]
    assert silent == []


def test_every_flag_that_a_field_names_is_in_the_table() -> None:
    """The reference of policies and the table of flags know the same flags."""
    named = {
        flag
        for kind in document_kinds()
        for field in walk(kind.root)
        for flag in re.findall(r"--([a-z][a-z-]+)", field.cluster_autoscaler)
    }
    assert sorted(named - {flag.name for flag in flags()}) == []


def test_flags_are_told_once() -> None:
    """And all of a release are there: 136 that it registers, and those of its libraries."""
    names = [flag.name for flag in flags()]
    assert len(names) == len(set(names))
    assert len(names) >= 136


@pytest.mark.parametrize(("name", "there", "here"), [
    ("scale-down-unneeded-time", "10m", "`10m`"),
    ("max-node-provision-time", "15m", "`15m`"),
    ("expendable-pods-priority-cutoff", "-10", "`-10`"),
])  # fmt: skip
def test_defaults_stand_side_by_side(name: str, there: str, here: str) -> None:
    """SOURCE: the FAQ of the Cluster Autoscaler."""
    (flag,) = (flag for flag in flags() if flag.name == name)
    assert (flag.default, default_here(flag)) == (there, here)


def test_metrics_in_alerts_and_dashboard_are_documented() -> None:
    """No rule that is shipped asks for a metric that the page does not have."""
    deploy = DOCS.parent / "examples" / "deploy" / "monitoring"
    asked = {name for path in deploy.iterdir() for name in re.findall(r"\breconciler_[a-z_]+", path.read_text(encoding="utf-8"))}
    known = set(re.findall(r"`(reconciler_[a-z_]+)`", (DOCS / "reference/metrics.md").read_text(encoding="utf-8")))
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in asked} - known == set()


def test_the_list_of_flags_is_plain() -> None:
    """Four columns in every line."""
    with (DOCS / "generator" / "cluster_autoscaler_flags.csv").open(encoding="utf-8", newline="") as file:
        assert {len(row) for row in csv.reader(file)} == {4}
