"""How many more machines a pool can get: from its reservation, which several pools may share, or from a location's stock.

SOURCE: Crusoe's documentation of reservations. Only running machines take room in one. A stopped machine frees its room, and
returns to the same reservation if there is room then.
"""

from collections.abc import Iterable

from reconciler.cluster.target import SharedRoom
from reconciler.platforms.crusoe.facts import wire
from reconciler.platforms.crusoe.facts.view import CrusoeView


def rooms(pool: wire.NodePool, view: CrusoeView) -> tuple[SharedRoom, ...]:
    """What bounds its growth; empty if nothing is known."""
    if pool.reservation_id:
        reservation = view.reservations.get(pool.reservation_id)
        return (reserved(reservation, view),) if reservation is not None else ()
    location = view.location(pool)
    left = view.stock.get((pool.type, location))
    if left is None:
        return ()
    alike = (one for one in view.pools if not one.reservation_id and (one.type, view.location(one)) == (pool.type, location))
    owed = _asked(alike, view)
    name = f"stock of {pool.type} in {location}"
    return (SharedRoom(name=name, left=max(0, left - owed), why=f"{left} left{_owed(owed)}"),)


def reserved(reservation: wire.Reservation, view: CrusoeView) -> SharedRoom:
    """The room of a reservation. Its own number of used machines includes those of other projects."""
    mine = [pool for pool in view.pools if pool.reservation_id == reservation.id]
    running = sum(len(view.counted(pool)) for pool in mine)
    used, owed = max(reservation.used_quantity, running), _asked(mine, view)
    return SharedRoom(
        name=f"reservation {reservation.id}",
        left=max(0, reservation.quantity - used - owed),
        why=f"{used} of {reservation.quantity} machines run{_owed(owed)}",
    )


def _owed(number: int) -> str:
    return f", {number} more {'is' if number == 1 else 'are'} requested" if number else ""


def _asked(pools: Iterable[wire.NodePool], view: CrusoeView) -> int:
    return sum(view.asked(pool) for pool in pools)
