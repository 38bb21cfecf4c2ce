"""What is committed below schemas/ is what the code generates."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.commands.schema import command
from reconciler.policy.fields import document_kinds, walk
from reconciler.rendering.schemas.generated import generated_files
from reconciler.rendering.schemas.reference import reference_text

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


@pytest.mark.parametrize("name", sorted(generated_files()))
def test_committed_file_is_current(name: str):
    """Regenerate with `reconciler schema …` when this fails."""
    assert (SCHEMAS / name).read_text(encoding="utf-8") == generated_files()[name]


def test_nothing_else_is_committed():
    """No stale schema stays behind."""
    found = {path.relative_to(SCHEMAS).as_posix() for path in SCHEMAS.rglob("*") if path.is_file()}
    assert found == set(generated_files())


@pytest.mark.parametrize(("what", "name"), [
    ([], "policy.schema.json"), (["plan"], "plan.schema.json"), (["preview"], "preview.schema.json"),
    (["fit"], "fit.schema.json"),
    (["validate"], "validate.schema.json"), (["hold"], "hold.schema.json"), (["report"], "report.schema.json"),
])  # fmt: skip
def test_command_prints_the_committed_file(what: list[str], name: str):
    """`reconciler schema WHAT` prints the file, byte by byte."""
    assert CliRunner().invoke(command, what).stdout == (SCHEMAS / name).read_text(encoding="utf-8")


def test_command_prints_both_crds_as_one_stream():
    """`kubectl apply -f -` takes it: two documents."""
    text = CliRunner().invoke(command, ["crds"]).stdout
    assert text.count("\nkind: CustomResourceDefinition\n") == 2
    assert text.count("\n---\n") == 1


def test_reference_has_a_line_for_every_key():
    """No setting is left out of the table but those that other software writes, and defaults told once."""
    text = reference_text()
    missing = [
        field.path
        for kind in document_kinds()
        for field in walk(kind.root)
        if field.path and not field.path.endswith("[]") and field.kind != "Opaque"
        if f"| `{field.path}`<br>" not in text
    ]
    told_elsewhere = ("spec.defaults.", "spec.tiers[].defaults.")
    selectors = (".matchLabels", ".matchExpressions", ".key", ".operator", ".values")
    assert [path for path in missing if not path.startswith(told_elsewhere) and not path.endswith(selectors)] == []


def test_reference_names_the_same_setting_elsewhere():
    """Names from the Cluster Autoscaler's own flags, OpenShift's fields and Cluster API's annotations stand in the table."""
    text = reference_text()
    row = next(line for line in text.splitlines() if line.startswith("| `spec.scaleDown.unneededTime`<br>"))
    assert "`--scale-down-unneeded-time`" in row
    assert "`spec.scaleDown.unneededTime`" in row.split("--scale-down-unneeded-time")[1]
    assert "`cluster.x-k8s.io/autoscaling-options-scaledownunneededtime`" in row
