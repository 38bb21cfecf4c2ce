"""A `Replace` from its first sight to its end: it waits, grows, moves the pods, or is given up.

The new node comes first, the others are drained when it is there: a machine that never comes costs nothing that runs. What is
under way lies in the memory, which is stored before the target grows, so that a restart goes on with it.
"""

import msgspec

from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Memory, Replacement
from reconciler.decisions.reasons.groups import CouldBeReplaced
from reconciler.decisions.reasons.replacements import ReplacementsNotExamined
from reconciler.decisions.removal.consolidation import Opportunity, Search
from reconciler.decisions.removal.removal_reason import Takeover
from reconciler.decisions.removal.scale_down import Judged, Removals
from reconciler.plan.plan import NodeState
from reconciler.values.money import price_text

PATIENCE_SECONDS = 3600
"""So long after the new node should have been there, nodes that cannot be drained are no longer waited for."""


def takeovers(draft: Draft) -> tuple[Takeover, ...]:
    """The replacements under way. One that never began (its write was refused or not made), has ended, or whose new node did
    not come in time is dropped; a machine that fails backs its group off as any other."""
    names = {node.name: index for index, node in enumerate(draft.world.nodes)}
    groups = {str(group.group.target): group for group in draft.groups}
    found = []
    for replacement in draft.memory.replacements:
        group = groups.get(replacement.target)
        sources = tuple(sorted(names[name] for name in replacement.nodes if name in names))
        if group is None or group.held_why or not sources:
            continue
        came = [
            index
            for index in group.situation.nodes
            if draft.world.nodes[index].created_seconds >= replacement.started_seconds and index not in sources
        ]
        takers = tuple(index for index in came if draft.states[index] is NodeState.IN_USE)
        began = bool(came) or group.situation.current >= replacement.to
        waited = draft.now_seconds - replacement.started_seconds
        late = waited > group.group.max_node_provision_time_seconds + (group.group.max_node_startup_time_seconds if came else 0)
        if began and (takers or not late):
            found.append(Takeover(replacement=replacement, sources=sources, takers=takers))
    return tuple(found)


class Replaced(msgspec.Struct, frozen=True):
    """What a plan does about consolidation: the replacement that begins now, and what to remember."""

    starts: Opportunity | None
    replaceable_since: dict[str, int]
    replacements: tuple[Replacement, ...]

    def told(self, memory: Memory) -> Memory:
        """The memory with it."""
        return msgspec.structs.replace(memory, replaceable_since=self.replaceable_since, replacements=self.replacements)


def consolidate(draft: Draft, judged: dict[int, Judged], removals: Removals, under_way: tuple[Takeover, ...]) -> Replaced:
    """Look for replacements, tell of them, and begin the first that is due. One at a time: only a plan that neither grows nor
    removes begins one, and none begins while another is under way."""
    going_on = tuple(one.replacement for one in under_way if _still_wanted(draft, one, judged))
    if removals.halted:
        return Replaced(None, {}, going_on)
    since: dict[str, int] = {}
    starts: Opportunity | None = None
    calm = not draft.added and not going_on and not any(group.removed for group in draft.groups)
    search = Search(draft, judged)
    opportunities = search.run()
    for position, (nodes, bound) in search.left_out().items():
        group = draft.groups[position]
        group.reasons.append(ReplacementsNotExamined(group=group.group.name, nodes=nodes, bound=bound).reason())
    for found in opportunities:
        _tell(draft, found)
        if not found.enabled:
            continue
        key = found.key(draft)
        since[key] = draft.memory.replaceable_since.get(key, draft.now_seconds)
        due = since[key] + found.wait_seconds
        for index in found.nodes:
            judged[index] = msgspec.structs.replace(judged[index], removable_at=max(due, draft.now_seconds))
        if starts is None and calm and due <= draft.now_seconds and removals.may_replace(found.nodes):
            starts = found
    if starts is None:
        return Replaced(None, since, going_on)
    since.pop(starts.key(draft))
    return Replaced(starts, since, (_begin(draft, starts),))


def _begin(draft: Draft, found: Opportunity) -> Replacement:
    group = draft.groups[found.position]
    group.desired += 1
    for index in found.nodes:
        draft.groups[draft.members.group_of[index]].desired -= 1
    return Replacement(
        target=str(group.group.target),
        nodes=tuple(draft.world.nodes[index].name for index in found.nodes),
        to=group.situation.current + 1,
        started_seconds=draft.now_seconds,
        saving_micros=found.saving_micros,
    )


def _still_wanted(draft: Draft, one: Takeover, judged: dict[int, Judged]) -> bool:
    """Not after an hour in which nothing but time, budgets or cool-downs would have kept any of its nodes."""
    if draft.now_seconds - one.replacement.started_seconds <= PATIENCE_SECONDS:
        return True
    return any(judged[index].safe or draft.states[index] is NodeState.LEAVING for index in one.sources)


def _tell(draft: Draft, found: Opportunity) -> None:
    groups: list[GroupDraft] = []
    for index in found.nodes:
        group = draft.groups[draft.members.group_of[index]]
        if group not in groups:
            groups.append(group)
    reason = CouldBeReplaced(
        nodes=tuple(draft.world.nodes[index].name for index in found.nodes),
        by=draft.groups[found.position].group.name,
        saving_per_hour=price_text(found.saving_micros),
        saving_percent=found.saving_percent,
        enabled=found.enabled,
    ).reason()
    for group in groups:
        group.reasons.append(reason)
