"""Writing objects of any kind to a server, and waiting for what follows."""

import time
from collections.abc import Callable

import msgspec

from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.watching.collection import Collection, located
from tests.kube.objects import Object


def eventually(holds: Callable[[], bool], what: str, seconds: float = 180) -> None:
    """Wait for a condition. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen in {seconds:.0f} s")
        time.sleep(0.02)


def path_of(api: Api, item: Object) -> str:
    """The collection that an object belongs to."""
    group, _, version = item["apiVersion"].rpartition("/")
    collection = Collection(group=group, kind=item["kind"], version=version, namespace=item["metadata"].get("namespace", ""))
    if not group:
        return msgspec.structs.replace(collection, plural=f"{item['kind'].lower()}s").path
    return located(collection, api).path


def create(api: Api, *items: Object) -> None:
    """Create what is not there yet."""
    for item in items:
        try:
            api.write("POST", path_of(api, item), item)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
