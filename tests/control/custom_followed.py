"""Custom resources that are handed in, and the policy that follows them, for tests."""

from reconciler.control.policy.custom_resources import CustomResourcePolicy
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.sources.last_good import LastGood, LastGoodError, MemoryLastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from reconciler.kube.custom.custom_object import CustomObject

NOW = 1_800_000_000
LOW_ABOVE_HIGH = {"low": 7, "high": 5}


class _Objects:
    """What a server has, and what was asked of it."""

    def __init__(self, *items: CustomObject) -> None:
        self.items = items
        self.why = ""
        self.settled = 0

    def wait(self, timeout_seconds: float) -> bool:
        return timeout_seconds == 5.0

    def settle(self, quiet_seconds: float, most_seconds: float) -> None:
        assert (quiet_seconds, most_seconds) == (2.0, 30.0)
        self.settled += 1

    def doubt(self) -> str:
        return self.why

    def all(self) -> tuple[CustomObject, ...]:
        return self.items


class _Store(MemoryLastGoodStore):
    """May refuse to be read or written."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: LastGoodError | None = None
        self.full = False

    def load(self) -> LastGood | None:
        if self.unreadable is not None:
            raise self.unreadable
        return super().load()

    def save(self, last_good: LastGood) -> None:
        if self.full:
            raise LastGoodError("no room")
        super().save(last_good)


class Followed:
    """A policy `prod` over these objects, in the namespace infra."""

    def __init__(self, *items: CustomObject, allow_no_groups: bool = False) -> None:
        self.objects, self.store, self.now = _Objects(*items), _Store(), NOW
        self.events: list[SourceEvent] = []
        self.start(allow_no_groups=allow_no_groups)

    def start(self, *, allow_no_groups: bool = False) -> None:
        """As after a restart."""
        self.policy = CustomResourcePolicy(
            self.objects, self.store, lambda: self.now, name="prod", own_namespace="infra", allow_no_groups=allow_no_groups,
            tell=self.events.append,
        )  # fmt: skip

    def look(self, *items: CustomObject) -> bool:
        """Look at these, or again at what was there."""
        self.objects.items = items or self.objects.items
        self.now += 10
        return self.policy.poll()

    def groups(self) -> list[str]:
        return [item.name for item in self.policy.current().groups]

    def fault(self) -> tuple[FaultCode, str, str] | None:
        found = self.policy.standing.fault
        return None if found is None else (found.code, found.message, found.hint)

    def told(self) -> list[str]:
        """Reasons of the events since the last time."""
        found, self.events[:] = [event.reason for event in self.events], []
        return found
