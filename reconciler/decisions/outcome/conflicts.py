"""Second writers: who undoes our writes, and which pods keep asking for our value."""

from collections import defaultdict
from collections.abc import Mapping

from reconciler.decisions.demand.pending import Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.ownership.second_writer import REPORTED_FROM, UNDONE_TIMES
from reconciler.decisions.reasons.owners import Conflict

_NAMED_PODS = 3


def conflict_reasons(draft: Draft, served: Mapping[int, Served]) -> None:
    """Say at every group whose writes were undone more than once who does it, and which pods keep asking for our value."""
    states = {
        group.position: state
        for group in draft.groups
        if (state := draft.memory.conflicts.get(str(group.group.target))) is not None and state.count >= REPORTED_FROM
    }
    if not states:
        return
    asking: dict[str, list[str]] = defaultdict(list)
    for pod in sorted(served):
        entry = served[pod]
        wanted = entry.reasons[0].data.get("groups", ()) if entry.reasons else ()
        names = (entry.group,) if entry.group else wanted
        for name in names if isinstance(names, tuple) else ():
            asking[str(name)].append(draft.world.pods.key(pod))
    for position, state in states.items():
        group = draft.groups[position]
        pods = asking[group.group.name]
        reason = Conflict(
            writer=state.writer,
            times=state.count,
            hold_at=UNDONE_TIMES,
            ours=state.ours,
            theirs=state.theirs,
            asking=tuple(pods[:_NAMED_PODS]),
            more_asking=max(0, len(pods) - _NAMED_PODS),
        )
        group.reasons.append(reason.reason())
