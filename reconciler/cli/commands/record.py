"""`reconciler record`: what a cluster's pods ask for, over time, as a trace for `simulate` and `tune`."""

from pathlib import Path

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.redaction import redaction_options


@click.command("record")
@click.option(
    "--out", "out", metavar="DIR", type=NAMED_PATH, required=True, help="Directory with one file per day. It may exist."
)
@click.option(
    "--cluster", "snapshots", metavar="PATH", type=NAMED_PATH, multiple=True,
    help="Add this snapshot instead of a live cluster. May be repeated.",
)  # fmt: skip
@click.option(
    "--import", "imported", metavar="FILE", type=NAMED_PATH, multiple=True,
    help="Add what another program kept, instead of a live cluster. May be repeated, the oldest first.",
)  # fmt: skip
@click.option("--every", metavar="DURATION", help="Go on, and look so often [default: once].")
@click.option("--redact", is_flag=True, help="Keep only what decisions read, in words that may be seen.")
@redaction_options
@connection_options
def command(
    out: Path, snapshots: tuple[Path, ...], imported: tuple[Path, ...], every: str | None, *, redact: bool, **given: object
) -> None:
    """Record which pods a cluster wants, and from when on. simulate and tune take the directory with --trace. Nothing is written
    to the cluster.

    Pods of DaemonSets, finished pods and gated pods are left out, as are environments, images and everything else that a decision
    does not read. Lines are only added, and are on disk before the next look. After an interruption, the recording goes on. Files
    of more than 30 days, or beyond 50 MB, are deleted. A pod that came and went between two looks is missing.

    --import takes audit logs of the API server, with pods at the level RequestResponse. It also takes responses of Prometheus
    to range queries of kube-state-metrics, and a trace of SimKube. Of public traces, it takes the tables of Azure VM 2017 and of
    openb. Files may be gzipped.

    The loop records the same with `run --record DIR`. With --redact, use the same --salt-file every time: without one, the
    same pod gets other names after each start.

    \b
    Examples:
      reconciler record --context prod --out demand/ --every 30s
      reconciler record --context prod --out demand/ --redact \\
        --salt-file salt
      reconciler record --cluster captures/one \\
        --cluster captures/two --out demand/
      reconciler record --import audit.log.gz --out demand/
      reconciler tune --trace demand/
    """
    import time

    from reconciler.cli.inputs.cluster_files import load_world
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.imported_files import read_imported
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.redaction import pseudonyms, redaction_choice
    from reconciler.cli.inputs.trace_files import duration
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cli.outputs.recorded_days import RecordedDays
    from reconciler.cli.outputs.telling import tell
    from reconciler.cluster.values.unreadable import SnapshotError

    seconds = None if every is None else max(1, duration("--every", every))
    choice, connection = redaction_choice(given)
    if (snapshots or imported) and (seconds is not None or redact):
        raise click.UsageError("--every and --redact are for a live cluster: `snapshot --redact` redacts a snapshot")
    if snapshots and imported:
        raise click.UsageError("--cluster and --import are two sources: give one")
    if imported:
        found = read_imported(imported)
        RecordedDays(out).add_all(found.trace)
        for sentence in found.left_out:
            tell(f"not in the recording: {sentence}")
        return
    days = RecordedDays(out)
    for path in snapshots:
        world = load_world(path)
        days.observe(world, world.captured_seconds)
    if snapshots:
        return
    hidden = pseudonyms(choice) if redact else None
    live = LiveInputs(connection_choice(connection))
    while True:
        began = time.monotonic()
        try:
            capture = live.capture()
            world = (capture if hidden is None else capture.redacted(hidden)).world()
            days.observe(world, capture.captured_seconds)
        except (InputError, SnapshotError) as error:
            if seconds is None:
                raise InputError(str(error)) from None
            tell(f"warning: not recorded: {error}")
        if seconds is None:
            return
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
