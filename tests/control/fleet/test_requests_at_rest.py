"""How often the loops of one process ask the management cluster while nothing happens, on a clock that the test moves."""

from reconciler.cli.processes.fleet_loop import LOOK_SECONDS, fleet_timing
from reconciler.control.live.other_policies import OtherPolicies
from reconciler.kube.leading.lease import LeaderLease
from reconciler.kube.leading.loop_name import LoopName
from reconciler.kube.leading.rival import RivalWatch
from tests.kube.api_server import FakeApiServer
from tests.kube.leading.test_lease import ManualPace

HOME = "reconciler"
CLUSTERS, STEP_SECONDS, TURN_STEPS, SECONDS = 22, 2.75, 4, 3300
MOST_PER_CLUSTER_AND_SECOND = 0.2


class Loop:
    """What one loop asks by itself: everything else is watched."""

    def __init__(self, server: FakeApiServer, pace: ManualPace, name: str, shared: RivalWatch) -> None:
        loop = LoopName("fleet", name, "c")

        def wall() -> float:
            return 1_800_000_000 + pace.now

        self.lease = LeaderLease(
            server, namespace=HOME, name=loop.lease, identity="one", pace=pace, wall_seconds=wall, timing=fleet_timing(15),
            metadata={"labels": loop.labels},
        )  # fmt: skip
        own = RivalWatch(
            (server,), (name,), monotonic=pace.monotonic, wall_seconds=wall, look_seconds=LOOK_SECONDS, homes=False
        )  # fmt: skip
        self.rivals = (own, shared)
        self.others = OtherPolicies(
            server, HOME, loop, monotonic=pace.monotonic, wall_seconds=wall, look_seconds=LOOK_SECONDS
        )  # fmt: skip

    def turn(self) -> tuple[str, ...]:
        self.others.known()
        return tuple(sentence for one in self.rivals for sentence in one.evidence())


def test_at_rest() -> None:
    """Of all loops together, Leases included."""
    server, pace = FakeApiServer(), ManualPace()
    shared = RivalWatch(
        (server,), (HOME,), monotonic=pace.monotonic, wall_seconds=lambda: 1_800_000_000 + pace.now, look_seconds=LOOK_SECONDS
    )
    loops = [Loop(server, pace, f"cluster-{number}", shared) for number in range(CLUSTERS)]
    steps = round(SECONDS / STEP_SECONDS)
    for step in range(steps):
        pace.now = step * STEP_SECONDS
        for loop in loops:
            assert loop.lease.step()
            if step % TURN_STEPS == 0:
                assert loop.turn() == ()
    asked = len(server.reads) + len(server.sent)
    assert asked / CLUSTERS / SECONDS <= MOST_PER_CLUSTER_AND_SECOND


def test_an_autoscaler_that_comes_and_goes() -> None:
    """It is found by the next look. While it works it is looked for every ten seconds, so that its end is known within 70 s."""
    server, pace = FakeApiServer(), ManualPace()
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cluster-autoscaler"
    watch = RivalWatch(
        (server,), (HOME,), monotonic=pace.monotonic, wall_seconds=lambda: 1_800_000_000 + pace.now, look_seconds=LOOK_SECONDS
    )
    seen = []
    for second in range(0, 1000, 10):
        pace.now = second
        if second <= 600:
            spec = {"holderIdentity": "ca-0", "renewTime": "2027-01-15T08:00:00Z", "leaseDurationSeconds": second}
            server.put(path, {"metadata": {"name": "cluster-autoscaler"}, "spec": spec})
        if watch.evidence():
            seen.append(second)
    assert seen == list(range(0, 660, 10))
