"""Names of loops, and what the Leases of a fleet say to somebody who only reads them."""

import os
import random
import re
from typing import Any

import pytest

from reconciler.kube.connection.api import ApiError
from reconciler.kube.leading.fleet_leases import FleetLeases
from reconciler.kube.leading.lease import LeaderLease, Timing
from reconciler.kube.leading.loop_name import LoopName, cluster_label
from tests.kube.api_server import FakeApiServer

SEED = int(os.environ.get("LOOP_NAMES_SEED", "") or random.randrange(1 << 32))
HOME = "reconciler"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
EAST, WEST = LoopName("fleet", "infra", "east"), LoopName("fleet", "infra", "west")
# SOURCE: Kubernetes' validation of label values and of names (RFC 1123 subdomains).
LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
OBJECT = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def part(chance: random.Random, longest: int, letters: str = "ab0") -> str:
    """A name as Kubernetes takes it, often with few letters, so that names meet."""
    inner = "".join(chance.choice(letters + "-") for _ in range(chance.randrange(longest - 1)))
    return chance.choice(letters) + inner + (chance.choice(letters) if inner else "")


def dotted(chance: random.Random) -> str:
    return ".".join(part(chance, 5) for _ in range(chance.randrange(1, 4)))


def test_names_of_loops_never_meet_and_are_always_valid() -> None:
    """Random policies, namespaces and clusters, with dots, and as long as Kubernetes takes them."""
    print(f"LOOP_NAMES_SEED={SEED}")
    chance = random.Random(SEED)
    texts: dict[str, LoopName] = {}
    labels: dict[str, tuple[str, str]] = {}
    for _ in range(20_000):
        name = LoopName(
            dotted(chance) if chance.random() < 0.5 else part(chance, 40),
            part(chance, chance.choice((3, 63))),
            dotted(chance) if chance.random() < 0.5 else part(chance, chance.choice((3, 200))),
        )
        assert texts.setdefault(name.text, name) == name
        assert labels.setdefault(name.labels["reconciler.dev/cluster"], (name.namespace, name.cluster)) == (
            name.namespace, name.cluster,
        )  # fmt: skip
        assert all(LABEL.fullmatch(value) for value in (name.text, *name.labels.values()))
        assert OBJECT.fullmatch(name.lease)
        assert OBJECT.fullmatch(name.state)


def test_short_names_can_be_read() -> None:
    assert (EAST.lease, EAST.state) == ("reconciler-fleet.infra.east", "reconciler-state-fleet.infra.east")
    assert (LoopName("prod").lease, LoopName("prod").title, LoopName("prod").labels) == ("reconciler-prod", "prod", {})
    assert (EAST.title, cluster_label("infra", "east")) == ("infra/east", "infra.east")


def test_nobody_takes_the_lease_of_another_cluster_by_a_name() -> None:
    """Whoever may create Clusters knows the digest in the name of a long one."""
    victim = LoopName("fleet", "infra", "c" * 80)
    attacker = LoopName("fleet", "infra", victim.text.removeprefix("fleet.infra."))
    assert victim.text.startswith("fleet.infra.ccc")
    assert attacker.text != victim.text
    assert cluster_label("infra", attacker.cluster) != cluster_label("infra", victim.cluster)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def random(self) -> float:
        return 0.5

    def pause(self, seconds: float) -> bool:
        self.now += seconds
        return False


def lease(holder: str, renewed: str, *, lasts: int | None = 15, **labels: str) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "renewTime": renewed, "acquireTime": "2026-11-28T10:00:00.000000Z"}
    if lasts is not None:
        spec["leaseDurationSeconds"] = lasts  # type: ignore[assignment]
    named = {f"reconciler.dev/{key}": value for key, value in labels.items()}
    return {"metadata": {"labels": named}, "spec": spec}


def put(server: FakeApiServer, name: str, item: dict[str, Any]) -> None:
    item["metadata"] |= {"name": name, "namespace": HOME}
    server.put(f"{LEASES}/{name}", item)


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def leases(server: FakeApiServer, clock: Clock) -> FleetLeases:
    return FleetLeases(server, HOME, clock.monotonic, lasts_seconds=15)


def held(holder: str = "a_1", renewed: str = "2026-11-28T12:00:00.000000Z", **more: Any) -> dict[str, Any]:
    return lease(holder, renewed, fleet="loop", cluster="infra.east", policy="fleet", **more)


def test_a_lease_counts_from_when_it_was_seen_to_change(server: FakeApiServer, clock: Clock) -> None:
    """By our own clock: the times in it may be of another year."""
    seen = leases(server, clock)
    put(server, EAST.lease, held(renewed="1999-01-01T00:00:00.000000Z"))
    assert seen.look([EAST, WEST]).holders == {EAST.text: "a_1", WEST.text: ""}
    clock.now += 14.9
    assert seen.look([EAST]).holders == {EAST.text: "a_1"}
    clock.now += 0.1
    looked = seen.look([EAST])
    assert (looked.holders, looked.free_seconds) == ({EAST.text: ""}, {EAST.text: 0.0})
    clock.now += 3
    assert seen.look([EAST]).free_seconds == {EAST.text: 3.0}
    put(server, EAST.lease, held("b_1", renewed="1998-01-01T00:00:00.000000Z"))
    looked = seen.look([EAST])
    assert (looked.holders, looked.free_seconds) == ({EAST.text: "b_1"}, {})


def test_the_duration_of_a_lease_is_its_own(server: FakeApiServer, clock: Clock) -> None:
    """Ours where it says none."""
    seen = leases(server, clock)
    put(server, EAST.lease, held(lasts=60))
    put(server, WEST.lease, held(lasts=None))
    seen.look([EAST, WEST])
    clock.now += 20
    assert seen.look([EAST, WEST]).holders == {EAST.text: "a_1", WEST.text: ""}


def test_a_released_lease_is_free_at_once(server: FakeApiServer, clock: Clock) -> None:
    put(server, EAST.lease, held(""))
    assert leases(server, clock).look([EAST]).holders == {EAST.text: ""}


def test_instances_that_live(server: FakeApiServer, clock: Clock) -> None:
    """With the template that they were made from, and for how long they have been seen."""
    seen = leases(server, clock)
    put(server, "reconciler-instance-a", lease("a_1", "x", fleet="instance", template="v1"))
    put(server, "reconciler-instance-b", lease("", "x", fleet="instance"))
    put(server, EAST.lease, held("c_1"))
    [one] = seen.look([]).instances
    assert (one.identity, one.template, one.started, one.seen_seconds) == ("a_1", "v1", 1_795_860_000, 0.0)
    clock.now += 5
    put(server, "reconciler-instance-a", lease("a_1", "y", fleet="instance", template="v1"))
    assert [one.seen_seconds for one in seen.look([]).instances] == [5.0]
    put(server, "reconciler-instance-a", lease("a_2", "z", fleet="instance", template="v2"))
    assert [(one.identity, one.seen_seconds) for one in seen.look([]).instances] == [("a_2", 0.0)]
    clock.now += 15
    assert seen.look([]).instances == ()


def test_loops_that_there_ever_were(server: FakeApiServer, clock: Clock) -> None:
    """Not those of instances, of other programs, and of policies that count there no more."""
    put(server, EAST.lease, held(""))
    put(server, "reconciler-old.infra.east", lease("", "x", fleet="ended", cluster="infra.east", policy="old"))
    put(server, "reconciler-instance-a", lease("a_1", "x", fleet="instance"))
    put(server, "kube-scheduler", lease("s", "x"))
    assert leases(server, clock).look([]).ever == {("infra.east", "fleet")}


def test_a_refusal_is_raised_and_forgets_nothing(server: FakeApiServer, clock: Clock) -> None:
    """What was not renewed while nobody could look has run out; what was renewed counts from now."""
    seen = leases(server, clock)
    put(server, EAST.lease, held())
    put(server, WEST.lease, held())
    seen.look([EAST, WEST])
    server.forbidden.add(LEASES)
    with pytest.raises(ApiError):
        seen.look([EAST, WEST])
    clock.now += 100
    server.forbidden.clear()
    put(server, WEST.lease, held(renewed="2026-11-28T12:01:00.000000Z"))
    assert seen.look([EAST, WEST]).holders == {EAST.text: "", WEST.text: "a_1"}


def test_a_claim_need_not_wait_again(server: FakeApiServer, clock: Clock) -> None:
    """It is told for how long the Lease was seen unchanged. Without that, it would wait for another Lease's duration."""

    def claim() -> LeaderLease:
        return LeaderLease(
            server, namespace=HOME, name=EAST.lease, identity="b_1", pace=clock,  # type: ignore[arg-type]
            wall_seconds=lambda: 0.0, timing=Timing(),
        )  # fmt: skip

    seen = leases(server, clock)
    put(server, EAST.lease, held())
    seen.look([EAST])
    clock.now += 15
    assert not claim().step()
    told = claim()
    seen.tell(EAST.lease, told)
    assert told.step()


def test_what_a_claim_was_told_does_not_hide_a_renewal(server: FakeApiServer, clock: Clock) -> None:
    """Somebody renews between the look and the claim: the claim waits."""
    seen = leases(server, clock)
    put(server, EAST.lease, held())
    seen.look([EAST])
    clock.now += 15
    put(server, EAST.lease, held(renewed="2026-11-28T12:00:30.000000Z"))
    late = LeaderLease(
        server, namespace=HOME, name=EAST.lease, identity="b_1", pace=clock,  # type: ignore[arg-type]
        wall_seconds=lambda: 0.0, timing=Timing(),
    )  # fmt: skip
    seen.tell(EAST.lease, late)
    seen.tell("reconciler-unknown", late)
    assert not late.step()
    assert late.holder == "a_1"


def test_new_labels_are_written_when_the_lease_is_released(server: FakeApiServer, clock: Clock) -> None:
    one = LeaderLease(
        server, namespace=HOME, name=EAST.lease, identity="a_1", pace=clock,  # type: ignore[arg-type]
        wall_seconds=lambda: 0.0, timing=Timing(), metadata={"labels": EAST.labels},
    )  # fmt: skip
    assert one.step()
    assert server.objects[f"{LEASES}/{EAST.lease}"]["metadata"]["labels"]["reconciler.dev/fleet"] == "loop"
    one.relabel({**EAST.labels, "reconciler.dev/fleet": "ended"})
    one.release()
    item = server.objects[f"{LEASES}/{EAST.lease}"]
    assert (item["metadata"]["labels"]["reconciler.dev/fleet"], item["spec"]["holderIdentity"]) == ("ended", "")
