"""What platforms can still give, after replicas have changed: a simulation asks no platform for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from reconciler.cluster.target import SharedRoom, TargetFacts


def with_rooms_taken(targets: Iterable[TargetFacts], added: Iterable[tuple[TargetFacts, int]]) -> Iterator[TargetFacts]:
    """The same targets, with their rooms as they are after some got so many machines more (or fewer). Targets share rooms."""
    taken = Counter[str]()
    for facts, nodes in added:
        for name in {room.name for room in (*facts.rooms, *facts.reserved)}:
            taken[name] += nodes
    for facts in targets:
        if taken and (facts.rooms or facts.reserved):
            rooms, reserved = (tuple(_after(room, taken) for room in some) for some in (facts.rooms, facts.reserved))
            yield msgspec.structs.replace(facts, rooms=rooms, reserved=reserved)
        else:
            yield facts


def _after(room: SharedRoom, taken: Mapping[str, int]) -> SharedRoom:
    nodes = taken.get(room.name, 0)
    return msgspec.structs.replace(room, left=max(0, room.left - nodes), since=room.since + nodes) if nodes else room
