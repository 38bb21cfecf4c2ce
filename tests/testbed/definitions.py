"""Kinds of others on a running control plane, for as long as tests need them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.testbed.api import Object
from tests.testbed.control_plane import ControlPlane

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextmanager
def served_kinds(plane: ControlPlane, *definitions: Object) -> Iterator[None]:
    """Inside the `with`, the server has these kinds."""
    names = {definition["metadata"]["name"] for definition in definitions}
    plane.api.create(*definitions)

    def established(items: list[Object]) -> bool:
        there = {item["metadata"]["name"] for item in items if _established(item)}
        return names <= there

    plane.api.wait(_DEFINITIONS, established, "the kinds being served")
    try:
        yield
    finally:
        for definition in definitions:
            plane.api.delete(definition)


def _established(item: Object) -> bool:
    conditions = item.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
