"""`reconciler test`: unit tests for a policy."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.inputs.fleet_snapshots import FleetSnapshot
    from reconciler.cli.inputs.policy_test_files import FilesBelow
    from reconciler.cli.processes.policy_test_run import Asked, Done
    from reconciler.plan.policy_tests import CaseResult
    from reconciler.policy.policy_test import PolicyTestText
    from reconciler.policy.problems.problem import Problem

_FORMATS = ("text", "tap", "junit", "json")


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=NAMED_PATH)
@click.option("-k", "pattern", metavar="TEXT", help="Run only tests with this text in `document::name`, in any case.")
@click.option("--policy", "policy_path", metavar="PATH", type=NAMED_PATH, help="Test this policy, whatever the tests name.")
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where --policy or --today hold several.")
@click.option(
    "--today", "today_path", metavar="PATH", type=NAMED_PATH, help="Policy that consequences are compared with, such as main's."
)
@click.option(
    "--root",
    metavar="DIR",
    type=NAMED_PATH,
    default=Path(),
    help="Directory that no file of a test may leave [default: this].",
)
@click.option("--fleet", is_flag=True, help="Run tests that are given clusters, in each of them.")
@click.option(
    "--cluster",
    "cluster_path",
    metavar="DIR",
    type=NAMED_PATH,
    help="With --fleet: a directory with a snapshot for each cluster.",
)
@click.option("--cluster-ref", metavar="REF", help="With --fleet: a ref with published snapshots, such as snapshots.")
@click.option("--update", is_flag=True, help="Write the actual results into the files, in place of the expectations that fail.")
@click.option(
    "--coverage", "examine_rules", is_flag=True, help="Also list the rules of the policy that no test touches. This is slower."
)
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="text", show_default=True, help="Format.")
def command(
    paths: tuple[Path, ...],
    pattern: str | None,
    policy_path: Path | None,
    name: str | None,
    today_path: Path | None,
    root: Path,
    cluster_path: Path | None,
    cluster_ref: str | None,
    output: str,
    *,
    fleet: bool,
    update: bool,
    examine_rules: bool,
) -> int:
    """Run the policy tests in files and directories (default: policies/): a situation, and the expected answer of the policy.

    Exit code 0: all tests passed or were skipped, 4: a test failed, and 1: a file is invalid or there is no test. A test is a
    `kind: PolicyTest` document next to the policy. It starts from a snapshot, with pods or nodes added, or from a scenario. It
    expects sizes, held groups, pending pods, evictions, costs or consequences. `reconciler schema policy-test` has every key.

    A failed test shows the value found, and what `explain` says about it. --update changes only the values of failed
    expectations. Read the difference before you keep it.

    Tests of a policy tree for many clusters can be given clusters, such as `given: {clusters: {names: [eu, us]}}`. --fleet runs
    them in each of these, with the policy that applies there. Equal results are shown once.

    \b
    Examples:
      reconciler test
      reconciler test policies/tests/prod.yaml -k spot
      reconciler test --today rendered/main
      reconciler test --coverage
      reconciler test --fleet --cluster snapshots/
      reconciler test -o junit > tests.xml
    """
    from reconciler.cli.inputs.fleet_snapshots import asked_fleet
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES, policy_by_cluster
    from reconciler.cli.inputs.policy_test_files import FilesBelow, read_test_files
    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, EXIT_TESTS_FAILED, InputError
    from reconciler.cli.outputs.terminal import text_width
    from reconciler.cli.processes.policy_test_run import Asked
    from reconciler.policy.policy_test import repeated_names

    if fleet and (update or examine_rules):
        raise click.UsageError("--update and --coverage are about one cluster: leave --fleet out")
    if not fleet and (cluster_path is not None or cluster_ref is not None):
        raise click.UsageError("--cluster and --cluster-ref name the clusters of --fleet. A test names its own snapshot")
    snapshots = asked_fleet(cluster_path, cluster_ref, root) if fleet else ()
    began = time.perf_counter()
    if not paths and not DEFAULT_POLICIES.exists():
        raise InputError("no directory policies/ here. Name a file or directory: reconciler test PATH")
    chosen = paths or (DEFAULT_POLICIES,)
    texts, problems = read_test_files(chosen, root)
    if problems := [*problems, *repeated_names(texts)]:
        _tell(problems)
        raise InputError("the tests cannot be run")
    where = ", ".join(map(str, chosen))
    if not texts:
        raise InputError(f"no policy test in {where}: write a document with kind: PolicyTest (`reconciler example` writes some)")
    now = int(time.time())
    policy, today = (None if path is None else policy_by_cluster(path, name, now) for path in (policy_path, today_path))
    asked = Asked(
        policy=policy,
        today=None if today is None else lambda now_seconds, cluster, _: today(now_seconds, cluster),
        wanted=lambda full: pattern is None or pattern.lower() in full.lower(),
        examine_rules=examine_rules,
        explain_width=text_width(sys.stdout) - 8,
        fleet=fleet,
    )
    files = FilesBelow(root)
    results, done = _run_fleet(texts, files, asked, output, snapshots) if fleet else _run(texts, files, asked, output)
    if not results and not done.problems:
        raise InputError(f"no test in {where} has {pattern!r} in its name")
    _finish(done, output, time.perf_counter() - began)
    if done.problems:
        _tell(done.problems)
        return EXIT_ERROR
    if update:
        return EXIT_OK if _update(texts, results, root) else EXIT_TESTS_FAILED
    return EXIT_TESTS_FAILED if done.run.failed else EXIT_OK


def _run(texts: "Sequence[PolicyTestText]", files: "FilesBelow", asked: "Asked", output: str) -> "tuple[list[CaseResult], Done]":
    """Everything, with a line per test as soon as it is known."""
    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.cli.processes.policy_test_run import PolicyTestRunner
    from reconciler.rendering.printers.lines import Style
    from reconciler.rendering.printers.text.policy_tests import test_line

    runner, style, width = PolicyTestRunner(files, asked), Style(colour=wants_colour(sys.stdout)), text_width(sys.stdout)
    total = sum(asked.wanted(f"{text.value.metadata.name}::{test.name}") for text in texts for test in text.value.spec.tests)
    results = []
    for result in runner.run(texts):
        results.append(result)
        if output == "text":
            click.echo(test_line(result, len(results), total, width, style))
    return results, runner.done(texts, results)


def _run_fleet(
    texts: "Sequence[PolicyTestText]", files: "FilesBelow", asked: "Asked", output: str, snapshots: "Sequence[FleetSnapshot]"
) -> "tuple[list[CaseResult], Done]":
    """Everything, cluster by cluster, since a fleet does not fit into memory at once; with a line per test at the end."""
    from reconciler.cli.inputs.fleet_snapshots import worlds
    from reconciler.cli.outputs.terminal import progress, wants_colour
    from reconciler.cli.processes.policy_test_run import PolicyTestRunner
    from reconciler.rendering.printers.lines import Style
    from reconciler.rendering.printers.text.policy_tests import fleet_lines

    runner = PolicyTestRunner(files, asked)
    with progress("running the tests in each cluster"):
        results = list(runner.run(texts))
        places = {one.cluster: str(one.path or "") for one in snapshots}
        for name, world in worlds(tuple(snapshots)):
            results += runner.in_cluster(texts, name, world, places[name])
        done = runner.done(texts, results)
    if output == "text":
        for line in fleet_lines(results, Style(colour=wants_colour(sys.stdout))):
            click.echo(line)
    return results, done


def _finish(done: "Done", output: str, seconds: float) -> None:
    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.lines import Style
    from reconciler.rendering.printers.text.policy_tests import closing_lines, junit, tap

    if output == "text":
        style = Style(colour=wants_colour(sys.stdout))
        for line in closing_lines(done.run, seconds, text_width(sys.stdout), style):
            click.echo(line)
        return
    text = tap(done.run) if output == "tap" else junit(done.run, seconds) if output == "junit" else json_text(done.run)
    click.echo(text.encode("utf-8", "replace"), nl=False)


def _tell(problems: "Sequence[Problem]") -> None:
    from reconciler.cli.outputs.terminal import wants_colour
    from reconciler.rendering.printers.problem_lines import render_text

    click.echo(render_text(tuple(problems), color=wants_colour(sys.stderr)), err=True, nl=False)


def _update(texts: "Sequence[PolicyTestText]", results: "Sequence[CaseResult]", root: Path) -> bool:
    """Write actual values into the files; whether every failed expectation could be updated."""
    from reconciler.cli.inputs.policy_test_files import update_files
    from reconciler.cli.outputs.telling import tell

    changed, left = update_files(texts, results, root)
    for place, before, after in changed:
        tell(f"{place}: {before} -> {after}")
    for place in left:
        tell(f"note: {place} was not updated: edit it by hand")
    return not left
