"""A saved plan carried out on the embedded cluster, and what follows until nothing is under way."""

from reconciler.cluster.world import World
from reconciler.control.saved_plans.apply import Applied, PlanApplication, RemovalTerms
from reconciler.control.saved_plans.departures import Departures
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.journal import Event, Happened
from reconciler.values.duration import duration_text

LONGEST_SECONDS = 3600
"""Virtual time to wait for machines and drains."""
_LOOK_SECONDS = 60
"""Between two looks at a replacement, where nothing happens meanwhile."""
_NAMES_SHOWN = 3


class SimulatedApply:
    """One application; `cluster` is how it stands afterwards."""

    def __init__(
        self, world: World, policy: PolicySet, now_seconds: int, saved: Plan, terms: RemovalTerms | None, work_budget: int
    ) -> None:
        self._policy = policy
        self._start_seconds = now_seconds
        self.cluster = SimulatedCluster(world, policy, now_seconds)
        self._waiting = sum(1 for _ in self.cluster.objects.pending())
        self._port = SimulatedPort(self.cluster)
        store = InMemoryStore()
        self._application = PlanApplication(self._port, self, store, saved, terms=terms, work_budget=work_budget)
        self._departures = Departures(self._port, self, store, lambda _: None, work_budget=work_budget)

    def current(self) -> PolicySet:
        """The policy in force."""
        return self._policy

    def run(self) -> tuple[Applied, tuple[str, ...]]:
        """Carry the plan out and let time pass until no machine and no drain is under way; what happened, as sentences. A removal
        whose node stays has failed, as on a live cluster."""
        applied = self._application.run()
        self._departures.begin(applied)
        cluster = self.cluster
        end = self._start_seconds + LONGEST_SECONDS
        cluster.advance_to(cluster.now_seconds)
        while (due := self._next_seconds()) is not None and due <= end:
            cluster.advance_to(due)
            if self._departures.replacing:
                self._departures.turn()
            else:
                self._departures.record(self._port.continue_removals())
            # Only this puts what follows from the writes of this instant on the agenda.
            cluster.advance_to(cluster.now_seconds)
        if self._departures.nodes:
            self._departures.turn()
        longest = duration_text(LONGEST_SECONDS)
        self._departures.give_up("StillThere", lambda node: f"{node} had not left after {longest}")
        return self._departures.ended(applied), self._happened()

    def _next_seconds(self) -> int | None:
        """When something happens; None: never again."""
        due = self.cluster.agenda.next_seconds
        if not self._departures.replacing:
            return due
        look = self.cluster.now_seconds + _LOOK_SECONDS
        return look if due is None else min(due, look)

    def _happened(self) -> tuple[str, ...]:
        events = self.cluster.journal.events
        lines = [
            f"{event.object}: replicas {event.before} -> {event.after}, written by {event.by}"
            for event in events
            if event.kind is Happened.REPLICAS_WRITTEN
        ]
        for kind, words in (
            (Happened.NODE_JOINED, "joined"),
            (Happened.REMOVAL_BEGAN, "began to drain"),
            (Happened.POD_EVICTED, "evicted"),
            (Happened.NODE_GONE, "gone"),
        ):
            of_kind = [event for event in events if event.kind is kind]
            noun = "pod" if kind is Happened.POD_EVICTED else "node"
            if of_kind:
                lines.append(f"{_names(of_kind, noun)} {words}{self._after(of_kind)}")
        lines += [
            f"{event.object}: {event.detail}"
            for event in events
            if event.kind in (Happened.MACHINE_FAILED, Happened.REMOVAL_FAILED, Happened.WRITE_REFUSED)
        ]
        left = sum(1 for _ in self.cluster.objects.pending())
        lines.append(f"pods without a node: {self._waiting} before, {left} after")
        return tuple(lines)

    def _after(self, events: list[Event]) -> str:
        seconds = events[-1].at_seconds - self._start_seconds
        return f", the last after {duration_text(seconds)}" if seconds else ""


def _names(events: list[Event], noun: str) -> str:
    names = [event.object for event in events]
    shown = ", ".join(names[:_NAMES_SHOWN]) + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'} ({shown})"
