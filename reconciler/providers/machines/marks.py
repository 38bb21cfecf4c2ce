"""The marks that choose which machines go, and prove to a later process what was begun.

If the target keeps other machines, the mark is on the machine. If all of its machines go, one mark is on the target: then mark
and replicas are one write.
"""

from collections.abc import Iterable

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.owner import EMPTIED_MARK, OUR_MANAGER
from reconciler.kube.connection.api import ContentType
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.providers.machines.dialect import MachineReading, Reading
from reconciler.providers.machines.targets import MachineTargets
from reconciler.providers.marks import DeleteMark
from reconciler.providers.target_mark import LONGEST_BYTES, TargetMark

_OURS = {"fieldManager": OUR_MANAGER}


class MachineMarks:
    """Marks of one owner (a policy). Marks of others are never touched. Writes raise as the connection does."""

    def __init__(self, targets: MachineTargets, owner: str) -> None:
        self._targets = targets
        self._owner = owner

    def of(self, reading: Reading, machine: MachineReading | None) -> DeleteMark | None:
        """Our mark that covers the machine: its own, else that of its target."""
        if machine is None:
            return None
        own = self.own(machine)
        if own is not None:
            return own
        whole = TargetMark.read(reading.facts, self._owner)
        return whole.mark if whole is not None and machine.name in whole.machines else None

    def own(self, machine: MachineReading) -> DeleteMark | None:
        """Our mark on the machine itself."""
        return DeleteMark.read(machine.mark, self._owner)

    def of_others(self, machine: MachineReading | None) -> WriteResult | None:
        """Why a Machine with somebody else's mark is left alone."""
        if machine is None or machine.mark is None or self.own(machine) is not None:
            return None
        message = f"Machine {machine.name} was marked for deletion by somebody else ({machine.mark!r})"
        return WriteResult(code=WriteCode.REFUSED, message=message)

    def left_behind(self, reading: Reading, machine: MachineReading | None) -> WriteResult | None:
        """A mark says that its node was emptied. A stale mark would delete the machine with its pods."""
        mark = self.of(reading, machine)
        if machine is None or mark is None:
            return None
        message = f"Machine {machine.name} still has a mark of ours ({mark}): it must be removed before the node is drained"
        return WriteResult(code=WriteCode.REFUSED, message=message)

    def put(self, reading: Reading, machine: MachineReading) -> None:
        """Mark the Machine as the first to go, with the state of its target at this moment."""
        self._write(reading.facts.ref, machine, str(self._now(reading)))

    def of_all(self, reading: Reading, machines: Iterable[MachineReading]) -> str:
        """The mark on a target that loses all its machines, which are these. Empty if each must have its own mark, or has it. A
        topology's target gets none: its annotations belong in the Cluster."""
        names = frozenset(machine.name for machine in machines if self.own(machine) is None)
        text = str(TargetMark(self._now(reading), names)) if names and not reading.facts.owner.topology_owned else ""
        return text if len(text) <= LONGEST_BYTES else ""

    def put_on_target(self, reading: Reading, text: str) -> None:
        """Write only the mark, whoever owns the current one."""
        self._annotate(reading, text)

    def take_off(self, reading: Reading, machine: MachineReading) -> None:
        """Remove our marks that cover the machine."""
        if self.own(machine) is not None:
            self._write(reading.facts.ref, machine, None)
        whole = TargetMark.read(reading.facts, self._owner)
        if whole is not None and machine.name in whole.machines:
            # Nothing was lowered, so the mark proves no more than its absence would.
            left = None if whole.mark.not_lowered(reading.facts.generation) else whole.without(machine.name)
            self._annotate(reading, str(left) if left is not None else None)

    def _now(self, reading: Reading) -> DeleteMark:
        return DeleteMark(self._owner, reading.facts.generation, reading.facts.replicas or 0)

    def _annotate(self, reading: Reading, text: str | None) -> None:
        target = reading.facts.ref
        metadata = {"resourceVersion": reading.facts.resource_version, "annotations": {EMPTIED_MARK: text}}
        self._patch(self._targets.dialect.path(target.kind, target.namespace, target.name), metadata)

    def _write(self, target: TargetRef, machine: MachineReading, value: str | None) -> None:
        dialect = self._targets.dialect
        metadata = {"resourceVersion": machine.resource_version, "annotations": dict.fromkeys(dialect.delete_marks, value)}
        self._patch(dialect.path("Machine", target.namespace, machine.name), metadata)

    def _patch(self, path: str, metadata: object) -> None:
        self._targets.api.write("PATCH", path, {"metadata": metadata}, content_type=ContentType.MERGE_PATCH, query=_OURS)
