"""What one tier has gained since a point: a list of loaded nodes, which can be taken back and given again."""

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

import msgspec

from reconciler.decisions.draft import Draft


class GrownNode(msgspec.Struct, frozen=True, order=True):
    """A new node of the group at `position` with its pods, (shape, count), those of DaemonSets left out."""

    position: int
    load: tuple[tuple[int, int], ...]


class Growth:
    """A point in a draft. Pods that went to nodes which were there before are noted, since taking back drops them as well."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._mark = draft.state.mark()
        self._nodes = draft.state.node_count
        self._size = draft.state.stack_size
        self._added = draft.added
        self._before = [(group.desired, len(group.new_nodes)) for group in draft.groups]
        self._elsewhere: list[tuple[int, int, int]] = []

    def note(self, shape: int, node: int, count: int) -> None:
        """Pods of a shape were bound to a node."""
        if node < self._nodes:
            self._elsewhere.append((shape, node, count))

    def bought(self) -> tuple[set[int], list[int]]:
        """Shapes of all pods that were bound, and the positions of groups with new nodes. Neither looks at each node."""
        grown = [
            group.position
            for group, (_, count) in zip(self._draft.groups, self._before, strict=True)
            if len(group.new_nodes) > count
        ]
        return set(self._draft.state.bound_since(self._size)[1]), grown

    def nodes(self) -> list[GrownNode]:
        """All new nodes in the order in which they came."""
        draft = self._draft
        numbers = sorted(
            (node, group.position)
            for group, (_, count) in zip(draft.groups, self._before, strict=True)
            for node in group.new_nodes[count:]
        )
        daemons = [Counter(group.daemons) for group in draft.groups]
        loads = {node: {shape: -count for shape, count in daemons[place].items()} for node, place in numbers}
        # All that is on these nodes came after the point.
        for node, shape, count in zip(*draft.state.bound_since(self._size), strict=True):
            if node in loads:
                loads[node][shape] = loads[node].get(shape, 0) + count
        return [GrownNode(place, tuple(sorted(pair for pair in loads[node].items() if pair[1] > 0))) for node, place in numbers]

    def take_back(self) -> None:
        """The draft as it was at the point, but for reasons and served pods."""
        draft = self._draft
        for group, (desired, count) in zip(draft.groups, self._before, strict=True):
            template = group.group.template
            if template is not None and len(group.new_nodes) > count:
                draft.limits.count(group.group, template, count - len(group.new_nodes))
                draft.tier_shares.count(group.group, count - len(group.new_nodes))
                del group.new_nodes[count:]
                group.desired = desired
        draft.added = self._added
        draft.state.undo(self._mark)

    def give(self, nodes: Iterable[GrownNode]) -> bool:
        """Grow by these nodes from the point on; False (and an undefined draft: take back) where a bound refuses one."""
        draft = self._draft
        for shape, place, count in self._elsewhere:
            draft.state.bind(shape, place, count)
        return all(self.add(node, sum(1 for _ in alike)) for node, alike in groupby(nodes))

    def add(self, node: GrownNode, times: int) -> bool:
        """Grow by so many equal nodes; False, and none of them, where a bound refuses that many."""
        draft = self._draft
        group = draft.groups[node.position]
        template = group.group.template
        if template is None or draft.room(group, template)[0] < times:
            return False
        numbers = draft.grow(group, template, times)
        places = array("i", [number for number in numbers for _ in node.load])
        shapes, counts = (array("i", [pair[part] for pair in node.load]) * len(numbers) for part in (0, 1))
        draft.state.bind_list(places, shapes, counts)
        return True
