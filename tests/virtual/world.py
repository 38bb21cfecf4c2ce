"""One cluster, its cloud and the product's process in virtual time, driven by a story. The clock jumps from one event to the
next, and the same story gives the same log, byte by byte."""

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from reconciler.control.turn.turn_report import LoopReport
from reconciler.policy.tree import read_tree
from tests.virtual.api import VirtualApi
from tests.virtual.clock import running
from tests.virtual.clouds.aws import AwsCloud
from tests.virtual.clouds.cloud import Cloud, Surroundings
from tests.virtual.clouds.crusoe import CrusoeCloud
from tests.virtual.clouds.machines import ClusterApiCloud, OpenShiftCloud
from tests.virtual.cluster import App, Cluster, Object
from tests.virtual.judge import Judge
from tests.virtual.process import Agenda, KilledError, Process
from tests.virtual.story import STORM_SECONDS, Happening, Story

_CLOUDS: Mapping[str, Callable[[Surroundings], Cloud]] = {
    "aws": AwsCloud,
    "clusterapi": ClusterApiCloud,
    "openshift": OpenShiftCloud,
    "crusoe": CrusoeCloud,
}
_START, _TICK_SECONDS = 1_800_000_000.0, 5.0
CALM_SECONDS = 1000
_RESTING_SECONDS = 60
_HEAD = """
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  humanHoldTime: 3m
  tiers: [{{name: spot}}, {{name: general}}]
  limits: [{{name: cluster, max: {{nodes: {most_nodes}}}}}]
  budgets: [{{nodes: 10}}]
  pace: {{delayAfterAdd: 0s, delayAfterFailure: 0s}}
  defaults:
    scaleDown: {{unneededTime: 1m, unreadyTime: 2m}}
    scaleUp: {{maxNodeProvisionTime: 3m, maxNodeStartupTime: 3m, backoff: {{initial: 1m, max: 2m, reset: 1h}}}}
"""
_GROUP = """---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: {name}, namespace: r}}
spec:
  policyRef: {{name: prod}}
  tier: {tier}
  size: {{min: 0, max: {most}}}
  {target}
"""


class World:
    """Everything of one story. `wrong` is what went wrong."""

    def __init__(self, told: Story) -> None:
        self.told, self.agenda = told, Agenda(_START)
        self.dice = random.Random(f"calls {told.seed}")
        self.log: list[str] = []
        self.server = VirtualApi(self.seconds, told.seed)
        self.server.lag = lambda _: self.chance(told.late_seconds)
        self.calls = 0
        self._minute: deque[float] = deque()
        self._faults: deque[str] = deque()
        self._outage: dict[str, float] = {"denied": 0.0, "expired": 0.0}
        self._kill: tuple[int, bool, float] | None = None
        self._killed_seconds = 0.0
        self._hands = Counter[str]()
        self.calm = False
        self.touched = self.agenda.now
        """When something last kept the process from its work."""
        self.reports: list[LoopReport] = []
        self.process: Process | None = None
        with running(self):
            self.cloud = _CLOUDS[told.platform](Surroundings(self.agenda, self, self.server, told.shape))
            self.cluster = Cluster(self.server, self.cloud.machines, self._gone)
            self.judge = Judge(self)
        (self.policy,) = read_tree({"policy.yaml": self._policy_text().encode()}, now_seconds=0).sets
        for one in told.happenings:
            self.agenda.at(_START + one.at, lambda one=one: self.happen(one))  # type: ignore[misc]

    def run(self) -> list[str]:
        """The storm, then the calm; what went wrong, at most at one instant."""
        with running(self):
            self._tick()
            self._start()
            for end in (_START + STORM_SECONDS, _START + STORM_SECONDS + CALM_SECONDS):
                while self.agenda.now < end and not self.judge.wrong:
                    self.agenda.until(min(end, self.agenda.now + 10))
                if not self.calm:
                    self._calm_down()
            self.judge.at_the_end()
        return self.judge.wrong

    # Time, for the code that runs in it.

    def seconds(self) -> float:
        return self.agenda.now

    def sleep(self, seconds: float) -> None:
        self.agenda.until(self.agenda.now + seconds)

    def chance(self, most: float) -> float:
        """Some seconds, at most so many; few are common."""
        return 0.0 if self.calm or not most else most * self.dice.random() ** 2

    def note(self, text: str) -> None:
        self.log.append(f"{self.agenda.now - _START:.3f} {text}")

    # Calls of the process.

    def call(self, what: str, do: Callable[[], Any], *, writes: bool, errors: Mapping[str, Callable[[], Exception]]) -> Any:
        """As `Wire.call`. What is not done for others is done at once."""
        self._count(what)
        cloudy = what.startswith("cloud ") or self.told.platform in ("clusterapi", "openshift")
        late = self.chance(self.told.slowest_seconds) if self.process is not None and self.process.busy else 0.0
        self.sleep(late / 2)
        fate = self._fate(what, cloudy=cloudy, writes=writes)
        if fate == "die before":
            self.note(f"killed before {what}")
            raise KilledError
        if fate and fate not in ("lost", "die after"):
            self.note(f"{what} -> {fate}")
            if fate == "denied":
                self.judge.denied(what)
            raise errors[fate]()
        try:
            found = do()
        except Exception as error:
            if writes or what.startswith("cloud "):
                self.note(f"{what} -> {type(error).__name__}: {error}")
            raise
        if writes:
            self.note(f"{what} -> {fate or 'done'}")
            self._soon()
        if fate == "die after":
            raise KilledError
        self.sleep(late / 2)
        if fate:
            raise errors[fate]()
        return found

    def _count(self, what: str) -> None:
        self.calls += 1
        if self.told.platform in ("aws", "crusoe") and not what.startswith("cloud "):
            return
        now = self.agenda.now
        self._minute.append(now)
        while self._minute[0] < now - 60:
            self._minute.popleft()
        self.judge.calls(len(self._minute))

    def _fate(self, what: str, *, cloudy: bool, writes: bool) -> str:
        now = self.agenda.now
        if writes and self._kill is not None:
            left, after, seconds = self._kill
            self._kill = (left - 1, after, seconds) if left > 1 else None
            if left <= 1:
                self._killed_seconds = seconds
                return "die after" if after else "die before"
        if cloudy and now < self._outage["expired"]:
            return "expired"
        if cloudy and writes and now < self._outage["denied"] and "configmaps" not in what:
            return "denied"
        return self._faults.popleft() if cloudy and writes and self._faults else ""

    # What happens.

    def happen(self, one: Happening) -> None:
        """As the story says."""
        cloud, names = self.cloud, self.cloud.names
        name = names[one.index % len(names)]
        zones = cloud.zones(name)
        zone = zones[one.index // len(names) % len(zones)]
        self.note(f"story {one}")
        cloud.settle()
        match one.what:
            case "pods":
                self.cluster.scale(self.app(one.index), one.amount)
            case "stock":
                cloud.stock(name, zone, one.amount if one.amount >= 0 else None)
                self.judge.changed(name)
            case "template":
                cloud.template(name, cloud.sizes[one.amount % len(cloud.sizes)])
                self.judge.changed(name)
            case "by hand":
                self._hands[name] += 1
                if self._hands[name] <= 2:
                    cloud.by_hand(name, cloud.size(name) + one.amount)
                    self.judge.by_hand(name)
            case "shift":
                cloud.shift(name, zone if one.amount else None)
                self.judge.changed(name)
            case "breaks":
                cloud.breaks(one.index)
            case "lost" | "refused":
                self._faults.extend([one.what] * one.amount)
                self.touched = self.agenda.now
            case "denied" | "expired":
                self._outage[one.what] = self.agenda.now + one.seconds
                self.touched = self._outage[one.what]
            case "kill":
                self._kill = abs(one.amount) or 1, one.amount > 0, one.seconds
            case "watches end":
                for path in sorted({watch.path for watch in self.server._watches}):
                    self.server.end(path)
            case _:
                raise ValueError(one.what)
        self._soon()

    def app(self, index: int) -> App:
        """The pods of that controller."""
        base, zones = self.cloud.sizes[0] * 1000, sorted({zone for name in self.cloud.names for zone in self.cloud.zones(name)})
        small, large = base * 4 // 10, base * 3 // 4
        return (
            App("web", large), App("api", large), App("small", small), App("pinned-a", large, zones[0]),
            App("pinned-b", large, zones[-1]), App("spread", large, spread=True), App("big", base * 3 // 2),
            App("even", small, spread=True), App("data", large, zones[-1], volume=True),
            App("few", small, most_down=1),
        )[index]  # fmt: skip

    def _calm_down(self) -> None:
        self.calm = True
        self.note("calm")
        self._faults.clear()
        self._kill = None
        self._outage = dict.fromkeys(self._outage, 0.0)
        self.cloud.heals()
        for name in self.cloud.names:
            self.judge.changed(name)
        self.touched = self.agenda.now
        if self.process is not None:
            self.process.period_seconds = _RESTING_SECONDS

    def _tick(self) -> None:
        self._settle()
        self.agenda.at(self.agenda.now + _TICK_SECONDS, self._tick)

    def _soon(self) -> None:
        self.agenda.at(self.agenda.now + 0.2, self._settle)

    def _settle(self) -> None:
        self.cloud.settle()
        for name in self.cloud.ending():
            self.judge.ends(name)
        self.cluster.settle()
        self.judge.look()

    def _gone(self, node: Object, pods: list[Object]) -> None:
        self.judge.gone(node, pods)

    # The process.

    def _start(self) -> None:
        self.note("start")
        self.touched = self.agenda.now
        self.process = Process(
            self.agenda, self.server, self, self.cloud.parts, self.policy, self.told.period_seconds, self._turned, self._died
        )

    def _turned(self, report: LoopReport) -> None:
        self.reports[:] = [report]
        if report.unavailable:
            self.note(f"turn: {report.unavailable}")
        for result in report.results:
            action = result.action
            self.note(f"turn: {action.kind} {action.group} {result.state} {result.code} {result.message}")
        self.judge.turned(report)

    def _died(self) -> None:
        self.process = None
        self.touched = self.agenda.now + self._killed_seconds
        self.agenda.at(self.touched, self._start)

    def _policy_text(self) -> str:
        most = self.told.shape.most
        groups = [
            _GROUP.format(
                name=name, tier="spot" if name == "spot" else "general", target=self.cloud.target(name), most=most[index]
            )
            for index, name in enumerate(self.cloud.names)
        ]
        return _HEAD.format(most_nodes=self.told.most_nodes) + "".join(groups)
