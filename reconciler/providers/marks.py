"""Our mark on a Machine that is to go when its target shrinks, and what it proves after a restart."""

import re

import msgspec

from reconciler.decisions.ownership.owner import OUR_MANAGER

_MARK = re.compile(re.escape(OUR_MANAGER) + r"\.(.+)\.g([0-9]{1,18})\.r([0-9]{1,9})")


class DeleteMark(msgspec.Struct, frozen=True):
    """The value of the delete annotation: who marked it, and the target's generation and replicas just before it was to shrink.

    Cluster API reads only the key, so the value can store what a later process must know. While the target's generation is the
    mark's, nothing of its spec was written, so replicas were not lowered yet.
    """

    owner: str
    generation: int
    replicas: int

    def __str__(self) -> str:
        return f"{OUR_MANAGER}.{self.owner}.g{self.generation}.r{self.replicas}"

    @staticmethod
    def policy(text: str | None) -> str:
        """The owner that a mark of this program names; empty for all other values."""
        match = _MARK.fullmatch(text or "")
        return match[1] if match is not None else ""

    @staticmethod
    def read(text: str | None, owner: str) -> "DeleteMark | None":
        """The mark of this `owner`; None for no mark, and for everybody else's."""
        match = _MARK.fullmatch(text or "")
        if match is None or match[1] != owner:
            return None
        return DeleteMark(match[1], int(match[2]), int(match[3]))

    def not_lowered(self, generation: int) -> bool:
        """Whether it is proven that replicas were not lowered since."""
        return generation == self.generation

    def lowered(self, generation: int, replicas: int) -> bool:
        """Whether replicas fell since, by whomever: then the marked machine goes, unless the platform counts another."""
        return generation > self.generation and replicas < self.replicas
