"""Which loops an instance takes and gives up, among equal instances that know only the Leases.

A Lease is the truth: no instance acts without one, whatever this says. So two instances may well see different things here.

SOURCE: shards that instances compute from their own views leave clusters to nobody (argoproj/argo-cd 24515) or all to one
(argoproj/argo-cd 9633). Here an instance takes what is free while it has less than its share, and gives up what is above it.
"""

from collections.abc import Mapping, Sequence

import msgspec

ROLLOUT_SECONDS = 600.0
"""For so long after an instance of another template came, a rolling update is taken to go on. SOURCE: the default
`progressDeadlineSeconds` of a Deployment."""
PATIENCE_SHARE = 1 / 3
"""After this part of a Lease's duration, a free loop is taken by instances that should leave it to others, one by one."""
URGENT_SHARE = 2 / 3
"""After this part, all that are still free are taken at once."""


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One process that lives. `template` is the version of the Deployment that it was made from, `started` when it was (Unix
    seconds); empty or 0 where that is unknown. `seen_seconds` is for how long it has been seen here."""

    identity: str
    template: str = ""
    started: int = 0
    seen_seconds: float = float("inf")


class Loops(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance sees. `holders` has the identity that holds each loop's Lease in force (empty: it is free), `free_seconds`
    how long a free one has been seen free. `lasts_seconds` is the duration of a Lease."""

    me: str
    instances: Sequence[Instance]
    holders: Mapping[str, str]
    free_seconds: Mapping[str, float] = {}
    lasts_seconds: float = 15.0


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now: loops to claim, and at most one to hand over."""

    take: tuple[str, ...] = ()
    give: str = ""


def share(loops: int, instances: int) -> int:
    """The most that one instance should have: an equal part, rounded up."""
    return -(-loops // max(instances, 1))


def next_step(seen: Loops) -> Step:
    """What the instance `me` does.

    While instances of several templates live, only those of the newest take. During a rolling update nobody gives up anything, so
    each loop moves once. A loop that stays free is taken by anybody: none stays without an owner for longer than
    a Lease lasts.
    """
    alive = {one.identity: one for one in seen.instances}
    mine = sorted(name for name, holder in seen.holders.items() if holder == seen.me)
    free = sorted(name for name, holder in seen.holders.items() if not holder)
    most = share(len(seen.holders), len(alive))
    others = [identity for identity in alive if identity != seen.me]
    if free:
        waited = [name for name in free if seen.free_seconds.get(name, 0) >= seen.lasts_seconds * PATIENCE_SHARE]
        takes = free if not others or _newest(seen.me, seen.instances) else waited
        room = max(most - len(mine), 0)
        taken = takes[:room]
        # No instance with room takes them. An instance above its share is better than a loop without an owner.
        left = [name for name in waited if name not in taken]
        urgent = [name for name in left if seen.free_seconds.get(name, 0) >= seen.lasts_seconds * URGENT_SHARE]
        return Step(take=(*taken, *(urgent or left[:1])))
    if others and len(mine) > most and not _rolling_out(seen.instances):
        return Step(give=mine[-1])
    return Step()


def _rolling_out(instances: Sequence[Instance]) -> bool:
    """Whether instances of several templates live, and one has come lately: soon the older ones end, and give up what they
    have."""
    templates = {one.template for one in instances}
    return len(templates) > 1 and min(one.seen_seconds for one in instances) < ROLLOUT_SECONDS


def _newest(me: str, instances: Sequence[Instance]) -> bool:
    """Whether an instance was made from the newest template that lives."""
    latest: dict[str, int] = {}
    for one in instances:
        latest[one.template] = max(latest.get(one.template, 0), one.started)
    template = next((one.template for one in instances if one.identity == me), "")
    newest = max(latest, key=lambda name: (latest[name], name), default=template)
    return template == newest
