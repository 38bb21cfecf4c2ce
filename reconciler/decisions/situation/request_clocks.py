"""Since when each request for a node waits, whichever machine is behind it now.

A platform may replace a machine before it becomes a node: its launch hook was abandoned, or its health checks fail. The request
has waited since it was made. So a machine takes over the clock of one that vanished before it was a node. A request whose failure
is counted has ended: the next machine begins again.
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.target import Machine
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.memory import Memory, SizeState
from reconciler.decisions.situation.clocks import first_sight
from reconciler.plan.plan import NodeState

MOST_CLOCKS = 50
"""Of requests of one target without a machine so many instants are told apart. The oldest count as one."""


def waiting_key(group: EffectiveGroup, machine: Machine) -> str:
    """The name of the request behind a machine in `Memory.waiting_since`."""
    return f"{group.target}/{machine.name}"


def _unmade_key(group: EffectiveGroup, replicas: int) -> str:
    """The name in `Memory.waiting_since` for requests of a target without a machine: those up to this size that no smaller size
    has."""
    return f"{group.target} at {replicas}"


def unmade_since(memory: Memory, group: EffectiveGroup) -> tuple[int, ...]:
    """When the requests without a machine were made, the oldest first. Requests of the same instant count once."""
    return tuple(since for _, since in _unmade(memory, group))


def unmade_clocks(memory: Memory, group: EffectiveGroup, replicas: int, count: int, now_seconds: int) -> list[int]:
    """When each of so many requests without a machine was made, the oldest first: a platform serves them in this order."""
    return _clocks(_unmade(memory, group), replicas, count, now_seconds)


def _unmade(memory: Memory, group: EffectiveGroup) -> list[tuple[int, int]]:
    start = f"{group.target} at "
    return sorted((int(key.removeprefix(start)), since) for key, since in memory.waiting_since.items() if key.startswith(start))


def _clocks(unmade: Sequence[tuple[int, int]], replicas: int, count: int, now_seconds: int) -> list[int]:
    clocks: list[int] = []
    for size, since in unmade:
        clocks.extend([since] * (min(size, replicas) - (replicas - count) - len(clocks)))
    return clocks + [now_seconds] * (count - len(clocks))


def _lost_key(group: EffectiveGroup, number: int) -> str:
    """A request whose machine has vanished, and that has no other one yet."""
    return f"{group.target} lost {number}"


def requested_seconds(memory: Memory, group: EffectiveGroup, machine: Machine, now_seconds: int) -> int:
    """When the request behind a machine was made, as far as known."""
    return memory.waiting_since.get(waiting_key(group, machine), machine.created_seconds or now_seconds)


def note_waiting(
    memory: Memory, groups: Sequence[EffectiveGroup], members: Membership, states: Sequence[NodeState], now_seconds: int
) -> Memory:
    """The memory with the clock of every request: of machines that are not usable nodes yet, and of replicas without a machine.
    Of the latter, a larger size has new ones, and a smaller one takes back the oldest."""
    known: dict[str, dict[str, int]] = {}
    for key, since in memory.waiting_since.items():
        target, _, name = key.rpartition("/")
        known.setdefault(target, {})[name] = since
    starting = {
        machine.name for index, machine in members.machine_of.items() if states[index] is NodeState.NOT_STARTED
    }  # fmt: skip
    waiting_since: dict[str, int] = {}
    sizes: dict[str, SizeState] = {}
    for position, group in enumerate(groups):
        machines, replicas = members.machines[position], group.facts.replicas if group.facts is not None else None
        size = memory.sizes.get(str(group.target))
        if replicas is not None:
            same = size is not None and size.replicas == replicas
            sizes[str(group.target)] = (
                size
                if size is not None and same
                else SizeState(replicas=replicas, since_seconds=now_seconds, before=size.replicas if size is not None else None)
            )
        change = (replicas or 0) - size.replicas if size is not None else len(machines)
        without = sum(1 for index in members.members[position] if index not in members.machine_of)
        clocks = _Clocks(memory, group, machines, starting, known.get(str(group.target), {}), now_seconds)
        waiting_since.update(clocks.noted(replicas, change, without))
    return msgspec.structs.replace(memory, waiting_since=dict(sorted(waiting_since.items())), sizes=dict(sorted(sizes.items())))


class _Clocks:
    """The requests of one group in one decision. `known` are those that had a machine at the last decision, by its name."""

    def __init__(
        self,
        memory: Memory,
        group: EffectiveGroup,
        machines: Sequence[Machine],
        starting: set[str],
        known: Mapping[str, int],
        now_seconds: int,
    ) -> None:
        self._memory = memory
        self._before = memory.waiting_since
        self._group = group
        self._alive = [machine for machine in machines if not machine.deleting]
        self._waiting = [machine for machine in self._alive if not machine.node or machine.name in starting]
        self._now = now_seconds
        self._known = known
        there = {machine.name for machine in self._alive}
        failed = frozenset(memory.failed_machines)
        self._lost = sorted(
            since for name, since in known.items() if name not in there and f"{group.target}/{name}" not in failed
        )  # fmt: skip

    def noted(self, replicas: int | None, change: int, without: int) -> dict[str, int]:
        """All clocks. `change` is by how much the size has changed since the last decision, and `without` are nodes that have no
        machine."""
        number = 1
        while (since := self._before.get(_lost_key(self._group, number))) is not None:
            self._lost.append(since)
            number += 1
        self._lost.sort()
        fresh = sorted(machine.name for machine in self._waiting if machine.name not in self._known)
        heirs = fresh[: max(0, len(fresh) - max(0, change))]
        clocks = {waiting_key(self._group, machine): self._requested(machine, heirs) for machine in self._waiting}
        missing = max(0, (replicas or 0) - len(self._alive) - without)
        lost = self._lost[:missing]
        clocks.update((_lost_key(self._group, index + 1), since) for index, since in enumerate(lost))
        if replicas is not None and missing:
            clocks.update(self._unmade(replicas, missing, change, lost))
        return clocks

    def _unmade(self, replicas: int, missing: int, change: int, lost: Sequence[int]) -> dict[str, int]:
        """The clocks of requests without a machine. Those whose machine was `lost` are among them."""
        before = [(size + min(0, change), since) for size, since in _unmade(self._memory, self._group)]
        others = _clocks(before, replicas, missing, self._now)
        for since in lost:
            others.remove(since if since in others else others[0])
        oldest = sorted({*others, *lost})[-MOST_CLOCKS:][0]
        merged = sorted(max(since, oldest) for since in (*others, *lost))
        last_number = {since: number for number, since in enumerate(merged, start=replicas - missing + 1)}
        return {_unmade_key(self._group, number): since for since, number in last_number.items()}

    def _requested(self, machine: Machine, heirs: Sequence[str]) -> int:
        own = self._known.get(machine.name)
        if own is None:
            own = first_sight(self._memory, self._group, machine, self._now)
        return min(own, self._lost.pop(0)) if machine.name in heirs and self._lost else own
