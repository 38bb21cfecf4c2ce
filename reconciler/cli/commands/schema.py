"""`reconciler schema`: the generated schemas and the reference, printed."""

import click

# What may be asked for -> the file below schemas/ that holds the same; CRDs are several documents.
_FILES = {
    "policy": "policy.schema.json",
    "plan": "plan.schema.json",
    "preview": "preview.schema.json",
    "apply": "apply.schema.json",
    "explain": "explain.schema.json",
    "simulate": "simulate.schema.json",
    "tune": "tune.schema.json",
    "run": "run.schema.json",
    "fit": "fit.schema.json",
    "drain-report": "drain-report.schema.json",
    "validate": "validate.schema.json",
    "doctor": "doctor.schema.json",
    "status": "status.schema.json",
    "hold": "hold.schema.json",
    "report": "report.schema.json",
    "policy-test": "policy-test.schema.json",
    "test": "test.schema.json",
}


@click.command("schema")
@click.argument("what", type=click.Choice([*_FILES, "crds", "reference"]), default="policy", metavar="[WHAT]")
def command(what: str) -> None:
    """Print a schema: policy (the default), plan, preview, apply, explain, simulate, tune, run, fit,
    drain-report, validate, doctor, status, hold, report, policy-test, test, crds or reference.

    policy and policy-test are the JSON Schemas of policies and of policy tests, for editors. crds are the custom resource
    definitions. reference is the table of all keys, as markdown. Each other name is a command: its schema describes the
    output with `-o json` (run: with --simulate).

    \b
    Examples:
      reconciler schema policy > policy.schema.json
      head -1 policies/prod.yaml
      # yaml-language-server: $schema=../policy.schema.json
      reconciler schema crds | kubectl apply --server-side -f -
      reconciler schema plan > plan.schema.json
      reconciler schema reference > policy.md
    """
    if what == "reference":
        from reconciler.rendering.schemas.reference import reference_text

        click.echo(reference_text(), nl=False)
        return
    from reconciler.rendering.schemas.generated import generated_files

    files = generated_files()
    if what == "crds":
        click.echo("---\n".join(text for name, text in files.items() if name.startswith("crds/")), nl=False)
    else:
        click.echo(files[_FILES[what]], nl=False)
