"""Nodes that were asked for and have not registered: one by one, since when, and what became of those that will not come."""

import msgspec

from reconciler.decisions.situation.group_situation import unmade_key, waiting_key
from reconciler.decisions.view import View


class UpcomingNode(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One request for a node. `machine` is empty where the platform has made none for it. `since_seconds` is when the machine was
    made, or first seen where nothing says so; at `until_seconds` it is given up. `failed` says why it will not come, and is empty
    while it is expected."""

    group: str
    since_seconds: int
    machine: str = ""
    until_seconds: int = 0
    failed: str = ""


def upcoming_nodes(view: View) -> tuple[UpcomingNode, ...]:
    """All of them by group, the longest wait first. A machine that is being deleted is none."""
    found: list[UpcomingNode] = []
    for group, situation, machines in zip(view.groups, view.situations, view.members.machines, strict=True):
        patience = group.max_node_provision_time_seconds
        failed = dict(situation.failed)
        waiting = [machine for machine in machines if not machine.node and not machine.deleting]
        for machine in waiting:
            since = machine.created_seconds or view.memory.waiting_since.get(waiting_key(group, machine), view.now_seconds)
            found.append(
                UpcomingNode(
                    group=group.name, since_seconds=since, machine=machine.name, until_seconds=since + patience,
                    failed=failed.pop(machine.name, ""),
                )
            )  # fmt: skip
        since = view.memory.waiting_since.get(unmade_key(group, situation.current), view.now_seconds)
        expected = situation.upcoming - sum(1 for entry in found if entry.group == group.name and not entry.failed)
        whys = [*failed.values(), *("" for _ in range(expected))]
        found += [UpcomingNode(group=group.name, since_seconds=since, until_seconds=since + patience, failed=why) for why in whys]
    return tuple(sorted(found))
