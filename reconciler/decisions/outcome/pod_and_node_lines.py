"""The lines of a plan about pods and nodes."""

from collections.abc import Sequence

from reconciler.decisions.demand.queue import Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.removal.scale_down import Judged
from reconciler.plan.plan import NodeLine, PodLine
from reconciler.plan.pod_runs import PodRun
from reconciler.values.instant import instant_text


def pod_runs(draft: Draft, runs: Sequence[tuple[Served, Sequence[int]]]) -> list[PodRun]:
    """Every pending pod, in World order; `runs` as of `in_world_order`."""
    pods, lines = draft.world.pods, list[PodRun]()
    for entry, rows in runs:
        names = pods.keys(rows)
        lines.append((PodLine(names[0], entry.outcome, entry.node, entry.group, entry.reasons), names))
    return lines


def node_lines(draft: Draft, judged: dict[int, Judged]) -> tuple[NodeLine, ...]:
    """Every node, by name."""
    lines = []
    for index, node in enumerate(draft.world.nodes):
        entry = judged[index]
        where = draft.members.group_of[index]
        lines.append(
            NodeLine(
                node=node.name,
                group=draft.groups[where].group.name if where >= 0 else None,
                state=entry.candidate.state,
                utilization_permille=entry.candidate.utilization_permille,
                removable=entry.safe,
                blockers=entry.blockers,
                unneeded_since=None if entry.unneeded_since is None else instant_text(entry.unneeded_since),
                removable_at=None if entry.removable_at is None else instant_text(entry.removable_at),
            )
        )
    return tuple(lines)
