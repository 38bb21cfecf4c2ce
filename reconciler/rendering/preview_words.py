"""The words of a preview that are the same on a terminal, on a page and in a pull request."""

from reconciler.plan.preview import Preview, PreviewSide
from reconciler.rendering.foreign_text import Foreign, Sentence
from reconciler.rendering.size_words import size_sentences
from reconciler.rendering.wording import count, header_words
from reconciler.values.duration import duration_text

NOT_COMPARED = "Nothing to compare with"
OLD_SECONDS = 24 * 3600
"""From this age on a snapshot is warned of."""
_DIGEST_SHOWN = len("sha256:") + 16


def head_words(preview: Preview) -> tuple[tuple[str, str], ...]:
    """Names and values for the head: cluster, policy, mode, now."""
    return tuple((name, value) for name, value in header_words(preview.plan) if name != "revision")


def side_words(side: PreviewSide) -> str:
    """`change at 3f2a01c9be77, merged into the base`."""
    told = side.source
    if side.revision is not None and side.revision != side.source:
        told += f" at {side.revision[:12]}"
    return told + (", merged into the base" if side.merged else "")


def summary_words(preview: Preview) -> tuple[tuple[str, str], ...]:
    """The summary lines of both plans, under the names of their columns; without a comparison that of the only plan."""
    found = preview.comparison
    if found is None:
        return (("after", preview.plan.summary),)
    return (("today", found.summary_before), ("after", found.summary_after))


def snapshot_parts(preview: Preview) -> tuple[str, ...]:
    """`snapshot/ at 3f2a01c9be77`, `sha256:9b1c…`, `captured 2026-11-20T18:00:00Z`, `26h before this run`; empty for a live
    cluster."""
    seen = preview.snapshot
    if seen is None:
        return ()
    place = seen.source if seen.revision is None else f"{seen.source} at {seen.revision[:12]}"
    captured = f"captured {seen.captured_at}" if seen.captured_at else "nothing says when it was captured"
    age = () if seen.age_seconds is None else (f"{duration_text(seen.age_seconds)} before this run",)
    return (place, seen.digest[:_DIGEST_SHOWN], captured, *age)


def snapshot_words(preview: Preview) -> str:
    """The parts on one line; empty for a live cluster."""
    return ", ".join(snapshot_parts(preview))


def snapshot_warnings(preview: Preview) -> tuple[Sentence, ...]:
    """What a reviewer has to know of the snapshot before anything else."""
    seen = preview.snapshot
    if seen is None:
        return ()
    told: list[Sentence] = []
    if seen.changed:
        told.append((
            "This change also brings another snapshot of the cluster (", Foreign(seen.source), "), which does not count: look at "
            "why a change of policy touches it.",
        ))  # fmt: skip
    if seen.age_seconds is not None and seen.age_seconds > OLD_SECONDS:
        told.append((f"The snapshot is {duration_text(seen.age_seconds)} old: the cluster may be another one by now.",))
    return tuple(told)


def untouched_words(preview: Preview) -> str:
    """`4 groups untouched`; empty without any."""
    return f"{count(len(preview.untouched), 'group')} untouched" if preview.untouched else ""


def warnings_words(preview: Preview) -> tuple[str, ...]:
    """Problems of the head's files that are no errors, a sentence each; declared sizes where nothing is compared."""
    sizes = tuple(told for _, told in size_sentences(preview.sizes)) if preview.comparison is None else ()
    return (*(f"{problem.place}: {problem.message} [{problem.code}]" for problem in preview.warnings), *sizes)
