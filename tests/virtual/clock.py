"""Virtual time for the product's own code. In a thread that runs a world, its clocks are the world's, and its pools of threads
work one item after the other."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from unittest import mock

from reconciler.kube.connection import side_by_side

_here = threading.local()
_REAL = {name: getattr(time, name) for name in ("time", "monotonic", "sleep", "clock_gettime")}


class Time(Protocol):
    """What a world is for the code that runs in it."""

    def seconds(self) -> float:
        """Unix time."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


def _instead(name: str) -> Callable[..., Any]:
    def here(*arguments: Any) -> Any:
        world: Time | None = getattr(_here, "world", None)
        if world is None:
            return _REAL[name](*arguments)
        return world.sleep(*arguments) if name == "sleep" else world.seconds()

    return here


_VIRTUAL: dict[str, Any] = {name: _instead(name) for name in _REAL}
_BY_REAL = {id(_REAL[name]): stand_in for name, stand_in in _VIRTUAL.items()}


class _OneAfterTheOther:
    """A pool of threads without threads."""

    def __init__(self, **_: object) -> None:
        return

    def __enter__(self) -> "_OneAfterTheOther":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def map(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return [call(item) for item in items]


@contextmanager
def running(world: Time) -> Iterator[None]:
    """Inside, this thread lives in the world's time."""
    _set_defaults()
    with mock.patch.multiple(time, **_VIRTUAL), mock.patch.object(side_by_side, "ThreadPoolExecutor", _OneAfterTheOther):
        before, _here.world = getattr(_here, "world", None), world
        try:
            yield
        finally:
            _here.world = before


_seen: set[str] = set()


def _set_defaults() -> None:
    """Clocks that are defaults of the product's parameters. Outside a world they stay what they were."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("reconciler.") or name in _seen:
            continue
        _seen.add(name)
        for item in vars(module).values():
            for found in (item, *(vars(item).values() if isinstance(item, type) else ())):
                function = getattr(found, "__func__", found)
                if getattr(function, "__defaults__", None):
                    function.__defaults__ = tuple(_BY_REAL.get(id(one), one) for one in function.__defaults__)
                if getattr(function, "__kwdefaults__", None):
                    function.__kwdefaults__ |= {
                        key: _BY_REAL[id(one)] for key, one in function.__kwdefaults__.items() if id(one) in _BY_REAL
                    }
