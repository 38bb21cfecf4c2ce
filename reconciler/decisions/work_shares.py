"""Shares the work of a plan among the namespaces of pending and examined pods.

Anybody who may create pods can create kinds of pods that take long to examine. So half of the remaining steps are reserved in
equal parts, one for each namespace. The other half is for any namespace in its turn. A namespace that has used both waits for
the next plan, and nobody waits for it. Callers state beforehand the least that a step takes. Any additional work, because a pod
has so many rules, is counted before the next step.
"""

from collections.abc import Callable, Iterable, Mapping

from reconciler.decisions.work import Work

SET_ASIDE = 2
"""One part in so many of the steps is set aside for the namespaces."""


class Shares:
    """Steps by namespace. `namespaces` are those with pods that ask; steps of others come out of the common half."""

    def __init__(
        self, work: Work, namespaces: Iterable[str] = (), unbooked: Callable[[], Iterable[tuple[str, int]]] = tuple
    ) -> None:
        """`unbooked` hands over (namespace, steps) that were taken since it was asked last."""
        self._work = work
        self._unbooked = unbooked
        self.spent: dict[str, int] = {}
        """Steps that were booked so far, by namespace."""
        self.over: set[str] = set()
        """Namespaces that have used their share."""
        known = sorted(set(namespaces))
        self.each = max(0, work.budget - work.spent) // (SET_ASIDE * len(known)) if known else 0
        """What is set aside for one namespace."""
        self._kept = dict.fromkeys(known, self.each)
        self._kept_in_all = self.each * len(known)
        # Nobody spends all on looking for room that is there, and has nothing left to buy for those that found none.
        self._for_growth = (self.common + self.each) // 2 if len(known) > 1 else 0
        self._passed_over: set[int] = set()
        self.delayed: dict[str, int] = {}
        """Pods that were not examined because their namespace had used its share, by namespace."""

    @property
    def common(self) -> int:
        """Steps that are not set aside for anybody."""
        return self._work.budget - self._work.spent - self._kept_in_all

    def part(self, namespace: str, among: int) -> int:
        """Steps for a namespace whose turn is at the same time as that of others, `among` in all."""
        return self._kept.get(namespace, 0) + max(0, self.common) // among

    def book(self) -> None:
        """Count what questions took beyond what was said beforehand. A namespace that is over its share by one question does not
        use what is kept for others by it."""
        for namespace, steps in self._unbooked():
            self._count(namespace, steps)

    def open(self, shape: int, namespace: str) -> bool:
        """Whether pods of a shape, which are in that namespace, are looked at."""
        return shape not in self._passed_over and self._left(namespace) >= 0

    def spend(self, shape: int, namespace: str, steps: int) -> bool:
        """Count `steps` of work on pods of a shape; False once its namespace has used its share, and then nothing is counted."""
        self.book()
        if not self.open(shape, namespace):
            return False
        self._count(namespace, steps)
        return self._left(namespace) >= 0

    def spend_first(self, shape: int, namespace: str, steps: int) -> bool:
        """The same for the first look at a shape, which leaves work for later steps. It is False once half of the share is used;
        then the shape is not examined further."""
        self.book()
        # What others took of the common half does not keep a namespace from a look at what it asks for.
        if self._left(namespace) < self._for_growth and self.spent.get(namespace, 0) > self.each // SET_ASIDE:
            self._passed_over.add(shape)
        return self.spend(shape, namespace, steps)

    def spend_together(self, shapes: Mapping[str, int], steps: int) -> None:
        """Count work on many shapes at once, so many of each namespace, to each shape an equal part."""
        in_all = sum(shapes.values())
        passed = 0
        for namespace, shape_count in shapes.items():
            self._count(namespace, steps * (passed + shape_count) // in_all - steps * passed // in_all)
            passed += shape_count

    def delay(self, namespace: str, pods: int) -> None:
        """So many pods of the namespace wait for the next plan."""
        self.delayed[namespace] = self.delayed.get(namespace, 0) + pods

    def _left(self, namespace: str) -> int:
        return self.common + self._kept.get(namespace, 0)

    def _count(self, namespace: str, steps: int) -> None:
        self.spent[namespace] = self.spent.get(namespace, 0) + steps
        # Beyond what is left for it nothing is taken from others: the namespace is closed from here on.
        left = self._left(namespace)
        if steps > left:
            self.over.add(namespace)
            steps = min(steps, max(0, left + 1))
        self._work.spend(steps)
        kept = self._kept.get(namespace, 0)
        used = min(kept, steps)
        if used:
            self._kept[namespace] = kept - used
            self._kept_in_all -= used
