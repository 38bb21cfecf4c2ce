"""The loop on our own server: bought, joined, removed, settled; out of stock; ends of the process; a second writer."""

from reconciler.kube.leading.rival import RivalWatch
from reconciler.plan.plan import OwnerState
from tests.crusoe.documents import TYPE
from tests.crusoe.loops import HEAD, Loop, autoscaler, group_text, pending, running
from tests.crusoe.service.server import Service
from tests.crusoe.writes import ids
from tests.kube.leading.test_rival import Server

POLICY = HEAD + group_text()
TIERS = HEAD + group_text("h100") + group_text("more", "open")


def test_bought_joined_removed_settled(service: Service) -> None:
    """Machines of the pool join by their ids; when the pods are gone exactly they go, drained, and it settles."""
    pool, loop = service.account.add(), Loop(service, POLICY)
    loop.cluster.pods = pending(2)
    loop.turn()
    assert pool.count == 2
    loop.turns(6)
    bought = ids(service, pool)
    assert (pool.count, len(bought)) == (2, 2)
    loop.cluster.pods = [running(f"train-{number}", name) for number, name in enumerate(bought)]
    assert loop.turns(3).results == ()
    loop.cluster.pods = []
    loop.turns(12)
    assert (pool.count, sorted(service.account.deleted)) == (0, sorted(bought))
    assert {f"n-{name[-4:]}" for name in bought} <= set(loop.cluster.drained)
    writes = service.count("PATCH"), service.count("DELETE")
    assert loop.turns(3).results == ()
    assert (service.count("PATCH"), service.count("DELETE")) == writes


def test_stock_out_and_the_next_tier(service: Service) -> None:
    """The reservation gives one of two: what did not come is taken back, and the tier below takes over."""
    service.account.reservations["r1"] = 9
    service.account.used_by_others["r1"] = 7
    pool, more = service.account.add(reservation="r1"), service.account.add("more")
    loop = Loop(service, TIERS)
    loop.cluster.pods = pending(2)
    # Others take what was free a moment ago, between the look and the write.
    service.account.before.append(lambda method, _: service.account.used_by_others.update(r1=8) if method == "PATCH" else None)
    loop.turn()
    assert pool.count == 2
    loop.turns(4)
    assert (pool.count, more.count) == (2, 1)
    loop.turns(6)
    assert (pool.count, more.count, len(service.account.machines), service.account.deleted) == (1, 1, 2, [])


def test_a_machine_that_never_comes_is_not_left_over(service: Service) -> None:
    """The count is lowered for it, its deletion is refused, and the process ends: the next one ends with neither."""
    service.account.creates_after = 100_000
    home = ids(service, service.account.add("home", count=1))[0]  # its node tells which cluster this is
    pool, loop = (
        service.account.add(),
        Loop(service, POLICY.replace("    size:", "    scaleUp: {maxNodeProvisionTime: 60s}\n    size:")),
    )
    loop.cluster.pods = [running("there", home), *pending(1)]
    loop.turn()
    loop.cluster.pods = []
    service.account.faults.append(("DELETE", "", (500, {"code": "internal_error", "message": "try later"}, {})))
    for _ in range(12):
        loop.turn()
        if service.count("DELETE"):
            break
    assert (pool.count, len(service.account.counted(pool))) == (0, 1)
    loop.restart()
    loop.turns(12)
    assert (pool.count, service.account.counted(pool), service.count("DELETE")) == (0, [], 2)


def test_a_pool_of_another_cluster(service: Service) -> None:
    """Its machines have long been there, and are nodes over there: held, and none of them is taken back."""
    pool, loop = service.account.add(count=2), Loop(service, POLICY)
    made = loop.cluster._nodes
    theirs = {f"n-{name[-4:]}" for name in ids(service, pool)}
    loop.cluster._nodes = lambda: [one for one in made() if one["metadata"]["name"] not in theirs]  # type: ignore[method-assign]
    loop.cluster.pods = pending(1)
    for _ in range(20):
        report = loop.turn(60)
    assert (pool.count, service.account.deleted) == (2, [])
    assert report.plan is not None
    assert report.plan.groups[0].held
    assert "NeverJoined" in {reason.code for reason in report.plan.groups[0].reasons}


def test_a_reservation_is_never_passed(service: Service) -> None:
    """Two pools of one reservation, one machine of others in it: never more than there is room for, whatever is asked."""
    service.account.reservations["r1"], service.account.used_by_others["r1"] = 4, 1
    pools = [service.account.add(name, reservation="r1") for name in ("h100", "more")]
    loop = Loop(service, TIERS)
    loop.cluster.pods = pending(9)
    for _ in range(8):
        loop.turn()
        assert sum(pool.count for pool in pools) <= 3
    assert sum(pool.count for pool in pools) == 3
    assert not service.account.deleted


def test_what_is_left_in_stock(service: Service) -> None:
    """Without reservations it is stock that bounds, and what is asked for already counts."""
    service.account.stock[TYPE] = 2
    pool, loop = service.account.add(), Loop(service, POLICY)
    loop.cluster.pods = pending(5)
    loop.turns(6)
    assert (pool.count, len(ids(service, pool))) == (2, 2)


def test_a_process_that_ends_in_every_turn(service: Service) -> None:
    """Nothing is bought twice, nobody's machine is lost, and removals come to their end."""
    pool, loop = service.account.add(), Loop(service, POLICY)
    loop.cluster.pods = pending(2)
    for _ in range(8):
        loop.turn()
        loop.restart()
    assert (pool.count, len(ids(service, pool)), service.account.deleted) == (2, 2, [])
    bought = ids(service, pool)
    loop.cluster.pods = [running("train-0", bought[0])]
    for _ in range(10):
        loop.turn()
        loop.restart()
    assert (pool.count, ids(service, pool), service.account.deleted) == (1, bought[:1], bought[1:])


def test_a_platform_that_takes_its_time(service: Service) -> None:
    """Between the lower count and the deletion lie turns: the machine is none that the count speaks of, so that nothing is raised
    to the minimum for it; and a process that ends in between is continued."""
    for restarts in (False, True):
        service.reset()
        service.account.operation_seconds = 35
        pool, loop = service.account.add(count=2), Loop(service, HEAD + group_text(more=", size: {min: 1}"))
        kept, victim = ids(service, pool)
        loop.cluster.pods = [running("train-0", kept)]
        for _ in range(12):
            loop.turn()
            if restarts:
                loop.restart()
        assert (pool.count, ids(service, pool), service.account.deleted) == (1, [kept], [victim])
        assert (service.count("PATCH"), service.count("DELETE")) == (1, 1)


def test_the_autoscaler_of_the_platform_holds() -> None:
    """Its Deployment in its own namespace is evidence; one without replicas is none."""

    def evidence(replicas: int) -> tuple[str, ...]:
        server = Server()
        runs: dict[str, object] = {"spec": {"containers": [{"image": "registry.example.org/cluster-autoscaler:v1"}]}}
        found: dict[str, object] = {"metadata": {"name": "cluster-autoscaler"}, "spec": {"replicas": replicas, "template": runs}}
        server.put(f"/apis/apps/v1/namespaces/crusoe-system/deployments/{found['metadata']['name']}", found)
        return RivalWatch((server,), (), monotonic=lambda: 0.0, wall_seconds=lambda: 0.0).evidence()

    assert evidence(1) == ("Deployment crusoe-system/cluster-autoscaler has 1 replica",)
    assert evidence(0) == ()


def test_a_second_writer(service: Service) -> None:
    """Every write is undone: after the third nothing is written, and the plan names the Deployment and the pods. Each is judged
    a minute later, when reads cannot be older."""
    pool, loop = service.account.add(count=1), Loop(service, POLICY)
    first = ids(service, pool)[0]
    loop.cluster.others = [autoscaler()]
    loop.cluster.pods = [running("there", first), *pending(1)]
    service.account.replaces_after = 10_000
    for _ in range(25):
        report = loop.turn()
        pool.count = 1
    assert report.plan is not None
    (line,) = report.plan.groups
    assert (line.owner.state, line.owner.by) == (OwnerState.HELD, "a second writer")
    told = next(reason.message for reason in line.reasons if reason.code == "Conflict")
    assert "Deployment crusoe-system/cluster-autoscaler" in told
    assert "shop/train-0" in told
    written = service.count("PATCH")
    assert written == 3
    loop.turns(3)
    assert service.count("PATCH") == written


def test_nothing_of_crusoe_in_the_policy(service: Service) -> None:
    """Nothing is asked and nothing waited for."""
    loop = Loop(service, HEAD)
    loop.cluster.poll.ask()
    assert (loop.cluster.poll.states(), loop.cluster.poll.documents(), service.account.calls) == ((), (), [])


def test_what_is_asked(service: Service) -> None:
    """Of 3 pools at rest, one hour: a list of pools, one of AutoClusters and one of machines a pool every 30 s, stock every
    minute, what hardly changes twice. What may not be read is told, and the rest goes on."""
    for name in ("a", "b", "c"):
        service.account.add(name, count=1)
    service.account.rights["tEsTaCcEsSkEy"] = ("nodepools", "clusters", "autocluster-operations", "capacities", "types")
    loop = Loop(service, POLICY)
    for _ in range(120):
        loop.cluster.seconds += 30
        loop.cluster.poll.ask()
    assert sum(path.endswith("/vms") for _, path in service.account.calls) == 3 * 120
    assert service.count("GET", "capacities") == 60
    assert service.count("GET", "reservations") == 60
    assert len(service.account.calls) <= 120 * 5 + 60 * 2 + 8
    assert any("reservations" in problem or "CrusoeReservation" in problem for problem in loop.cluster.poll.problems)
    assert loop.cluster.poll.states()[0].phase == "Synced"


def test_before_the_first_answer(service: Service) -> None:
    """There is no view to trust, and why is said."""
    service.account.rights["tEsTaCcEsSkEy"] = ()
    loop = Loop(service, POLICY)
    loop.cluster.poll.ask()
    (state,) = loop.cluster.poll.states()
    assert (state.phase, "not authorized" in state.message) == ("Waiting", True)
