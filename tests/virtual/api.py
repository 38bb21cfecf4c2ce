"""The API server in memory, in virtual time: watches tell what happens when they are due, and nobody waits for them."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.kube.api_server import FakeApiServer, Watch, _collections, _event

Line = bytes | Exception | None


class VirtualWatch(Watch):
    """One watch. `lines` come when they are due, in their order; `told` is called when there are more."""

    def __init__(self, server: "VirtualApi", path: str, query: dict[str, str]) -> None:
        super().__init__(server, path, query, 0)
        self.lines: deque[tuple[float, Line]] = deque()
        self.told: Callable[[float], None] = lambda _: None
        self._begun = False

    def say(self, line: Line) -> None:
        server = self.server
        assert isinstance(server, VirtualApi)
        late = server.lag(self.path) if self._begun else 0.0
        last = self.lines[-1][0] if self.lines else 0.0
        due = max(last, server.seconds() + late)
        self.lines.append((due, line))
        self.told(due)

    def __enter__(self) -> Iterator[bytes]:
        self.server.begin(self)
        self._begun = True
        return self

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        raise AssertionError("whoever reads this one takes the lines that are due")


class VirtualApi(FakeApiServer):
    """`lag` is how late a watch of a path is told of a change."""

    def __init__(self, seconds: Callable[[], float], seed: int) -> None:
        super().__init__(seed)
        self.seconds = seconds
        self.lag: Callable[[str], float] = lambda _: 0.0
        self.bookmarks = 0

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> VirtualWatch:
        return VirtualWatch(self, path, dict(query))

    def listed(self, collection: str) -> list[dict[str, Any]]:
        """The objects of a collection, as they are."""
        return [item for path, item in self.objects.items() if path.startswith(collection) and "/" not in path[len(collection) :]]

    def _tell(self, what: str, path: str, item: dict[str, Any]) -> None:
        line = _event(what, item)
        self._told.append((self._version, path, line))
        for watch in self._watches:
            if watch.path in _collections(path):
                watch.say(line)

    def _take_turns(self) -> None:
        return
