"""Reading what a replay goes by from disk: a capacity curve, a recording, or snapshots taken one after the other."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from reconciler.cli.inputs.cluster_files import SUFFIXES, load_world
from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.policy.documents import PolicySet
from reconciler.simulation.replays.backtest import Backtest, BacktestError, backtest
from reconciler.simulation.replays.curve import TraceError, read_curve
from reconciler.simulation.replays.policy_world import policy_world, without_pods
from reconciler.simulation.replays.recording import SUFFIX, RecordingError, read_recording
from reconciler.simulation.replays.replay import LEAD_SECONDS
from reconciler.simulation.replays.trace import Trace
from reconciler.values.duration import DurationError, parse_duration
from reconciler.values.two_sentences import two_sentences

LARGEST_TRACE_BYTES = 256 << 20
STEP_SECONDS, JOIN_SECONDS = 300, 90


class ReplayInputs(msgspec.Struct, frozen=True):
    """A trace, the cluster to begin with (None: the groups of the policies), how long the first demand lasts before it counts."""

    trace: Trace
    world: World | None
    lead_seconds: int

    @property
    def begin_seconds(self) -> int:
        """Where the virtual clock starts."""
        return self.trace.start_seconds - self.lead_seconds

    def check(self, sides: Sequence[tuple[str, PolicySet]]) -> None:
        """Raises `InputError` when a policy would size nothing at all."""
        for source, policy in sides:
            world = self.world or policy_world([other for _, other in sides], self.begin_seconds)
            groups = effective_groups(world, policy, self.begin_seconds)
            if not groups:
                where = "in this cluster" if self.world else "without a cluster: name one with --cluster, or write NodeGroups"
                raise InputError(f"{source}: policy {policy.policy.name} has no node group {where}")
            if self.world is None and all(group.template is None for group in groups):
                first = groups[0]
                raise InputError(f"{source}: the capacity of a node of {first.name} is unknown: {first.template_problem}")


def read_replay_inputs(path: Path, cluster_path: Path | None, step: str, until: str | None, *, alone: bool) -> ReplayInputs:
    """The trace below a path and the cluster that it is replayed on. Raises `InputError` with the place of what is wrong."""
    every_seconds = duration("--step", step)
    limit = _limit(until)
    if path.is_dir() and not _days(path):
        if alone:
            raise InputError("--alone requires a curve: with snapshots, their pods are the demand")
        recorded = _recorded(path)
        trace, world, lead = recorded.trace, recorded.world, 0
        if cluster_path is not None:
            raise InputError("--cluster requires a curve: a replay of snapshots begins with the first snapshot")
    else:
        trace, lead = _demand(path, every_seconds), LEAD_SECONDS
        if cluster_path is None and alone:
            raise InputError("--alone goes with --cluster")
        if cluster_path is None:
            return ReplayInputs(trace if limit is None else trace.until(limit), None, lead)
        world = load_world(cluster_path)
        world = without_pods(world) if alone else world
        trace = trace.at_same_hour(world, lead)
    return ReplayInputs(trace if limit is None else trace.until(limit), world, lead)


def read_preview_trace(path: Path, world: World, until: str | None) -> ReplayInputs:
    """The trace below a path, at steps of five minutes; a curve comes on top of the pods of `world`. Raises `InputError`."""
    limit = _limit(until)
    if path.is_dir() and not _days(path):
        recorded = _recorded(path)
        trace, world, lead = recorded.trace, recorded.world, 0
    else:
        trace, lead = _demand(path, STEP_SECONDS).at_same_hour(world, LEAD_SECONDS), LEAD_SECONDS
    return ReplayInputs(trace if limit is None else trace.until(limit), world, lead)


def duration(option: str, text: str) -> int:
    """A duration that an option gives, in seconds. Raises `InputError`."""
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise InputError(two_sentences(f"{option}: {error}", error.hint)) from None
    if seconds < 0:
        raise InputError(f"{option} {text}: must not be negative")
    return seconds


def joining(trace: Trace, join_after: str | None) -> tuple[Trace, int]:
    """After how many seconds nodes join. What `--join-after` gives counts for all targets, and otherwise what the trace learned.
    Raises `InputError`."""
    if join_after is None:
        return trace, JOIN_SECONDS
    return msgspec.structs.replace(trace, lead_times=()), duration("--join-after", join_after)


def _limit(until: str | None) -> int | None:
    """How much of a trace is replayed, in seconds; None: all of it."""
    limit = None if until is None else duration("--until", until)
    if limit == 0:
        raise InputError("--until 0s: must be above zero")
    return limit


def _days(path: Path) -> list[Path]:
    """The files of a recording."""
    return sorted(path.glob(f"*{SUFFIX}"))


def _demand(path: Path, every_seconds: int) -> Trace:
    """Demand without a cluster: a recording or a curve."""
    return _recording(path) if path.is_dir() else _curve(path, every_seconds)


def _recording(path: Path) -> Trace:
    days = _days(path)
    try:
        if sum(day.stat().st_size for day in days) > LARGEST_TRACE_BYTES:
            raise InputError(f"{path}: larger than {LARGEST_TRACE_BYTES >> 20} MiB")
        return read_recording(path.resolve().name, [(day.name, day.read_bytes()) for day in days])
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except RecordingError as error:
        raise InputError(f"{path}/{error.place}: {error}") from None


def _curve(path: Path, every_seconds: int) -> Trace:
    try:
        if path.stat().st_size > LARGEST_TRACE_BYTES:
            raise InputError(f"{path}: larger than {LARGEST_TRACE_BYTES >> 20} MiB. Make the steps of the trace longer")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: invalid text at byte {error.start}. A trace is CSV in UTF-8") from None
    try:
        return read_curve(path.stem, text, every_seconds)
    except TraceError as error:
        raise InputError(two_sentences(f"{path}:{error.line}:{error.column}: {error}", error.hint)) from None


def _recorded(path: Path) -> Backtest:
    """Every directory below is a snapshot, and so is every file of objects next to them."""
    captures = [
        entry
        for entry in sorted(path.iterdir())
        if not entry.name.startswith(".") and (entry.is_dir() or entry.name.removesuffix(".gz").endswith(SUFFIXES))
    ]
    try:
        return backtest(path.resolve().name, [(entry.name, load_world(entry)) for entry in captures])
    except BacktestError as error:
        raise InputError(f"{path}: {error}") from None
