"""What is carried from one decision to the next."""

from collections.abc import Iterable

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Claim, Memory, Outcome
from reconciler.decisions.ownership.other_policies import by_target, contest
from reconciler.decisions.ownership.owner import policy_mark
from reconciler.decisions.ownership.second_writer import last_write, without_last_writes
from reconciler.decisions.reasons.nodes import NodeEmpty
from reconciler.decisions.removal.approval_ceiling import departed, lasting
from reconciler.decisions.removal.scale_down import Judged
from reconciler.decisions.situation.backoff import BackoffRule
from reconciler.decisions.situation.denied_writes import DENIED, with_outcome
from reconciler.decisions.situation.denied_writes import lasting as standing_denials
from reconciler.decisions.situation.evidence import asked
from reconciler.plan.plan import ActionKind, NodeState
from reconciler.policy.documents import Mode

_GROWTH = (ActionKind.RESIZE, ActionKind.REPLACE)
_NOTHING_DONE = ("Conflict", "Stale", "NotFound", "Refused", DENIED, "Unavailable")
"""Codes of one write that was not done at all; what takes several may have done the first."""


def remember(draft: Draft, judged: dict[int, Judged], memory: Memory) -> Memory:
    """Timers of nodes that are still unneeded, the groups known now, first sights; entries of gone things are dropped."""
    names = {node.name for node in draft.world.nodes}
    targets = {str(facts.ref): facts for facts in draft.world.targets}
    known = {str(group.group.target): group.group.name for group in draft.groups}
    unread = [target for target in memory.known_groups if target not in targets and _unread(draft.world, target)]
    released = {
        target: name
        for target, name in memory.known_groups.items()
        if target not in known and (target in targets or target in unread)
    }
    foreign = {
        target: memory.foreign_since.get(target, draft.now_seconds)
        for target, facts in targets.items()
        if any(owner.time_seconds == 0 and owner.operation == "Update" for owner in facts.owner.owners)
    }
    return msgspec.structs.replace(
        memory,
        unneeded_since={
            draft.world.nodes[index].name: entry.unneeded_since
            for index, entry in sorted(judged.items())
            if entry.unneeded_since is not None
        },
        claims=_claims(draft, memory, unread) if draft.groups else memory.claims,
        known_groups=dict(sorted({**released, **known}.items())) if draft.groups else memory.known_groups,
        left_empty=_left_empty(draft, judged, memory),
        leaving={name: since for name, since in memory.leaving.items() if name in names},
        denials=standing_denials(memory, targets, draft.now_seconds),
        foreign_since=dict(sorted(foreign.items())),
        held_groups=tuple(sorted(group.group.name for group in draft.groups if group.group.hold)),
        departures={} if draft.policy.pace.require_approval_above is None else lasting(memory.departures, draft.now_seconds),
    )


def _unread(world: World, target: str) -> bool:
    """Whether a target that was known cannot be read now, which does not mean that it is gone."""
    kind, _, key = target.partition(" ")
    namespace, _, name = key.partition("/")
    return any(one.kind == kind and one.covers(namespace, name) for one in world.unread)


def _claims(draft: Draft, memory: Memory, unread: Iterable[str]) -> dict[str, Claim]:
    """Targets that this policy means to write. One that has the mark of another policy is that one's: a claim on it would only
    keep its owner away."""
    if draft.policy.mode is not Mode.ENFORCE:
        return {}
    name = draft.policy.name
    there = by_target(draft.world.claims)
    claims = {target: memory.claims[target] for target in unread if target in memory.claims}
    for one in draft.groups:
        group, target = one.group, str(one.group.target)
        marked = "" if group.facts is None else policy_mark(group.facts)
        if group.mode is not Mode.ENFORCE or marked not in ("", name, *draft.world.ended_policies):
            continue
        ours = contest(there.get(target, ()), memory.claims.get(target), name).ours
        if ours is not None:
            claims[target] = ours
    return dict(sorted(claims.items()))


def _left_empty(draft: Draft, judged: dict[int, Judged], memory: Memory) -> tuple[str, ...]:
    """Names of empty nodes that leave by this plan, and of those that are still leaving."""
    before = frozenset(memory.left_empty)
    nodes, states = draft.world.nodes, draft.states
    names = {node.name for node, state in zip(nodes, states, strict=True) if state is NodeState.LEAVING and node.name in before}
    names.update(nodes[index].name for index, entry in judged.items() if isinstance(entry.why, NodeEmpty))
    return tuple(sorted(names))


def settle(memory: Memory, outcomes: tuple[Outcome, ...]) -> Memory:
    """What to remember once the actions of a plan were done or refused."""
    for outcome in outcomes:
        memory = asked(with_outcome(_settled(memory, outcome), outcome), outcome, nothing_done=outcome.code in _NOTHING_DONE)
        claim = memory.claims.get(outcome.target)
        tried = outcome.done or outcome.code not in _NOTHING_DONE
        if tried and claim is not None and outcome.kind != ActionKind.RELEASE:
            written = msgspec.structs.replace(claim, written=True)
            memory = msgspec.structs.replace(memory, claims={**memory.claims, outcome.target: written})
    return memory


def _settled(memory: Memory, outcome: Outcome) -> Memory:
    if not outcome.done:
        if outcome.nodes:
            # A removal was refused or given up: its node is open again and is judged again. Its unneeded time starts over, so
            # that a drain that cannot end does not begin again at once. But if a server did not answer, that says nothing about
            # the node, and the time continues.
            restarts = () if outcome.code == "Unavailable" else outcome.nodes
            leaving = {name: since for name, since in memory.leaving.items() if name not in outcome.nodes}
            unneeded = {name: since for name, since in memory.unneeded_since.items() if name not in restarts}
            begun = sum(name in memory.leaving for name in outcome.nodes)
            memory = msgspec.structs.replace(
                memory,
                leaving=leaving,
                unneeded_since=unneeded,
                departures=departed(memory.departures, outcome.target, -begun, outcome.at_seconds),
            )
        if outcome.kind == ActionKind.REPLACE:
            kept = tuple(one for one in memory.replacements if (one.target, one.nodes) != (outcome.target, outcome.nodes))
            purchase = memory.purchase
            if purchase is not None and purchase.replaced_seconds not in {one.started_seconds for one in kept}:
                # No target grew for it, so there is nothing that it has to pay back.
                purchase = msgspec.structs.replace(purchase, replaced_seconds=0)
            memory = msgspec.structs.replace(memory, replacements=kept, purchase=purchase)
        if not (outcome.kind in _GROWTH and outcome.code in _NOTHING_DONE):
            # A part of it may have been done: what we wrote last says nothing of what is there now.
            memory = without_last_writes(memory, frozenset((outcome.target,)))
        return _failed(memory, outcome)
    match outcome.kind:
        case ActionKind.RESIZE:
            return msgspec.structs.replace(_wrote(memory, outcome), last_added_seconds=outcome.at_seconds)
        case ActionKind.REPLACE | ActionKind.CANCEL:
            # What a replacement adds is no growth for demand: its own drains follow, and so may others.
            return _wrote(memory, outcome)
        case ActionKind.REMOVE_NODE:
            # One that only begins has written nothing of its target yet; what it finds there in the end is not known.
            begins = bool(outcome.nodes) and not outcome.generation
            known = without_last_writes(memory, frozenset((outcome.target,))) if begins else _wrote(memory, outcome)
            return msgspec.structs.replace(
                known,
                last_removed_seconds=outcome.at_seconds,
                leaving={**memory.leaving, **dict.fromkeys(outcome.nodes, outcome.at_seconds)},
                departures=departed(memory.departures, outcome.target, len(outcome.nodes), outcome.at_seconds),
            )
        case ActionKind.RELEASE:
            names = {target: name for target, name in memory.known_groups.items() if target != outcome.target}
            return msgspec.structs.replace(memory, known_groups=names)
        case _:
            return memory


def _wrote(memory: Memory, outcome: Outcome) -> Memory:
    return msgspec.structs.replace(memory, last_writes={**memory.last_writes, outcome.target: last_write(memory, outcome)})


def _failed(memory: Memory, outcome: Outcome) -> Memory:
    """A failed write backs the group off by the built-in rule, because its own rule is not available here. Refused growth does
    the same. It is not a failure of the cluster, so removals of other groups do not wait for it."""
    refused = outcome.code == "Refused" and outcome.kind in _GROWTH
    if outcome.code != "Failed" and not refused:
        return memory
    state = BackoffRule().after(memory.backoffs.get(outcome.group), outcome.at_seconds, outcome.message)
    backoffs = {**memory.backoffs, outcome.group: state}
    last = memory.last_failed_seconds if refused else outcome.at_seconds
    return msgspec.structs.replace(memory, backoffs=backoffs, last_failed_seconds=last)
