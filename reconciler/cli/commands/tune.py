"""`reconciler tune`: a better policy, looked for in past demand and proposed with proof."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.processes.tuning_run import Part
    from reconciler.plan.tuning import Tuning
    from reconciler.simulation.tuning.knobs import Knob
    from reconciler.simulation.tuning.objective import Objective
    from reconciler.simulation.tuning.search import Found
    from reconciler.simulation.tuning.variant import Past


@click.command("tune")
@click.option(
    "--trace", "trace_path", metavar="PATH", type=NAMED_PATH, required=True,
    help="Past demand: a capacity curve (CSV), or a directory of snapshots taken one after the other.",
)  # fmt: skip
@click.option("--policy", "policy_path", metavar="PATH", type=NAMED_PATH, help="Policy file or directory [default: policies/].")
@click.option("--name", metavar="NAME", help="Which NodeGroupPolicy, where the files hold several.")
@click.option(
    "--cluster", "cluster_path", metavar="PATH", type=NAMED_PATH,
    help="Snapshot to begin with [default: the groups of the policy, without a node]. A curve comes on top of its pods.",
)  # fmt: skip
@click.option("--alone", is_flag=True, help="Take the cluster's own pods away first, those of DaemonSets excepted.")
@click.option(
    "--vary", metavar="KEY=RANGE", multiple=True,
    help="What to change, such as scaleDown.unneededTime=2m..20m [default: what an owner may sensibly change].",
)  # fmt: skip
@click.option(
    "--objective", metavar="TERM[=WEIGHT]", multiple=True,
    help="The objective: cost, wait, evictions or changes. One may then pay for another "
    "[default: cost and wait, and neither gets worse].",
)  # fmt: skip
@click.option(
    "--trials", metavar="N", type=click.IntRange(1, 1000), default=27, show_default=True, help="How many policies to try."
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(0, 2**31), default=1, show_default=True, help="The same seed, the same bytes."
)
@click.option("--workers", metavar="N", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option(
    "--resume", metavar="PATH", type=NAMED_PATH,
    help="Keep finished trials in this file, and go on from there. Of a directory, all files are read.",
)  # fmt: skip
@click.option(
    "--part", metavar="I/N",
    help="Replay part I (from 0) of N of the next trials, into the directory of --resume. No result is printed.",
)  # fmt: skip
@click.option("--until", metavar="DURATION", help="How much of the trace, such as 24h [default: all of it].")
@click.option(
    "--step", metavar="DURATION", default="5m", show_default=True,
    help="For a curve: take the largest value of each such interval. 0 takes each line.",
)  # fmt: skip
@click.option("--join-after", metavar="DURATION", help="From asking for a node to having it [default: as recorded, else 90s].")
@click.option("--write", is_flag=True, help="Change the proposed values in the policy files, and nothing else.")
@click.option("--body", metavar="FILE", type=NAMED_PATH, help="Write the text of a pull request, if something is proposed.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "markdown", "json", "html"]), default="text", show_default=True, help="Format."
)
@click.option("--wide", is_flag=True, help="Text: shorten nothing.")
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when a policy is proposed, 0 when none is.")
def command(
    trace_path: Path,
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    vary: tuple[str, ...],
    objective: tuple[str, ...],
    trials: int,
    seed: int,
    workers: int,
    resume: Path | None,
    part: str | None,
    until: str | None,
    step: str,
    join_after: str | None,
    body: Path | None,
    output: str,
    *,
    alone: bool,
    write: bool,
    wide: bool,
    detailed_exitcode: bool,
) -> int:
    """Look for a better policy: replay past demand under variants of the policy, and prove the best one on days that the search
    never saw. Nothing real is touched.

    Every variant is replayed with the decisions of the loop. The front of cost and waiting is shown, with today's policy on it.
    A gain that is not above the difference between days, or below 1%, is "no better policy found". Each changed value must be
    worth half a percent. Without --objective, neither cost nor waiting may get worse.

    The search never goes below what people promised: minimum sizes are only raised. Limits, holds, drain rules, health and
    maximum sizes stay. KEY is a setting of groups: scaleDown.utilizationThresholdPercent, scaleDown.unneededTime,
    headroom.nodes, size.min and others. It stands for every place where it is written. GROUP/headroom.nodes and
    tiers[spot].defaults.headroom.nodes are one place. Settings of the policy are pace.delayAfterAdd, expanders, tiers (their
    order) and others. RANGE is 30..80, 30..80/10, or values such as 2m,5m. tiers=* tries all orders.

    On many machines, each replays its --part of the trials. Repeat that until nothing is missing, and run it without --part: the
    result is the same as on one machine.

    \b
    Examples:
      reconciler tune --trace examples/traces/pool-28.csv \\
        --policy examples/traces/packed --until 12h --workers 2
      reconciler tune --trace captures/ --vary headroom.nodes=0..3 \\
        --objective cost=1 --objective wait=2
      reconciler tune --trace curve.csv -o html > tuning.html
      reconciler tune --trace curve.csv --write --body request.md \\
        --detailed-exitcode
    """
    from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_OK
    from reconciler.cli.outputs.saved_files import save_document
    from reconciler.cli.outputs.telling import tell

    wanted = _objective(objective)
    past, knobs = _past(trace_path, policy_path, name, cluster_path, until, step, join_after, vary, alone=alone)
    found = _search(past, knobs, wanted, trials, seed, workers, resume, _part(part, resume))
    if found is None or part is not None:
        tell("more trials are missing: run all parts again" if found is None else "no trial is missing: run without --part")
        return EXIT_OK
    tuning = _tuning(past, found, wanted, seed)
    join_words = _join_words(past)
    click.echo(_rendered(tuning, output, join_words, wide=wide).encode("utf-8", "replace"), nl=False)
    if not found.edits:
        return EXIT_OK
    if body is not None:
        save_document(_request(tuning, join_words, past), body)
    if write:
        for path in _write(past, found, policy_path):
            tell(f"{path}: changed")
    return EXIT_CHANGES if detailed_exitcode else EXIT_OK


def _past(
    trace_path: Path,
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    until: str | None,
    step: str,
    join_after: str | None,
    vary: tuple[str, ...],
    *,
    alone: bool,
) -> "tuple[Past, Sequence[Knob]]":
    """What variants are replayed on, and what may be varied. Raises `InputError`."""
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES, policy_with_files
    from reconciler.cli.inputs.trace_files import joining, read_replay_inputs
    from reconciler.cli.outputs.failure import InputError
    from reconciler.cli.outputs.terminal import progress
    from reconciler.cluster.world import identity_of
    from reconciler.policy.text_edits import Edit
    from reconciler.simulation.replays.replay import LEAD_SECONDS
    from reconciler.simulation.tuning.knobs import MOST_KNOBS, VaryError, default_knobs, named_knobs
    from reconciler.simulation.tuning.variant import LEAST_PERIODS, LEAST_SECONDS, Past, policy_with
    from reconciler.values.duration import duration_text

    with progress("reading trace, policy and cluster"):
        inputs = read_replay_inputs(trace_path, cluster_path, step, until, alone=alone)
        identity = None if inputs.world is None else identity_of(inputs.world)
        policy, files = policy_with_files(policy_path, name, inputs.begin_seconds, identity)
        root = (policy_path or DEFAULT_POLICIES).as_posix()
        inputs.check([(root, policy)])
        if not files:
            raise InputError("no policy file was found. Name one with --policy PATH")
        trace = inputs.trace if inputs.world is None else inputs.trace.at_same_hour(inputs.world, LEAD_SECONDS)
        trace, join_seconds = joining(trace, join_after)
        past = Past(files=dict(files), name=policy.policy.name, trace=trace, world=inputs.world, join_seconds=join_seconds)
        if past.observed_seconds < LEAST_SECONDS:
            raise InputError(f"{trace_path}: shorter than {duration_text(LEAST_SECONDS)}, which is too little to learn from")
        if len(past.periods()) < LEAST_PERIODS:
            raise InputError(
                f"{trace_path}: nobody looked for so long, and so often, that fewer than {LEAST_PERIODS} periods are left"
            )

        def allowed(edit: Edit) -> bool:
            return policy_with(past, (edit,)) is not None

        try:
            named = [knob for text in vary for knob in named_knobs(policy, files, text, allowed)]
            knobs = {knob.setting: knob for knob in named or default_knobs(policy, files, allowed)}
        except VaryError as error:
            raise InputError(f"--vary {error}") from None
    if not knobs:
        raise InputError(f"{root}: nothing in this policy can be varied")
    if len(knobs) > MOST_KNOBS:
        raise InputError(f"--vary: {len(knobs)} settings, more than {MOST_KNOBS}")
    return past, tuple(knobs.values())


def _join_words(past: "Past") -> str:
    """When new nodes come, and when none does."""
    from reconciler.values.duration import duration_text
    from reconciler.values.plural import count_text

    learned = ", ".join(f"{target} {duration_text(seconds)}" for target, seconds in past.trace.lead_times)
    after = duration_text(past.join_seconds) + (f" (as learned: {learned})" if learned else "")
    spans = count_text(len(past.trace.shortages), "span")
    fails = f"none does in {spans} in which the loop got none" if past.trace.shortages else "none fails"
    return f"{after} after they were requested, and {fails}"


def _objective(words: tuple[str, ...]) -> "Objective":
    from reconciler.cli.outputs.failure import InputError
    from reconciler.simulation.tuning.objective import Objective, Term
    from reconciler.values.whole_number import whole_number

    weights: dict[Term, int] = {}
    for word in words:
        term, sign, text = word.partition("=")
        weight = (whole_number(text) if len(text) < 5 else None) if sign else 1
        if term not in [str(one) for one in Term] or not weight or weight < 0:
            raise InputError(
                f"--objective {word[:60]!r}: write one of {', '.join(Term)}, or with a weight from 1 to 9999: cost=3"
            )
        weights[Term(term)] = weight
    return Objective(weights=tuple(sorted(weights.items())), trades=True) if weights else Objective()


def _part(text: str | None, resume: Path | None) -> "Part | None":
    """Raises `UsageError`."""
    from reconciler.cli.processes.tuning_run import Part
    from reconciler.values.whole_number import whole_number

    if text is None:
        return None
    if resume is None or resume.is_file():
        raise click.UsageError("--part goes with --resume DIRECTORY, in which the trials of all parts are")
    index, count = (whole_number(word) if len(word) < 7 else None for word in (*text.split("/"), "", "")[:2])
    if index is None or count is None or not index < count or text.count("/") != 1:
        raise click.UsageError(f"--part {text[:40]!r}: write I/N, such as 0/16 for the first of 16")
    return Part(index, count)


def _search(
    past: "Past",
    knobs: "Sequence[Knob]",
    objective: "Objective",
    trials: int,
    seed: int,
    workers: int,
    resume: Path | None,
    part: "Part | None",
) -> "Found | None":
    """None: other parts have to finish first."""
    from reconciler.cli.outputs.replay_bar import replay_bar
    from reconciler.cli.processes.tuning_run import FinishedTrials, OthersMissingError, evaluating, of_part
    from reconciler.simulation.tuning.search import Settings, search, split_periods
    from reconciler.simulation.tuning.variant import policy_with

    searched, held = split_periods(len(past.periods()), seed)
    finished = FinishedTrials(resume, past, part)
    about = (trials + 1) * 2 + len(searched) * 5
    with (
        replay_bar() as bar,
        evaluating(past, workers, finished, lambda done: bar(min(done, about), about) if bar is not None else None) as evaluate,
    ):
        settings = Settings(objective=objective, trials=trials, seed=seed)
        wanted = evaluate if part is None else of_part(part, finished, evaluate)
        try:
            return search(knobs, searched, held, settings, wanted, lambda variant: policy_with(past, variant) is not None)
        except OthersMissingError:
            return None


def _tuning(past: "Past", found: "Found", objective: "Objective", seed: int) -> "Tuning":
    from reconciler.plan.tuning import Tuning
    from reconciler.simulation.tuning.search import split_periods
    from reconciler.simulation.tuning.variant import policy_with
    from reconciler.values.instant import instant_text

    begins = past.periods()
    searched, held = (tuple(instant_text(begins[at]) for at in sorted(part)) for part in split_periods(len(begins), seed))
    today = policy_with(past, ())
    return Tuning(
        trace=past.trace.name,
        policy=past.name,
        currency="" if today is None else today.policy.currency,
        start=instant_text(past.trace.start_seconds),
        end=instant_text(past.trace.end_seconds),
        period_seconds=past.period_seconds,
        unobserved_seconds=past.trace.unobserved_seconds(past.trace.start_seconds, past.trace.end_seconds),
        search_periods=searched,
        held_out_periods=held,
        objective={str(term): weight for term, weight in objective.weights},
        trades=objective.trades,
        seed=seed,
        verdict=found.verdict,
        chosen=found.chosen,
        held_out=found.held_out,
        trials=found.trials,
    )


def _rendered(tuning: "Tuning", output: str, join_words: str, *, wide: bool) -> str:
    import sys

    from reconciler.cli.outputs.terminal import text_width, wants_colour
    from reconciler.rendering.documents.tuning import tuning_document, tuning_values
    from reconciler.rendering.printers.json_text import json_text

    if output == "json":
        return json_text(tuning_values(tuning), None)
    told = tuning_document(tuning, join_words)
    if output == "html":
        from reconciler.rendering.printers.html.tuning import tuning_html

        return tuning_html(tuning, told)
    if output == "markdown":
        from reconciler.rendering.printers.markdown.document import document_markdown

        return document_markdown(told)
    from reconciler.rendering.printers.text.document import document_text

    return document_text(told, width=0 if wide else text_width(sys.stdout), colour=wants_colour(sys.stdout))


def _request(tuning: "Tuning", join_words: str, past: "Past") -> str:
    from reconciler.rendering.documents.tuning import request_document
    from reconciler.rendering.printers.markdown.document import document_markdown
    from reconciler.simulation.tuning.variant import most_idle

    idle = most_idle(past, len(past.periods()) - 1)
    return document_markdown(request_document(tuning, join_words, f"reconciler tune --seed {tuning.seed}", idle))


def _write(past: "Past", found: "Found", policy_path: Path | None) -> list[Path]:
    """Change the files; those that changed. Raises `InputError`."""
    from reconciler.cli.inputs.plan_inputs import DEFAULT_POLICIES
    from reconciler.cli.outputs.failure import InputError
    from reconciler.gitops.whole_file import write_whole
    from reconciler.policy.text_edits import edited

    root = policy_path or DEFAULT_POLICIES
    changed = [(key, text) for key, text in edited(past.files, found.edits).items() if text != past.files[key]]
    paths = [root / key if root.is_dir() else root for key, _ in changed]
    for path, (_, text) in zip(paths, changed, strict=True):
        try:
            write_whole(path.resolve(strict=True), text)
        except OSError as error:
            raise InputError(f"{path}: it was not changed: {error.strerror or error}") from None
    return paths
