"""One live process, put together over a server that nobody asks: who leads in words, what it may write, what ends it."""

import io
import json
import time
from collections.abc import Callable, Mapping

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.control.live import live_process
from reconciler.control.live.live_memory_store import LiveMemoryStore
from reconciler.control.live.live_process import LiveProcess, Settings
from reconciler.control.log import Log
from reconciler.control.turn.memory_store import InMemoryStore
from reconciler.control.turn.turn_report import Decided, LoopReport
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import Api, ApiError
from reconciler.kube.connection.outages import Outages
from reconciler.kube.connection.server_clock import ServerClock
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.plan.last_decision import ANNOTATION, LastDecision, last_decision
from reconciler.plan.plan import Action, ActionKind, Bound, Plan
from reconciler.plan.reason import Reason
from reconciler.policy.documents import DrainRules, Mode, PolicySet
from reconciler.providers.contract import RemovalProgress, RemovalState
from reconciler.providers.live_platforms import Surroundings
from reconciler.values.cluster_identity import ClusterIdentity, FleetPlace
from tests.builders import ClusterBuilder, machine_deployment, node_group, policy

NOW = 1_800_000_000
EU, US = (ClusterIdentity(namespace="infra", name=name) for name in ("eu", "us"))


class _Connection:
    """Nothing is there; writes ask the guard and are kept."""

    def __init__(self, guard: Callable[[], None] | None = None, sent: list[str] | None = None) -> None:
        self.guard = guard
        self.sent = [] if sent is None else sent
        self.outages = Outages(time.monotonic)
        self.clock = ServerClock(time.monotonic)

    def with_guard(self, guard: Callable[[], None] | None) -> "_Connection":
        return _Connection(guard, self.sent)

    def with_timeout(self, seconds: float) -> "_Connection":
        return self

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        raise ApiError(404, "NotFound", path)

    def write(self, method: str, path: str, *_: object, **__: object) -> bytes:
        if self.guard is not None:
            self.guard()
        self.sent.append(f"{method} {path}")
        return b"{}"


class _Source:
    def __init__(self) -> None:
        self.policy: PolicySet = policy(node_group("general"))
        self.why = ""
        self.told: list[str] = []

    def current(self) -> PolicySet:
        return self.policy

    def missing(self) -> str:
        return self.why

    def start(self, changed: Callable[[], None]) -> None:
        self.told.append("start")

    def poll(self) -> bool:
        self.told.append("poll")
        return True

    def notify(self) -> None:
        self.told.append("notify")

    def stop(self) -> None:
        self.told.append("stop")


class _Lease:
    """Leads in the terms that are set, one after the other."""

    identity = "pod-1"

    def __init__(self, *terms: int) -> None:
        self.terms = list(terms)
        self.holder, self.message = "", ""
        self.released = 0
        self.annotations: dict[str, str] = {}

    def annotate(self, annotations: Mapping[str, str]) -> None:
        self.annotations |= annotations

    def step(self) -> None:
        if len(self.terms) > 1:
            self.terms.pop(0)

    def term(self) -> int:
        return self.terms[0]

    def release(self) -> None:
        self.released += 1


class _Made:
    """A process and what is around it."""

    def __init__(self, *, read_only: bool = False, once: bool = False, cluster: ClusterIdentity | None = None) -> None:
        self.source, self.text, self.connection = _Source(), io.StringIO(), _Connection()
        self.objects: list[Api] = []
        self.process = LiveProcess(
            Settings(name="prod", namespace="reconciler", identity="pod-1", read_only=read_only, once=once,
                     cluster_object=cluster),
            self.connection, self.connection, lambda _, __: self.source, Log(self.text, lambda: NOW),
            now_seconds=lambda: NOW, wall_seconds=lambda: float(NOW), objects=self.objects.append,
            neighbours=lambda: (EU, US),
        )  # fmt: skip

    def lease(self, *terms: int) -> _Lease:
        lease = _Lease(*terms)
        self.process.lease = lease  # type: ignore[assignment]
        return lease

    def codes(self) -> list[str]:
        return [json.loads(line)["code"] for line in self.text.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("holder", "message", "told"),
    [
        ("", "", "nobody is known to lead yet"),
        ("pod-2", "", "pod-2 leads"),
        ("pod-1", "", "nobody is known to lead yet"),
        ("pod-2", "403 Forbidden", "the Lease cannot be claimed: 403 Forbidden"),
    ],
)
def test_who_leads_in_a_sentence(holder: str, message: str, told: str) -> None:
    """As far as the Lease says."""
    made = _Made()
    lease = made.lease(0)
    lease.holder, lease.message = holder, message
    assert made.process.leader() == told
    assert (made.process.leads(), made.process.term()) == (False, 0)
    lease.terms = [3]
    assert made.process.leader() == "this instance leads (pod-1)"
    assert (made.process.leads(), made.process.term()) == (True, 3)


def test_one_that_only_reads_writes_nothing() -> None:
    """It decides for itself, and no connection of it lets a write out."""
    made = _Made(read_only=True)
    assert (made.process.leader(), made.process.term()) == ("this instance only reads", 1)
    for connection in (made.process.management, made.process.workload):
        with pytest.raises(NotLeaderError, match="started to read only"):
            connection.write("PATCH", "/x")
    assert made.connection.sent == []


@pytest.mark.parametrize("read_only", [True, False])
def test_targets_of_the_last_decision_are_remembered_by_one_that_may_write(
    read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that only reads has no state of its own, and reads nobody's."""
    seen: list[object] = []
    monkeypatch.setattr(live_process, "remembered_targets", lambda *_: "asked")
    monkeypatch.setattr(live_process, "polled", lambda around: seen.append(around.remembered) or ())
    _Made(read_only=read_only)
    assert seen == [None if read_only else "asked"]


def test_one_that_does_not_lead_writes_nothing() -> None:
    made = _Made()
    for connection in (made.process.management, made.process.workload):
        with pytest.raises(NotLeaderError):
            connection.write("PATCH", "/x")
    assert made.connection.sent == []


@pytest.mark.parametrize(
    ("doubts", "message", "told"),
    [
        ((), "", ""),
        ((), "403", "the Lease: 403"),
        (("a", "b"), "403", "a, and b"),
        (("a", "b", "c"), "", "a, b, and c"),
        (("a", "b", "c", "d", "e"), "", "a, b, c, and 2 more"),
    ],
)
def test_why_there_is_no_view(doubts: tuple[str, ...], message: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three doubts, how many more, else the Lease."""
    made = _Made()
    monkeypatch.setattr(made.process.view, "doubts", lambda: doubts)
    made.lease(0).message = message
    assert made.process.view_problem() == told


@pytest.mark.parametrize(
    ("terms", "told"),
    [((0, 0, 0), []), ((0, 1, 1), ["notify"]), ((0, 1, 2), ["notify", "notify"]), ((0, 1, 0), ["notify"])],
)
def test_who_begins_to_lead_looks_at_once(terms: tuple[int, ...], told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """At the policy when a term begins, at the cluster when one ends; the Lease goes at the end."""
    made = _Made()
    lease, woken, waited = made.lease(*terms), list[str](), list[float]()
    monkeypatch.setattr(made.process.wake, "notify", lambda *_: woken.append("wake"))
    monkeypatch.setattr(made.process._pace, "random", lambda: 0.5)
    monkeypatch.setattr(made.process._pace, "pause", lambda seconds: waited.append(seconds) or len(waited) == len(terms))
    made.process._lead()
    assert made.source.told == told
    assert woken == (["wake"] if terms[-1] < terms[-2] else [])
    assert lease.released == 1
    assert waited == [pytest.approx(made.process.settings.lease.retry_seconds * 1.1)] * len(terms)
    assert made.process._leading.is_set() is bool(told)


@pytest.mark.parametrize("failures", [0, 1])
def test_the_lease_tells_the_last_decision(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each renewal: when it was, what the loop waits for, and whether the cluster's server answers."""
    made = _Made()
    lease = made.lease(1)
    lease.annotate({ANNOTATION: json.dumps({"told": NOW - 9, "at": NOW - 300})})
    made.process.figures.turned(LoopReport(at_seconds=NOW, unavailable="Node: broken (gone)"), 0, 0)
    for _ in range(failures):
        made.connection.outages.failed()
    monkeypatch.setattr(made.process._pace, "pause", lambda _: True)
    made.process._lead()
    told = last_decision(lease.annotations)
    assert told == LastDecision(told=NOW, at=NOW - 300, period=10, why="Node: broken (gone)", away=bool(failures))


def test_a_lease_that_fails_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until something else is wrong with it."""
    made = _Made()
    lease, waited = made.lease(0), list[float]()
    said = iter(("403", "403", "", "403", "500"))
    monkeypatch.setattr(lease, "step", lambda: setattr(lease, "message", next(said)))
    monkeypatch.setattr(made.process._pace, "pause", lambda seconds: waited.append(seconds) or len(waited) == 5)
    made.process._lead()
    assert made.codes() == ["LeaseFailed"] * 3


def test_marks_and_rules_are_those_of_the_policy_in_force() -> None:
    """The revision where there is one; no rules without a policy."""
    made = _Made()
    target = machine_deployment("general")
    made.source.policy = policy(node_group("general"), drain=DrainRules(blocked_namespaces=("payments",)))
    assert made.process._marks(target) == {"reconciler.dev/policy": "prod"}
    made.source.policy = msgspec.structs.replace(made.source.policy, revision="r1")
    assert made.process._marks(target) == {"reconciler.dev/policy": "prod", "reconciler.dev/revision": "r1"}
    rules = made.process._drain_rules()
    assert rules is not None
    assert rules.blocked_namespaces == ("payments",)
    made.source.why = "not read yet"
    assert made.process._drain_rules() is None


def test_the_last_plan_is_kept_for_those_who_ask() -> None:
    """With what it was decided from; a turn without a plan leaves it."""
    made = _Made(read_only=True)
    plan = Plan(now="", mode="Observe", summary="No changes.")
    decided = Decided(world=ClusterBuilder().world(), policy=made.source.policy, memory=Memory(), now_seconds=NOW)
    for report in (
        LoopReport(at_seconds=NOW),
        LoopReport(at_seconds=NOW, plan=plan),
        LoopReport(at_seconds=NOW, decided=decided),
    ):
        made.process._announce(report)
        assert made.process.last is None
    made.process._announce(LoopReport(at_seconds=NOW, plan=plan, decided=decided))
    made.process._announce(LoopReport(at_seconds=NOW))
    assert made.process.last == (plan, decided)


@pytest.mark.parametrize("target", [machine_deployment("general"), None])
def test_removals_that_are_given_up_are_said(target: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line each with its node; ending does not fail for it."""
    made = _Made()
    progress = RemovalProgress(target=target, node="n1", state=RemovalState.FAILED, message="given up")  # type: ignore[arg-type]
    monkeypatch.setattr(made.process.port, "abandon_removals", lambda: (progress,))
    made.process._abandon()
    (line,) = map(json.loads, made.text.getvalue().splitlines())
    assert (line["code"], line["nodes"], line["target"]) == ("RemovalFailed", ["n1"], "" if target is None else str(target))
    monkeypatch.setattr(made.process.port, "abandon_removals", lambda: 1 // 0)
    made.process._abandon()
    assert made.codes()[-1] == "AbandonFailed"


@pytest.mark.parametrize(
    ("read_only", "view", "leading", "missing", "why", "polled"),
    [
        (False, False, True, "", "no view", False),
        (False, True, False, "", "nobody is known to lead yet", False),
        (False, True, True, "no policy", "no policy", True),
        (True, True, False, "no policy", "no policy", True),
        (True, True, False, "", "nobody is known to lead yet", True),
    ],
)
def test_one_turn_and_why_there_was_none(
    read_only: bool, view: bool, leading: bool, missing: str, why: str, polled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view to trust, the Lease, a policy, in this order; one that only reads needs no Lease."""
    made = _Made(read_only=read_only, once=True)
    made.lease(0)
    made.source.why = missing
    begun = list[str]()
    monkeypatch.setattr(made.process.view, "start", lambda: begun.append("view"))
    monkeypatch.setattr(made.process._lease_thread, "start", lambda: begun.append("lease"))
    monkeypatch.setattr(made.process.view, "wait", lambda seconds: seconds == 0.01 and view)
    monkeypatch.setattr(made.process.view, "doubts", lambda: ("no view",))
    report = LoopReport(at_seconds=NOW)
    monkeypatch.setattr(made.process.run_loop, "look", lambda: report)
    if leading:
        made.process._leading.set()
    found = made.process.one_turn(0.01)
    assert found == (report if polled and not missing else None, why)
    assert made.source.told == (["poll"] if polled else [])
    assert begun == (["view"] if read_only else ["view", "lease"])


def test_one_turn_alone_keeps_nodes() -> None:
    """What takes a node away needs more than one turn to end well."""
    made = _Made(once=True)
    choose = made.process.run_loop._loop._choose  # type: ignore[attr-defined]
    bound = Bound(resource_version="1", replicas=1, owner_digest="", policy_digest="")
    actions = tuple(
        Action(kind=kind, group="a", target="t", from_=1, to=1, bound=bound, reason=Reason("Why", "why")) for kind in ActionKind
    )
    plan = Plan(now="", mode="Enforce", summary="", actions=actions)
    kept = {action.kind for action in choose(plan, ClusterBuilder().world())}
    assert kept == {ActionKind.RESIZE, ActionKind.ADOPT, ActionKind.RELEASE, ActionKind.CANCEL}


def test_how_often_it_turns_unless_it_is_told() -> None:
    """Every ten seconds (row S18), a second after the last event, and two after the first at the latest; a drain takes ten
    minutes at most, as one of the Cluster Autoscaler does."""
    settings = _Made().process.settings
    assert (settings.period_seconds, settings.idle_seconds, settings.most_seconds) == (10, 1, 2)
    assert (settings.drain_timeout_seconds, settings.longest_silence_seconds) == (600, 120)
    assert (settings.read_only, settings.beside_autoscaler, settings.once) == (False, False, False)


@pytest.mark.parametrize("read_only", [True, False])
def test_one_that_only_reads_decides_as_one_that_observes(*, read_only: bool) -> None:
    """Whatever the policy says; and it tells nothing on custom resources, which are written with the guard of the Lease."""
    made = _Made(read_only=read_only)
    mode = Mode.OBSERVE if read_only else Mode.ENFORCE
    assert made.source.policy.policy.mode is Mode.ENFORCE
    assert made.process.run_loop._loop._policies.current().policy.mode is mode  # type: ignore[attr-defined]
    assert made.process.port._policies.current().policy.mode is mode
    assert made.objects == ([] if read_only else [made.process.management])


@pytest.mark.parametrize(("missing", "known"), [("", True), ("not read yet", False)])
def test_platforms_are_told_the_policy_in_force(missing: str, *, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """None while there is none."""
    around: list[Surroundings] = []
    monkeypatch.setattr(live_process, "polled", lambda found: around.append(found) or ())
    made = _Made()
    made.source.why = missing
    assert (around[0].policy() is made.source.policy) is known
    assert (around[0].policy() is None) is not known


@pytest.mark.parametrize(("read_only", "leading", "ended"), [(False, True, True), (False, False, False), (True, True, False)])
def test_a_process_ends_in_order(read_only: bool, leading: bool, ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No new turn, the policy is followed no more, removals end while it leads, counts of Events are written, the view stops."""
    made = _Made(read_only=read_only)
    process, order = made.process, list[str]()
    made.lease(int(leading))
    monkeypatch.setattr(made.source, "stop", lambda: order.append(f"policy, {process.wake.stopped}"))
    monkeypatch.setattr(process, "_abandon", lambda: order.append(f"removals, {process.run_loop.turning.locked()}"))
    monkeypatch.setattr(process._telling, "flush", lambda: order.append("events"))
    monkeypatch.setattr(process.view, "stop", lambda: order.append("view"))
    process.stop()
    assert order == ["policy, True", *(["removals, True"] if ended else []), "events", "view"]
    assert process._pace.pause(0), "whoever waits for the next renewal goes on, to release the Lease"


@pytest.mark.parametrize("read_only", [True, False])
def test_a_turn_is_told_by_one_that_may_write(read_only: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _Made(read_only=read_only)
    told: list[tuple[object, ...]] = []
    monkeypatch.setattr(made.process._telling, "turned", lambda *what: told.append(what))
    report = LoopReport(at_seconds=NOW)
    made.process._announce(report)
    assert told == ([] if read_only else [(report, None, ())])


def test_who_begins_to_lead_forgets_what_another_one_may_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, forgotten = _Made(), list[str]()
    monkeypatch.setattr(made.process.port, "forget", lambda: forgotten.append("removals"))
    monkeypatch.setattr(made.process._telling, "began", lambda: forgotten.append("what was told"))
    made.process._began()
    assert forgotten == ["removals", "what was told"]


@pytest.mark.parametrize(("read_only", "begun"), [(True, ["view"]), (False, ["view", "lease"])])
def test_a_start_follows_clusters_and_policy(read_only: bool, begun: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And claims the Lease, unless it only reads."""
    made, order = _Made(read_only=read_only), list[str]()
    monkeypatch.setattr(made.process.view, "start", lambda: order.append("view"))
    monkeypatch.setattr(made.process._lease_thread, "start", lambda: order.append("lease"))
    made.process.start()
    assert (order, made.source.told) == (begun, ["start"])


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("beside", [False, True])
def test_another_autoscaler_is_looked_for_on_both_clusters(two: bool, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once where both are one, and in the namespaces of the targets too; not where the policy is to work beside it."""
    asked: list[tuple[object, ...]] = []

    class Watch:
        def __init__(self, *what: object, **_: object) -> None:
            asked.append(what)

        def evidence(self) -> tuple[str, ...]:
            return ("it is alive",)

        def before_write(self) -> tuple[str, ...]:
            return ("it is alive now",)

    monkeypatch.setattr(live_process, "RivalWatch", Watch)
    workload = _Connection()
    management = _Connection() if two else workload
    settings = Settings(name="prod", namespace="ours", identity="a", beside_autoscaler=beside, target_namespaces=("theirs",))
    process = LiveProcess(
        settings, workload, management, lambda _, __: _Source(), Log(io.StringIO(), lambda: NOW),
        now_seconds=lambda: NOW, wall_seconds=lambda: float(NOW),
    )  # fmt: skip
    assert process.port._rivals() == (() if beside else ("it is alive",))
    at_write = process.port._rivals_at_write
    assert (at_write and at_write()) == (None if beside else ("it is alive now",))
    if not beside:
        ((apis, namespaces),) = asked
        assert apis == ((workload, management) if two else (workload,))
        assert namespaces[:2] == ("ours", "theirs")
    assert beside is not bool(asked)


@pytest.mark.parametrize("read_only", [True, False])
def test_one_that_only_reads_leaves_closed_nodes_to_the_one_that_leads(*, read_only: bool) -> None:
    assert _Made(read_only=read_only).process.run_loop._loop._reopens is not read_only  # type: ignore[attr-defined]


@pytest.mark.parametrize("read_only", [True, False])
def test_what_must_outlive_the_process_lies_on_the_server(*, read_only: bool) -> None:
    """One that only reads remembers for itself, and asks nobody what was sized before it."""
    store = _Made(read_only=read_only).process.run_loop._loop._store  # type: ignore[attr-defined]
    assert isinstance(store, InMemoryStore if read_only else LiveMemoryStore)


@pytest.mark.parametrize("cluster", [None, EU])
def test_clouds_in_the_loop_of_a_fleet(monkeypatch: pytest.MonkeyPatch, cluster: ClusterIdentity | None) -> None:
    """They are polled, with the cluster's place in the fleet. A mark on a target of a cloud names the cluster. An object of an
    API server names it itself."""
    seen: list[Surroundings] = []
    monkeypatch.setattr(live_process, "polled", lambda around: seen.append(around) or ())
    monkeypatch.setattr(live_process, "in_cloud", lambda kind: kind == "Cloudy")
    made = _Made(cluster=cluster)
    (around,) = seen
    told = (around.cluster, around.loop, around.fleet() if around.fleet is not None else None)
    assert told == (("infra/eu", "prod.infra.eu", FleetPlace(cluster=EU, others=(US,))) if cluster else ("", "", None))
    own = {"reconciler.dev/cluster": "infra/eu"} if cluster else {}
    assert made.process._marks(TargetRef(kind="Cloudy", name="g")) == {"reconciler.dev/policy": "prod", **own}
    assert made.process._marks(machine_deployment("general")) == {"reconciler.dev/policy": "prod"}
