"""A clock that only tests move, and an API server that says what a test wrote down."""

from collections.abc import Callable, Iterator, Mapping

from reconciler.kube.connection.api import ContentType

Line = bytes | Exception


class ManualPace:
    """Waiting takes no time: it moves the clock. Chance is always `chance`; after `pauses` waits it says stop."""

    def __init__(self, pauses: int = 1000, chance: float = 0.0) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self._pauses = pauses
        self._chance = chance

    def monotonic(self) -> float:
        return self.now

    def random(self) -> float:
        return self._chance

    def pause(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return len(self.waits) >= self._pauses


class ScriptedApi:
    """Streams and lists come from scripts, one after the other; when a script has run out, `ended` is called.

    A stream is an exception (it cannot be opened) or its lines, of which an exception breaks it there and a callable is called.
    """

    def __init__(
        self,
        streams: list[Exception | list[Line | Callable[[], None]]],
        lists: list[Exception | bytes] | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.streams = streams
        self.lists = lists or []
        self.ended = ended
        self.asked: list[tuple[str, str, dict[str, str]]] = []

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.asked.append(("list", path, dict(query or {})))
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: ContentType = ContentType.JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        raise AssertionError(f"{method} {path}: nothing should be written")

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> "_Script":
        self.asked.append(("watch", path, dict(query)))
        if not self.streams:
            self.ended()
            return _Script([])
        return _Script(self.streams.pop(0))


class _Script:
    def __init__(self, lines: Exception | list[Line | Callable[[], None]]) -> None:
        self._lines = lines

    def __enter__(self) -> Iterator[bytes]:
        if isinstance(self._lines, Exception):
            raise self._lines
        return self._read(self._lines)

    def __exit__(self, *_: object) -> None:
        return None

    def _read(self, lines: list[Line | Callable[[], None]]) -> Iterator[bytes]:
        for line in lines:
            if isinstance(line, Exception):
                raise line
            if isinstance(line, bytes):
                yield line
            else:
                line()
