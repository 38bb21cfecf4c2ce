"""Why a chosen machine may not be removed now, one rule a function; None: nothing is against it."""

from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading


def unfit(found: MachineReading | None, machine: str, node: str) -> WriteResult | None:
    """Why this is no machine to remove: gone, going already, or not the machine of the node."""
    if found is None:
        return WriteResult(code=WriteCode.NOT_FOUND, message=f"Machine {machine} is gone")
    if found.deleting:
        return WriteResult(code=WriteCode.REFUSED, message=f"Machine {machine} is being deleted already")
    if found.node and found.node != node:
        message = f"Machine {machine} is the machine of node {found.node}, not of {node}"
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    return None


def rolling_out(reading: Reading) -> WriteResult | None:
    """While an older revision has machines nobody can say which set shrinks."""
    if not reading.facts.rolling_out:
        return None
    message = f"{reading.facts.ref} is rolling out: which of its MachineSets would shrink cannot be told"
    return WriteResult(code=WriteCode.REFUSED, message=message)


def kept(reading: Reading, machine: str) -> WriteResult | None:
    """Why the chosen machine may not be removed now. One that failed is among those that go."""
    if not reading.facts.keeps_nodes or machine in reading.failed:
        return rolling_out(reading)
    return WriteResult(code=WriteCode.REFUSED, message=f"{reading.facts.ref}: {reading.facts.keeps_nodes}")


def others_first(reading: Reading, machine: str, together: frozenset[str]) -> WriteResult | None:
    """Of several that failed the platform may take any: none goes before the nodes of all of them are empty. Those without a node
    are in nobody's way: whichever goes, nothing ran there."""
    late = sorted(reading.on_nodes - together) if machine in reading.failed else []
    if not late:
        return None
    message = f"Machine {', '.join(late)} of {reading.facts.ref} failed too and could go instead: its node has to be empty first"
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{message} (see spec.budgets where it does not begin)")


def below(reading: Reading, floor: int, before: int) -> WriteResult | None:
    """Whether the target would have fewer than `floor` replicas, after `before` others of the same write."""
    replicas = (reading.facts.replicas or 0) - before
    if replicas - 1 >= floor:
        return None
    message = f"{reading.facts.ref} has {replicas} replicas and must keep {floor}"
    return WriteResult(code=WriteCode.REFUSED, message=message)
