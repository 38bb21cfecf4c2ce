"""Our own writes, until the view shows them. A decision on an older view would be refused before its actions."""

from collections.abc import Callable, Iterable

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.kube.watching.watch_pace import Pace
from reconciler.providers.contract import (
    RemovalProgress,
    RemovalState,
)

PATIENCE_SECONDS = 2.0
"""A watch shows a write within milliseconds; one that does not is waited for no longer: the guards of writes hold anyway."""
_LOOK_SECONDS = 0.02


class OwnWrites:
    """Generations of targets that removals have written. Without a `pace` nothing is waited for."""

    def __init__(self, pace: Pace | None) -> None:
        self._pace = pace
        self._awaited: dict[TargetRef, int] = {}

    def note(self, removals: Iterable[RemovalProgress]) -> None:
        """Removals that finished name the generation that they wrote; 0 where the platform has none."""
        for one in removals:
            if one.target is not None and one.state is RemovalState.FINISHED and one.generation:
                self._awaited[one.target] = max(one.generation, self._awaited.get(one.target, 0))

    def shown(self, world: World, look: Callable[[], World]) -> World:
        """The view, or the first later one that shows what was written. Raises what `look` does."""
        if self._pace is None or not self._awaited:
            return world
        deadline = self._pace.monotonic() + PATIENCE_SECONDS
        while self._behind(world) and self._pace.monotonic() < deadline and not self._pace.pause(_LOOK_SECONDS):
            world = look()
        self._awaited.clear()
        return world

    def _behind(self, world: World) -> bool:
        """A target whose generation nobody knows (0) tells nothing."""
        return any(0 < facts.generation < self._awaited.get(facts.ref, 0) for facts in world.targets)
