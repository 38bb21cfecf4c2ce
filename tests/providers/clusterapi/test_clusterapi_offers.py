"""What infrastructure templates of Cluster API offer where they say little, or nothing that can be read."""

from typing import Any

import msgspec
import pytest

from reconciler.platforms.clusterapi.facts import wire
from reconciler.platforms.clusterapi.facts.template_offer import Offer, offered

REFERENCE = wire.ObjectReference(kind="XMachineTemplate", name="t")


def offer(body: dict[str, Any] | None) -> Offer:
    return offered(msgspec.convert(body, wire.InfrastructureTemplate) if body is not None else None, REFERENCE)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, Offer(origin="status of XMachineTemplate t")),
        (
            {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "0", "nvidia.com/gpu": 1}},
            Offer(amounts={"cpu": 2000, "memory": 4 << 30, "nvidia.com/gpu": 1}, origin="status of XMachineTemplate t"),
        ),
        ({"capacity": {"cpu": "0", "memory": "0"}}, Offer(amounts={"cpu": 0}, origin="status of XMachineTemplate t")),
        (
            {"nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"}},
            Offer(labels={"kubernetes.io/os": "linux"}, architecture="arm64", origin="status of XMachineTemplate t"),
        ),
        (
            {"capacity": {"cpu": "many", "memory": "-1"}},
            Offer(
                origin="status of XMachineTemplate t",
                problems=(
                    'status.capacity.cpu of XMachineTemplate t: invalid quantity "many"',
                    'status.capacity.memory of XMachineTemplate t: "-1" is negative',
                ),
            ),
        ),
    ],
)
def test_what_a_template_offers(status: dict[str, Any], expected: Offer) -> None:
    """SOURCE: Cluster API, scale from zero: amounts and node info of the status. Zero of anything but cpu is as good as none."""
    found = offer({"metadata": {"name": "t"}, "status": status})
    assert msgspec.structs.replace(found, problems=()) == msgspec.structs.replace(expected, problems=())
    assert [text.split(": ")[0] for text in found.problems] == [text.split(": ")[0] for text in expected.problems]


def test_a_template_that_says_nothing() -> None:
    """Not captured, or without a status."""
    assert offer(None) == offer({"metadata": {"name": "t"}}) == Offer()
