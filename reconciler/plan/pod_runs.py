"""Pods of a plan as runs: consecutive lines that differ only in the pod are one line and the names of all."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise, repeat

from reconciler.plan.plan import PodLine
from reconciler.plan.reason import Reason

PodRun = tuple[PodLine, list[str]]
"""The first line, and all names."""


def runs_of(pods: Sequence[PodLine]) -> list[PodRun]:
    """The runs of these lines, each as long as it can be."""
    starts: list[int] = []
    reasons: tuple[Reason, ...] | None = None
    outcome = node = group = None
    for place, line in enumerate(pods):
        # Lines of pods that were served together share all of it; the same value elsewhere is as good.
        alike = line.reasons is reasons and line.outcome is outcome and line.node is node and line.group is group
        if alike or (line.reasons == reasons and line.outcome is outcome and line.node == node and line.group == group):
            continue
        reasons, outcome, node, group = line.reasons, line.outcome, line.node, line.group
        starts.append(place)
    return [(pods[start], [line.pod for line in pods[start:end]]) for start, end in pairwise([*starts, len(pods)])]


def lines_of(runs: Iterable[PodRun]) -> tuple[PodLine, ...]:
    """All lines of the runs."""
    return tuple(
        chain.from_iterable(
            map(PodLine, names, repeat(first.outcome), repeat(first.node), repeat(first.group), repeat(first.reasons))
            for first, names in runs
        )
    )
