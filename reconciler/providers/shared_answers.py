"""Answers of a cloud that several loops of one process ask for: each is asked once, and counts for some seconds."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import msgspec

_Answer = TypeVar("_Answer")
_MOST = 4096
"""So many answers are kept before those that count no longer are dropped."""


class _Kept(msgspec.Struct, frozen=True):
    until: float
    answer: Any = None
    error: Exception | None = None


class SharedAnswers:
    """Used by the threads of all loops. Two that ask for the same at once wait for one answer; other questions do not wait.

    `refusals` says whether an error is an answer too, which counts for `refused_seconds`: a right that is missing is missing for
    every loop.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        refusals: Callable[[Exception], bool] = lambda _: False,
        refused_seconds: float = 0.0,
    ) -> None:
        self._monotonic = monotonic
        self._refusals = refusals
        self._refused_seconds = refused_seconds
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept] = {}
        self._asking: dict[Hashable, threading.Lock] = {}
        self._forgotten = 0

    def of(self, question: Hashable, seconds: float, ask: Callable[[], _Answer]) -> _Answer:
        """The answer to a question, `seconds` old at most. It was asked for after every `forget` before this call. Raises what
        `ask` does."""
        with self._lock:
            asking = self._asking.setdefault(question, threading.Lock())
        with asking:
            with self._lock:
                kept, forgotten = self._kept.get(question), self._forgotten
            if kept is not None and self._monotonic() < kept.until:
                if kept.error is not None:
                    raise kept.error.with_traceback(None)
                return kept.answer  # type: ignore[no-any-return]
            began = self._monotonic()
            try:
                answer = ask()
            except Exception as error:
                if self._refusals(error):
                    self._keep(question, _Kept(began + self._refused_seconds, error=error), forgotten)
                raise
            self._keep(question, _Kept(began + seconds, answer), forgotten)
            return answer

    def forget(self, concerned: Callable[[Hashable], bool] = lambda _: True) -> None:
        """What was asked before now no longer counts, also where the answer is under way."""
        with self._lock:
            self._forgotten += 1
            self._kept = {question: kept for question, kept in self._kept.items() if not concerned(question)}

    def _keep(self, question: Hashable, kept: _Kept, forgotten: int) -> None:
        with self._lock:
            if forgotten != self._forgotten:
                return
            if len(self._kept) >= _MOST:
                now = self._monotonic()
                self._kept = {key: one for key, one in self._kept.items() if now < one.until}
                self._asking = {key: lock for key, lock in self._asking.items() if key in self._kept or lock.locked()}
            self._kept[question] = kept
