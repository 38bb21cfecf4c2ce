"""What removals must remember, beside the taint on the node: neither pools nor machines can bear a mark of ours.

Written before the act that it protects, so that a process which ends between any two calls leaves the next one the proof of what
was meant: the count before it was lowered, and which machines were there beside the one that is to go.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.providers.contract import WriteCode, WriteResult

PART = "crusoe"


class Keeper(Protocol):
    """Where notes lie."""

    def load(self, part: str) -> bytes | None:
        """What was saved last; None when nothing was. Raises where it cannot be read."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it. Raises where it cannot be written."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of `pool` is to go: `count` is what the pool asked for before, `beside` its other machines then. `operation` is
    that of the write which lowered it (empty: not known). `cancelled`: it never became a node, so that no taint tells of it."""

    pool: str
    count: int
    beside: tuple[str, ...]
    operation: str = ""
    cancelled: bool = False


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `passed_over`: by id of a pool, how the platform took a machine that nobody had chosen."""

    intents: dict[str, Intent] = {}
    passed_over: dict[str, str] = {}


class UnnotedError(Exception):
    """Notes cannot be read or written now, so that nothing may be done that needs them."""

    def result(self) -> WriteResult:
        """What it is for whoever asked for a write."""
        return WriteResult(code=WriteCode.UNAVAILABLE, message=f"what must be remembered cannot be kept: {self}")


class InMemoryKeeper:
    """For a process that only reads."""

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}

    def load(self, part: str) -> bytes | None:
        """What was saved last."""
        return self.parts.get(part)

    def save(self, part: str, content: bytes) -> bool:
        """Replace it."""
        self.parts[part] = content
        return True


class Notes:
    """The notes of one policy, read anew for every step: another process may have led since. All methods raise `UnnotedError`."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def read(self) -> Noted:
        """As they are now."""
        try:
            content = self._keeper.load(PART)
            return msgspec.json.decode(content, type=Noted) if content else Noted()
        except msgspec.DecodeError as error:
            raise UnnotedError(f"the notes cannot be read: {error}") from None
        except Exception as error:  # of whatever keeps them
            raise UnnotedError(str(error)) from error

    def put(self, machine: str, intent: Intent) -> None:
        """Before anything is done for it."""
        self.put_all({machine: intent})

    def put_all(self, intents: Mapping[str, Intent], there: Collection[str] | None = None) -> None:
        """Several in one. What is noted of the pools' machines that are not `there` any more is over (None: not known)."""
        noted = self.read()
        pools = {intent.pool for intent in intents.values()}
        kept = {
            name: intent for name, intent in noted.intents.items() if there is None or intent.pool not in pools or name in there
        }
        self._save(msgspec.structs.replace(noted, intents={**kept, **intents}))

    def drop(self, *machines: str) -> None:
        """What was meant is done, or given up."""
        noted = self.read()
        left = {name: intent for name, intent in noted.intents.items() if name not in machines}
        if left != noted.intents:
            self._save(msgspec.structs.replace(noted, intents=left))

    def restored(self, machine: str) -> None:
        """The count is one higher again, since the machine stays: what was lowered for others afterwards was so from one more."""
        noted = self.read()
        mine = noted.intents.get(machine)
        if mine is None:
            return
        self._save(
            msgspec.structs.replace(
                noted, intents={name: _raised(one, mine) for name, one in noted.intents.items() if name != machine}
            )
        )

    def pass_over(self, pool: str, sentence: str, *machines: str) -> None:
        """The platform chose another than one of these: nothing is removed from the pool until a person has looked."""
        noted = self.read()
        left = {name: intent for name, intent in noted.intents.items() if name not in machines}
        self._save(Noted(intents=left, passed_over={**noted.passed_over, pool: sentence}))

    def _save(self, noted: Noted) -> None:
        try:
            self._keeper.save(PART, msgspec.json.encode(noted, order="sorted"))
        except NotLeaderError:
            raise
        except Exception as error:  # of whatever keeps them
            raise UnnotedError(str(error)) from error


def _raised(one: Intent, restored: Intent) -> Intent:
    later = one.pool == restored.pool and one.count < restored.count
    return msgspec.structs.replace(one, count=one.count + 1) if later else one
