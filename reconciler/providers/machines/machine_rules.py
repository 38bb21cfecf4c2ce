"""Rules against the removal of a chosen machine, one function per rule. None means that it may go."""

from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.values.plural import count_text


def unfit(current: MachineReading | None, machine: str, node: str) -> WriteResult | None:
    """Why this machine cannot be removed: gone, already being deleted, or not the machine of the node."""
    if current is None:
        return WriteResult(code=WriteCode.NOT_FOUND, message=f"Machine {machine} is gone")
    if current.deleting:
        return WriteResult(code=WriteCode.REFUSED, message=f"Machine {machine} is being deleted already")
    if current.node and current.node != node:
        message = f"Machine {machine} is the machine of node {current.node}, not of {node}"
        return WriteResult(code=WriteCode.NOT_FOUND, message=message)
    return None


def rolling_out(reading: Reading) -> WriteResult | None:
    """While an older revision has machines, nobody can tell which set shrinks."""
    if not reading.facts.rolling_out:
        return None
    message = f"{reading.facts.ref} is rolling out: cannot tell which of its MachineSets would shrink"
    return WriteResult(code=WriteCode.REFUSED, message=message)


def kept(reading: Reading, machine: str) -> WriteResult | None:
    """Why the chosen machine may not be removed now. A failed one goes anyway."""
    if not reading.facts.keeps_nodes or machine in reading.failed:
        return rolling_out(reading)
    return WriteResult(code=WriteCode.REFUSED, message=f"{reading.facts.ref}: {reading.facts.keeps_nodes}")


def others_first(reading: Reading, machine: str, together: frozenset[str]) -> WriteResult | None:
    """If several machines failed, the platform may take any. So none goes before the nodes of all are empty. Failed machines
    without a node do not matter: nothing ran there."""
    late = sorted(reading.on_nodes - together) if machine in reading.failed else []
    if not late:
        return None
    message = f"Machine {', '.join(late)} of {reading.facts.ref} failed too and could go instead: drain its node first"
    return WriteResult(code=WriteCode.UNAVAILABLE, message=f"{message} (if the drain does not begin, see spec.budgets)")


def below(reading: Reading, floor: int, before: int) -> WriteResult | None:
    """Whether the target would have fewer than `floor` replicas, after `before` others of the same write."""
    replicas = (reading.facts.replicas or 0) - before
    if replicas - 1 >= floor:
        return None
    message = f"{reading.facts.ref} has {count_text(replicas, 'replica')} and must keep {floor}"
    return WriteResult(code=WriteCode.REFUSED, message=message)
