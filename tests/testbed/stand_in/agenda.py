"""What the stand-in has to look at, and when: each thing once, at the earliest of the times asked for."""

import threading
import time
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Agenda(Generic[Item]):
    """A queue with due times; `add` from any thread, `next` from one."""

    def __init__(self) -> None:
        self._due: dict[Item, float] = {}
        self._changed = threading.Condition()
        self._closed = False

    def add(self, item: Item, seconds: float = 0) -> None:
        """Look at an item in so many seconds, or earlier if that was asked for before."""
        due = time.monotonic() + seconds
        with self._changed:
            self._due[item] = min(due, self._due.get(item, due))
            self._changed.notify()

    def close(self) -> None:
        """Let `next` end."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def next(self) -> Item | None:
        """Wait for the next due item and take it; None once closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                item, due = min(self._due.items(), key=lambda pair: pair[1], default=(None, None))
                if item is not None and due is not None and due <= now:
                    del self._due[item]
                    return item
                self._changed.wait(None if due is None else due - now)
            return None
