"""What must be true in a world after every event."""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from reconciler.control.turn.turn_report import LoopReport, ResultState
from reconciler.plan.plan import ActionKind, OwnerState
from tests.virtual.cluster import App, Object, drained

if TYPE_CHECKING:
    from tests.virtual.world import World

SERVED_SECONDS = 600
"""Provision time, the longest back-off, the join of a node, and some turns."""
IDLE_SECONDS = 30
MOST_STATE_BYTES = 60_000
MOST_FOR_NOTHING = 2
MOST_DENIED = 4
"""The same write in a minute. The second follows after half a minute, and a new process begins again."""
_LATE_SECONDS = 120
"""So long after a person or a cloud has changed a size, a decision may rest on what was before."""
_HELD_SECONDS = 450


class _Purchase(NamedTuple):
    """What a write of a larger size was for."""

    at: float
    nodes: int
    pods: tuple[str, ...]


class Judge:
    """`wrong` is what is not as it must be."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.wrong: list[str] = []
        self._most_calls = 0
        self._sizes = dict.fromkeys(world.cloud.names, 0)
        self._servable: dict[str, float] = {}
        self._by_hand: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._held: dict[str, float] = {}
        self._purchases: dict[str, list[_Purchase]] = {name: [] for name in world.cloud.names}
        self._promised: dict[str, _Purchase] = {}
        self._ready_since: dict[str, float] = {}
        self._used: set[str] = set()
        self._for_nothing = Counter[tuple[str, str]]()
        """Nodes by group and app."""
        self._lowered: dict[str, float] = {}
        """When a group was last sized down."""
        self._joined: dict[str, float] = {}
        self._cpus: dict[str, int] = {}
        """Of all nodes that ever joined."""
        self._denied: dict[str, list[float]] = {}

    def say(self, text: str) -> None:
        self._world.note(f"WRONG {text}")
        self.wrong.append(f"{self._world.agenda.now - 1_800_000_000:.0f} s: {text}")

    def changed(self, name: str) -> None:
        """Stock or template of a group: what was learned of it is old."""
        self._changed[name] = self._world.agenda.now
        self._servable.clear()
        for key in [key for key in self._for_nothing if key[0] == name]:
            del self._for_nothing[key]

    def by_hand(self, name: str) -> None:
        self._by_hand[name] = self._world.agenda.now
        self._sizes[name] = self._world.cloud.size(name)

    def calls(self, in_a_minute: int) -> None:
        self._most_calls = max(self._most_calls, in_a_minute)
        if in_a_minute > self._world.cloud.calls_a_minute:
            self.say(f"{in_a_minute} calls in a minute")

    def denied(self, what: str) -> None:
        """A write that this account has no right to do."""
        denials = self._denied.setdefault(what, [])
        denials[:] = [at for at in denials if at > self._world.agenda.now - 60] + [self._world.agenda.now]
        if len(denials) > MOST_DENIED:
            self.say(f"{what} was denied {len(denials)} times in a minute")

    def ends(self, node: str) -> None:
        """A machine begins to end."""
        world = self._world
        group = world.cluster.group_of.get(node, "?")
        pods = self._pods_on(node)
        if group == "":
            self.say(f"{node} of others ends")
            return
        item = next((one for one in world.cluster.nodes() if one["metadata"]["name"] == node), None)
        # Whoever joins after the group was sized down has not been there to be judged. And no cloud refuses a write because a
        # person has sized the group since it was read.
        late = self._joined.get(node, 0.0) >= self._lowered.get(group, float("inf"))
        late = late or world.agenda.now - self._by_hand.get(group, 0.0) < _LATE_SECONDS
        if item is not None and pods and not late and not world.cloud.others[group]:
            self.say(f"{node} of {group} ends with {pods}, {'marked' if drained(item) else 'undrained'}")
        elif item is not None and not drained(item) and world.cloud.others[group]:
            world.cloud.others[group] -= 1

    def gone(self, node: Object, pods: list[Object]) -> None:
        """A machine is gone."""
        self._world.note(f"gone {node['metadata']['name']}")
        self._ready_since.pop(node["metadata"]["name"], None)
        self._promised.pop(node["metadata"]["name"], None)

    def turned(self, report: LoopReport) -> None:
        """After a turn of the loop."""
        world, now = self._world, self._world.agenda.now
        if report.plan is None:
            if report.unavailable.startswith("no decision"):
                self.say(report.unavailable)
            return
        for line in report.plan.groups:
            if line.owner.state is OwnerState.OURS:
                self._held.pop(line.name, None)
                continue
            since = self._held.setdefault(line.name, now)
            others = self._by_hand.get(line.name)
            if others is None and line.owner.by == "a second writer":
                self.say(f"{line.name} is held, and nobody else writes: {line.owner.evidence}")
            elif now - max(since, others or 0, world.touched) > _HELD_SECONDS:
                self.say(f"{line.name} is held since {now - since:.0f} s: {line.owner}")
        promised = {line.pod.rpartition("/")[2]: line.group for line in report.plan.pods if line.group}
        for result in report.results:
            action = result.action
            if action.kind is ActionKind.RESIZE and action.to > action.bound.replicas and result.state is ResultState.DONE:
                pods = tuple(sorted(name for name, group in promised.items() if group == action.group))
                self._purchases[action.group].append(_Purchase(now, action.to - action.bound.replicas, pods))

    def look(self) -> None:
        """After every event."""
        self._look_at_sizes()
        self._look_at_nodes()
        self._look_at_pods()

    def at_the_end(self) -> None:
        """The calm has lasted: all is settled."""
        if self.wrong:
            return
        world = self._world
        state = world.process.state.load("memory") if world.process is not None else b""
        if len(state or b"") > MOST_STATE_BYTES:
            self.say(f"the memory has {len(state or b'')} bytes")
        for name in self._held:
            self.say(f"{name} is held at the end")
        for name in sorted(world.cluster.waiting):
            if groups := self._groups_for(world.cluster.app_of(name)):
                self.say(f"{name} waits at the end, though {groups} have room")

    def _pods_on(self, node: str) -> list[str]:
        return [item["metadata"]["name"] for item in self._world.cluster.pods() if item["spec"].get("nodeName") == node]

    def _look_at_sizes(self) -> None:
        world, cloud, now = self._world, self._world.cloud, self._world.agenda.now
        for index, name in enumerate(cloud.names):
            size, before = cloud.size(name), self._sizes[name]
            if size == before:
                continue
            self._sizes[name] = size
            world.note(f"size {name} {before} -> {size}")
            if size < before:
                self._lowered[name] = now
                continue
            most = min(cloud.most(name), world.told.shape.most[index])
            if size > most:
                self.say(f"{name} was sized {size}, and may have {most}")
            whole = sum(cloud.size(one) for one in cloud.names) + 2
            recent = any(now - at < _LATE_SECONDS for at in self._by_hand.values())
            if whole > world.told.most_nodes and not recent:
                self.say(f"{whole} nodes were asked for, and there may be {world.told.most_nodes}")

    def _look_at_nodes(self) -> None:
        cluster, now = self._world.cluster, self._world.agenda.now
        self._used |= {one["spec"]["nodeName"] for one in cluster.pods() if "nodeName" in one["spec"]}
        for item in cluster.nodes():
            name = item["metadata"]["name"]
            group = cluster.group_of[name]
            self._joined.setdefault(name, now)
            self._cpus[name] = int(item["status"]["allocatable"]["cpu"])
            if not group or item["status"]["conditions"][0]["status"] != "True":
                continue
            if name not in self._ready_since:
                self._ready_since[name] = now
                self._world.note(f"node {name} of {group}")
                if (purchase := self._purchase_of(group)) is not None:
                    self._promised[name] = purchase
            if name in self._used or name not in self._promised or now - self._ready_since[name] < IDLE_SECONDS:
                continue
            self._look_at_purchase(group, self._promised.pop(name), self._cpus[name])

    def _look_at_purchase(self, group: str, purchase: "_Purchase", cpu: int) -> None:
        """A node of it is ready, and nothing has ever run there. For pods of it that wait, it came for nothing. But nobody knows
        that nodes are smaller than their group says before the first one is there."""
        cluster = self._world.cluster
        unknown = purchase.at < min((at for at, _ in self._smaller(group)), default=0.0)
        waiting = [pod for pod in purchase.pods if pod in cluster.waiting]
        for app in sorted({pod.rpartition("-")[0] for pod in waiting}):
            if unknown and not cluster.apps[app].fits(cpu, cluster.apps[app].zone):
                continue
            self._for_nothing[group, app] += 1
            if (nodes := self._for_nothing[group, app]) > MOST_FOR_NOTHING:
                self.say(f"{nodes} nodes of {group} were bought for nothing for {app}")

    def _purchase_of(self, group: str) -> "_Purchase | None":
        """The oldest one whose nodes have not all come."""
        purchases = self._purchases[group]
        if not purchases:
            return None
        first = purchases[0]
        purchases[0:1] = [_Purchase(first.at, first.nodes - 1, first.pods)] if first.nodes > 1 else []
        return first

    def _look_at_pods(self) -> None:
        world, now = self._world, self._world.agenda.now
        waiting = world.cluster.waiting
        self._servable = {name: since for name, since in self._servable.items() if name in waiting}
        for name in waiting:
            app = world.cluster.app_of(name)
            if app.spread or world.process is None or now < world.touched or not self._groups_for(app):
                self._servable.pop(name, None)
                continue
            since = max(self._servable.setdefault(name, now), world.touched)
            if now - since > SERVED_SECONDS:
                self.say(f"{name} waits for {now - since:.0f} s, though {self._groups_for(app)} have room and stock")
                self._servable.clear()
                return

    def _known_cpu(self, name: str) -> int:
        """What a new node of a group surely has: the least of what it has, of what the group says, and of what nodes show. One
        node alone shows nothing for long."""
        cloud, small = self._world.cloud, [cpu for _, cpu in self._smaller(name)]
        shown = small if len(small) > 1 else []
        return min(cloud.cpu(name), cloud.declared(name), *shown)

    def _smaller(self, name: str) -> list[tuple[float, int]]:
        """When nodes of a group came that have less than it says, and what they have. The newest that is as declared ends what
        those before it show."""
        cluster, says = self._world.cluster, self._world.cloud.declared(name)
        came = [(self._joined[one], cpu) for one, cpu in self._cpus.items() if cluster.group_of[one] == name]
        declared = max((at for at, cpu in came if cpu >= says), default=0.0)
        return [(at, cpu) for at, cpu in came if cpu < says and at >= declared]

    def _groups_for(self, app: App) -> list[str]:
        """Groups in which a new node would surely run it, and that no person has touched lately."""
        cloud, world, now = self._world.cloud, self._world, self._world.agenda.now
        asked = sum(cloud.size(name) for name in cloud.names) + 2
        if max(asked, len(world.cluster.nodes())) >= world.told.most_nodes:
            return []
        return [
            name
            for index, name in enumerate(cloud.names)
            if cloud.size(name) < min(cloud.most(name), world.told.shape.most[index])
            and all(cloud.has_stock(name, zone) and app.fits(self._known_cpu(name), zone) for zone in cloud.zones(name))
            and now - self._by_hand.get(name, 0) > _HELD_SECONDS
            and (not app.spread or len({zone for one in cloud.names for zone in cloud.zones(one)}) == 1)
        ]
