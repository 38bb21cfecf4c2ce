"""Nodes that were asked for and have not registered: one by one, since when, and what became of those that will not come."""

import msgspec

from reconciler.decisions.situation.lead_times import expectation, overdue_after_seconds
from reconciler.decisions.situation.request_clocks import requested_seconds, unmade_clocks
from reconciler.decisions.view import View


class UpcomingNode(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One request for a node. `machine` is empty where the platform has made none for it. `since_seconds` is when the machine was
    made, or first seen where nothing says so; at `until_seconds` it is given up. By
    `expected_seconds`, most earlier ones had come (0: too few have ended). `failed` says why it will not come, and is empty
    while it is expected."""

    group: str
    since_seconds: int
    machine: str = ""
    until_seconds: int = 0
    expected_seconds: int = 0
    failed: str = ""


def upcoming_nodes(view: View) -> tuple[UpcomingNode, ...]:
    """All of them by group, the longest wait first. A machine that is being deleted is none."""
    upcoming: list[UpcomingNode] = []
    for group, situation, machines in zip(view.groups, view.situations, view.members.machines, strict=True):
        times = view.memory.lead_times.get(str(group.target))
        earlier = expectation(times)
        patience = overdue_after_seconds(times, group.scale_up.max_node_provision_time_seconds)
        failed = dict(situation.failed)
        asked = [
            (machine.name, requested_seconds(view.memory, group, machine, view.now_seconds), failed.pop(machine.name, ""))
            for machine in machines
            if not machine.node and not machine.deleting
        ]
        whys = [*failed.values(), *[""] * (situation.upcoming - sum(not why for _, _, why in asked))]
        clocks = unmade_clocks(view.memory, group, situation.current, len(whys), view.now_seconds)
        upcoming += [
            UpcomingNode(
                group=group.name, since_seconds=since, machine=name, until_seconds=since + patience, failed=why,
                expected_seconds=since + earlier.within_seconds if earlier else 0,
            )
            for name, since, why in (*asked, *(("", *entry) for entry in zip(clocks, whys, strict=True)))
        ]  # fmt: skip
    return tuple(sorted(upcoming))
