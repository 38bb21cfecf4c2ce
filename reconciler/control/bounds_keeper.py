"""Keeps the bounds of admission policies equal to the policy: reads policy and targets, and writes what changed."""

from collections.abc import Callable
from typing import Protocol

from reconciler.cluster.world import World
from reconciler.control.kept_bounds import BoundsError, KeptBounds
from reconciler.control.log import Log
from reconciler.decisions.ownership.admission_bounds import admission_bounds
from reconciler.policy.documents import PolicySet
from reconciler.rendering.manifests.bounds_manifest import bounds_data, left_out
from reconciler.values.clauses import clauses

_SHOWN = 20


class Source(Protocol):
    """The policy in force: the last good one, whatever happens where it comes from."""

    def current(self) -> PolicySet:
        """The policy. Raises unless `missing` is empty."""

    def missing(self) -> str:
        """Why there is none; empty when there is."""

    def poll(self) -> bool:
        """Look once; whether another policy is in force now."""


class BoundsKeeper:
    """`targets` reads what is there to be bounded and raises `BoundsError`. Whatever fails, the bounds stay as they are, and it
    is told once. `failures` counts rounds that failed one after the other."""

    def __init__(
        self, source: Source, targets: Callable[[], World], kept: KeptBounds, log: Log, now_seconds: Callable[[], int]
    ) -> None:
        self.failures = 0
        self._source = source
        self._targets = targets
        self._kept = kept
        self._log = log
        self._now = now_seconds
        self._reported: frozenset[str] = frozenset()
        self._why = ""

    def round(self) -> bool:
        """Look at everything once; whether the bounds are those of the policy in force now."""
        self._source.poll()
        try:
            changed = self._renewed()
        except BoundsError as error:
            self.failures += 1
            if str(error) != self._why:
                self._why = str(error)
                self._log.warning("BoundsNotRenewed", f"{error}. The bounds stay as they are")
            return False
        if self._why:
            self._log.info("BoundsRecovered", f"{self._kept.name} follows the policy again")
        self.failures, self._why = 0, ""
        if changed:
            self._log.info("BoundsRenewed", f"{self._kept.name} follows the policy: {clauses(changed, _SHOWN)}")
        return True

    def _renewed(self) -> tuple[str, ...]:
        missing = self._source.missing()
        if missing:
            raise BoundsError(missing)
        world, policy = self._targets(), self._source.current()
        bounds = admission_bounds(world, policy, self._now())
        sentences = left_out(bounds)
        for sentence in sentences:
            if sentence not in self._reported:
                self._log.warning("NoBound", sentence)
        self._reported = frozenset(sentences)
        return self._kept.renew(bounds_data(bounds), policy.revision or "")
