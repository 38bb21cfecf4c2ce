"""The one project and cluster that this process asks, and its calls by name."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from urllib.parse import quote

import msgspec

from reconciler.platforms.crusoe.kinds import READ_LAG_SECONDS
from reconciler.platforms.crusoe.writing.calls import Crusoe, CrusoeError, Object, listed, paged
from reconciler.platforms.crusoe.writing.client import HttpCrusoe
from reconciler.platforms.crusoe.writing.credentials import Credentials
from reconciler.providers.shared_answers import SharedAnswers

COUNTS_SECONDS = 8.0
"""So long an answer counts for other loops of the process: less than the pause between two rounds while pools change."""
IN_PROGRESS = "IN_PROGRESS"
_UNANSWERED_SECONDS = 10.0


class Account:
    """All methods raise `CrusoeError`. `credentials` name the project, the cluster and the organization. `monotonic` is the clock
    by which our own writes age."""

    def __init__(
        self, crusoe: Crusoe, credentials: Callable[[], Credentials], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._counts: dict[str, tuple[float, int, frozenset[int]]] = {}
        """By pool: when we wrote its count, which, and the counts that this and our writes just before it replaced."""
        self._crusoe = crusoe
        self._credentials = credentials
        self._written: list[Callable[[], None]] = []
        self._writes = False
        self._unanswered_at = float("-inf")
        """When readers last asked because of a write without an answer."""
        self._shared = SharedAnswers(refusals=_refused, refused_seconds=COUNTS_SECONDS)

    @property
    def lowering(self) -> str:
        """What somebody has found out about lowering a count; empty if unknown."""
        return self._credentials().lowering

    def on_write(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every write of this process that may have been done: what is known is then old."""
        self._written.append(listener)

    def end(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._written = [one for one in self._written if one != listener]

    def shared(self) -> "Account":
        """The same account for the reads of all loops of the process: however many ask, Crusoe is asked once."""
        return Account(_Shared(self._crusoe, self._shared), self._credentials)

    def wrote(self) -> None:
        """Tell of the writes since this was called last, if there was any."""
        if not self._writes:
            return
        self._writes = False
        self._shared.forget()
        for listener in tuple(self._written):
            listener()

    def pools(self) -> list[Object]:
        """All pools of the cluster."""
        return listed(self._crusoe, self._pools(), {"cluster_id": self._credentials().cluster})

    def machines(self, pool: str) -> list[Object]:
        """All machines of a pool, in any state."""
        return paged(self._crusoe, f"{self._pools()}/{quote(pool, safe='')}/vms")

    def set_count(self, pool: str, before: int, count: int) -> str:
        """Send only the count: the API replaces everything else that a request names. Returns the id of the operation. `before`
        is the count that was read."""
        answer = self._write("PATCH", f"{self._pools()}/{quote(pool, safe='')}", {"count": count})
        recent = self._recent(pool)
        self._counts[pool] = self._monotonic(), count, frozenset({before} | (recent[1] | {recent[0]} if recent else frozenset()))
        return str((answer.get("operation") or {}).get("operation_id") or "")

    def newer(self, pool: str, count: int) -> int | None:
        """The count that we wrote, if a read shows one that we had replaced, and may be from before that write; else None."""
        recent = self._recent(pool)
        return recent[0] if recent is not None and recent[0] != count and count in recent[1] else None

    def _recent(self, pool: str) -> tuple[int, frozenset[int]] | None:
        """Our last count of a pool and those that it replaced, as long as reads may be from before it."""
        at, count, replaced = self._counts.get(pool, (0.0, 0, frozenset()))
        return (count, replaced) if pool in self._counts and self._monotonic() - at < READ_LAG_SECONDS else None

    def delete_machine(self, machine: str) -> None:
        """Delete exactly this machine."""
        self._write("DELETE", f"{self._project()}/compute/vms/instances/{quote(machine, safe='')}")

    def _write(self, method: str, path: str, body: Object | None = None) -> Object:
        """A write that Crusoe has refused makes no read old. One without an answer may have, but if none is answered, the
        readers ask no more often for that."""
        try:
            answer = self._crusoe.call(method, path, None, body)
        except CrusoeError as error:
            if error.sent and self._monotonic() >= self._unanswered_at + _UNANSWERED_SECONDS:
                self._writes, self._unanswered_at = True, self._monotonic()
            raise
        self._writes = True
        return answer

    def operations(self) -> list[Object]:
        """Operations on pools that this user has started."""
        return listed(self._crusoe, f"{self._pools()}/operations")

    def operation(self, operation: str) -> Object | None:
        """One operation; None if it is unknown. For an expired operation, and for another user's, the answer has the code of a
        missing right."""
        try:
            return self._crusoe.call("GET", f"{self._pools()}/operations/{quote(operation, safe='')}")
        except CrusoeError as error:
            if error.status not in (403, 404):
                raise
            return None

    def cluster(self) -> Object:
        """The cluster itself."""
        return self._crusoe.call("GET", f"{self._project()}/kubernetes/clusters/{quote(self._credentials().cluster, safe='')}")

    def remediations(self) -> list[Object]:
        """Operations of AutoClusters on the cluster."""
        query = {"cluster_id": self._credentials().cluster}
        return listed(self._crusoe, f"{self._project()}/kubernetes/autocluster-operations", query)

    def capacities(self, types: Iterable[str]) -> list[Object]:
        """How many of these types each location has left."""
        return listed(self._crusoe, "/capacities", {"product_name": ",".join(sorted(types))})

    def machine_types(self) -> list[Object]:
        """The capacity of each machine type."""
        return listed(self._crusoe, f"{self._project()}/compute/vms/types")

    def reservations(self) -> list[Object] | None:
        """The organization's reservations; None if no organization is configured."""
        organization = self._credentials().organization
        if not organization:
            return None
        return listed(self._crusoe, f"/organizations/{quote(organization, safe='')}/reservations")

    def quotas(self) -> list[Object]:
        """The quotas of the project."""
        return listed(self._crusoe, f"{self._project()}/quotas")

    def _project(self) -> str:
        return f"/projects/{quote(self._credentials().project, safe='')}"

    def _pools(self) -> str:
        return f"{self._project()}/kubernetes/nodepools"


class _Shared:
    """A `Crusoe` for reads."""

    def __init__(self, crusoe: Crusoe, answers: SharedAnswers) -> None:
        self._crusoe = crusoe
        self._answers = answers

    def call(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None) -> Object:
        """The answer of Crusoe, or the one that another loop has got. Raises `CrusoeError`."""
        question = method, path, tuple(sorted((query or {}).items())), msgspec.json.encode(body)
        return self._answers.of(question, COUNTS_SECONDS, lambda: self._crusoe.call(method, path, query, body))


def _refused(error: Exception) -> bool:
    return isinstance(error, CrusoeError) and error.denied


@cache
def account() -> Account:
    """The account of this process."""
    client = HttpCrusoe()
    return Account(client, client.credentials)
