"""Demand over time: which pods are wanted from which instant on, whatever the source."""

import msgspec

from reconciler.cluster.pods.pod import PodShape, PodTraits
from reconciler.cluster.world import World
from reconciler.simulation.embedded.durations import Shortage


class DemandSource(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are alike: `shape`, `traits` (with their controller) and, for pods that are wanted by name, `pod_name`.

    A pod without a controller and one of a StatefulSet is wanted by name, all others by number. `zone_spread` says
    that the scheduler should rather put each into the zone that has the fewest of them.
    """

    shape: PodShape
    traits: PodTraits
    pod_name: str = ""
    zone_spread: bool = False


class DemandStep(msgspec.Struct, frozen=True):
    """From `at_seconds` (Unix time) on so many pods of each source are wanted: (index of the source, pods), where it differs
    from before."""

    at_seconds: int
    changes: tuple[tuple[int, int], ...]


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Demand from `start_seconds` until `end_seconds` (Unix time); the last step lasts until the end.

    `present` is the number of pods of each source in the World from which the trace continues. It is 0 for a curve: its pods come
    in addition. `lead_times` are those that were learned meanwhile: (name of a target, seconds until a node joins).
    `prices_micros` are the last that were seen: (name of a target, price of an hour of a node). `shortages` are spans in which a
    target (by name) was asked for nodes in vain. `gaps` are spans in which nobody looked: (from, until), in order.
    """

    name: str
    start_seconds: int
    end_seconds: int
    sources: tuple[DemandSource, ...]
    steps: tuple[DemandStep, ...]
    present: tuple[int, ...]
    lead_times: tuple[tuple[str, int], ...] = ()
    prices_micros: tuple[tuple[str, int], ...] = ()
    shortages: tuple[tuple[str, Shortage], ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()

    @property
    def peak_pods(self) -> int:
        """The most pods that are wanted at the same time."""
        wanted = list(self.present)
        most = sum(wanted)
        for step in self.steps:
            for index, pods in step.changes:
                wanted[index] = pods
            most = max(most, sum(wanted))
        return most

    def until(self, seconds: int) -> "Trace":
        """The first `seconds` of it; the whole when it is shorter."""
        end = min(self.end_seconds, self.start_seconds + seconds)
        return msgspec.structs.replace(self, end_seconds=end, steps=tuple(step for step in self.steps if step.at_seconds < end))

    def between(self, start_seconds: int, end_seconds: int) -> "Trace":
        """The part between two instants. What is wanted at its start is wanted from the start on."""
        wanted = dict(enumerate(self.present))
        for step in self.steps:
            if step.at_seconds <= start_seconds:
                wanted.update(step.changes)
        changes = tuple((index, pods) for index, pods in wanted.items() if pods != self.present[index])
        steps = [DemandStep(start_seconds, changes)] if changes else []
        steps += (step for step in self.steps if start_seconds < step.at_seconds < end_seconds)
        return msgspec.structs.replace(self, start_seconds=start_seconds, end_seconds=end_seconds, steps=tuple(steps))

    def starting_at(self, seconds: int) -> "Trace":
        """The same demand at other instants."""
        shift = seconds - self.start_seconds
        return msgspec.structs.replace(
            self,
            start_seconds=seconds,
            end_seconds=self.end_seconds + shift,
            steps=tuple(DemandStep(step.at_seconds + shift, step.changes) for step in self.steps),
            shortages=tuple(
                (name, Shortage(from_seconds=one.from_seconds + shift, until_seconds=one.until_seconds + shift))
                for name, one in self.shortages
            ),
            gaps=tuple((begin + shift, end + shift) for begin, end in self.gaps),
        )

    def unobserved_seconds(self, start_seconds: int, end_seconds: int) -> int:
        """How much of a span is in gaps."""
        return sum(max(0, min(end, end_seconds) - max(begin, start_seconds)) for begin, end in self.gaps)

    def at_same_hour(self, world: World, lead_seconds: int) -> "Trace":
        """The same demand after `world` was taken, at least `lead_seconds` later. It moves by whole weeks, so windows and
        schedules meet the same weekdays and hours (UTC). Unchanged if it is after the capture anyway."""
        missing = world.captured_seconds + lead_seconds - self.start_seconds
        return self if missing <= 0 else self.starting_at(self.start_seconds + -(-missing // _WEEK_SECONDS) * _WEEK_SECONDS)


_WEEK_SECONDS = 7 * 86_400
