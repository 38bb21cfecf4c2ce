"""One run of the loop over pools where nothing is kind: latency, lag, refusals, lost answers, all drawn at random."""

import random

from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import OwnerState
from tests.crusoe.loops import HEAD, Loop, group_text, pending
from tests.crusoe.service.routes import Refused
from tests.crusoe.service.server import LOST, Service
from tests.crusoe.service.state import Machine
from tests.one_pod_nodes import bind, evicting

MOST = 9
_POLICY = HEAD + group_text("h100") + group_text("more", "open")
_REFUSALS = ((403, "unauthorized", "not authorized"), (500, "internal_error", "try later"))


class RandomAccount:
    """Somebody sets the first pool back whenever it was written. All that is drawn follows from `seed`."""

    def __init__(self, service: Service, seed: int) -> None:
        dice = self.dice = random.Random(seed)
        self.service, account = service, service.account
        self.pools = {name: account.add(name) for name in ("h100", "more")}
        self.loop = Loop(service, _POLICY)
        self.wrong: list[str] = []
        self.reversals: list[float] = []
        self.written: list[float] = []
        self.report: LoopReport | None = None
        account.creates_after, account.deletes_after = dice.uniform(5, 120), dice.uniform(1, 60)
        account.replaces_after = dice.choice((0, dice.uniform(0, 60)))
        service.advance(60)
        slowest, oldest = dice.uniform(0, 5), dice.uniform(0, 30)
        service.latency, service.lag = (lambda: dice.uniform(0, slowest)), (lambda: dice.uniform(0, oldest))
        self.blind_seconds = 60 + oldest + 12 * slowest
        """For so long after a write nobody can tell that it was undone: a minute, an old read, and the calls of one look."""
        self._refuses = dice.choice((0, 0, 0.02, 0.1))
        self._denied = False
        self._number, self._due_seconds = 0, 0.0
        self._patience_seconds = dice.choice((0, 20, 120))
        account.before.append(self._before)
        account.gone.append(self._gone)
        evicting(self.loop.cluster, dice)
        self.described = f"seed {seed}: slowest answer {slowest:.1f} s, oldest read {oldest:.0f} s, refuses {self._refuses}"

    def turn(self) -> None:
        """Demand grows, the scheduler binds, others act, the loop turns."""
        dice, cluster = self.dice, self.loop.cluster
        if dice.random() < 0.4:
            self._number += 1
            cluster.pods += pending(dice.randint(1, 2), f"train{self._number}")
        if dice.random() < 0.1:
            self._denied = bool(self._refuses) and not self._denied
        self._set_back()
        bind(cluster)
        self.report = self.loop.turn(dice.uniform(1, 10))
        self._judge(self.report)

    @property
    def held(self) -> set[str]:
        """The groups that the last plan does not call ours."""
        plan = self.report.plan if self.report is not None else None
        return {line.name for line in plan.groups if line.owner.state is not OwnerState.OURS} if plan is not None else set()

    def _judge(self, report: LoopReport) -> None:
        for line in report.plan.groups if report.plan is not None else ():
            # While reads fail a group may be held for want of evidence; nobody may be accused.
            if line.owner.by == "a second writer" and line.name != "h100":
                self.wrong.append(f"{line.name} is held: {[reason.message for reason in line.reasons]}")
        for name, pool in self.pools.items():
            if not 0 <= pool.count <= MOST:
                self.wrong.append(f"{name} is asked for {pool.count}")

    def _before(self, method: str, path: str) -> None:
        if self._denied and method != "GET":
            raise Refused(*_REFUSALS[0])
        if self._refuses and self.dice.random() < self._refuses:
            raise Refused(*_REFUSALS[1])
        if self._refuses and method != "GET" and self.dice.random() < self._refuses / 2:
            self.service.account.faults.append((method, path, LOST))
        if method == "PATCH" and path.endswith(self.pools["h100"].id):
            self.written.append(self.service.account.now)

    def _gone(self, machine: Machine) -> None:
        pods = [item for item in self.loop.cluster.pods if item["spec"].get("nodeName") == f"n-{machine.id[-4:]}"]
        if pods and machine.pool != self.pools["h100"].id:
            self.wrong.append(f"{machine.id} ended while {len(pods)} pods ran on it")

    def _set_back(self) -> None:
        """After each of our writes, at once or within minutes."""
        pool, now = self.pools["h100"], self.service.account.now
        if pool.count == 0:
            self._due_seconds = now + self.dice.uniform(0, self._patience_seconds)
        elif now >= self._due_seconds:
            pool.count = 0
            self.reversals.append(now)
