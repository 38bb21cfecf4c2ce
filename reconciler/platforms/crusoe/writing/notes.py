"""What removals must remember, beside the taint on the node: neither pools nor machines can bear a mark of ours.

Written before the act that it protects, so that a process which ends between any two calls leaves the next one the proof of what
was meant: the count before it was lowered, and which machines were there beside the one that is to go.
"""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.platforms.crusoe.facts import pool, wire
from reconciler.platforms.crusoe.facts.states import CHANGING, GOING, bare
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.writing.account import Account
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


# One pool as it is at this moment: what every write is judged on.


class Reading(msgspec.Struct, frozen=True):
    """A pool with its facts, what it was read against, and the notes of then."""

    item: wire.NodePool
    facts: TargetFacts
    view: CrusoeView
    noted: Noted

    @property
    def counted(self) -> frozenset[str]:
        """The machines that the count speaks of."""
        return frozenset(self.view.counted(self.item))

    @property
    def there(self) -> frozenset[str]:
        """All machines that are not on their way out, stopped ones among them."""
        return frozenset(name for name in self.item.instance_ids or () if bare(self.view.state(name)) not in GOING)

    @property
    def changing(self) -> bool:
        """Whether the platform is at work on the pool, so that its state is for a moment only."""
        return bare(self.item.state) in CHANGING


def read(account: Account, target: TargetRef, noted: Noted) -> Reading | None:
    """The pool and everything that could hold it, asked just now; None when it is not there. Raises `CrusoeError` (also where
    only a part could not be read: who else replaces machines is part of what is judged) and `msgspec.ValidationError`."""
    listed = [converted(one, wire.NodePool) for one in account.pools()]
    item = next((one for one in listed if one.name == target.name and bare(one.state) != "DELETED"), None)
    if item is None:
        return None
    instances = [converted(one, wire.Instance) for one in account.machines(item.id)]
    view = CrusoeView(
        pools=tuple(listed),
        instances={one.id: one for one in instances},
        clusters={item.cluster_id: wire.Cluster(id=item.cluster_id, location=target.region)},
        remediations=tuple(converted(one, wire.ClusterOperation) for one in account.remediations()),
        behaviour=wire.Behaviour(lowering=account.lowering, passed_over=noted.passed_over),
    )
    return Reading(item, pool.facts(item, view), view, noted)


def converted(body: dict[str, Any], kind: type[Any]) -> Any:  # noqa: ANN401 - one function for every kind of answer
    """An answer as the same type that a file of it becomes. Raises `msgspec.ValidationError`."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)
