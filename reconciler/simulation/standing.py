"""How far a look ahead has come."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan

MAX_LOOPS = 60
STEP_SECONDS = 10


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`plan` is the last one that was made, at `now_seconds` on `world`, and `memory` what it remembers; `loops` counts plans.
    `evicted` has the key of a pod for every eviction so far, `joined` how many nodes joined, by group name. `waiting` are keys of
    pods that have no node. `rests`: further plans would read the same and be as empty."""

    world: World
    memory: Memory
    now_seconds: int
    plan: Plan
    loops: int = 1
    evicted: tuple[str, ...] = ()
    joined: Mapping[str, int] = {}
    waiting: tuple[str, ...] = ()
    rests: bool = False
