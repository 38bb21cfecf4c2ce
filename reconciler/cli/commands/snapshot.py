"""`reconciler snapshot`: a live cluster as files that every other command reads."""

from pathlib import Path

import click

from reconciler.cli.commands.snapshot_publish import publish_options
from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.redaction import pseudonyms, redaction_choice, redaction_options
from reconciler.cli.outputs.telling import tell


@click.command("snapshot")
@click.option(
    "--out",
    "out",
    metavar="DIR",
    type=NAMED_PATH,
    help="Directory to write. It must not exist.",
)
@click.option("--force", is_flag=True, help="Replace DIR if it is a snapshot.")
@click.option("--redact", is_flag=True, help="Keep only what decisions read, in words that may be seen.")
@click.option("--gzip", "zipped", is_flag=True, help="Compress every list.")
@redaction_options
@publish_options
@connection_options
def command(
    out: Path | None,
    publish: str | None,
    publish_branch: str,
    cluster_name: str | None,
    *,
    force: bool,
    redact: bool,
    zipped: bool,
    **given: object,
) -> None:
    """Capture a live cluster: one list per kind, and snapshot.yaml with the time of the capture. Nothing is written to the
    cluster.

    plan, explain, fit, drain-report, preview, simulate and doctor take the directory with --cluster. The same objects give the
    same bytes.

    Secrets and ConfigMaps are never read. With --redact, only the fields that decisions read stay. Names of nodes, namespaces,
    targets, machines and classes, amounts, zones and instance types stay as they are. So do words that Kubernetes or
    --readable-policy uses. Every other word (pods, their labels, owners, volumes) becomes a pseudonym, made with the secret in
    --salt-file. Plans stay the same except for these words. With --hide-names, those names become numbered pseudonyms, too,
    unless a readable policy has them. So does the name of the cluster, unless --cluster-name gives it. Names of a cloud's groups
    stay.

    --publish writes a redacted snapshot to where previews find it without credentials for the cluster. This is a branch of a
    repository (`preview --cluster-ref`), below the name of the cluster, or one file (`--cluster NAME.tar.gz`).

    \b
    Examples:
      reconciler snapshot --context prod --out snapshot/
      reconciler snapshot --out snapshot/ --redact --salt-file salt \\
        --readable-policy policies/ --gzip --force
      reconciler snapshot --context prod --out snapshot/ \\
        && reconciler plan --cluster snapshot/
      reconciler snapshot --publish https://git.example.org/policies.git \\
        --cluster-name prod --git-password-file token
    """
    import msgspec

    from reconciler.cli.commands.snapshot_publish import check_target
    from reconciler.cli.commands.snapshot_publish import publish as published
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.remote_access import remote_access
    from reconciler.cli.outputs.saved_snapshot import checked_directory, write_snapshot
    from reconciler.cli.outputs.terminal import progress

    if out is None and publish is None:
        raise click.UsageError("give --out DIR, --publish URL or FILE, or both")
    choice, given = redaction_choice(given)
    hidden = pseudonyms(choice) if redact or publish is not None else None
    access, connection = remote_access(given)
    if publish is not None:
        check_target(publish, publish_branch, access)
    if out is not None:
        checked_directory(out, force=force)
    with progress("reading the cluster"):
        capture = LiveInputs(connection_choice(connection), or_snapshot=False).capture(own_clouds=True)
        if cluster_name is not None:
            capture = msgspec.structs.replace(capture, cluster=cluster_name)
        elif hidden is not None and hidden.hides_names:
            capture = msgspec.structs.replace(capture, cluster=hidden.word(capture.cluster))
    if out is not None:
        write_snapshot(out, (capture.redacted(hidden) if redact and hidden is not None else capture).files(), zipped=zipped)
    if publish is not None and hidden is not None:
        with progress("publishing"):
            line = published(capture.redacted(hidden), publish, publish_branch, access)
        tell(line)
    counts = ", ".join(
        f"{len(item.items)} {item.file.rpartition('/')[2].partition('.')[0]}" for item in capture.listings if item.items
    )
    tell(f"{out or capture.cluster}: {counts or 'nothing is there'}")
