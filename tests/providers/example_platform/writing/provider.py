"""Writes on rows. An orchard takes a write over the version that was read: felling a tree and wanting one fewer are one."""

from collections.abc import Callable, Mapping

import msgspec

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.plan.plan import Bound
from reconciler.providers.contract import LeavingMachine, RemovalState, TargetRemoval, WriteCode, WriteResult
from reconciler.providers.ownership_guard import moved, not_ours, objection, objection_to_adopt
from tests.providers.example_platform.objects import TreeRow, Written, facts
from tests.providers.example_platform.writing.client import Orchard, OrchardError

_CODES = {404: WriteCode.NOT_FOUND, 412: WriteCode.STALE}
_TRIES = 3


class OrchardProvider:
    """A `TargetProvider`."""

    def __init__(self, orchard: Orchard) -> None:
        self._orchard = orchard

    def resize(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """How many trees the row is to have."""
        return self._written(target, lambda item: objection(facts(item), bound) or _sized(item, replicas))

    def adopt(self, target: TargetRef, replicas: int, bound: Bound, annotations: Mapping[str, str] | None = None) -> WriteResult:
        """The same value, by us alone."""
        return self._written(target, lambda item: objection_to_adopt(facts(item), bound) or _sized(item, replicas))

    def release(self, target: TargetRef, bound: Bound) -> WriteResult:
        """Our name goes."""

        def change(item: TreeRow) -> WriteResult | TreeRow:
            others = [one for one in item.written if one.by != OUR_MANAGER]
            return moved(facts(item), bound) or msgspec.structs.replace(item, written=others)

        return self._written(target, change)

    def cancel(self, target: TargetRef, machines: tuple[str, ...], replicas: int, bound: Bound) -> WriteResult:
        """Exactly these trees."""
        return self._written(target, lambda item: objection(facts(item), bound) or _felled(_sized(item, replicas), machines))

    def may_begin(self, target: TargetRef, machine: str, node: str, bound: Bound) -> WriteResult:
        """Whether the tree is there and the row ours."""
        try:
            item = self._orchard.row(target)
        except OrchardError as error:
            return _refused(error, target)
        if not any(tree.id == machine and not tree.felled for tree in item.trees):
            return WriteResult(code=WriteCode.NOT_FOUND, message=f"{target} has no tree for node {node}")
        return objection(facts(item), bound) or WriteResult(generation=item.version)

    def step(self, target: TargetRef, leaving: tuple[LeavingMachine, ...], floor: int) -> tuple[TargetRemoval, ...]:
        """Fell each and want one fewer, in one write."""
        return tuple(self._removed(target, one, floor) for one in leaving)

    def abandon(self, target: TargetRef, machine: str) -> WriteResult:
        """Nothing is marked."""
        return WriteResult()

    def marked_by(self, target: TargetRef, machine: str) -> str:
        """Nobody."""
        return ""

    def _removed(self, target: TargetRef, one: LeavingMachine, floor: int) -> TargetRemoval:
        gone: list[TreeRow] = []

        def change(item: TreeRow) -> WriteResult | TreeRow:
            if not any(tree.id == one.machine and not tree.felled for tree in item.trees):
                gone.append(item)
                return WriteResult(code=WriteCode.NOT_FOUND)
            if item.wanted - 1 < floor:
                return WriteResult(code=WriteCode.REFUSED, message=f"{target} must keep {floor}")
            return not_ours(facts(item)) or _felled(_sized(item, item.wanted - 1), (one.machine,))

        result = self._written(target, change)
        if gone:
            return TargetRemoval(state=RemovalState.FINISHED, replicas=gone[0].wanted, generation=gone[0].version)
        if not result.done:
            return TargetRemoval(state=RemovalState.FAILED, code=result.code, message=result.message)
        return TargetRemoval(state=RemovalState.FINISHED, replicas=self._orchard.row(target).wanted, generation=result.generation)

    def _written(self, target: TargetRef, change: Callable[[TreeRow], WriteResult | TreeRow]) -> WriteResult:
        """Read, judge, write; again when the row has moved in between."""
        result = WriteResult(code=WriteCode.STALE)
        for _ in range(_TRIES):
            try:
                changed = change(self._orchard.row(target))
                if isinstance(changed, WriteResult):
                    return changed
                return WriteResult(generation=self._orchard.write(changed, target).version)
            except OrchardError as error:
                result = _refused(error, target)
                if result.code != WriteCode.STALE:
                    break
        return result


def _sized(item: TreeRow, wanted: int) -> TreeRow:
    return msgspec.structs.replace(item, wanted=wanted, written=[Written(OUR_MANAGER, keeps=True)])


def _felled(item: TreeRow, names: tuple[str, ...]) -> TreeRow:
    trees = [msgspec.structs.replace(tree, felled=tree.felled or tree.id in names) for tree in item.trees]
    return msgspec.structs.replace(item, trees=trees)


def _refused(error: OrchardError, target: TargetRef) -> WriteResult:
    return WriteResult(code=_CODES.get(error.status, WriteCode.UNKNOWN), message=f"{target}: {error}")
