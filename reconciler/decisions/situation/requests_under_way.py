"""Requests for nodes, followed until their nodes are usable: what the lead times of a group are learned from.

A request counts from our write if its machine follows within a minute. Otherwise it counts from the creation of the machine, or
from when the machine was first seen or first missed. Nothing is learned from nodes that were there when their group was first
seen. The same holds for a machine that somebody takes away while it is in time.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.cluster.target import Machine
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.groups.template_devices import DeviceEvidence
from reconciler.decisions.memory import LeadTime, LeadTimes, Memory
from reconciler.decisions.situation.belonging import Belonging
from reconciler.decisions.situation.group_situation import GroupSituation, waits_for
from reconciler.decisions.situation.lead_times import overdue_after_seconds, with_requests
from reconciler.decisions.situation.request_clocks import requested_seconds, unmade_clocks, unmade_since
from reconciler.plan.plan import NodeState

FOLLOWS_WITHIN_SECONDS = 60
"""A target has made the machines of a new size by then."""
COUNTED = 0
"""Instead of the instant of a request: it failed, and that is counted."""
_NOTHING = LeadTimes()


def note_lead_times(
    memory: Memory,
    waited_since: Mapping[str, int],
    world: World,
    groups: Sequence[EffectiveGroup],
    members: Membership,
    states: Sequence[NodeState],
    situations: Sequence[GroupSituation],
    belongings: Sequence[Belonging],
    now_seconds: int,
) -> Memory:
    """The memory with every request that has ended since the last decision. `waited_since` is `Memory.waiting_since` before this
    decision. Failures that are counted already are those of `memory.failed_machines`."""
    if not groups:
        return memory
    noted: dict[str, LeadTimes] = {}
    for position, group in enumerate(groups):
        target = str(group.target)
        before = memory.lead_times.get(target)
        machines, situation = members.machines[position], situations[position]
        # Where nodes have no machines, a request shows only if it fails: that alone would tell nothing.
        shows = bool(machines) or not situation.nodes
        follows = group.facts is not None and belongings[position].held is None and shows
        if follows and _has_news(before, machines, situation):
            following = _Following(
                memory, waited_since, world, group, machines, members, states, situation,
                belongings[position].kept, now_seconds,
            )  # fmt: skip
            before = following.noted(before)
        if before is not None and before != _NOTHING:
            noted[target] = before
    return msgspec.structs.replace(memory, lead_times=dict(sorted(noted.items())))


def last_asked_seconds(memory: Memory, group: EffectiveGroup, situation: GroupSituation) -> int | None:
    """When the latest request that is still expected was made; None without any."""
    times, failed = memory.lead_times.get(str(group.target), _NOTHING), {name for name, _ in situation.failed}
    asked = [since for name, since in times.under_way.items() if since != COUNTED and name not in failed]
    missing = unmade_since(memory, group) if situation.upcoming else ()
    return max((*asked, *missing), default=None)


def _has_news(before: LeadTimes | None, machines: Sequence[Machine], situation: GroupSituation) -> bool:
    """Whether anything can have begun or ended. In the steady state nothing has, and no node is looked at."""
    if before is None or before.under_way or situation.failed:
        return True
    return any(not machine.node or machine.created_seconds > before.newest_seconds for machine in machines)


class _Following:
    """The requests of one group in one decision."""

    def __init__(
        self,
        memory: Memory,
        waited_since: Mapping[str, int],
        world: World,
        group: EffectiveGroup,
        machines: Sequence[Machine],
        members: Membership,
        states: Sequence[NodeState],
        situation: GroupSituation,
        kept: Sequence[str],
        now_seconds: int,
    ) -> None:
        self._memory = memory
        self._world = world
        self._group = group
        self._machines = {machine.name: machine for machine in machines if not machine.deleting}
        self._states = states
        self._situation = situation
        self._kept = frozenset(kept)
        self._now = now_seconds
        self._evidence: DeviceEvidence | None = None
        self._most_joining = group.scale_up.max_node_provision_time_seconds
        self._overdue_after = overdue_after_seconds(memory.lead_times.get(str(group.target)), self._most_joining)
        self._most_starting = group.scale_up.max_node_startup_time_seconds
        self._node_of = {
            machine.name: index for index in situation.nodes if (machine := members.machine_of.get(index)) is not None
        }
        self._failures = frozenset(memory.failed_machines)
        self._missing_since = self._missing(waited_since)

    def noted(self, before: LeadTimes | None) -> LeadTimes:
        known = before or _NOTHING
        under_way: dict[str, int] = {}
        ended: list[tuple[int, str, LeadTime]] = []
        for name, asked in sorted({**self._fresh(before), **known.under_way}.items()):
            if asked == COUNTED:
                going_on = name in self._machines and name not in self._node_of
                end, keep = None, COUNTED if going_on else None
            else:
                end, keep = self._followed(name, asked)
            if keep is not None:
                under_way[name] = keep
            if end is not None:
                ended.append((asked, name, end))
        ended.extend(self._unmade())
        times = msgspec.structs.replace(known, under_way=under_way, newest_seconds=self._newest(known))
        return with_requests(times, [end for _, _, end in sorted(ended, key=lambda entry: entry[:2])])

    def _missing(self, waited_since: Mapping[str, int]) -> int | None:
        """Since when machines are missing, unless that is over or was given up."""
        missing = unmade_since(Memory(waiting_since=waited_since), self._group)
        return min((since for since in missing if self._now - since < self._most_joining), default=None)

    def _fresh(self, before: LeadTimes | None) -> dict[str, int]:
        """Requests that no earlier decision saw. A machine that is a node already is one if it is newer than all seen before.
        One that may be somebody else's is none."""
        fresh = {}
        for name, machine in self._machines.items():
            waits = not machine.node and name not in self._node_of
            came = before is not None and name in self._node_of and machine.created_seconds > before.newest_seconds
            if (waits or came) and name not in self._kept:
                since = requested_seconds(self._memory, self._group, machine, self._now)
                fresh[name] = self._asked(since)
        return fresh

    def _asked(self, since: int) -> int:
        """When a machine that is known since then was asked for: by our last write if it follows that, or when it was missing."""
        write = self._memory.last_writes.get(str(self._group.target))
        follows = write is not None and 0 <= since - write.written_seconds <= FOLLOWS_WITHIN_SECONDS
        if write is not None and follows and write.replicas == self._situation.current:
            return write.written_seconds
        return since if self._missing_since is None else min(since, self._missing_since)

    def _newest(self, known: LeadTimes) -> int:
        return max((known.newest_seconds, *(machine.created_seconds for machine in self._machines.values())))

    def _followed(self, name: str, asked: int) -> tuple[LeadTime | None, int | None]:
        """How a request ended (None: it goes on, or says nothing), and since when it is followed (None: no more)."""
        machine, index = self._machines.get(name), self._node_of.get(name)
        if machine is None:
            # What was overdue did not come. Whoever takes away what was in time no longer wants it.
            overdue = f"{self._group.target}/{name}" in self._failures
            return (LeadTime(asked, -self._overdue_after, -self._overdue_after) if overdue else None), None
        if index is None:
            failed = bool(machine.failed) or (not machine.node and self._now - asked >= self._most_joining)
            return (self._never(asked), COUNTED) if failed else (None, asked)
        return self._joined(asked, index)

    def _joined(self, asked: int, index: int) -> tuple[LeadTime | None, int | None]:
        node, state = self._world.nodes[index], self._states[index]
        took = node.created_seconds - asked
        if took <= 0 or state is NodeState.LEAVING:
            # A node older than its request was moved here with its machine, as by `clusterctl move`.
            return None, None
        if took >= self._most_joining:
            return self._never(asked), None
        over = self._now - node.created_seconds >= self._most_starting
        if self._evidence is None and self._group.template is not None and self._group.template.devices:
            self._evidence = DeviceEvidence.of(self._world)
        if not waits_for(self._world, node, self._group, self._evidence):
            # Nobody looked while it started, if that is over: when it was usable is not known.
            return (None if over else LeadTime(asked, took, max(self._now - asked, took))), None
        return (LeadTime(asked, took, -(took + self._most_starting)), None) if over else (None, asked)

    def _unmade(self) -> Iterator[tuple[int, str, LeadTime]]:
        """Requests that never got a machine, once they have failed."""
        unmade = [name for name, _ in self._situation.failed if name not in self._machines]
        situation = self._situation
        waiting = sum(1 for machine in self._machines.values() if not machine.node)
        count = max(len(unmade), situation.upcoming + len(situation.failed) - waiting)
        clocks = unmade_clocks(self._memory, self._group, situation.current, count, self._now) if unmade else []
        for since, name in zip(clocks, unmade, strict=False):
            if f"{self._group.target}/{name}" not in self._failures:
                yield since, name, self._never(since)

    def _never(self, asked: int) -> LeadTime:
        """A request that failed, or took longer than the policy allows."""
        return LeadTime(asked, -self._most_joining, -self._most_joining)
