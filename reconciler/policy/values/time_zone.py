"""Time zones by IANA name, from the pinned `tzdata` package alone: the same rules on every machine.

SOURCE: Kubernetes' CronJob takes `spec.timeZone` as an IANA name, case-sensitive, and refuses `Local`.
"""

import io
import pkgutil
import zoneinfo
from functools import cache


class UnknownTimeZoneError(ValueError):
    """A name that the time zone database does not have."""


@cache
def zone_names() -> frozenset[str]:
    """All names of the database."""
    return frozenset(_data("zones").decode("ascii").split())


@cache
def time_zone(name: str) -> zoneinfo.ZoneInfo:
    """The zone called `name`. Raises `UnknownTimeZoneError`."""
    if name not in zone_names():
        raise UnknownTimeZoneError(name)
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(_data(f"zoneinfo/{name}")), key=name)


def _data(path: str) -> bytes:
    data = pkgutil.get_data("tzdata", path)
    if data is None:
        raise UnknownTimeZoneError(path)
    return data
