"""The thread of a polled source: a read, a pause, and another read right after a write."""

import threading
from collections.abc import Callable


class AskingThread:
    """`ask` makes one round and returns whether it brought news. `pause_seconds` then returns how long no news is expected."""

    def __init__(self, name: str, ask: Callable[[], bool], pause_seconds: Callable[[], float]) -> None:
        self._ask = ask
        self._pause_seconds = pause_seconds
        self._wake = threading.Event()
        self._stopping = False
        self._changed: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self, changed: Callable[[], None]) -> None:
        """Start to ask; `changed` is called after every round with news."""
        self._changed = changed
        self._thread.start()

    def stop(self) -> None:
        """Stop asking; the current round ends first."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        """Begin the next round at once, or right after the current one."""
        self._wake.set()

    @property
    def woken(self) -> bool:
        """Whether the next round begins at once."""
        return self._wake.is_set()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            if self._ask():
                self._changed()
            self._wake.wait(self._pause_seconds())
