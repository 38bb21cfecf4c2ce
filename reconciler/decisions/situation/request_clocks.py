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


def waiting_key(group: EffectiveGroup, machine: Machine) -> str:
    """The name of the request behind a machine in `Memory.waiting_since`."""
    return f"{group.target}/{machine.name}"


def unmade_key(group: EffectiveGroup, replicas: int) -> str:
    """The name in `Memory.waiting_since` for the requests of a target, at one size, without a machine."""
    return f"{group.target} at {replicas}"


def _lost_key(group: EffectiveGroup, number: int) -> str:
    """A request whose machine has vanished, and that has no other one yet."""
    return f"{group.target} lost {number}"


def requested_seconds(memory: Memory, group: EffectiveGroup, machine: Machine, now_seconds: int) -> int:
    """When the request behind a machine was made, as far as known."""
    return memory.waiting_since.get(waiting_key(group, machine), machine.created_seconds or now_seconds)


def note_waiting(
    memory: Memory, groups: Sequence[EffectiveGroup], members: Membership, states: Sequence[NodeState], now_seconds: int
) -> Memory:
    """The memory with the clock of every request: of machines that are not usable nodes yet, and of replicas without a machine. A
    new size starts the clock of the latter again."""
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
        grown = max(0, (replicas or 0) - size.replicas) if size is not None else len(machines)
        clocks = _Clocks(memory, group, machines, starting, known.get(str(group.target), {}), now_seconds)
        waiting_since.update(clocks.noted(replicas, grown))
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

    def noted(self, replicas: int | None, grown: int) -> dict[str, int]:
        """All clocks; `grown` are the requests that were made since the last decision."""
        number = 1
        while (since := self._before.get(_lost_key(self._group, number))) is not None:
            self._lost.append(since)
            number += 1
        self._lost.sort()
        fresh = sorted(machine.name for machine in self._waiting if machine.name not in self._known)
        heirs = fresh[: max(0, len(fresh) - grown)]
        clocks = {waiting_key(self._group, machine): self._requested(machine, heirs) for machine in self._waiting}
        missing = max(0, (replicas or 0) - len(self._alive))
        lost = self._lost[:missing]
        clocks.update((_lost_key(self._group, index + 1), since) for index, since in enumerate(lost))
        if replicas is not None and missing:
            key = unmade_key(self._group, replicas)
            since = self._before.get(key, self._now)
            clocks[key] = min(since, lost[-1]) if len(lost) == missing else since
        return clocks

    def _requested(self, machine: Machine, heirs: Sequence[str]) -> int:
        own = self._known.get(machine.name)
        if own is None:
            own = first_sight(self._memory, self._group, machine, self._now)
        return min(own, self._lost.pop(0)) if machine.name in heirs and self._lost else own
