"""What removals must remember in addition to the taint on the node: neither pools nor machines can have a mark of ours.

A note is written before the step that it protects. So if a process ends between two calls, the note shows the next one what was
intended. The note has the count before it was lowered, and the machines that ran next to the one to remove.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.crusoe.writing.calls import NO_NOTE, CrusoeError
from reconciler.values.decoding import decode

PART = "crusoe"


class Keeper(Protocol):
    """The place where notes are kept."""

    def load(self, part: str) -> bytes | None:
        """What was saved last; None if nothing was. Raises if it cannot be read."""

    def save(self, part: str, content: bytes) -> bool:
        """Replace it. Raises if it cannot be written."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of `pool` is to be removed. `count` is the pool's count before that, and `beside` are its other machines at that
    time. `operation` is the id of the write that lowered the count (empty: unknown). `cancelled`: the machine never became a
    node, so no taint shows its removal."""

    pool: str
    count: int
    beside: tuple[str, ...]
    operation: str = ""
    cancelled: bool = False


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """All notes. `passed_over`: by pool id, how the platform took a machine that nobody had chosen."""

    intents: dict[str, Intent] = {}
    passed_over: dict[str, str] = {}


class UnnotedError(CrusoeError):
    """Notes cannot be read or written now, so nothing that needs them may be done."""

    def __init__(self, why: str) -> None:
        super().__init__(NO_NOTE, f"the note that must come first cannot be saved: {why}")


class InMemoryKeeper:
    """The keeper of a process that only reads."""

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
    """The notes of one policy. They are read again for every step: another process may have led since. All methods raise
    `UnnotedError`."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def read(self) -> Noted:
        """The notes as they are now."""
        try:
            content = self._keeper.load(PART)
            return decode(content, Noted) if content else Noted()
        except msgspec.DecodeError as error:
            raise UnnotedError(f"the notes cannot be read: {error}") from None
        except Exception as error:  # of whatever keeps them
            raise UnnotedError(str(error)) from error

    def put(self, machine: str, intent: Intent) -> None:
        """Save the note before anything is done for the machine."""
        self.put_all({machine: intent})

    def put_all(self, intents: Mapping[str, Intent], there: Collection[str] | None = None) -> None:
        """Save several at once. Notes about the pools' machines that are no longer `there` are dropped (None: unknown)."""
        noted = self.read()
        pools = {intent.pool for intent in intents.values()}
        kept = {
            name: intent for name, intent in noted.intents.items() if there is None or intent.pool not in pools or name in there
        }
        self._save(msgspec.structs.replace(noted, intents={**kept, **intents}))

    def drop(self, *machines: str) -> None:
        """Drop the notes: their intent is done, or given up."""
        noted = self.read()
        left = {name: intent for name, intent in noted.intents.items() if name not in machines}
        if left != noted.intents:
            self._save(msgspec.structs.replace(noted, intents=left))

    def restored(self, machine: str) -> None:
        """Raise the count by one again, since the machine stays. Later notes then started from one more."""
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
        """The platform chose another machine than one of these. Nothing is removed from the pool until a person has looked."""
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
