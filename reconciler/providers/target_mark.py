"""Our mark on a target that loses all its machines: one write instead of one per machine."""

import re
from functools import lru_cache
from itertools import takewhile

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.ownership.owner import EMPTIED_MARK
from reconciler.providers.marks import DeleteMark

_TEXT = re.compile(r"(\S+) ([^{}\s]*)\{([^{}\s]+)\}")
LONGEST_BYTES = 64 * 1024
"""The longest mark. All annotations of an object have 256 KiB together, and a MachineDeployment copies its own to its sets."""


class TargetMark(msgspec.Struct, frozen=True):
    """The value of the annotation `reconciler.dev/emptied`: what a delete mark on each of `machines` would contain.

    The platform reads none of it: at 0 replicas every machine goes, whatever its marks. The names are for a later process, since
    machines that the target makes afterwards need marks of their own.
    """

    mark: DeleteMark
    machines: frozenset[str]

    def __str__(self) -> str:
        """`nodegroup-reconciler.prod.g4.r2 general-x7k2p-{b4d9z,lw8mn}`: the common prefix of all names is written once."""
        names = sorted(self.machines)
        alike = (one for one, other in takewhile(lambda pair: pair[0] == pair[1], zip(names[0], names[-1], strict=False)))
        start = "".join(alike) if len(names) > 1 else ""
        return f"{self.mark} {start}{{{','.join(name.removeprefix(start) for name in names)}}}"

    @staticmethod
    def read(facts: TargetFacts, owner: str) -> "TargetMark | None":
        """The mark of this `owner` on a target; None for no mark, and for everybody else's."""
        text, machines = _parts(facts)
        mark = DeleteMark.read(text, owner)
        return TargetMark(mark, machines) if mark is not None else None

    def without(self, machine: str) -> "TargetMark | None":
        """The mark that covers all others; None if there are none."""
        left = self.machines - {machine}
        return TargetMark(self.mark, left) if left else None


def marked_by_targets(world: World) -> World:
    """The view in which machines that their target's mark covers are marked, whichever policy set the mark."""
    covered = {(facts.ref, name) for facts in world.targets for name in _emptied(facts)}
    if covered.isdisjoint((machine.target, machine.name) for machine in world.machines):
        return world
    rows = (
        msgspec.structs.replace(machine, delete_marked=True) if (machine.target, machine.name) in covered else machine
        for machine in world.machines
    )
    return msgspec.structs.replace(world, machines=tuple(rows))


def emptied_by(facts: TargetFacts, machine: str) -> str:
    """The policy whose mark on the target covers the machine; empty for none."""
    text, machines = _parts(facts)
    return DeleteMark.policy(text) if machine in machines else ""


def _emptied(facts: TargetFacts) -> frozenset[str]:
    text, machines = _parts(facts)
    return machines if DeleteMark.policy(text) else frozenset()


def _parts(facts: TargetFacts) -> tuple[str, frozenset[str]]:
    """The mark and the names; empty if there are none. A set may have a copy of its MachineDeployment's annotations. That copy is
    about the MachineDeployment."""
    if facts.owner.controller:
        return "", frozenset()
    return _read(dict(facts.annotations).get(EMPTIED_MARK, ""))


@lru_cache(maxsize=16)
def _read(text: str) -> tuple[str, frozenset[str]]:
    """Parse a mark; cached, because each of a thousand machines asks for the thousand names on its target."""
    match = _TEXT.fullmatch(text)
    return (match[1], frozenset(f"{match[2]}{end}" for end in match[3].split(","))) if match else ("", frozenset())
