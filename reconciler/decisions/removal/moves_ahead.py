"""Places for the pods of several equal nodes, found at once before each of the nodes is judged.

A cluster at half load has thousands of nodes with the same pods. Only the places that are taken already tell the trial of one
from that of the next.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from reconciler.decisions.draft import Draft
from reconciler.decisions.removal.candidates import Candidate
from reconciler.policy.documents import RemovalReason
from reconciler.scheduling.relocation import Moved, Places, lift

MOST_AHEAD = 256
"""So many nodes at once."""


class MovesAhead:
    """The moves of nodes that are judged next. After each success, twice as many nodes are tried."""

    def __init__(self, draft: Draft, receivers: set[int]) -> None:
        """`receivers` gets the nodes to which pods have moved."""
        self._draft = draft
        self._receivers = receivers
        self._many = 1
        self._next: list[Candidate] = []
        """The nodes that are not judged yet, the next one last."""
        self._judged: list[Candidate] = []
        self._places, self._reason = Places(draft.state), RemovalReason.EMPTY
        self._mark = 0
        self._moved: Moved | None = None

    @property
    def idle(self) -> bool:
        """Whether no node is waited for."""
        return not self._next

    def meet(self, candidate: Candidate, reason: RemovalReason | None) -> None:
        """This node is judged next. If it is not the one that is waited for, nothing has moved ahead."""
        if self._next and (self._next[-1] is not candidate or self._reason is not reason):
            self.give_back()

    def take(self) -> bool:
        """Whether the pods of the node that was met last have moved already, so that it needs no trial."""
        if not self._next:
            return False
        self._judged.append(self._next.pop())
        if not self._next:
            self._keep()
        return True

    def give_back(self) -> None:
        """The next node does not follow those before it: only the places of nodes that were judged stay taken."""
        if not self._next:
            return
        self._next, self._many = [], 1
        self._draft.state.undo(self._mark)
        self._moved = self._fit(self._judged) if self._judged else None
        self._keep()

    def look(self, first: Candidate, rest: Iterator[Candidate], places: Places, reason: RemovalReason) -> None:
        """The pods of `first` have found places of these: try those of the nodes that follow and are as it is."""
        if len(first.moving) != 1 or first.awaited or not self._draft.state.node_local(*first.moving):
            return
        self._many = min(2 * self._many, MOST_AHEAD)
        nodes = list(takewhile(lambda one: self._is_as(one, first), islice(rest, self._many)))
        if not nodes:
            return
        self._places, self._reason, looked = places, reason, places.looked
        self._mark = self._draft.state.mark()
        moved = self._fit(nodes)
        if moved.short is not None or places.reaches(moved.nodes, [one.index for one in nodes]):
            # One after the other, some would move to the others, or find no place.
            self._draft.state.undo(self._mark)
            self._many = 1
            return
        self._draft.work.spend(places.looked - looked)
        self._moved, self._judged, self._next = moved, [], nodes[::-1]

    def _is_as(self, one: Candidate, first: Candidate) -> bool:
        alike = one.group is first.group and one.reason is first.reason and not one.awaited
        return alike and one.moving == first.moving and one.index not in self._receivers

    def _fit(self, nodes: Sequence[Candidate]) -> Moved:
        for one in nodes:
            lift(self._draft.state, one.index, one.moving)
        ((shape, pods),) = nodes[0].moving.items()
        return self._places.fit((shape,), (pods * len(nodes),))

    def _keep(self) -> None:
        if self._moved is not None:
            self._places.keep(self._moved)
            self._receivers.update(self._moved.nodes)
        self._moved = None
