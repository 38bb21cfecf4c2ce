"""Second writers: who undoes our writes, and which pods keep asking for our value."""

from collections import defaultdict
from collections.abc import Sequence

from reconciler.decisions.demand.queue import Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.ownership.second_writer import REPORTED_FROM, UNDONE_TIMES
from reconciler.decisions.reasons.owners import Conflict
from reconciler.decisions.situation.denied_writes import denials_of
from reconciler.decisions.situation.evidence import contradictions

_NAMED_PODS = 3


def conflict_reasons(draft: Draft, runs: Sequence[tuple[Served, Sequence[int]]]) -> None:
    """Say at every group whose writes were undone more than once who does it, and which pods keep asking for our value. `runs`
    as of `in_world_order`."""
    states = {
        group.position: state
        for group in draft.groups
        if (state := draft.memory.conflicts.get(str(group.group.target))) is not None and state.count >= REPORTED_FROM
    }
    if not states:
        return
    asking: dict[str, list[int]] = defaultdict(list)
    for entry, rows in runs:
        wanted = entry.reasons[0].data.get("groups", ()) if entry.reasons else ()
        names = (entry.group,) if entry.group else wanted
        for name in names if isinstance(names, tuple) else ():
            asking[str(name)] += rows
    for position, state in states.items():
        group = draft.groups[position]
        pods = asking[group.group.name]
        reason = Conflict(
            writer=state.writer,
            times=state.count,
            hold_at=UNDONE_TIMES,
            ours=state.ours,
            theirs=state.theirs,
            asking=tuple(draft.world.pods.keys(pods[:_NAMED_PODS])),
            more_asking=max(0, len(pods) - _NAMED_PODS),
        )
        group.reasons.append(reason.reason())


def refusal_reasons(draft: Draft) -> None:
    """Say at every group what the platform denied, and in which zones its nodes did not come."""
    for group in draft.groups:
        target = str(group.group.target)
        group.reasons.extend(one.reason() for one in denials_of(draft.memory, target))
        group.reasons.extend(one.reason() for _, one in contradictions(draft.memory, target, draft.now_seconds))
