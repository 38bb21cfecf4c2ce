"""One pool at this moment: every write is judged on it."""

from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.platforms.crusoe.facts import pool, wire
from reconciler.platforms.crusoe.facts.states import CHANGING, GOING, bare
from reconciler.platforms.crusoe.facts.view import CrusoeView
from reconciler.platforms.crusoe.writing.account import Account
from reconciler.platforms.crusoe.writing.calls import CrusoeError
from reconciler.platforms.crusoe.writing.notes import Noted
from reconciler.values.decoding import decode


class Reading(msgspec.Struct, frozen=True):
    """A pool with its facts, the view that they were judged with, and the notes of that time."""

    item: wire.NodePool
    facts: TargetFacts
    view: CrusoeView
    noted: Noted

    @property
    def counted(self) -> frozenset[str]:
        """The machines that the count includes. Machines are listed after pools: what only the pool names is gone."""
        return frozenset(self.view.counted(self.item)).intersection(self.view.instances)

    @property
    def there(self) -> frozenset[str]:
        """All machines that are not being deleted, including stopped ones."""
        return frozenset(name for name in self.item.instance_ids or () if bare(self.view.state(name)) not in GOING)

    @property
    def changing(self) -> bool:
        """Whether the platform is changing the pool, so that its state will not last."""
        return bare(self.item.state) in CHANGING


def read(account: Account, target: TargetRef, noted: Noted) -> Reading | None:
    """The pool and everything that could hold it, read now; None if it does not exist. Raises `CrusoeError` and
    `msgspec.ValidationError`, also if only a part could not be read: who else replaces machines is part of the judgement."""
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


def current(account: Account, reading: Reading | None) -> Reading | None:
    """A reading to judge by. Raises `CrusoeError` for one that may be from before our own write."""
    newer = account.newer(reading.item.id, reading.item.count) if reading is not None else None
    if reading is not None and newer is not None:
        shown = f"node pool {reading.item.name} shows count {reading.item.count}, which we had replaced by {newer}"
        raise CrusoeError("OldRead", f"{shown}: the read is too old")
    return reading


def converted(body: dict[str, Any], kind: type[Any]) -> Any:  # noqa: ANN401 - one function for every kind of answer
    """An answer as the type that a file of it becomes. Raises `msgspec.ValidationError`."""
    return decode(msgspec.json.encode(body), kind)
