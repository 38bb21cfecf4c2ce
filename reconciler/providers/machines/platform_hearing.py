"""Whether a platform's controllers have seen our marks on Machines before they see fewer replicas.

A MachineSet controller watches MachineSets and Machines separately. If it sees lowered replicas while its view of Machines is
old, it deletes a Machine without our mark. No order of our writes prevents that.

SOURCE: `syncReplicas` of OpenShift's machine-api-operator chooses from its cache. An audit log after an API server restart shows
it. We marked at 55.68 s and lowered at 55.95 s. Its watch of MachineSets came back at 59.45 s, and it deleted a healthy Machine
in the same millisecond. Its watch of Machines came back at 59.63 s.
"""

import time
from collections.abc import Callable

from reconciler.providers.contract import WriteCode, WriteResult

HEARD_SECONDS = 0.25
"""SOURCE: seen on Cluster API 1.14: a MachineSet that was scaled right after a Machine was marked took another one. While both
watches are open, either may deliver first."""


class PlatformHearing:
    """`heard_seconds` is the time that open watches get. `reconnecting_seconds` returns for how long controllers may still have
    none, because the API server was away (0: it was not)."""

    def __init__(self, heard_seconds: float = HEARD_SECONDS, reconnecting_seconds: Callable[[], float] = lambda: 0.0) -> None:
        self._heard_seconds = heard_seconds
        self._reconnecting_seconds = reconnecting_seconds

    def objection(self, target: object) -> WriteResult | None:
        """Why replicas may not be lowered yet, whatever is marked."""
        if self._reconnecting_seconds() <= 0:
            return None
        message = (
            f"{target}: the API server was away. Replicas wait until the platform's controllers see the reconciler's marks again"
        )
        return WriteResult(code=WriteCode.UNAVAILABLE, message=message)

    def wait(self) -> None:
        """Wait after marks that were just written."""
        time.sleep(self._heard_seconds)
