"""One run of the loop over an account where nothing is kind: latency, lag, refusals, lost answers, all drawn at random."""

import random
from typing import Any

from reconciler.control.turn.turn_report import LoopReport
from reconciler.plan.plan import OwnerState
from tests.aws.service.protocol import ServiceError
from tests.aws.service.server import LOST, Service
from tests.aws.service.state import Group, Instance
from tests.aws.test_loop import Loop, pending
from tests.one_pod_nodes import bind, evicting

GROUPS = ("spot", "general")
_REFUSED = {
    "denied": ServiceError("AccessDenied", "User: u is not authorized to perform: autoscaling:this", 403),
    "throttled": ServiceError("Throttling", "Rate exceeded"),
    "broken": ServiceError("InternalFailure", "An internal error has occurred", 500),
}
_END = "TerminateInstanceInAutoScalingGroup"
_WRITES = ("SetDesiredCapacity", _END, "CreateOrUpdateTags", "DeleteTags", "SetInstanceProtection")


class RandomAccount:
    """Somebody sets the first group back whenever it was written. All that is drawn follows from `seed`."""

    def __init__(self, service: Service, seed: int) -> None:
        self.dice = random.Random(seed)
        self.service = service
        self.loop = Loop(service)
        self.wrong: list[str] = []
        self.reversals: list[float] = []
        self.written: list[float] = []
        self._ended: set[str] = set()
        self.reports: list[LoopReport] = []
        self._number = 0
        self._due_seconds = 0.0
        dice, account = self.dice, service.account
        for name, group in self.loop.groups.items():
            group.max_size = dice.randint(2, 10)
            if name == "spot":
                group.max_size = 10
        account.timing.launch, account.timing.terminate = dice.uniform(5, 120), dice.uniform(1, 60)
        account.timing.acts, account.timing.retry = dice.uniform(0, 4), dice.uniform(20, 120)
        service.advance(60)
        slowest, oldest = dice.uniform(0, 5), dice.uniform(0, 30)
        service.latency, service.lag = (lambda: dice.uniform(0, slowest)), (lambda: dice.uniform(0, oldest))
        self._refuses = dice.choice((0, 0, 0.02, 0.1))
        self._denied: frozenset[str] = frozenset()
        account.before.append(self._before)
        account.gone.append(self._gone)
        evicting(self.loop.cluster, dice)
        self._patience_seconds = dice.choice((0, 20, 120))
        self.blind_seconds = 60 + oldest + 8 * slowest
        """For so long after a write nobody can tell that it was undone: a minute, an old read, and the calls of one look."""
        self.described = f"seed {seed}: slowest answer {slowest:.1f} s, oldest read {oldest:.0f} s, refuses {self._refuses}"

    def turn(self) -> LoopReport:
        """Demand grows, the scheduler binds, others act, the loop turns."""
        dice = self.dice
        if dice.random() < 0.4:
            self._arrive()
        if dice.random() < 0.1:
            # A right is taken away for a while, or given back.
            self._denied = frozenset() if self._denied else frozenset(dice.sample(_WRITES, 1)) if self._refuses else frozenset()
        bind(self.loop.cluster)
        self._set_back()
        report = self.loop.turn(dice.uniform(1, 10))
        self.reports.append(report)
        self._judge(report)
        return report

    @property
    def held(self) -> set[str]:
        """The groups that the last plan does not call ours."""
        plan = self.reports[-1].plan if self.reports else None
        return {line.name for line in plan.groups if line.owner.state is not OwnerState.OURS} if plan is not None else set()

    def _arrive(self) -> None:
        self._number += 1
        self.loop.cluster.pods += pending(self.dice.randint(1, 2), f"web{self._number}")

    def _before(self, action: str, parameters: dict[str, Any]) -> None:
        if action in self._denied:
            raise _REFUSED["denied"]
        if self._refuses and self.dice.random() < self._refuses:
            raise _REFUSED[self.dice.choice(("throttled", "broken"))]
        if self._refuses and self.dice.random() < self._refuses / 2:
            self.service.account.faults.setdefault(action, []).append(LOST)
        if action == _END:
            self._ended.add(parameters["InstanceId"])
        if action == "SetDesiredCapacity":
            group = self.loop.groups[parameters["AutoScalingGroupName"]]
            if group.name == "spot":
                self.written.append(self.service.account.now)
            if not group.min_size <= parameters["DesiredCapacity"] <= group.max_size:
                self.wrong.append(f"{group.name} asked for {parameters['DesiredCapacity']} of {group.min_size}-{group.max_size}")

    def _gone(self, group: Group, instance: Instance) -> None:
        node = f"n-{instance.instance_id}"
        pods = [item for item in self.loop.cluster.pods if item["spec"].get("nodeName") == node]
        # What another one's lower number ends is not our doing; what we named is.
        ours = group.name != "spot" or instance.instance_id in self._ended
        if pods and instance.health == "Healthy" and ours:
            self.wrong.append(f"{instance.instance_id} of {group.name} ended while {len(pods)} pods ran on it")

    def _set_back(self) -> None:
        """After each of our writes, at once or within minutes."""
        group, now = self.loop.groups["spot"], self.service.account.now
        if group.desired == 0:
            self._due_seconds = now + self.dice.uniform(0, self._patience_seconds)
        elif now >= self._due_seconds:
            group.desired = 0
            self.reversals.append(now)

    def _judge(self, report: LoopReport) -> None:
        if report.plan is None:
            return
        for line in report.plan.groups:
            # While reads fail a group may be held for want of evidence; nobody may be accused.
            if line.owner.by == "a second writer" and line.name != "spot":
                self.wrong.append(f"{line.name} is held: {[reason.message for reason in line.reasons]}")
