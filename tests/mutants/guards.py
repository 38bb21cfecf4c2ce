"""Guards of writes and bounds, each with the one-line change that a quick test has to notice.

A guard that is moved or rewritten takes its row along; a new one gets a row.
"""

import msgspec


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """`before` stands exactly once in `file`; with `after` in its place one of `tests` fails."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


_WRITES = ("tests/kube/test_write_guards.py",)
_EDGES = ("tests/decisions/test_edges.py",)
_PACKING = ("tests/scheduling/test_packing.py",)
_REMOVALS = ("tests/control/saved_plans/test_several_removals.py",)
_TABLE = ("tests/providers/machines/test_removal_table.py",)
_MACHINES = ("tests/providers/machines/test_machine_writes.py",)
_LEAVING = ("tests/control/live/test_leaving_nodes.py",)
_JUDGED_AGAIN = ("tests/control/turn/test_revalidation.py",)

GUARDS: tuple[Guard, ...] = (
    Guard(
        name="an eviction carries the uid",
        file="reconciler/kube/drain.py",
        before='{"preconditions": {"uid": pod.uid}}',
        after="{}",
        tests=_WRITES,
    ),
    Guard(
        name="a mark is written under the version that was read",
        file="reconciler/kube/drain.py",
        before='{"metadata": {"resourceVersion": judged.metadata.resource_version}, "spec"',
        after='{"metadata": {}, "spec"',
        tests=_WRITES,
    ),
    Guard(
        name="a node is marked as it was seen: its taints",
        file="reconciler/kube/drain.py",
        before='            {"op": "test", "path": "/spec/taints", "value": judged or None},\n',
        after="",
        tests=("tests/kube/test_drain_in_memory.py",),
    ),
    Guard(
        name="a node is marked as it was seen: the node",
        file="reconciler/kube/drain.py",
        before='            {"op": "test", "path": "/metadata/uid", "value": seen.uid},\n',
        after="",
        tests=("tests/kube/test_drain_in_memory.py",),
    ),
    Guard(
        name="a node that bears a mark is not marked over",
        file="reconciler/kube/drain.py",
        before="if not seen.uid or any(taint.key == DELETING_TAINT for taint in seen.taints):",
        after="if not seen.uid:",
        tests=("tests/kube/test_drain_in_memory.py",),
    ),
    Guard(
        name="the platform hears of marks before it is asked for fewer machines",
        file="reconciler/providers/machines/platform_hearing.py",
        before="time.sleep(self._heard_seconds)",
        after="pass",
        tests=_TABLE,
    ),
    Guard(
        name="replicas wait while the platform's controllers reconnect",
        file="reconciler/providers/machines/platform_hearing.py",
        before="if self._reconnecting_seconds() <= 0:",
        after="if True:",
        tests=_TABLE,
    ),
    Guard(
        name="a mark of what was emptied outlives the next size",
        file="reconciler/providers/machines/targets.py",
        before='dict(facts.annotations).get(EMPTIED_MARK, "")',
        after='""',
        tests=("tests/providers/machines/test_target_mark.py",),
    ),
    Guard(
        name="a renewal that returns counts transitions",
        file="reconciler/kube/leading/lease.py",
        before="leading is not None and leading.transitions == self.transitions",
        after="leading is not None",
        tests=_WRITES,
    ),
    Guard(
        name="a takeover counts",
        file="reconciler/kube/leading/lease.py",
        before="self.transitions += 1",
        after="self.transitions += 0",
        tests=_WRITES,
    ),
    Guard(
        name="a part that changed under another reading",
        file="reconciler/kube/leading/state.py",
        before="if self._read is not None and there != self._seen.get(part, there):",
        after="if False:",
        tests=_WRITES,
    ),
    Guard(
        name="the state is written under the version that was read",
        file="reconciler/kube/leading/state.py",
        before='{**self._metadata(self.name), "resourceVersion": read.metadata.resource_version}',
        after="{**self._metadata(self.name)}",
        tests=_WRITES,
    ),
    Guard(
        name="a node that is being deleted",
        file="reconciler/control/turn/revalidation.py",
        before="if fresh.nodes[now].deleting:",
        after="if False:",
        tests=_JUDGED_AGAIN,
    ),
    Guard(
        name="a pod that came",
        file="reconciler/control/turn/revalidation.py",
        before='if new else ""',
        after='if False else ""',
        tests=_JUDGED_AGAIN,
    ),
    Guard(
        name="failed removals of other nodes",
        file="reconciler/control/saved_plans/departures.py",
        before="if removal.state is RemovalState.FAILED and removal.node in self._leaving:",
        after="if removal.state is RemovalState.FAILED:",
        tests=_REMOVALS,
    ),
    Guard(
        name="the floor of several removals",
        file="reconciler/control/live/leaving_nodes.py",
        before="min(replicas, self._floors.get(target, replicas))",
        after="replicas",
        tests=_REMOVALS,
    ),
    Guard(
        name="the group's minimum is a floor",
        file="reconciler/control/live/leaving_nodes.py",
        before="max(group.min_size, self._floors.get(target, 0))",
        after="self._floors.get(target, 0)",
        tests=_REMOVALS,
    ),
    Guard(
        name="pace for removals",
        file="reconciler/decisions/removal/scale_down.py",
        before="        self._pace -= 1\n",
        after="        self._pace -= 0\n",
        tests=_EDGES,
    ),
    Guard(
        name="minReplicas at its bound",
        file="reconciler/decisions/removal/drains/drain.py",
        before="controller.replicas < least",
        after="controller.replicas <= least",
        tests=_EDGES,
    ),
    Guard(
        name="a limit that is just met",
        file="reconciler/decisions/limits.py",
        before="max(0, (highest - used) // one)",
        after="max(0, (highest - used - 1) // one)",
        tests=_EDGES,
    ),
    Guard(
        name="the minimum of a limit",
        file="reconciler/decisions/limits.py",
        before="self._used[index][name] - one < lowest",
        after="self._used[index][name] - one <= lowest",
        tests=_EDGES,
    ),
    Guard(
        name="anti-affinity tells templates apart",
        file="reconciler/scheduling/packing.py",
        before="(*shape.affinity, *shape.anti_affinity)",
        after="shape.affinity",
        tests=_PACKING,
    ),
    Guard(
        name="ephemeral storage in packing",
        file="reconciler/scheduling/packing.py",
        before="and used.ephemeral_bytes <= offered.ephemeral_bytes",
        after="",
        tests=_PACKING,
    ),
    Guard(
        name="pack sizes in the git cache",
        file="reconciler/gitops/git/cache.py",
        before="sum(sizes) <= self._bounds.pack_bytes",
        after="True",
        tests=("tests/gitops/git/test_cache.py::test_packs_that_together_are_too_large_are_not_kept",),
    ),
    Guard(
        name="the last good policy is read again after a failed save",
        file="reconciler/control/policy/policy_in_force.py",
        before="            self._loaded = False\n",
        after="            self._loaded = True\n",
        tests=("tests/control/policy/test_followed.py",),
    ),
    Guard(
        name="a signer's primary key may be named",
        file="reconciler/gitops/git/signer_name.py",
        before="for one in (key, primary) if",
        after="for one in (key,) if",
        tests=("tests/gitops/git/test_signature.py::test_gpg_signature_of_a_subkey",),
    ),
    Guard(
        name="bounds of others are not taken",
        file="reconciler/control/kept_bounds.py",
        before='"force": "false"',
        after='"force": "true"',
        tests=("tests/control/test_bounds_keeper.py::test_a_key_of_somebody_else_is_not_taken",),
    ),
    Guard(
        name="a removal that was about to be written and whose node is gone counts",
        file="reconciler/decisions/removal/under_way.py",
        before="(name in leaving or name not in there)",
        after="name in leaving",
        tests=("tests/decisions/removal/test_approval_ceiling.py::test_what_was_about_to_be_written_is_judged_by_what_is_there",),
    ),
    Guard(
        name="ownership is judged again right before replicas are lowered",
        file="reconciler/providers/machines/removal.py",
        before="facts.generation != judged.facts.generation or not_ours(facts) is not None",
        after="facts.generation != judged.facts.generation",
        tests=_TABLE,
    ),
    Guard(
        name="a target that was written since is not lowered",
        file="reconciler/providers/machines/removal.py",
        before="mark is not None and not mark.not_lowered(facts.generation)",
        after="False",
        tests=_TABLE,
    ),
    Guard(
        name="nothing is lowered beside a mark whose answer was lost",
        file="reconciler/providers/machines/removal.py",
        before="        if doubt is not None:\n",
        after="        if False:\n",
        tests=_TABLE,
    ),
    Guard(
        name="a target is sized under the version that was judged",
        file="reconciler/providers/machines/targets.py",
        before='            "resourceVersion": facts.resource_version,\n        }\n',
        after="        }\n",
        tests=_MACHINES,
    ),
    Guard(
        name="no running machine goes with those that are cancelled",
        file="reconciler/providers/machines/cancellation.py",
        before="if beside <= replicas:",
        after="if True:",
        tests=_MACHINES,
    ),
    Guard(
        name="a held removal lowers nothing",
        file="reconciler/control/live/leaving_nodes.py",
        before="floor=NOTHING_MAY_GO if group is None or held or called_off else",
        after="floor=NOTHING_MAY_GO if group is None else",
        tests=_LEAVING,
    ),
    Guard(
        name="a drain that another owner began",
        file="reconciler/kube/drain.py",
        before="            if foreign is not None:\n",
        after="            if False:\n",
        tests=("tests/kube/test_drain_in_memory.py",),
    ),
    Guard(
        name="a write is sent once",
        file="reconciler/kube/connection/transport.py",
        before="retries=False,",
        after="retries=True,",
        tests=("tests/kube/connection/test_transport.py",),
    ),
)
