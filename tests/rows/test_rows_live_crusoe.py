"""Rows S1 to S12 on node pools of Crusoe: its API is our own server, the nodes, pods, scheduler and evictions are real."""

import time
from collections.abc import Iterator

import pytest

from reconciler.decisions.lints.setup import setup_findings
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.kube.leading.rival import RivalWatch
from reconciler.plan.plan import OwnerState, Plan
from reconciler.platforms.crusoe.writing.checking import checks
from reconciler.providers.findings import State
from tests.aws.policies import policy_set
from tests.crusoe.live_cluster import LiveLoop, RealNodes
from tests.crusoe.loops import HEAD, autoscaler, group_text
from tests.crusoe.service import behaviour
from tests.crusoe.service.server import ACCESS_KEY, Service
from tests.crusoe.service.state import Pool, stamp
from tests.crusoe.writes import ids
from tests.testbed.control_plane import ControlPlane

RESERVE = "r1"
# Only where a row is about removals a node may go: pods of a node that is gone are there for a while, and their successors not.
ROWS = HEAD.replace("unneededTime: 0s", "mode: Disabled")
REMOVING = HEAD.replace("unneededTime: 0s", "unneededTime: 30s")


@pytest.fixture(scope="module")
def _server() -> Iterator[Service]:
    running = Service()
    yield running
    running.stop()


@pytest.fixture
def real(_server: Service, control_plane: ControlPlane) -> Iterator[RealNodes]:
    """Both servers, with nothing of the test in them."""
    _server.reset()
    # Nodes are made at the API server's time.
    _server.account.now = time.time()
    nodes = RealNodes(control_plane, _server)
    yield nodes
    nodes.gone()


def reserved(real: RealNodes, count: int = 2, size: int = 2, name: str = "h100") -> Pool:
    """A pool whose machines run in a reservation and are ready nodes."""
    real.service.account.reservations[RESERVE] = size
    pool = real.service.account.add(name, count, reservation=RESERVE)
    for machine in real.service.account.of(pool):
        real.join(machine)
    real.until_ready(len(real.all()))
    return pool


def held(real: RealNodes) -> str:
    """A hold with a reason, for an hour."""
    return f', hold: {{reason: "h100 is being repaired", until: "{stamp(real.service.account.now + 3600)}"}}'


def writes(real: RealNodes) -> int:
    return real.service.count("PATCH", "nodepools") + real.service.count("DELETE")


def plan_of(report: object) -> Plan:
    plan = report.plan  # type: ignore[attr-defined]
    assert isinstance(plan, Plan), report
    return plan


def test_s001_a_count_is_kept_by_the_platform(real: RealNodes) -> None:
    """Somebody deletes a machine: the platform makes another one, and we ask for none; it joins and takes the pod."""
    pool = reserved(real)
    loop = LiveLoop(real.service, ROWS + group_text(), real)
    real.train(2)
    real.until_running(2)
    behaviour.delete(real.service.account, real.service.account.of(pool)[0])
    loop.turns(8)
    real.until_ready(2)
    real.until_running(2)
    assert (pool.count, len(ids(real.service, pool)), writes(real)) == (2, 2, 0)


def test_s002_a_replacement_is_attributed_to_the_count(real: RealNodes) -> None:
    """A stopped machine is replaced by the count, and the plan says so while it is missing."""
    pool = reserved(real, size=3)
    real.service.account.replaces_after = 600
    loop = LiveLoop(real.service, ROWS + group_text(more=", size: {min: 2}"), real)
    behaviour.stop(real.service.account, real.service.account.of(pool)[1])
    plan = plan_of(loop.turn())
    assert any("count 2 asks for its replacement" in problem.message for problem in plan.problems)
    assert writes(real) == 0


def test_s003_the_third_write_that_is_undone_is_the_last(real: RealNodes) -> None:
    """Somebody sets the count back each time: a conflict that names who may, and no write any more."""
    pool = reserved(real, count=1, size=4)
    real.service.account.replaces_after = 100_000
    loop = LiveLoop(real.service, ROWS + group_text(), real)
    loop.cluster.others = [autoscaler()]
    real.train(2)
    real.until_running(1)
    for _ in range(6):
        report = loop.turn()
        pool.count = 1
        # Long enough for a read to tell: what is read sooner may be older than our write.
        real.service.account.now += 90
    (line,) = plan_of(report).groups
    assert (line.owner.state, line.owner.by, writes(real)) == (OwnerState.HELD, "a second writer", 3)
    assert any("crusoe-system/cluster-autoscaler" in reason.message for reason in line.reasons)


def test_s004_a_reserve_that_two_pools_share_is_never_passed(real: RealNodes) -> None:
    """Three reserved machines, one run by others, two pools, four pods: two in all, at any moment."""
    pools = [reserved(real, count=0, size=3), reserved(real, count=0, size=3, name="more")]
    real.service.account.used_by_others[RESERVE] = 1
    loop = LiveLoop(real.service, ROWS + group_text() + group_text("more", "open"), real)
    real.train(4)
    for _ in range(6):
        plan = plan_of(loop.turn())
        assert sum(pool.count for pool in pools) <= 2
    real.until_running(2)
    assert sum(pool.count for pool in pools) == 2
    told = [reason.message for line in plan.pods for reason in line.reasons if reason.code == "RoomTaken"]
    assert told
    assert all(f"reservation {RESERVE}" in text for text in told)


def test_s005_a_stopped_machine_loses_its_place(real: RealNodes) -> None:
    """Its replacement has taken it: a start would be out of stock, which the plan says before anybody tries."""
    pool = reserved(real)
    loop = LiveLoop(real.service, ROWS + group_text(), real)
    victim = real.service.account.of(pool)[1]
    real.train(2)
    real.until_running(2)
    behaviour.stop(real.service.account, victim)
    real.fail(victim)
    loop.turns(5)
    plan = plan_of(loop.turn())
    assert not behaviour.start(real.service.account, victim)
    assert any("no room to start it again: 2 of 2 machines run" in problem.message for problem in plan.problems)


def test_s006_why_a_lower_count_will_not_last(real: RealNodes) -> None:
    """Lowered to 1 with a pod that needs the second: the pod names its group, the plan asks for 2."""
    pool = reserved(real)
    real.service.account.trims = True
    loop = LiveLoop(real.service, ROWS + group_text(more=held(real)), real)
    real.train(2)
    real.until_running(2)
    pool.count = 1
    loop.turns(4)
    real.until_running(1)
    plan = plan_of(loop.turn())
    (line,) = plan.groups
    assert (line.current, line.desired, line.wanted) == (1, 1, 2)
    (pending,) = plan.pods
    assert pending.reasons[0].data["groups"] == ("h100",)


def test_s007_the_autoscaler_of_the_platform_is_found(real: RealNodes) -> None:
    """Its Deployment is a finding of doctor, and evidence that holds every group while it has replicas."""
    reserved(real)
    text = ROWS + group_text()
    loop = LiveLoop(real.service, text, real)
    running = real.deployment("cluster-autoscaler", "crusoe-system", "x/cluster-autoscaler:v1")
    for replicas, found in ((1, True), (0, False)):
        loop.cluster.others = [autoscaler(replicas)]
        real.api.merge(running, {"spec": {"replicas": replicas}})
        loop.turn()
        world = loop.cluster.observe()
        view = View.of(world, policy_set(text), loop.store.load(), loop.cluster.now(), Work(1_000_000))
        codes = {finding.code for finding in setup_findings(view)}
        assert ("AutoscalerOfPlatform" in codes) is found
        watch = RivalWatch((real.connection,), (), monotonic=lambda: 0.0, wall_seconds=lambda: 0.0)
        assert bool(watch.evidence()) is found


def test_s008_a_hold_with_reason_and_end(real: RealNodes) -> None:
    """While it holds the count is a person's; after its end decisions go on from where they left it."""
    pool = reserved(real)
    loop = LiveLoop(real.service, ROWS + group_text(more=held(real)), real)
    real.train(2)
    real.until_running(2)
    pool.count = 1
    (line,) = plan_of(loop.turn()).groups
    assert line.held
    assert "h100 is being repaired" in " ".join(reason.message for reason in line.reasons)
    assert (pool.count, writes(real)) == (1, 0)
    pool.count = 2
    real.service.advance(3700)
    (line,) = plan_of(loop.turn()).groups
    assert (line.held, pool.count) == (False, 2)


def test_s009_a_hold_stops_every_write(real: RealNodes) -> None:
    """Nothing up for a pod, nothing up to the minimum, nothing away; each is written without the hold."""
    pool = reserved(real, count=1, size=9)
    for text, more, pods in ((ROWS, ", size: {min: 3}", 0), (ROWS, "", 2), (REMOVING, "", 0)):
        before = writes(real)
        real.train(pods)
        loop = LiveLoop(real.service, text + group_text(more=f"{more}{held(real)}"), real)
        loop.turns(5)
        assert writes(real) == before
    real.train(2)
    free = LiveLoop(real.service, ROWS + group_text(), real)
    free.turns(2)
    assert (writes(real), pool.count) == (1, 2)


def test_s010_what_may_not_be_read_is_said_before(real: RealNodes) -> None:
    """Every right that is missing by its name, and one that is not: nothing is written to find out."""
    reserved(real)
    loop = LiveLoop(real.service, ROWS + group_text(), real)
    real.service.account.rights[ACCESS_KEY] = ("nodepools/", "nodepools", "types")
    told = list(checks(loop.writer.account, policy_set(ROWS + group_text())))
    refused = " ".join(one.message for one in told if "cannot be read" in one.message)
    assert all(word in refused for word in ("quotas", "capacities", "AutoClusters", "reservations"))
    assert "operations on node pools" not in refused
    real.service.account.rights[ACCESS_KEY] = ("quotas",)
    assert [one.state for one in checks(loop.writer.account, policy_set(ROWS + group_text()))] == [State.FAIL]
    assert writes(real) == 0


def test_s011_no_third_machine(real: RealNodes) -> None:
    """Desired 2, one not ready and stopped, reserve 2: we ask for nothing, and what the count does is said before and after."""
    pool = reserved(real)
    loop = LiveLoop(real.service, ROWS + group_text(), real)
    victim = real.service.account.of(pool)[1]
    real.train(2)
    real.until_running(2)
    real.fail(victim)
    plan = plan_of(loop.turn())
    assert any("count 2 asks for the replacement" in one.message and "Lower it first" in one.message for one in plan.problems)
    behaviour.stop(real.service.account, victim)
    loop.turns(5)
    assert (pool.count, writes(real)) == (2, 0)
    assert real.service.account.used(RESERVE) == 2


def test_s012_overridden_held_and_normal_again(real: RealNodes) -> None:
    """The whole story: overridden each time; held, lowered, repaired and started; after the hold all is as before."""
    pool = reserved(real)
    account = real.service.account
    first, victim = account.of(pool)
    real.train(2)
    real.until_running(2)
    real.fail(victim)
    behaviour.stop(account, victim)
    loop = LiveLoop(real.service, ROWS + group_text(more=held(real)), real)
    for _ in range(2):
        # A second autoscaler sees the pod wait and sets the count back: the newcomer has the place again.
        pool.count = 1
        newcomer = account.counted(pool)[-1]
        behaviour.delete(account, newcomer)
        pool.count = 2
        loop.turns(3)
        assert not behaviour.start(account, victim)
    # That one is at rest; lowered again, the place is free and stays free.
    pool.count = 1
    behaviour.delete(account, account.counted(pool)[-1])
    loop.turns(4)
    assert (pool.count, ids(real.service, pool), writes(real)) == (1, [first.id], 0)
    assert behaviour.start(account, victim)
    real.heal(victim)
    pool.count = 2
    real.until_ready(2)
    loop.turn(3700)
    (line,) = plan_of(loop.turn()).groups
    assert (line.held, line.owner.state, line.current, line.desired) == (False, OwnerState.OURS, 2, 2)
    assert (set(ids(real.service, pool)), writes(real)) == ({first.id, victim.id}, 0)


def test_exactly_the_drained_machine_goes(real: RealNodes) -> None:
    """Beside the rows: bought for real pods, which the real scheduler places; then one is emptied by evictions and goes alone."""
    pool = reserved(real, count=0, size=3)
    loop = LiveLoop(real.service, REMOVING + group_text(), real)
    real.train(2)
    loop.turns(6)
    real.until_ready(2)
    real.until_running(2)
    assert (pool.count, len(ids(real.service, pool))) == (2, 2)
    real.train(1)
    real.until_running(1)
    loop.turns(14)
    assert (pool.count, len(ids(real.service, pool)), len(real.service.account.deleted)) == (1, 1, 1)
    (kept,) = ids(real.service, pool)
    (pod,) = real.api.items(real.pods)
    assert pod["spec"]["nodeName"].endswith(kept[-4:])
