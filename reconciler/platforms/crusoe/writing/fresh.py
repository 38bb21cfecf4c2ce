"""One pool as it is at this moment: what every write is judged on."""

from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.platforms.crusoe.facts import pool, wire
from reconciler.platforms.crusoe.facts.states import CHANGING, GOING, bare
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.notes import Noted


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
