"""`reconciler validate`: every problem of policy files, with place, caret and hint."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH, NamedPath
from reconciler.cli.inputs.verbose import verbose_option

if TYPE_CHECKING:
    from reconciler.policy.policy_tree import PolicyTree
    from reconciler.policy.problems.problem import Problem

_FORMATS = ("text", "json", "sarif", "github")


@click.command(
    "validate",
    context_settings={"help_option_names": ["-h", "--help"]},
    short_help="Check policy files: every problem with file:line:column, caret and hint.",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=NamedPath(allow_dash=True))
@click.option(
    "--manifests",
    "manifests",
    metavar="DIR",
    multiple=True,
    type=NAMED_PATH,
    help="Also look for manifests there that fight over replicas with these policies. Repeatable.",
)
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="text", show_default=True, help="How problems are printed.")
@click.option("--strict", is_flag=True, help="Warnings are treated as problems.")
@verbose_option
@click.pass_context
def command(
    ctx: click.Context, paths: tuple[Path, ...], manifests: tuple[Path, ...], output: str, *, strict: bool, verbose: bool
) -> None:
    """Check policy files and directories (default: policies/). `-` reads standard input.

    Every problem is printed, not only the first. Exit code 0: no problems or only warnings, and 1: problems. validate does not
    ask clouds whether targets exist, and a note names them. plan and doctor do ask.

    Files that are not policies (a kustomization, Helm values, patches, secrets, links out of the directory) are skipped and
    counted. --verbose names them. A document that is almost a policy of ours is a problem.

    With --manifests, a MachineDeployment or a Cluster topology must not declare replicas that a node group decides. The problem
    names the line to delete, or what to write for Argo CD. The same is true of sizes in files of Terraform (also a plan as JSON),
    CloudFormation, eksctl, Pulumi, Crossplane and ACK. What these files do not show is a warning. Nothing in them is executed.

    \b
    Examples:
      reconciler validate
      reconciler validate policies/ --strict
      reconciler validate policies/ --manifests clusters/prod/
      reconciler validate -o sarif policies/ > policies.sarif
      kustomize build overlays/prod | reconciler validate -
    """
    from reconciler.cli.inputs.policy_files import read_policy_tree
    from reconciler.cli.outputs.failure import EXIT_ERROR, InputError
    from reconciler.cli.outputs.skipped_neighbours import tell_neighbours
    from reconciler.cli.outputs.telling import tell
    from reconciler.cli.outputs.workflow_commands import WORKFLOW_COMMANDS
    from reconciler.policy.problems.problem import Severity
    from reconciler.policy.tree import read_tree
    from reconciler.policy.unread_targets import unread_targets
    from reconciler.rendering.printers.tree_summary import summary_line

    if output != "github":
        WORKFLOW_COMMANDS.stop()
    chosen = paths or (Path("policies"),)
    if not paths and not chosen[0].exists():
        raise InputError("no directory policies/ here. Name a file or directory: reconciler validate PATH")
    policy_files = read_policy_tree(chosen, as_given=True)
    files = policy_files.files
    if not files and not policy_files.unread:
        raise InputError(f"no .yaml, .yml or .json file in {', '.join(str(path) for path in chosen)}")
    if not policy_files.unread and not any(body.strip() for body in files.values()):
        if chosen == (Path("-"),):
            raise InputError("nothing came in on standard input: did the command in front of the pipe fail?")
        raise InputError(f"{', '.join(files)}: empty. Name a file or directory with policies")
    tree = read_tree(files, now_seconds=int(time.time()), unread=policy_files.unread)
    others: tuple[str, ...] = ()
    if manifests:
        tree, others = _with_manifests(tree, manifests)
    if output == "text":
        from reconciler.rendering.printers.problem_lines import render_text

        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and not os.environ.get("CI")
        _write(render_text(tree.problems, color=color))
    elif output == "json":
        from reconciler.rendering.documents.problems import problem_report
        from reconciler.rendering.printers.json_text import json_text

        _write(json_text(problem_report(tree), None))
    elif output == "sarif":
        from reconciler.rendering.printers.sarif import render_sarif

        _write(render_sarif(tree.problems))
    else:
        from reconciler.rendering.printers.annotations import render_github

        _write(render_github(tree.problems))
    click.echo(summary_line(tree), err=output != "text")
    if verbose:
        tell_neighbours(tree)
    for line in others:
        tell(line)
    for note in unread_targets(tree.sets):
        tell(f"note: {note.code}: {note.object}: {note.message}")
    if any(strict or problem.severity is Severity.ERROR for problem in tree.problems):
        ctx.exit(EXIT_ERROR)


def _with_manifests(tree: "PolicyTree", directories: tuple[Path, ...]) -> "tuple[PolicyTree, tuple[str, ...]]":
    """The tree with the problems of manifests behind its own, and notes; a policy with errors claims nothing."""
    import msgspec

    from reconciler.cli.inputs.cluster_files import capi_group
    from reconciler.cli.inputs.policy_files import read_policy_tree
    from reconciler.policy.manifests.declared_sizes import examined
    from reconciler.policy.manifests.infrastructure_sizes import other_sizes
    from reconciler.policy.manifests.infrastructure_tools import ENDINGS
    from reconciler.policy.tree import SUFFIXES

    manifests = read_policy_tree(directories, as_given=True, endings=(*SUFFIXES, *ENDINGS))
    files, unrendered = _rendered(manifests.files, directories)
    found = examined(files, tree.sets, capi_group(), manifests.unread)
    problems = (*tree.problems, *sorted((*found.problems, *unrendered)))
    return msgspec.structs.replace(tree, problems=problems), other_sizes(found.others)


def _rendered(
    files: "dict[str, bytes]", directories: tuple[Path, ...]
) -> "tuple[dict[str, bytes], tuple[Problem, ...]]":  # fmt: skip
    """The manifests with what kustomize and helm make of theirs in place of it, and what was not rendered."""
    from reconciler.cli.inputs.policy_files import read_policy_tree
    from reconciler.gitops.rendered_tree import CHART, ENDINGS, KUSTOMIZATIONS, render_places

    left, problems = dict(files), list["Problem"]()
    for directory in directories:
        if not directory.is_dir() or not any(one.rpartition("/")[2] in (CHART, *KUSTOMIZATIONS) for one in files):
            continue
        for one in render_places(read_policy_tree([directory], endings=ENDINGS).files):
            if one.text is None:
                unrendered = one.called((directory / one.place).as_posix())
                problems.append(unrendered.problem((directory / one.source).as_posix()))
                continue
            read = tuple(f"{(directory / part).as_posix()}/" for part in one.reads)
            left = {path: body for path, body in left.items() if not path.startswith(read)}
            left[(directory / one.title).as_posix()] = one.text
    return left, tuple(problems)


def _write(text: str) -> None:
    """Data goes to stdout as UTF-8, whatever the locale."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()
