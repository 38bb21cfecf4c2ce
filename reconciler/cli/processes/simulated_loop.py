"""`reconciler run --simulate`: the real loop on the embedded cluster, in virtual time."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from reconciler.rendering.words.plain import plain, plain_lines
from reconciler.values.two_sentences import two_sentences

if TYPE_CHECKING:
    from reconciler.cli.inputs.source_choice import SourceChoice
    from reconciler.cluster.world import World
    from reconciler.control.simulated_run import SimulatedRun
    from reconciler.policy.documents import PolicySet
    from reconciler.rendering.documents.simulated_run import RunTurn
    from reconciler.simulation.scenarios.scenario import ScenarioText

DEMO = "demo"
_BARE = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {name: unchanged-demand}
spec: {start: {cluster: "-"}, until: 1h}
"""


def run_simulated(
    scenario: str,
    policy_path: Path | None,
    cluster_path: Path | None,
    until: str | None,
    output: str,
    choice: "SourceChoice",
    record_path: Path | None = None,
) -> int:
    """Play a scenario and print what the loop does; exit code 1 when an expectation is not met. Raises `InputError`."""
    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.cli.outputs.recorded_days import RecordedDays
    from reconciler.cli.outputs.run_lines import summary_lines, turn_lines
    from reconciler.control.simulated_run_document import run_document, run_turn
    from reconciler.policy.reading.typed_text import DocumentError

    if choice.git_url is not None and policy_path is not None:
        raise InputError("--git and --policy are two sources: give one")
    with TemporaryDirectory(prefix="reconciler-") as unpacked:
        try:
            text, folder = _read_scenario(scenario, cluster_path, Path(unpacked))
            run = _prepare(text, folder, policy_path, choice, cluster_path, until)
        except DocumentError as error:
            raise _shown(error) from None
    if output == "text" and text.scenario.spec.description:
        click.echo(plain_lines(f"{text.scenario.spec.description}\n"))
    shown: list[RunTurn] = []
    decisions = 0
    bar = _Bar(run)
    days = None if record_path is None else RecordedDays(record_path)
    for turn in run.turns():
        if days is not None and (decided := turn.report.decided) is not None:
            groups = turn.report.plan.groups if turn.report.plan is not None else ()
            days.observe(decided.world, turn.at_seconds, decided.memory.lead_times, groups)
        decisions += turn.report.plan is not None
        entry = run_turn(turn, run.start_seconds)
        if entry is not None:
            shown.append(entry)
            if output == "text":
                bar.clear()
                for line in turn_lines(entry):
                    click.echo(plain(line))
        bar.show(turn.at_seconds)
    bar.clear()
    document = run_document(run, text.scenario.metadata.name, shown, decisions)
    if output == "json":
        from reconciler.rendering.printers.json_text import json_text

        click.echo(json_text(document, None), nl=False)
    else:
        if shown:
            click.echo()
        for line in summary_lines(document):
            click.echo(plain(line))
    return EXIT_ERROR if document.unmet else EXIT_OK


def _read_scenario(scenario: str, cluster_path: Path | None, empty: Path) -> "tuple[ScenarioText, Path]":
    """The scenario and the folder that its paths count from. The one that is carried along is unpacked into `empty`."""
    from reconciler.cli.outputs.failure import InputError
    from reconciler.simulation.scenarios.scenario import read_scenario

    if scenario == DEMO and cluster_path is not None:
        return read_scenario("(no scenario)", _BARE.encode()), Path()
    if scenario == DEMO:
        from reconciler.cli.packaged.example import DEMO as PACKAGED
        from reconciler.cli.packaged.example import unpack

        unpack(empty)
        path = empty / PACKAGED
        return read_scenario(PACKAGED, path.read_bytes()), path.parent
    path = Path(scenario)
    if not path.is_file():
        hint = "name a scenario file (`reconciler example` writes some)"
        wrong = "a directory" if path.is_dir() else "no such file"
        raise InputError(
            two_sentences(f"{path}: {wrong}", f"{hint}, or give --cluster SNAPSHOT to start from a captured cluster")
        )
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
    from reconciler.cli.inputs.plan_inputs import read_policy
    from reconciler.cli.inputs.source_choice import read_once
    from reconciler.cli.outputs.failure import InputError
    from reconciler.control.simulated_run import SimulatedRun
    from reconciler.values.duration import DurationError, parse_duration

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
            raise InputError(two_sentences(f"--until: {error}", error.hint)) from None
        if seconds <= 0:
            raise InputError(f"--until {until}: must be above zero")
    return SimulatedRun(text, world, policy, policies, seconds)


def _world(text: "ScenarioText", folder: Path, cluster_path: Path | None) -> "World":
    from reconciler.cli.inputs.cluster_files import load_world
    from reconciler.simulation.scenarios.start_world import start_world

    start = text.scenario.spec.start
    if cluster_path is not None:
        return load_world(cluster_path)
    return load_world(folder / start.cluster) if start.cluster else start_world(start)


def _shown(error: Exception) -> click.ClickException:
    from reconciler.cli.outputs.failure import InputError
    from reconciler.policy.reading.typed_text import DocumentError
    from reconciler.rendering.printers.problem_lines import render_text

    if isinstance(error, DocumentError):
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
        """Draw it again when it would look different."""
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
