"""How long nodes take is learned from requests, recovered from known distributions, and never acts beyond the policy.

Expected values are those of the distributions that the requests are drawn from, of the binomial distribution, and sums by hand.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random

import msgspec
import pytest

from reconciler.decisions.memory import LastWrite, LeadTime, LeadTimes, Memory
from reconciler.decisions.situation.lead_times import expectation, learned, overdue_after_seconds, with_requests
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.policy.documents import PolicySet, ScaleUp
from reconciler.policy.values.label_selector import Selector
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

REF = machine_deployment("a")
TARGET = str(REF)
MOST = 900  # maxNodeProvisionTime and maxNodeStartupTime are 15 minutes unless told otherwise
HOUR = 3600


class Group:
    """A group `a` through time. Machines and nodes come and go as told; every `look` is one decision's view of it."""

    def __init__(self, most_seconds: int = MOST) -> None:
        self.now = NOW
        self.machines: dict[str, tuple[int, str]] = {}
        self.nodes: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.replicas = 0
        self.memory = Memory()
        scale_up = ScaleUp(max_node_provision_time_seconds=most_seconds)
        self.rules: PolicySet = policy(node_group("a", min=0, max=999, scale_up=scale_up))

    def ask(self, name: str) -> None:
        """One more replica, and its machine, which is seen at once."""
        self.machines[name], self.replicas = (self.now, ""), self.replicas + 1
        self.look()

    def joins(self, name: str, *taints: str) -> None:
        self.nodes[name] = (self.now, taints)

    def fails(self, name: str) -> None:
        self.machines[name] = (self.machines[name][0], "no such image")

    def goes(self, name: str) -> None:
        """Machine, node and replica at once, as a removal that has ended."""
        del self.machines[name]
        self.nodes.pop(name, None)
        self.replicas -= 1

    def look(self, after_seconds: int = 0) -> View:
        self.now += after_seconds
        cluster = ClusterBuilder(self.now)
        cluster.target("a", self.replicas)
        for name, (created, taints) in self.nodes.items():
            cluster.node(name, created=created, taints=taints)
        for name, (created, failed) in self.machines.items():
            cluster.machine(name, REF, created=created, failed=failed, node=name if name in self.nodes else "")
        view = View.of(cluster.world(), self.rules, self.memory, self.now, Work(0))
        self.memory = view.memory
        return view

    def grows(self, name: str, seconds: int) -> None:
        """A node that is there after so many seconds, and gone an hour later."""
        self.ask(name)
        self.look(1)
        self.now += seconds - 1
        self.joins(name)
        self.look()
        self.goes(name)
        self.look(HOUR)

    @property
    def requests(self) -> list[tuple[int, int]]:
        times = self.memory.lead_times.get(TARGET, LeadTimes())
        return [(one.joined_seconds, one.usable_seconds) for one in times.requests]

    @property
    def under_way(self) -> dict[str, int]:
        return dict(self.memory.lead_times.get(TARGET, LeadTimes()).under_way)


def _told(took: Sequence[int], apart_seconds: int = HOUR) -> LeadTimes:
    """Requests one after the other, each of a growth of its own; a negative number is a late one."""
    ended = [LeadTime(NOW + number * apart_seconds, seconds, seconds) for number, seconds in enumerate(took)]
    return with_requests(LeadTimes(), ended)


# What counts as a request, and when it ends.


def test_a_request_ends_when_pods_can_use_its_node() -> None:
    """Asked for at 0, a node at 60 with the taint that its platform takes off, usable when that is gone: at 100."""
    group = Group()
    group.ask("one")
    group.look(10)
    assert (group.under_way, group.requests) == ({"one": NOW}, [])
    group.now = NOW + 60
    group.joins("one", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule")
    group.look(20)
    assert (group.under_way, group.requests) == ({"one": NOW}, [])
    group.nodes["one"] = (NOW + 60, ())
    group.look(20)
    assert (group.under_way, group.requests) == ({}, [(60, 100)])
    group.look(20)
    assert group.requests == [(60, 100)]


def test_a_node_that_came_between_two_decisions_counts() -> None:
    """The group was seen before, and the machine is newer than all that it had. Nodes that are there at first sight do not."""
    group = Group()
    group.ask("old")
    group.joins("old")
    group.look()
    assert group.requests == []
    group.now += 100
    group.ask("fast")
    group.now += 30
    group.joins("fast")
    group.look(5)
    assert (group.under_way, group.requests) == ({}, [(30, 35)])


def test_the_time_before_there_is_a_machine_counts() -> None:
    """One replica more at 0, its machine only at 40, the node at 100."""
    group = Group()
    group.replicas = 1
    group.look()
    group.now = NOW + 40
    group.machines["one"] = (group.now, "")
    group.look(1)
    group.now = NOW + 100
    group.joins("one")
    group.look()
    assert group.requests == [(100, 100)]


@pytest.mark.parametrize(("replicas", "after", "took"), [(1, 20, 100), (1, 60, 140), (1, 61, 80), (2, 20, 80)])
def test_our_write_begins_a_request(replicas: int, after: int, took: int) -> None:
    """One replica was written at 0, the machine followed, and its node 80 s later. A machine that comes later than a minute after
    the write, or for another size, counts by itself."""
    group = Group()
    group.memory = Memory(last_writes={TARGET: LastWrite(replicas=replicas, written_seconds=NOW)})
    group.now = NOW + after
    group.ask("one")
    group.look(1)
    group.now = NOW + after + 80
    group.joins("one")
    group.look()
    assert group.requests == [(took, took)]


def test_failures_of_a_target_whose_machines_nobody_sees_teach_nothing() -> None:
    """Its nodes come without machines: only what fails would show."""
    group = Group()
    group.rules = policy(node_group("a", max=9, nodes=Selector(match_labels=(("pool", "a"),))))
    cluster = ClusterBuilder(NOW)
    cluster.target("a", 3)
    cluster.node("one", labels={"pool": "a"})
    for now in (NOW, NOW + MOST):
        view = View.of(cluster.world(), group.rules, group.memory, now, Work(0))
        group.memory = view.memory
    assert len(view.situations[0].failed) == 2
    assert group.requests == []


@pytest.mark.parametrize("how", ["says that it failed", "is late", "never had a machine"])
def test_failures_count_once_as_longer_than_the_limit(how: str) -> None:
    """Nobody cancels it here; ten more decisions see it again."""
    group = Group()
    if how == "never had a machine":
        group.replicas = 1
    else:
        group.ask("one")
    group.look(1)
    if how == "says that it failed":
        group.fails("one")
    for _ in range(10):
        group.look(1000)
    assert group.requests == [(-MOST, -MOST)]
    assert learned(group.memory.lead_times[TARGET]).median_seconds is None


def test_a_node_that_never_gets_ready_to_use_is_late() -> None:
    """It joined after 60 s; 900 s later (`maxNodeStartupTime`) it has its startup taint still."""
    group = Group()
    group.ask("one")
    group.look(1)
    group.now = NOW + 60
    group.joins("one", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule")
    group.look(899)
    assert group.requests == []
    group.look(1)
    assert group.requests == [(60, -960)]


def test_machines_that_somebody_takes_away_in_time_teach_nothing() -> None:
    group = Group()
    group.ask("one")
    group.look(100)
    group.goes("one")
    group.look(1)
    assert (group.under_way, group.requests) == ({}, [])


def test_a_node_older_than_its_machine_teaches_nothing() -> None:
    """`clusterctl move` makes new Machine objects for nodes that are there."""
    group = Group()
    group.ask("one")
    group.look()
    group.now = NOW + 50
    group.nodes["one"] = (NOW - 10_000, ())
    group.look()
    assert (group.under_way, group.requests) == ({}, [])


def test_a_loop_that_did_not_look_learns_nothing_of_that_time() -> None:
    """The node was there after a minute; when it was usable, nobody saw."""
    group = Group()
    group.ask("one")
    group.look(1)
    group.now += 60
    group.joins("one")
    group.look(8 * HOUR)
    assert (group.under_way, group.requests) == ({}, [])


def test_what_was_learned_goes_with_its_group_and_stays_while_nothing_can_be_read() -> None:
    group = Group()
    group.grows("one", 60)
    world = ClusterBuilder(group.now).world()
    kept = View.of(world, group.rules, group.memory, group.now, Work(0)).memory
    assert kept.lead_times == group.memory.lead_times
    assert View.of(world, policy(), group.memory, group.now, Work(0)).memory.lead_times == group.memory.lead_times
    other = policy(node_group("b"))
    assert View.of(world, other, group.memory, group.now, Work(0)).memory.lead_times == {}


def test_a_steady_state_changes_nothing_to_be_stored() -> None:
    """A memory that differs is written to the API server."""
    group = Group()
    group.ask("one")
    group.joins("one")
    group.look()
    before = group.memory
    group.look(HOUR)
    assert group.memory == before


# Percentiles.


def _lognormal(median: float, sigma: float) -> tuple[Callable[[Random], float], Callable[[float], float]]:
    def share(seconds: float) -> float:
        return 0.5 * (1 + math.erf(math.log(seconds / median) / sigma / math.sqrt(2)))

    return lambda random: median * math.exp(random.gauss(0, sigma)), share


def _uniform(least: float, most: float) -> tuple[Callable[[Random], float], Callable[[float], float]]:
    return lambda random: random.uniform(least, most), lambda seconds: min(1.0, max(0.0, (seconds - least) / (most - least)))


def _bimodal() -> tuple[Callable[[Random], float], Callable[[float], float]]:
    """Warm images in four of five cases, cold ones in the others."""
    warm, cold = _lognormal(60, 0.1), _lognormal(400, 0.1)
    return (
        lambda random: (warm if random.random() < 0.8 else cold)[0](random),
        lambda seconds: 0.8 * warm[1](seconds) + 0.2 * cold[1](seconds),
    )


KNOWN = {"lognormal": _lognormal(180, 0.3), "uniform": _uniform(60, 600), "bimodal": _bimodal()}
SEEDS = range(40)
REQUESTS = 60


def _binomial_tail(count: int, least: int, share: float) -> float:
    """That at least so many of `count` are within a share of a distribution."""
    return sum(math.comb(count, hits) * share**hits * (1 - share) ** (count - hits) for hits in range(least, count + 1))


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize(("percent", "rank"), [(50, 30), (95, 57)])
def test_percentiles_are_those_of_the_distribution(name: str, percent: int, rank: int) -> None:
    """The share of the distribution below the k-th smallest of n has the law of a Beta(k, n + 1 - k): each is within its central
    99.98 %, and the mean of all seeds within four standard errors. A second more or less is what rounding adds."""
    draw, share = KNOWN[name]
    shares = []
    for seed in SEEDS:
        random = Random(seed)
        times = LeadTimes(requests=tuple(LeadTime(0, took, took) for took in (round(draw(random)) for _ in range(REQUESTS))))
        found = learned(times)
        assert found is not None
        seconds = found.median_seconds if percent == 50 else found.p95_seconds
        assert seconds is not None
        assert _binomial_tail(REQUESTS, rank, share(seconds + 1)) > 1e-4
        assert _binomial_tail(REQUESTS, rank, share(seconds - 1)) < 1 - 1e-4
        shares.append(share(seconds))
    mean = rank / (REQUESTS + 1)
    error = math.sqrt(mean * (1 - mean) / (REQUESTS + 2) / len(SEEDS))
    assert abs(sum(shares) / len(shares) - mean) < 4 * error + 0.01


@pytest.mark.parametrize("seed", range(3))
def test_decisions_see_what_was_drawn(seed: int) -> None:
    """Sixty growths, each seen by three decisions: the memory has the drawn numbers in order, to the second."""
    draw, random = KNOWN["uniform"][0], Random(seed)
    drawn = [round(draw(random)) for _ in range(REQUESTS)]
    group = Group()
    for number, seconds in enumerate(drawn):
        group.grows(f"n{number}", seconds)
    assert group.requests == [(seconds, seconds) for seconds in drawn]


def test_the_oldest_of_more_than_sixty_are_given_up() -> None:
    """Of 65 that go up and down by turns, the last 60."""
    took = [100 + number * 7 % 13 for number in range(65)]
    assert [one.usable_seconds for one in _told(took).requests] == took[5:]


@pytest.mark.parametrize(
    ("took", "median", "p95", "late"),
    [
        ([100], 100, 100, 0),
        ([100, 200], 100, 200, 0),
        ([*range(1, 21)], 10, 19, 0),  # ranks 10 and 19 of 20
        ([*range(1, 20), -MOST], 10, 19, 1),
        ([*range(1, 19), -MOST, -MOST], 10, None, 2),
        ([60, -MOST], 60, None, 1),
        ([60, -MOST, -MOST], None, None, 2),
    ],
)
def test_ranks(took: list[int], median: int | None, p95: int | None, late: int) -> None:
    """Nearest rank: the smallest of which at least so many percent are no larger. Late ones are the largest."""
    found = learned(LeadTimes(requests=tuple(LeadTime(0, seconds, seconds) for seconds in took)))
    assert found is not None
    assert (found.requests, found.median_seconds, found.p95_seconds, found.late) == (len(took), median, p95, late)


@pytest.mark.parametrize(
    ("took", "expected"),
    [
        ([100] * 4, None),
        ([-MOST] * 9, None),
        ([10, 20, 30, 40, 50], (50, 5, 5)),
        ([*range(10, 210, 10)], (190, 19, 20)),
        ([10, 20, 30, 40, -MOST], (40, 4, 5)),
    ],
)
def test_expectation(took: list[int], expected: tuple[int, int, int] | None) -> None:
    """By when, and how many of how many came by then."""
    found = expectation(LeadTimes(requests=tuple(LeadTime(0, seconds, seconds) for seconds in took)))
    assert expected == (None if found is None else (found.within_seconds, found.came, found.requests))


def test_nothing_is_known_of_a_new_group() -> None:
    assert (learned(None), learned(LeadTimes()), expectation(None)) == (None, None, None)
    assert overdue_after_seconds(None, MOST) == MOST


# A lasting change.


def _fed(draws: Iterator[float], times: LeadTimes, begin_seconds: int = 0) -> Iterator[LeadTimes]:
    for number, seconds in enumerate(draws):
        took = max(1, round(seconds))
        times = with_requests(times, [LeadTime(NOW + begin_seconds + number * HOUR, took, took)])
        yield times


@pytest.mark.parametrize("name", KNOWN)
def test_no_change_is_found_where_there_is_none(name: str) -> None:
    """At most once in 1,000 requests: 10 seeds of 1,000 each find 10 at most."""
    draw, found = KNOWN[name][0], 0
    for seed in range(10):
        random, kept = Random(seed), 0
        for times in _fed((draw(random) for _ in range(1000)), LeadTimes()):
            found += len(times.requests) < min(kept + 1, REQUESTS)
            kept = len(times.requests)
    assert found <= 10


@pytest.mark.parametrize(("before", "within"), [(60, 15), (20, 20)])
@pytest.mark.parametrize("factor", [0.5, 2, 4])
def test_a_change_by_the_factor_two_is_found(before: int, within: int, factor: float) -> None:
    """In 95 of 100 seeds: within 15 growths if as many are kept as there can be, within 20 if there were 20. The old ones go."""
    draw, _ = KNOWN["lognormal"]
    late = 0
    for seed in range(100):
        random = Random(seed)
        *_, times = _fed((draw(random) for _ in range(before)), LeadTimes())
        changed = (draw(random) * factor for _ in range(within))
        late += min(len(entry.requests) for entry in _fed(changed, times, before * HOUR)) > within + 5
    assert late <= 5


def test_the_median_follows_a_change() -> None:
    """60 s for long, then 240 s: twenty growths later nothing is left of the 60 s."""
    random = Random(1)
    times = _told([random.randint(50, 70) for _ in range(60)])
    *_, times = _fed((random.uniform(220, 260) for _ in range(20)), times, 60 * HOUR)
    found = learned(times)
    assert found is not None
    assert 220 <= (found.median_seconds or 0) <= 260
    assert all(one.usable_seconds > 200 for one in times.requests)


def test_failures_that_last_are_a_change() -> None:
    """All failed for fifteen requests: what was fast before is of the past."""
    times = _told([*range(50, 110), *[-MOST] * 15])
    found = learned(times)
    assert found is not None
    assert found.median_seconds is None


@pytest.mark.parametrize(("growths", "changed"), [(1, False), (3, False), (10, True)])
def test_one_slow_growth_is_no_change(growths: int, changed: bool) -> None:
    """Nodes of one growth are slow together, for one cause: thirty of them prove no more than one. Those of ten growths do."""
    times = _told([100 + number % 7 for number in range(30)])
    slow = [LeadTime(NOW + (100 + number % growths) * HOUR + number, 400, 400 + number) for number in range(30)]
    after = with_requests(times, slow).requests
    assert ({one.joined_seconds for one in after} == {400}) is changed
    assert (len(after) == 60) is not changed


# What it decides.


@pytest.mark.parametrize(
    ("took", "most", "overdue"),
    [
        ([400] * 19, MOST, MOST),  # too few requests
        ([400] * 20, MOST, 600),
        ([*[300] * 19, 400], MOST, 600),  # one and a half times the slowest
        ([60] * 20, MOST, 300),  # never before five minutes
        ([60] * 20, 120, 120),  # never after the policy
        ([800] * 20, MOST, MOST),
        ([*[400] * 19, -MOST], MOST, 600),  # one of 20 failed
        ([*[400] * 18, -MOST, -MOST], MOST, MOST),  # two of 20
        ([-MOST] * 30, MOST, MOST),
    ],
)
def test_when_a_request_is_overdue(took: list[int], most: int, overdue: int) -> None:
    times = LeadTimes(requests=tuple(LeadTime(0, seconds, seconds) for seconds in took))
    assert overdue_after_seconds(times, most) == overdue


def test_a_machine_is_overdue_after_what_was_learned() -> None:
    """Twenty nodes came within 240 s, so the next one has 360 s; at 359 s it is expected still. It came late: it is one of the
    last 21 now, and the next has 600 s."""
    group = Group()
    for number in range(20):
        group.grows(f"n{number}", 240 - number)
    group.ask("slow")
    assert group.look(359).situations[0].failed == ()
    assert group.look(1).situations[0].failed == (("slow", "no node within 6m, learned from 20 requests. The policy allows 15m"),)
    group.now += 40
    group.joins("slow")
    group.look()
    assert group.requests[-1] == (400, 400)
    assert overdue_after_seconds(group.memory.lead_times[TARGET], MOST) == 600


def test_what_is_cancelled_because_it_is_overdue_did_not_come() -> None:
    """Else only fast ones would be learned from. Two of 22 are too many: the policy decides again."""
    group = Group()
    for number in range(20):
        group.grows(f"n{number}", 240 - number)
    for name in ("slow", "too"):
        group.ask(name)
        group.look(1)
        group.look(360)
        group.goes(name)
        group.look(1)
    assert group.requests[-2:] == [(-360, -360), (-360, -360)]
    assert overdue_after_seconds(group.memory.lead_times[TARGET], MOST) == MOST


@pytest.mark.parametrize("seed", range(12))
def test_nothing_learned_acts_beyond_the_policy(seed: int) -> None:
    """Random histories of growths, failures, late nodes and lasting changes. At every decision, a request that does not say so
    itself counts as failed once it has the policy's age. It never does before five minutes, nor before one and a half times the
    slowest that is remembered."""
    random = Random(seed)
    most = random.choice((120, 300, 600, 900, 3600))
    group, median = Group(most), random.choice((20, 90, 400))
    for number in range(70):
        if random.random() < 0.05:
            median = random.choice((20, 90, 400, 800))
        names = [f"n{number}-{one}" for one in range(random.choice((1, 1, 1, 4)))]
        for name in names:
            group.ask(name)
        asked = group.now
        joins = {name: asked + max(1, round(random.lognormvariate(math.log(median), 0.4))) for name in names}
        for _ in range(random.randint(3, 8)):
            group.now += random.randint(1, max(2, median))
            for name in [one for one in names if one not in group.nodes]:
                if joins[name] <= group.now and not group.machines[name][1]:
                    group.nodes[name] = (joins[name], ())
                elif random.random() < 0.02:
                    group.fails(name)
            before = group.memory.lead_times.get(TARGET, LeadTimes())
            slowest = max((one.joined_seconds for one in before.requests), default=0)
            view = group.look()
            age = group.now - asked
            late = {name for name, why in view.situations[0].failed if why.startswith("no node within")}
            waiting = {name for name in names if name not in group.nodes and not group.machines[name][1]}
            if age >= most:
                assert late == waiting
            if age < min(most, 300) or age < min(most, slowest * 1.5):
                assert late == set()
        for name in names:
            group.goes(name)
        group.look(random.randint(1, HOUR))


# The same history gives the same bytes.


def test_the_same_history_gives_the_same_bytes_in_any_order() -> None:
    """Four machines of each growth in either order, read back from their bytes after each decision."""
    stored = []
    for turned in (False, True):
        random, group = Random(7), Group()
        for number in range(30):
            names = sorted((f"n{number}-{one}" for one in range(4)), reverse=turned)
            took = {name: random.randint(30, 200) for name in sorted(names)}
            for name in names:
                group.ask(name)
            group.look(1)
            asked = group.now - 1
            for name in names:
                group.nodes[name] = (asked + took[name], ())
            group.look(200)
            for name in names:
                group.goes(name)
            group.look(HOUR)
            content = msgspec.json.encode(group.memory, order="sorted")
            group.memory = msgspec.json.decode(content, type=Memory)
        stored.append(content)
    assert stored[0] == stored[1]
    assert len(msgspec.json.encode(group.memory.lead_times)) < 2000
