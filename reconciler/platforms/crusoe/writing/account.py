"""The one project and cluster that this process asks, and its calls by name."""

from collections.abc import Callable, Iterable
from functools import cache
from urllib.parse import quote

from reconciler.platforms.crusoe.writing.calls import Crusoe, CrusoeError, Object, listed, paged
from reconciler.platforms.crusoe.writing.client import Credentials, HttpCrusoe

IN_PROGRESS = "IN_PROGRESS"


class Account:
    """All methods raise `CrusoeError`. `credentials` says which project, cluster and organization."""

    def __init__(self, crusoe: Crusoe, credentials: Callable[[], Credentials]) -> None:
        self._crusoe = crusoe
        self._credentials = credentials
        self._written: list[Callable[[], None]] = []

    @property
    def lowering(self) -> str:
        """What somebody has found out about lowering a count; empty where nobody has said."""
        return self._credentials().lowering

    def on_write(self, told: Callable[[], None]) -> None:
        """`told` hears that this process has written: what is known is old."""
        self._written.append(told)

    def wrote(self) -> None:
        """Something was written."""
        for told in self._written:
            told()

    def pools(self) -> list[Object]:
        """All pools of the cluster."""
        return listed(self._crusoe, self._pools(), {"cluster_id": self._credentials().cluster})

    def machines(self, pool: str) -> list[Object]:
        """All machines of a pool, in whatever state."""
        return paged(self._crusoe, f"{self._pools()}/{quote(pool, safe='')}/vms")

    def set_count(self, pool: str, count: int) -> str:
        """Nothing but the count is sent: what else a request names is replaced. The id of the operation that follows."""
        answer = self._crusoe.call("PATCH", f"{self._pools()}/{quote(pool, safe='')}", None, {"count": count})
        return str((answer.get("operation") or {}).get("operation_id") or "")

    def delete_machine(self, machine: str) -> None:
        """Exactly this one."""
        self._crusoe.call("DELETE", f"{self._project()}/compute/vms/instances/{quote(machine, safe='')}")

    def operations(self) -> list[Object]:
        """Those on pools that this user has started."""
        return listed(self._crusoe, f"{self._pools()}/operations")

    def operation(self, operation: str) -> Object | None:
        """One operation; None where it is not known (any more): one that has expired, or that another user has started, is
        answered with the code of a missing right."""
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
        """What machines of each type have."""
        return listed(self._crusoe, f"{self._project()}/compute/vms/types")

    def reservations(self) -> list[Object] | None:
        """Those of the organization; None where nobody has said which one that is."""
        organization = self._credentials().organization
        if not organization:
            return None
        return listed(self._crusoe, f"/organizations/{quote(organization, safe='')}/reservations")

    def quotas(self) -> list[Object]:
        """How much of what the project may have."""
        return listed(self._crusoe, f"{self._project()}/quotas")

    def _project(self) -> str:
        return f"/projects/{quote(self._credentials().project, safe='')}"

    def _pools(self) -> str:
        return f"{self._project()}/kubernetes/nodepools"


@cache
def account() -> Account:
    """That of this process."""
    client = HttpCrusoe()
    return Account(client, client.credentials)
