"""`reconciler run`: the loop; with `--simulate` on the embedded cluster, in virtual time."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.source_options import source_options

if TYPE_CHECKING:
    from reconciler.cli.source_choice import SourceChoice
    from reconciler.cluster.world import World
    from reconciler.control.run_document import RunTurn
    from reconciler.control.simulated_run import SimulatedRun
    from reconciler.policy.documents import PolicySet
    from reconciler.simulation.scenario_text import ScenarioText

DEMO = "demo"
DEMO_PATH = Path("examples/scenarios/demo.yaml")
_BARE = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {name: unchanged-demand}
spec: {start: {cluster: "-"}, until: 1h}
"""


@click.command("run")
@click.option(
    "--simulate",
    "scenario",
    is_flag=False,
    flag_value=DEMO,
    metavar="[SCENARIO]",
    help=f"Run on the embedded cluster through a scenario file [default: {DEMO_PATH}].",
)
@click.option(
    "--policy",
    "policy_path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Policy file or directory instead of the scenario's.",
)
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Snapshot to start from instead of the scenario's; alone: no events, demand stays as it is.",
)
@click.option("--until", metavar="DURATION", help="Virtual time to run for, such as 90m [default: the scenario's].")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@source_options
def command(
    scenario: str | None, policy_path: Path | None, cluster_path: Path | None, until: str | None, output: str, **source: object
) -> int:
    """Run the loop. With --simulate nothing real is touched: cluster and clock are made up, the decisions are not.

    Prints one line for everything that the loop does, then pods, waiting times, node hours, cost and broken rules.
    Exit code 1 when an expectation of the scenario is not met.

    \b
    Examples:
      reconciler run --simulate
      reconciler run --simulate examples/scenarios/burst-and-fall.yaml
      reconciler run --simulate --cluster snapshot/ --policy policies/ --until 2h -o json
      reconciler run --simulate --git https://git.example.org/policies.git --path clusters/prod --allowed-signers FILE
    """
    from reconciler.cli.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.cli.run_lines import summary_lines, turn_lines
    from reconciler.cli.source_choice import source_choice
    from reconciler.control.run_document import RunDocument, run_document, run_turn
    from reconciler.simulation.scenario_text import ScenarioError

    if scenario is None:
        raise InputError(
            "the loop on a live cluster is not part of this version yet. `reconciler run --simulate` runs it on an "
            "embedded cluster, `reconciler plan --cluster SNAPSHOT` decides once on a captured one"
        )
    choice = source_choice(source)
    if choice.git_url is not None and policy_path is not None:
        raise InputError("--git and --policy are two sources: give one")
    try:
        text, folder = _read_scenario(scenario, cluster_path)
        run = _prepare(text, folder, policy_path, choice, cluster_path, until)
    except ScenarioError as error:
        raise _shown(error) from None
    if output == "text" and text.scenario.spec.description:
        click.echo(f"{text.scenario.spec.description}\n")
    shown: list[RunTurn] = []
    decisions = 0
    bar = _Bar(run)
    for turn in run.turns():
        decisions += turn.report.plan is not None
        told = run_turn(turn, run.start_seconds)
        if told is not None:
            shown.append(told)
            if output == "text":
                bar.clear()
                for line in turn_lines(told):
                    click.echo(line)
        bar.show(turn.at_seconds)
    bar.clear()
    document: RunDocument = run_document(run, text.scenario.metadata.name, shown, decisions)
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        if shown:
            click.echo()
        for line in summary_lines(document):
            click.echo(line)
    return EXIT_ERROR if document.unmet else EXIT_OK


def _read_scenario(scenario: str, cluster_path: Path | None) -> "tuple[ScenarioText, Path]":
    from reconciler.cli.failure import InputError
    from reconciler.simulation.scenario_text import read_scenario

    if scenario == DEMO and cluster_path is not None:
        return read_scenario("(no scenario)", _BARE.encode()), Path()
    path = DEMO_PATH if scenario == DEMO else Path(scenario)
    if not path.is_file():
        hint = f"name a scenario file; those of the project are in {DEMO_PATH.parent}/ of its checkout"
        raise InputError(f"{path}: no such file; {hint}, or give --cluster SNAPSHOT to start from a captured cluster")
    try:
        return read_scenario(path.as_posix(), path.read_bytes()), path.parent
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _prepare(
    text: "ScenarioText",
    folder: Path,
    policy_path: Path | None,
    source: "SourceChoice",
    cluster_path: Path | None,
    until: str | None,
) -> "SimulatedRun":
    from reconciler.cli.failure import InputError
    from reconciler.cli.plan_inputs import read_policy
    from reconciler.cli.source_choice import read_once
    from reconciler.control.simulated_run import SimulatedRun
    from reconciler.policy.duration import DurationError, parse_duration

    world = _world(text, folder, cluster_path)
    spec = text.scenario.spec
    now = world.captured_seconds
    if source.git_url is not None:
        policy = read_once(source, now)  # virtual time does not wait for a repository
    elif policy_path is not None:
        policy = read_policy(policy_path, source.policy_name, now)
    elif spec.policy:
        policy = read_policy(folder / spec.policy, None, now)
    elif text.source.path == "(no scenario)":
        policy = read_policy(None, None, now)
    else:
        policy = read_policy(Path(text.source.path), None, now)
    policies: dict[str, PolicySet] = {}
    for event in spec.events:
        if event.policy is not None:
            policies[event.policy] = read_policy(folder / event.policy, None, now)
    seconds = None
    if until is not None:
        try:
            seconds = parse_duration(until)
        except DurationError as error:
            raise InputError(f"--until: {error}; {error.hint}") from None
        if seconds <= 0:
            raise InputError(f"--until {until}: must be above zero")
    return SimulatedRun(text, world, policy, policies, seconds)


def _world(text: "ScenarioText", folder: Path, cluster_path: Path | None) -> "World":
    from reconciler.cli.cluster_files import load_world
    from reconciler.simulation.scenario_world import start_world

    start = text.scenario.spec.start
    if cluster_path is not None:
        return load_world(cluster_path)
    return load_world(folder / start.cluster) if start.cluster else start_world(start)


def _shown(error: Exception) -> click.ClickException:
    from reconciler.cli.failure import InputError
    from reconciler.rendering.problems.text import render_text
    from reconciler.simulation.scenario_text import ScenarioError

    if isinstance(error, ScenarioError):
        click.echo(render_text(error.problems, color=False), err=True, nl=False)
    return InputError("the scenario cannot be run")


class _Bar:
    """A line of progress on stderr, on a terminal only."""

    def __init__(self, run: "SimulatedRun") -> None:
        import os
        import sys

        self._run = run
        self._stream = sys.stderr
        self._wanted = sys.stderr.isatty() and not os.environ.get("CI")
        self._drawn = ""

    def show(self, at_seconds: int) -> None:
        """Draw it anew when it would look different."""
        if not self._wanted:
            return
        total = max(1, self._run.end_seconds - self._run.start_seconds)
        share = 30 * (at_seconds - self._run.start_seconds) // total
        line = f"[{'#' * share}{' ' * (30 - share)}]"
        if line != self._drawn:
            self._drawn = line
            self._stream.write(f"\r{line}")
            self._stream.flush()

    def clear(self) -> None:
        """Take it off the terminal."""
        if self._drawn:
            self._drawn = ""
            self._stream.write("\r\x1b[K")
            self._stream.flush()
