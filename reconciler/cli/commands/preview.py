"""`reconciler preview`: what a policy change does, before it is merged."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.plan import WORK_BUDGET_HELP
from reconciler.cli.inputs.verbose import verbose_option

if TYPE_CHECKING:
    from reconciler.cli.inputs.preview_sides import Asked, Side
    from reconciler.cli.inputs.trace_files import ReplayInputs
    from reconciler.cli.processes.fleet_preview import FleetAsked
    from reconciler.cluster.world import World
    from reconciler.gitops.pull_requests.pull_request import PullRequest
    from reconciler.plan.preview import Preview, SnapshotSeen
    from reconciler.policy.documents import PolicySet


@click.command("preview")
@click.option("--base", "base_ref", metavar="REF", help="Branch, tag or commit to compare with, as it is now.")
@click.option(
    "--head", "head_ref", metavar="REF", help="Branch, tag or commit with the change, merged into --base [default: HEAD]."
)
@click.option("--base-tip", is_flag=True, help="Show --head as it stands, without merging it into --base.")
@click.option("--base-dir", metavar="DIR", type=NAMED_PATH, help="Directory to compare with, instead of --base.")
@click.option("--head-dir", metavar="DIR", type=NAMED_PATH, help="Directory with the change, instead of --head.")
@click.option("--path", metavar="PATH", help="Where the policies are in the repository [default: policies].")
@click.option("--repo", metavar="DIR", type=NAMED_PATH, default=Path(), help="The repository [default: this directory].")
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Snapshot instead of a live cluster: a file, directory or tar of what kubectl prints, also dumps and support bundles.",
)
@click.option("--cluster-in-base", metavar="PATH", help="Snapshot at this place of the repository, as --base has it.")
@click.option("--cluster-ref", metavar="REF", help="Snapshot that `snapshot --publish` left at this ref of the repository.")
@click.option(
    "--cluster-name", metavar="NAME", help="Name of the cluster, in the comment and among the snapshots of --cluster-ref."
)
@click.option(
    "--fleet", is_flag=True,
    help="Preview many clusters together: --cluster DIR has a snapshot for each, or --cluster-ref REF.",
)  # fmt: skip
@click.option("--now", metavar="RFC3339", help="The instant of both decisions [default: that of the snapshot, now].")
@click.option(
    "--replay", "replay_path", metavar="PATH", type=NAMED_PATH,
    help="Also replay a capacity curve or recorded snapshots under both policies, as `simulate` does.",
)  # fmt: skip
@click.option("--until", metavar="DURATION", help="How much of the replay's trace, such as 24h [default: all of it].")
@click.option("--no-what-if", is_flag=True, help="Leave out what both policies do in other situations, which is faster.")
@click.option("--work-budget", metavar="N", type=click.IntRange(min=1), help=WORK_BUDGET_HELP)
@click.option(
    "-o", "--output", type=click.Choice(["text", "markdown", "json", "html"]), default="text", show_default=True, help="Format."
)
@click.option("--out", "out_path", metavar="FILE", type=NAMED_PATH, help="Also save the preview as JSON there.")
@click.option(
    "--comment",
    is_flag=True,
    help="In a CI job: keep one comment on its pull request (GITHUB_TOKEN, GITLAB_TOKEN, BITBUCKET_TOKEN, SYSTEM_ACCESSTOKEN).",
)
@click.option("--status", "mark", is_flag=True, help="With --comment: also set a commit status with the headline.")
@click.option(
    "--approval", "approvals", metavar="GRADE=NAME[,NAME]", multiple=True,
    help="With --status: it fails unless one of them approves a change with a caution (caution=) or also a warning (warning=).",
)  # fmt: skip
@click.option("--comment-key", metavar="KEY", help="Which comment: one a key [default: the cluster, and --name].")
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when the policy or the decision differs, 0 when not.")
@click.option("--wide", is_flag=True, help="Text: do not break lines, list every name.")
@verbose_option
@click.option("--stats", is_flag=True, help="Print one line of JSON on stderr: seconds by stage, peak memory, counts.")
@connection_options
def command(
    base_ref: str | None,
    head_ref: str | None,
    base_dir: Path | None,
    head_dir: Path | None,
    path: str | None,
    repo: Path,
    name: str | None,
    cluster_path: Path | None,
    cluster_in_base: str | None,
    cluster_ref: str | None,
    cluster_name: str | None,
    now: str | None,
    replay_path: Path | None,
    until: str | None,
    work_budget: int | None,
    output: str,
    out_path: Path | None,
    comment_key: str | None,
    approvals: tuple[str, ...],
    *,
    comment: bool,
    mark: bool,
    fleet: bool,
    base_tip: bool,
    no_what_if: bool,
    detailed_exitcode: bool,
    wide: bool,
    verbose: bool,
    stats: bool,
    **connection: object,
) -> int:
    """Show what a policy change does: how two policies differ, in words, and how the decisions that follow from them differ.

    Both policies are applied to the same cluster at the same instant: a snapshot, or the live cluster of the current context. The
    preview shows what happens now, and the steady state with unchanged demand. With two revisions, the base is compared with the
    result of merging the head into it. A conflict is reported with its files, and the exit code is 3. Revisions are read from the
    repository as they were committed: nothing is checked out, fetched or executed. With --comment, a snapshot in the checkout is
    refused, since the change under review may have written it. Use --cluster-in-base to read the base's.

    The policy tests next to the policy run as the change has them, with its snapshots. If one fails, the exit code is 4.

    A replay decides again whenever something has changed: about 300 times per day of demand under each policy. On a free
    processor, one day takes about 10 s with a dozen nodes and a minute with 1,500. --until replays less of the trace.

    \b
    Examples:
      reconciler preview --base origin/main --head HEAD --cluster snapshot/
      reconciler preview --base origin/main --head-dir policies/ \\
        --cluster snapshot/
      reconciler preview --base v1.4 --head v1.5 --path clusters/prod \\
        --cluster snapshot/ -o markdown
      reconciler preview --base origin/main --cluster snapshot/ -o html \\
        > preview.html
      reconciler preview --base origin/main --cluster snapshot/ --replay captures/
      reconciler preview --base origin/main --cluster snapshot/ \\
        --replay examples/traces/pool-28.csv --until 24h
      reconciler preview --base refs/remotes/origin/main \\
        --cluster-in-base snapshot --comment
      reconciler preview --base refs/remotes/origin/main \\
        --cluster-ref refs/remotes/origin/snapshots --cluster-name prod \\
        --comment
      reconciler preview --base refs/remotes/origin/main --fleet \\
        --cluster-ref refs/remotes/origin/snapshots --comment
      reconciler preview --base-dir rendered/main --head-dir rendered/change \\
        --cluster snapshot/ --detailed-exitcode
    """
    import msgspec

    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.inputs.preview_cluster import ClusterAsked, outside_checkout, read_cluster
    from reconciler.cli.inputs.preview_sides import DEFAULT_PATH, read_sides, sides_in
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_CONFLICT, EXIT_ERROR, EXIT_OK, EXIT_TESTS_FAILED
    from reconciler.cli.outputs.skipped_neighbours import tell_neighbours
    from reconciler.cli.outputs.stats import Stats
    from reconciler.cli.outputs.terminal import progress
    from reconciler.cli.processes.preview_made import chosen, elsewhere, made_preview, tested
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET

    base, head = _asked(base_ref, head_ref, base_dir, head_dir, path, base_tip=base_tip)
    if until is not None and replay_path is None:
        raise click.UsageError("--until goes with --replay PATH")
    if approvals and not (comment and mark):
        raise click.UsageError("--approval goes with --comment --status: the status enforces it")
    request = None
    if comment:
        from reconciler.cli.processes.preview_comment import annotate, asked_for, preview_content, refusal_content, report

        request = asked_for(mark=mark, rules=approvals)
    cluster = ClusterAsked(
        path=cluster_path, ref=cluster_ref, in_base=cluster_in_base, repository=repo, base=base.ref, head=head.ref,
        name=cluster_name, now=now, connection=connection_choice(connection),
    )  # fmt: skip
    cluster.check(reviewed=request is not None)
    if request is not None and replay_path is not None:
        outside_checkout(replay_path, repo, "--replay", "keep the replayed files outside of it")
    place = DEFAULT_PATH if path is None else path
    budget = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    if fleet:
        from reconciler.cli.processes.fleet_preview import FleetAsked

        if replay_path is not None or output == "html":
            raise click.UsageError("--fleet goes with neither --replay nor -o html")
        asked = FleetAsked(base=base, head=head, cluster=cluster, path=place, base_tip=base_tip, name=name, work_budget=budget)
        return _fleet(asked, request, comment_key, output, out_path, detailed_exitcode=detailed_exitcode, wide=wide)
    measured = Stats()
    with measured.stage("load"), progress("reading policies and cluster"):

        def in_force(at: int) -> "tuple[PolicySet, ...]":
            return read_sides(base, head, repo, place, at, base_tip=base_tip)[0].sets

        world, now_seconds, seen = read_cluster(cluster, in_force)
        before, after = read_sides(base, head, repo, place, now_seconds, base_tip=base_tip)
        before, after = sides_in(before, after, world, now_seconds)
    if verbose and after.tree is not None:
        tell_neighbours(after.tree)
    key = comment_key or "/".join(part for part in (world.name, name) if part) or "cluster"
    if after.errors:
        if request is not None:
            annotate(request, refusal_content(before, after))
        _refuse(before, after, now_seconds, output, out_path)
        if request is not None:
            report(request, key, refusal_content(before, after))
        return EXIT_CONFLICT if after.conflicting else EXIT_ERROR
    with measured.stage("decide"), progress("deciding twice"):
        policy = chosen(before, after, name)
        preview = made_preview(
            world, now_seconds, before, after, policy, name, budget, pictured=output == "html", with_what_if=not no_what_if
        )
        preview = msgspec.structs.replace(
            preview, snapshot=_aged(seen) if comment else seen, elsewhere=elsewhere(before, after)
        )  # fmt: skip
    with measured.stage("test"), progress("running policy tests"):
        preview = tested(preview, before, after, policy)
    if replay_path is not None:
        with measured.stage("replay"):
            preview = _with_replay(preview, _demand(replay_path, until, world), before, after, policy, budget)
    if request is not None:
        annotate(request, preview_content(preview, before, after))
    with measured.stage("render"):
        if out_path is not None:
            from reconciler.rendering.documents.preview.values import preview_values
            from reconciler.rendering.printers.json_text import json_text

            _save(json_text(preview_values(preview)), out_path)
        _write(_rendered(preview, output, wide=wide))
    if request is not None:
        report(request, key, preview_content(preview, before, after))
    if stats:
        counts = {"nodes": len(world.nodes), "pods": len(world.pods), "groups": len(preview.plan.groups)}
        click.echo(measured.line(**counts, policyChanges=len(preview.changes)), err=True)
    if preview.tests is not None and preview.tests.failed:
        return EXIT_TESTS_FAILED
    return EXIT_CHANGES if detailed_exitcode and preview.changed else EXIT_OK


def _fleet(
    asked: "FleetAsked",
    request: "PullRequest | None",
    comment_key: str | None,
    output: str,
    out_path: Path | None,
    *,
    detailed_exitcode: bool,
    wide: bool,
) -> int:
    """One change in many clusters: one document, and one comment."""
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_CONFLICT, EXIT_ERROR, EXIT_OK, EXIT_TESTS_FAILED
    from reconciler.cli.outputs.terminal import progress
    from reconciler.cli.processes.fleet_preview import fleet_content, fleet_preview
    from reconciler.rendering.documents.fleet.comparison import FLEET_LIMIT, fleet_document, fleet_values
    from reconciler.rendering.printers.json_text import json_text

    key = comment_key or "/".join(part for part in ("fleet", asked.name) if part)
    with progress("reading policies"):
        before, after = asked.sides()
    if after.errors:
        import time

        from reconciler.plan.fleet import FleetPreview

        document = json_text(fleet_values(FleetPreview(
            base=before.side, head=after.side, source=str(asked.cluster.path or asked.cluster.ref), clusters=(),
            warnings=after.problems,
        )))  # fmt: skip
        _refuse(before, after, int(time.time()), "none" if output == "json" else output, None)
        if out_path is not None:
            _save(document, out_path)
        if output == "json":
            _write(document)
        if request is not None:
            from reconciler.cli.processes.preview_comment import annotate, refusal_content, report

            annotate(request, refusal_content(before, after))
            report(request, key, refusal_content(before, after))
        return EXIT_CONFLICT if after.conflicting else EXIT_ERROR
    with progress("previewing each cluster"):
        fleet = fleet_preview(asked, before, after)
    if request is not None:
        from reconciler.cli.processes.preview_comment import annotate

        annotate(request, fleet_content(fleet, before, after))
    if out_path is not None:
        _save(json_text(fleet_values(fleet)), out_path)
    if output == "json":
        _write(json_text(fleet_values(fleet)))
    elif output == "markdown":
        from reconciler.rendering.printers.markdown.document import document_markdown

        _write(document_markdown(fleet_document(fleet), FLEET_LIMIT))
    else:
        import sys

        from reconciler.cli.outputs.terminal import text_width, wants_colour
        from reconciler.rendering.documents.fleet.comparison import fleet_document
        from reconciler.rendering.printers.text.document import document_text

        width = 0 if wide else text_width(sys.stdout)
        _write(document_text(fleet_document(fleet), width=width, colour=wants_colour(sys.stdout)))
    if request is not None:
        from reconciler.cli.processes.preview_comment import report

        report(request, key, fleet_content(fleet, before, after))
    if fleet.failed:
        return EXIT_ERROR
    if fleet.tests is not None and fleet.tests.failed:
        return EXIT_TESTS_FAILED
    return EXIT_CHANGES if detailed_exitcode and fleet.changed else EXIT_OK


def _aged(seen: "SnapshotSeen | None") -> "SnapshotSeen | None":
    """With its age by the clock of this machine. A comment shows it; decisions do not depend on it."""
    import time

    import msgspec

    from reconciler.values.instant import parse_instant

    if seen is None or seen.captured_at is None:
        return seen
    age = max(0, int(time.time()) - parse_instant(seen.captured_at))
    return msgspec.structs.replace(seen, age_seconds=age - age % 60)


def _asked(
    base_ref: str | None, head_ref: str | None, base_dir: Path | None, head_dir: Path | None, path: str | None, *, base_tip: bool
) -> tuple["Asked", "Asked"]:
    from reconciler.cli.inputs.preview_sides import Asked

    if (base_ref is None) == (base_dir is None):
        raise click.UsageError("give exactly one of --base REF and --base-dir DIR")
    if head_ref is not None and head_dir is not None:
        raise click.UsageError("give only one of --head REF and --head-dir DIR")
    if base_dir is not None and head_dir is not None and (path is not None or base_tip):
        raise click.UsageError("--path and --base-tip go with revisions, not with two directories")
    if base_dir is not None and head_ref is None and head_dir is None:
        raise click.UsageError("--base-dir also needs --head-dir DIR or --head REF")
    head_ref = "HEAD" if head_ref is None and head_dir is None else head_ref
    return Asked(ref=base_ref, directory=base_dir), Asked(ref=head_ref, directory=head_dir)


def _demand(path: Path, until: str | None, world: "World") -> "ReplayInputs":
    from reconciler.cli.inputs.trace_files import read_preview_trace
    from reconciler.cli.outputs.terminal import progress

    with progress("reading demand"):
        return read_preview_trace(path, world, until)


def _with_replay(
    preview: "Preview", demand: "ReplayInputs", before: "Side", after: "Side", policy: "PolicySet", work_budget: int
) -> "Preview":
    """Adds what past demand leads to under both policies; under the head's alone if no base exists."""
    import msgspec

    from reconciler.cli.outputs.replay_bar import replay_bar
    from reconciler.cli.processes.preview_made import earlier_set
    from reconciler.simulation.replays.replay import replay

    earlier = earlier_set(before, after, policy)
    sides = [] if earlier is None else [(before.side.source, earlier)]
    sides.append((after.side.source, policy))
    demand.check(sides)
    with replay_bar() as bar:
        figures = replay(
            sides, demand.trace, demand.world, lead_seconds=demand.lead_seconds, work_budget=work_budget, progress=bar
        )
    return msgspec.structs.replace(preview, replay=figures)


def _refuse(before: "Side", after: "Side", now_seconds: int, output: str, out_path: Path | None) -> None:
    """Print what is wrong with the head, as `validate` does; the base is not looked at."""
    import sys

    from reconciler.cli.outputs.telling import tell
    from reconciler.cli.outputs.terminal import wants_colour
    from reconciler.rendering.documents.preview.values import refused_values
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.problem_lines import render_text
    from reconciler.rendering.words.refusal import refusal
    from reconciler.values.instant import instant_text

    document = json_text(refused_values(before.side, after.side, after.problems, instant_text(now_seconds)))
    if output == "json":
        _write(document)
    elif output == "markdown":
        from reconciler.rendering.printers.markdown.preview import refused_markdown

        _write(refused_markdown(after.problems, before.side, after.side))
    elif output == "html":
        from reconciler.rendering.printers.html.preview import refused_html

        _write(refused_html(after.problems, before.side, after.side))
    elif output == "text":
        _write(render_text(after.problems, color=wants_colour(sys.stdout)))
    if out_path is not None:
        _save(document, out_path)
    number = refusal(after.problems).number
    if after.conflicting:
        tell(f"error: {after.where} cannot be merged into {before.side.source}: {number}, so nothing was decided")
    else:
        tell(f"error: {after.where}: {number} in the policy, so nothing was decided")


def _rendered(preview: "Preview", output: str, *, wide: bool) -> str:
    if output == "json":
        from reconciler.rendering.documents.preview.values import preview_values
        from reconciler.rendering.printers.json_text import json_text

        return json_text(preview_values(preview))
    if output == "markdown":
        from reconciler.rendering.printers.markdown.preview import preview_markdown

        return preview_markdown(preview)
    if output == "html":
        from reconciler.rendering.printers.html.preview import preview_html

        return preview_html(preview)
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.printers.text.preview import preview_text

    return preview_text(preview, colour=wants_colour(sys.stdout), wide=wide, width=text_width(sys.stdout))


def _write(text: str) -> None:
    """Data goes to stdout as UTF-8, whatever the locale."""
    click.echo(text.encode("utf-8", "replace"), nl=False)


def _save(text: str, path: Path) -> None:
    from reconciler.cli.outputs.saved_files import save_document

    save_document(text, path)
