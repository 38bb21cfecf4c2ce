"""How machines of the stand-in behave: annotations on a SimMachineTemplate, or on one SimMachine, which then win.

They are read again whenever a template or machine changes, so a test can put machines out of stock and back.
"""

from collections.abc import Mapping

import msgspec

PREFIX = "sim.reconciler.dev/"
# Seconds, as a decimal number, from the SimMachine's first sight to its providerID; then to its Node; from its deletion to
# its end.
PROVISION_SECONDS = f"{PREFIX}provision-seconds"
NODE_SECONDS = f"{PREFIX}node-seconds"
DELETE_SECONDS = f"{PREFIX}delete-seconds"
# How many machines of this template there can be at a time; those beyond wait without instance ("0": out of stock).
STOCK = f"{PREFIX}stock"
# A reason: the machine fails for good before it gets an instance.
FAILURE = f"{PREFIX}failure"
# "Ready" (default) | "NotReady": the Node registers, but no kubelet reports | "Never": an instance that never registers.
NODE = f"{PREFIX}node"


class Behaviour(msgspec.Struct, frozen=True):
    """What one machine does; times in seconds, stock None without limit, no failure when empty."""

    provision_seconds: float = 0
    node_seconds: float = 0
    delete_seconds: float = 0
    stock: int | None = None
    failure: str = ""
    node: str = "Ready"


def behaviour(*annotations: Mapping[str, str]) -> Behaviour:
    """The behaviour that annotations ask for; later mappings win. Raises ValueError for what is no number."""
    told = {key: value for each in annotations for key, value in each.items() if key.startswith(PREFIX)}
    stock = told.get(STOCK)
    return Behaviour(
        provision_seconds=float(told.get(PROVISION_SECONDS, "0")),
        node_seconds=float(told.get(NODE_SECONDS, "0")),
        delete_seconds=float(told.get(DELETE_SECONDS, "0")),
        stock=None if stock is None else int(stock),
        failure=told.get(FAILURE, ""),
        node=told.get(NODE, "Ready"),
    )
