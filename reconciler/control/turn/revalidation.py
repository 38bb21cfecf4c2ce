"""Checks before an action that the facts behind its decision still hold."""

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.ownership.other_policies import claim_words, claims_on, promised_since
from reconciler.decisions.reasons.sizes import PendingPods
from reconciler.plan.plan import Action, Bound
from reconciler.values.plural import count_text


class Stands(msgspec.Struct, frozen=True):
    """The action may be done: on what, and the bound to write under."""

    target: TargetRef
    bound: Bound


class Moved(msgspec.Struct, frozen=True):
    """It may not: `why` says what has moved."""

    why: str


def revalidate(action: Action, judged: World, fresh: World) -> Stands | Moved:
    """Judge again with what a fresh view says.

    Replicas and all ownership evidence must be what they were. If a resourceVersion moved for another reason (status, an
    unrelated label), the bound takes it over. For a removal, the node must still be there and must not be leaving already. Its
    pods must be those of the earlier view: nothing new may have been bound to it.
    """
    facts = _facts(fresh, action.target)
    if facts is None:
        return Moved(f"{action.target} is not there any more")
    if (facts.replicas or 0) != action.bound.replicas:
        now = count_text(facts.replicas or 0, "replica")
        return Moved(f"{action.target} has {now} now, and {action.bound.replicas} when the plan was made")
    if fresh is not judged:
        before = _facts(judged, action.target)
        if before is None or before.owner != facts.owner:
            return Moved(f"who owns the replicas of {action.target} has changed since they were judged")
        if claims_on(judged.claims, action.target) != (claims := claims_on(fresh.claims, action.target)):
            named = ", ".join(claim_words(one) for one in claims) or "no other policy"
            return Moved(f"{named} has {action.target} now, which was judged otherwise")
        if action.reason.code == PendingPods.code and (since := promised_since(judged.claims, fresh.claims)) is not None:
            return Moved(f"{claim_words(since)} has promised nodes to pods since then. The next iteration ignores these pods")
        for node in action.nodes:
            moved = _node_moved(node, judged, fresh)
            if moved:
                return Moved(moved)
        joined = _machine_joined(action, fresh)
        if joined:
            return Moved(joined)
    return Stands(facts.ref, msgspec.structs.replace(action.bound, resource_version=facts.resource_version))


def _facts(world: World, target: str) -> TargetFacts | None:
    return next((facts for facts in world.targets if str(facts.ref) == target), None)


def _machine_joined(action: Action, fresh: World) -> str:
    """A machine that was judged to be no node any more to come, and came all the same. It may not say so yet."""
    names = {node.name for node in fresh.nodes} if action.machines else ()
    for name in action.machines:
        if name in names:
            return f"machine {name} has become node {name}"
    for machine in fresh.machines:
        if machine.name in action.machines and str(machine.target) == action.target and machine.node:
            return f"machine {machine.name} has become node {machine.node}"
    return ""


def _node_moved(name: str, judged: World, fresh: World) -> str:
    now = _index(fresh, name)
    if now is None:
        return f"node {name} is not there any more"
    if fresh.nodes[now].deleting:
        return f"node {name} is being deleted already"
    before = _index(judged, name)
    known = _pods_on(judged, before) if before is not None else frozenset()
    new = sorted(_pods_on(fresh, now) - known)
    return f"{new[0]} was bound to node {name} after it was judged" if new else ""


def _index(world: World, name: str) -> int | None:
    return next((index for index, node in enumerate(world.nodes) if node.name == name), None)


def _pods_on(world: World, node: int) -> frozenset[str]:
    column, pods = world.pods.node, world.pods
    keys: list[str] = []
    position = -1
    while True:
        try:
            position = column.index(node, position + 1)
        except ValueError:
            return frozenset(keys)
        keys.append(pods.key(position))
