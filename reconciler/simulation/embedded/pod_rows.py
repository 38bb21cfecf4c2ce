"""The pods of a simulated cluster as a table that follows every change, instead of being rewritten each time."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reconciler.cluster.pods.pod_table import PodTable, phase_code, pod_flags
from reconciler.scheduling.kernels import loops
from reconciler.simulation.embedded.pod_object import PodObject

PodKey = tuple[str, str]
_COLUMNS: tuple[tuple[str, Callable[[PodObject], Any]], ...] = (
    ("namespace", lambda pod: pod.namespace),
    ("name", lambda pod: pod.name),
    ("uid", lambda pod: pod.uid),
    ("shape", lambda pod: pod.shape),
    ("traits", lambda pod: pod.traits),
    ("node", lambda pod: -1 if pod.node is None else pod.node.index),
    ("nominated", lambda pod: -1 if pod.nominated is None else pod.nominated.index),
    ("phase", lambda pod: phase_code(pod.phase)),
    ("flags", lambda pod: pod_flags(ready=pod.ready, gated=pod.gated)),
    ("created_seconds", lambda pod: pod.created),
    ("deletion_seconds", lambda pod: pod.deletion),
    ("unschedulable_seconds", lambda pod: pod.unschedulable),
)
_CHANGING = ("node", "nominated", "phase", "flags", "deletion_seconds", "unschedulable_seconds")
_READ = dict(_COLUMNS)
# If more than one pod in this many is new or gone, all rows are written again: cutting and joining cost per cut.
_PODS_PER_CUT = 32
_NOWHERE = array("i", (-1,)).tobytes()


class PodRows:
    """Rows in order of namespace and name. Tables that were handed out are never written to again."""

    def __init__(self, table: PodTable, pods: Mapping[PodKey, PodObject], *, in_order: bool) -> None:
        """`table` has the rows of `pods`. `in_order`: they are in order of namespace and name."""
        self._table = table
        self._pods = pods
        self.in_order = in_order
        self._joined: dict[PodKey, None] = {}
        self._gone: dict[PodKey, None] = {}
        self._changed: dict[PodObject, None] = {}

    def replaced(self, table: PodTable, pods: Mapping[PodKey, PodObject]) -> None:
        """Pods of these keys in this order are otherwise now, and have other objects."""
        self._table, self._pods = table, pods

    def joined(self, pod: PodObject) -> None:
        """A pod was made."""
        self._joined[pod.namespace, pod.name] = None

    def gone(self, pod: PodObject) -> None:
        """A pod is no more."""
        key = (pod.namespace, pod.name)
        self._changed.pop(pod, None)
        if self._joined.pop(key, _ABSENT) is _ABSENT:
            self._gone[key] = None

    def changed(self, pod: PodObject) -> None:
        """Where a pod is or how it is changed."""
        self._changed[pod] = None

    def table(self, moved: Sequence[int] | None) -> PodTable:
        """The table now. `moved` maps each index of a node in the last table to its current index (-1: none), with -1 at the end.
        None if no index changed."""
        self._table = self._followed(moved)
        cuts = len(self._joined) + len(self._gone)
        if cuts * _PODS_PER_CUT > len(self._pods) or (cuts and not self.in_order):
            self._arrange(self._table)
        elif cuts:
            self._cut(self._table)
        self._joined.clear()
        self._gone.clear()
        self._changed.clear()
        return self._table

    def _followed(self, moved: Sequence[int] | None) -> PodTable:
        """The same rows as they are now."""
        table = self._copied()
        if moved is not None:
            table.node = array("i", map(moved.__getitem__, table.node))
            if table.nominated.tobytes() != _NOWHERE * len(table.nominated):
                table.nominated = array("i", map(moved.__getitem__, table.nominated))
        changed = [pod for pod in self._changed if (pod.namespace, pod.name) not in self._joined]
        places: dict[PodKey, int] = {}
        if not self.in_order or len(changed) * _PODS_PER_CUT > len(table):
            places = {key: row for row, key in enumerate(zip(table.namespace, table.name, strict=True))}
        rows = [(places[pod.namespace, pod.name] if places else table.place((pod.namespace, pod.name)), pod) for pod in changed]
        for name in _CHANGING:
            column, read = getattr(table, name), _READ[name]
            for row, pod in rows:
                column[row] = read(pod)
        return table

    def _arrange(self, table: PodTable) -> None:
        """Rows of pods that are gone are left out, those of new pods put in, all in order."""
        keys = list(zip(table.namespace, table.name, strict=True))
        joined = [self._pods[key] for key in self._joined]
        order = [row for row, key in enumerate(keys) if key not in self._gone]
        order.extend(range(len(keys), len(keys) + len(joined)))
        keys.extend(self._joined)
        order.sort(key=keys.__getitem__)
        wanted = array("i", order)
        for name, read in _COLUMNS:
            column = getattr(table, name)
            column = column[:]
            column.extend(map(read, joined))
            if isinstance(column, array) and order:
                fresh = array(column.typecode, bytes(column.itemsize * len(order)))
                loops.take(memoryview(column).cast("B"), column.itemsize, wanted, memoryview(fresh).cast("B"))
            else:
                fresh = column[:0]
                fresh.extend(map(column.__getitem__, order))
            setattr(table, name, fresh)
        self.in_order = True
        if table.unknown_node or any(pod.unknown_node for pod in joined):
            table.unknown_node = _unknown(table, self._pods)

    def _copied(self) -> PodTable:
        old, table = self._table, PodTable()
        for name, _ in _COLUMNS:
            column = getattr(old, name)
            setattr(table, name, column[:] if name in _CHANGING else column)
        table.unknown_node = old.unknown_node
        return table

    def _cut(self, table: PodTable) -> None:
        """Rows of pods that are gone are cut out, those of new pods put in."""
        gone = [(table.place(key), None) for key in self._gone]
        # Two new pods between the same rows are in order of their keys.
        joined = [(table.place(key), self._pods[key]) for key in sorted(self._joined)]
        cuts = sorted([*gone, *joined], key=lambda cut: (cut[0], cut[1] is None))
        for name, read in _COLUMNS:
            old = getattr(table, name)
            fresh = old[:0]
            start = 0
            for row, pod in cuts:
                fresh.extend(old[start:row])
                start = row
                if pod is None:
                    start = row + 1
                else:
                    fresh.append(read(pod))
            fresh.extend(old[start:])
            setattr(table, name, fresh)
        if table.unknown_node or any(pod is not None and pod.unknown_node for _, pod in cuts):
            table.unknown_node = _unknown(table, self._pods)


_ABSENT = object()


def _unknown(table: PodTable, pods: Mapping[PodKey, PodObject]) -> dict[int, str]:
    """By row, from the objects: who has an unknown node has one."""
    return {
        row: pods[key].unknown_node
        for row, key in enumerate(zip(table.namespace, table.name, strict=True))
        if pods[key].unknown_node
    }
