"""What a platform's objects say, although one of its targets cannot be read: that one is unread, and the others are there."""

from collections.abc import Callable

import msgspec

from reconciler.cluster import defects
from reconciler.cluster.platform_reading import Objects, PlatformReading, Rows
from reconciler.cluster.unread import Unread
from reconciler.values.defect import defect_text


def platform_rows(reading: PlatformReading, read: Callable[[Objects], Rows], objects: Objects) -> tuple[Rows, tuple[Unread, ...]]:
    """The rows as `read` makes them, and the targets that it fails on by a defect. Raises what it raises for anything else."""
    try:
        return _made(read, objects), ()
    except defects.CAUGHT as error:
        faults = _faults(reading, read, objects)
        if not faults:
            raise error from None
    left = {
        where: {key: item for key, item in items.items() if (where, key) not in faults} for where, items in objects.kept.items()
    }
    unread = (
        Unread(group=reading.group, kind=kind, namespace=namespace, name=name, why=why)
        for ((_, kind), (namespace, name)), why in faults.items()
    )
    return _made(read, msgspec.structs.replace(objects, kept=left)), tuple(unread)


def _made(read: Callable[[Objects], Rows], objects: Objects) -> Rows:
    rows = read(objects)
    # Read here, where a defect is caught.
    return Rows(targets=tuple(rows.targets), machines=tuple(rows.machines), clusters=tuple(rows.clusters))


def _faults(
    reading: PlatformReading, read: Callable[[Objects], Rows], objects: Objects
) -> dict[tuple[tuple[str, str], tuple[str, str]], str]:
    """Each target that cannot be read even as the only one, with the reason."""
    targets = {("", kind.known_as) for kind in reading.kinds if kind.target}
    others = {where: items for where, items in objects.kept.items() if where not in targets}
    faults: dict[tuple[tuple[str, str], tuple[str, str]], str] = {}
    for where in targets.intersection(objects.kept):
        for key, item in objects.kept[where].items():
            try:
                _made(read, msgspec.structs.replace(objects, kept={**others, where: {key: item}}))
            except defects.CAUGHT as error:
                faults[where, key] = defect_text(error)
    return faults
