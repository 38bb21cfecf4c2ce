"""The lines of a plan about pods and nodes."""

from collections.abc import Sequence

from reconciler.decisions.demand.pending import Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.removal.scale_down import Judged
from reconciler.plan.plan import NodeLine, PodLine
from reconciler.values.instant import instant_text


def pod_lines(draft: Draft, outcomes: Sequence[tuple[Served, Sequence[int]]]) -> tuple[PodLine, ...]:
    """Every pending pod, in World order; `outcomes` as of `in_runs`."""
    pods = draft.world.pods
    namespaces, names = pods.namespace, pods.name
    lines: list[PodLine] = []
    for entry, rows in outcomes:
        # There may be tens of thousands of pods, and looking up what they share would take half of the time.
        outcome, node, group, reasons = entry.outcome, entry.node, entry.group, entry.reasons
        lines += [
            PodLine(pod=f"{namespaces[row]}/{names[row]}", outcome=outcome, node=node, group=group, reasons=reasons)
            for row in rows
        ]
    return tuple(lines)


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
