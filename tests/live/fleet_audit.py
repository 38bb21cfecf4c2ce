"""What the audit log says of a fleet: who held which Lease when, and whether anybody wrote without one."""

import datetime
import itertools

import msgspec

from tests.testbed.audit import event_in
from tests.testbed.control_plane import ControlPlane

_WRITES = ("create", "update", "patch", "delete")


class Held(msgspec.Struct, frozen=True):
    """One renewal or release of a Lease: when it was answered, and who has it from then on (empty: nobody)."""

    at: float
    holder: str


class FleetAudit:
    """The answered writes of some users until now. `users` are the names of instances, with which their identities begin."""

    def __init__(self, plane: ControlPlane, users: set[str], home: str) -> None:
        plane.audit("nobody")  # Returns once the log is written up to now.
        self.leases: dict[str, list[Held]] = {}
        self.writes: list[tuple[float, str, str, str]] = []
        """When a write of a target arrived, by whom, in which namespace, on what."""
        for line in plane.audit_lines():
            if b"ResponseComplete" not in line:
                continue
            event = event_in(line)
            if event is None:
                continue
            where = event.object_ref
            if event.verb not in _WRITES or event.user.username not in users or not 200 <= event.response_status.code < 300:
                continue
            if where.resource == "leases" and where.namespace == home:
                sent = event.request().body
                spec = sent["spec"]
                name = where.name or sent["metadata"]["name"]
                held = Held(_seconds(event.stage_timestamp), spec.get("holderIdentity") or "")
                self.leases.setdefault(name, []).append(held)
            elif where.resource in ("machinedeployments", "machines"):
                at = _seconds(event.request_received_timestamp)
                self.writes.append((at, event.user.username, where.namespace, f"{event.verb} {where.resource} {where.name}"))

    def without_lease(self, policy: str, cluster: str) -> list[str]:
        """Writes of targets by an instance that did not hold the Lease of their cluster, or longer than 15 s ago."""
        wrong = []
        for at, user, namespace, what in self.writes:
            history = self.leases.get(f"reconciler-{policy}.{namespace}.{cluster}", [])
            last = next((one for one in reversed(history) if one.at <= at), None)
            if last is None or not last.holder.startswith(f"{user}_") or at - last.at > 15:
                wrong.append(f"{at:.3f} {user} {namespace} {what}: {last}")
        return wrong

    def longest_gap_seconds(self, lasts_seconds: float) -> tuple[float, str]:
        """The longest time that a loop was without an owner: from the end of a Lease to the next that takes it."""
        longest = 0.0, ""
        for name, history in self.leases.items():
            for before, after in itertools.pairwise(history):
                until = before.at + (lasts_seconds if before.holder else 0)
                longest = max(longest, (after.at - until, name))
        return longest


def _seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()
