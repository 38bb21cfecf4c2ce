"""The demand that nodes were bought for: while it lasts, it costs no nodes again.

Draining into the spare room of nodes that the same demand has just bought is an up and a down for nothing that changed: the
Cluster Autoscaler does so one unneeded time after a purchase (measured on 1.36: 2 -> 9 -> 8 for one burst of pods).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.pod_table import FINISHED_PHASES
from reconciler.decisions.draft import Draft
from reconciler.decisions.memory import Purchase
from reconciler.plan.plan import NodeState


class Bought(msgspec.Struct, frozen=True):
    """Nodes (indices of the World) that came for the present demand; `since` by the position of a group that grew for it."""

    nodes: frozenset[int] = frozenset()
    since: Mapping[int, int] = {}


NOTHING = Bought()


class Demand:
    """The demand of one view, worked out when it is first asked for."""

    def __init__(self, draft: Draft, policy_digest: str) -> None:
        self._draft = draft
        self._policy_digest = policy_digest
        self._digest = ""

    @property
    def digest(self) -> str:
        """Sixteen hex digits over what pods ask for, wherever they run, and what else may change what is needed.

        Counted by shape: pods that are not finished, not terminating, not expendable and not bound to go with their node. Nodes
        that take no pods and nodes of others count by name, since their return is room that nobody bought; the policy
        counts as a whole.
        """
        if not self._digest:
            told = (self._policy_digest, self._pods(), self._nodes())
            self._digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16]
        return self._digest

    def _pods(self) -> list[tuple[str, int]]:
        draft = self._draft
        pods, staying = draft.world.pods, draft.staying_shapes()
        counts = Counter(pods.shape)
        if any(pods.deletion_seconds) or any(bytes(pods.phase).count(code) for code in FINISHED_PHASES):
            columns = zip(pods.shape, pods.deletion_seconds, pods.phase, strict=True)
            counts.subtract(shape for shape, deleted, phase in columns if deleted or phase in FINISHED_PHASES)
        return sorted(
            (hashlib.sha256(msgspec.json.encode(draft.world.pod_shapes[shape])).hexdigest(), count)
            for shape, count in counts.items()
            if count and shape not in staying and draft.world.pod_shapes[shape].priority >= draft.cutoff
        )

    def _nodes(self) -> list[str]:
        draft = self._draft
        foreign = {group.position for group in draft.groups if group.held_why} | {-1}
        return [
            node.name
            for node, state, where in zip(draft.world.nodes, draft.states, draft.members.group_of, strict=True)
            if state is NodeState.UNREADY
            or where in foreign
            or (state is NodeState.IN_USE and draft.world.node_shapes[node.shape].unschedulable)
        ]

    def bought(self) -> Bought:
        """What the memory says was bought for this very demand."""
        draft = self._draft
        purchase = draft.memory.purchase
        if purchase is None or purchase.demand != self.digest:
            return NOTHING
        since = {
            group.position: purchase.since[target]
            for group in draft.groups
            if (target := str(group.group.target)) in purchase.since
        }
        nodes = [
            index
            for position, instant in since.items()
            for index in draft.groups[position].situation.nodes
            if draft.world.nodes[index].created_seconds >= instant
        ]
        return Bought(frozenset(nodes), since)

    def purchase(self, grown: Iterable[str]) -> Purchase | None:
        """What to remember when the groups of these names grow for pods now."""
        draft = self._draft
        before = draft.memory.purchase
        names = frozenset(grown)
        if not names:
            return before
        kept = before.since if before is not None and before.demand == self.digest else {}
        now = {str(group.group.target): draft.now_seconds for group in draft.groups if group.group.name in names}
        return Purchase(demand=self.digest, since=dict(sorted({**now, **kept}.items())))


def came_late(draft: Draft, index: int) -> bool:
    """Whether a node joined after its machine was given up: others were bought in its place, so it may leave."""
    machine = draft.members.machine_of.get(index)
    where = draft.members.group_of[index]
    if machine is None or not machine.created_seconds or where < 0:
        return False
    waited = draft.world.nodes[index].created_seconds - machine.created_seconds
    return waited >= draft.groups[where].group.max_node_provision_time_seconds
