"""Instances over one API server in memory: who takes which loop, and that nobody writes without its Lease."""

import io
import random
import threading
import time

import msgspec
import pytest

from reconciler.control.fleet import fleet_process
from reconciler.control.fleet.shown_fleet import FleetShown
from reconciler.kube.connection.api import ApiError
from tests.control.fleet_doubles import LEASES, TIMING, Fleet, Tree, cluster_path, fleet
from tests.kube.cluster import eventually

SECONDS = 30.0


@pytest.fixture
def text() -> io.StringIO:
    return io.StringIO()


def held(made: Fleet, *clusters: str, policy: str = "fleet") -> bool:
    """Whether each of the clusters has a holder that lives, and no other one has any."""
    alive = {one.identity for one in made.instances if not one.api.killed}
    found = {key for key, holder in made.holders().items() if holder in alive}
    return found == {f"infra.{name} {policy}" for name in clusters}


def test_clusters_come_and_go(text: io.StringIO) -> None:
    """Each is taken by the only instance, a new one soon, and the Lease of one that is gone is released."""
    with fleet(text, "east", "west") as made:
        one = made.start("a")
        eventually(lambda: held(made, "east", "west"), "two loops", SECONDS)
        made.add("north")
        eventually(lambda: held(made, "east", "west", "north"), "a third", SECONDS)
        made.server.remove(cluster_path("east"))
        eventually(lambda: held(made, "west", "north"), "the end of the first", SECONDS)
        [gone] = [process for process in one.made if process.name.cluster == "east"]
        assert gone.said == ["start", "stop False", "ended"]
        assert made.wrong == []


def test_one_cluster_that_cannot_be_reached_delays_no_other(text: io.StringIO) -> None:
    """Its loop is held, and says why; a defect of it ends nothing either."""
    with fleet(text, "east", "west", "north") as made:
        one = made.start("a")
        one.refused = {"east": ApiError(401, "Unauthorized", "who are you"), "north": RuntimeError("a defect")}
        eventually(lambda: any(process.turns for process in one.made), "a turn", SECONDS)
        eventually(lambda: len([line for line in one.process.standings() if line.problem]) == 2, "two problems", SECONDS)
        problems = {line.cluster.name: line.problem for line in one.process.standings()}
        assert problems["west"] == ""
        assert "who are you" in problems["east"]
        assert problems["north"] == "RuntimeError: a defect"


def test_instances_die_and_nobody_writes_without_the_lease(text: io.StringIO) -> None:
    """Three share twelve clusters over a slow server. Two are killed at random times: their loops go on elsewhere."""
    names = [f"c{number:02d}" for number in range(12)]
    chance = random.Random()
    with fleet(text, *names) as made:
        for name in "abc":
            made.start(name)
            made.instances[-1].api.delay = lambda _: chance.random() * 0.02
        eventually(lambda: held(made, *names), "all", SECONDS)
        for _ in range(2):
            victim = chance.choice([one for one in made.instances if not one.api.killed])
            time.sleep(chance.random() / 2)
            victim.kill()
            eventually(lambda: held(made, *names), "all again", SECONDS)
        assert made.writes > len(names)
        assert made.wrong == []


def test_an_instance_that_comes_gets_its_share(text: io.StringIO) -> None:
    """One after the other is handed over, and each has one writer at any moment. One that ends gives all back at once."""
    names = [f"c{number}" for number in range(6)]
    with fleet(text, *names) as made:
        first = made.start("a")
        eventually(lambda: held(made, *names), "all", SECONDS)
        second = made.start("b")
        eventually(lambda: list(made.holders().values()).count("b_1") == 3, "its half", SECONDS)
        given = [process for process in first.made if "stop True" in process.said]
        assert len(given) == 3
        second.end()
        made.instances.remove(second)
        eventually(lambda: list(made.holders().values()).count("a_1") == 6, "all again", SECONDS)
        assert made.wrong == []


def test_a_policy_that_moves_has_one_loop_for_each_cluster(text: io.StringIO) -> None:
    """And one that counts there no more does not come back when the tree cannot be read."""
    tree = Tree(lambda _: ("old",))
    with fleet(text, "east", tree=tree) as made:
        one = made.start("a")
        eventually(lambda: held(made, "east", policy="old"), "the old one", SECONDS)
        tree.counts, tree.revision = (lambda _: ("new",)), 1
        one.process.notify()
        eventually(lambda: held(made, "east", policy="new"), "the new one", SECONDS)
        one.end()
        made.instances.clear()
        tree.broken = True
        made.start("b")
        eventually(lambda: made.holders().get("infra.east new") == "b_1", "the last good policy", SECONDS)
        time.sleep(3 * TIMING.retry_seconds)
        assert made.holders() == {"infra.east new": "b_1", "infra.east old": ""}
        assert "nobody answers" in text.getvalue()


def test_a_broken_tree_ends_no_loop(text: io.StringIO) -> None:
    with fleet(text, "east") as made:
        one = made.start("a")
        eventually(lambda: held(made, "east"), "the loop", SECONDS)
        made.tree.broken = True
        one.process.notify()
        eventually(lambda: "nobody answers" in text.getvalue(), "the fault", SECONDS)
        time.sleep(3 * TIMING.retry_seconds)
        assert held(made, "east")


def test_a_source_that_hangs_delays_no_lease(text: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instance is counted by others meanwhile, and takes loops of one that dies."""
    monkeypatch.setattr(fleet_process, "FIRST_READING_SECONDS", 1.0)
    with fleet(text, "east", "west") as made:
        first = made.start("a")
        eventually(lambda: held(made, "east", "west"), "the loops", SECONDS)
        made.tree.hangs.set()
        made.start("b")
        eventually(lambda: f"{LEASES}/reconciler-instance-b" in made.server.objects, "its Lease", SECONDS)
        first.kill()
        eventually(lambda: set(made.holders().values()) == {"b_1"}, "both", SECONDS)
        known = made.written.count("reconciler-instance-b")
        # While the source still hangs: a renewal behind its answer would never come.
        eventually(lambda: made.written.count("reconciler-instance-b") > known + 3, "renewals", SECONDS)
        assert made.wrong == []


def test_many_clusters_at_once_do_not_cost_the_instance_its_lease(text: io.StringIO) -> None:
    """A hundred calls of 50 ms each are 5 s; the Lease of the instance lasts 2 s and is renewed in between.

    Counted by calls, each of which lasts at least 50 ms: fewer loops are taken between two renewals than fill the Lease. How
    fast this machine is does not matter.
    """
    names = [f"c{number:02d}" for number in range(50)]
    call_seconds = 0.05
    with fleet(text, *names) as made:
        one = made.start("a")
        one.api.delay = lambda path: call_seconds if "/leases" in path else 0.0
        eventually(lambda: len(made.holders()) == 50, "all", 90)
        known = made.written.count("reconciler-instance-a")
        eventually(lambda: made.written.count("reconciler-instance-a") > known, "one more renewal", SECONDS)
        taken: set[str] = set()
        between = [0]
        for lease in made.written:
            if lease == "reconciler-instance-a":
                between.append(0)
            elif lease not in taken:
                taken.add(lease)
                between[-1] += 1
        assert sum(between) == 50
        # Each loop that is taken is one call to read its Lease and one to write it.
        assert max(between) * 2 * call_seconds < TIMING.duration_seconds


def test_a_webhook_is_heard_at_once(text: io.StringIO) -> None:
    """The answer of a moment ago does not count any more, and each loop looks."""
    with fleet(text, "east") as made:
        one = made.start("a")
        one.source._fresh_seconds = 600
        eventually(lambda: held(made, "east") and bool(one.process.members()[0].process), "the loop", SECONDS)
        asked = made.tree.asked
        made.tree.counts, made.tree.revision = (lambda _: ("next",)), 1
        one.process.notify()
        eventually(lambda: made.tree.asked > asked, "a question", SECONDS)
        assert one.made[0].source.notified == 1
        eventually(lambda: held(made, "east", policy="next"), "the next policy", SECONDS)


def test_two_policies_of_one_cluster_are_two_lines(text: io.StringIO) -> None:
    """In the standings and on the page: a problem of the second one is seen."""
    tree = Tree(lambda _: ("cpu", "gpu"))
    with fleet(text, "east", tree=tree) as made:
        one = made.start("a")
        eventually(lambda: len(one.process.standings()) == 2 and len(one.made) == 2, "two lines", SECONDS)
        shown = FleetShown(one.process, lambda _: (), lambda: 0)
        assert [(line.cluster, line.policy, line.here) for line in shown.status().clusters] == [
            ("infra/east", "cpu", True), ("infra/east", "gpu", True),
        ]  # fmt: skip
        assert set(shown.loops()) == {("infra/east", "cpu"), ("infra/east", "gpu")}


def test_another_cluster_of_the_same_name_gets_a_loop_of_its_own(text: io.StringIO) -> None:
    """What was seen of the deleted one is not used for the new one, even if nobody noticed the moment in between."""
    with fleet(text, "east") as made:
        one = made.start("a")
        eventually(lambda: any(process.turns for process in one.made), "a turn", SECONDS)
        made.server.remove(cluster_path("east"))
        made.add("east")
        eventually(lambda: len(one.made) == 2 and one.made[1].turns > 0, "another process", SECONDS)
        assert "ended" in one.made[0].said
        assert made.wrong == []


def test_clusters_of_the_same_name_in_two_namespaces(text: io.StringIO) -> None:
    with fleet(text, "east") as made:
        made.add("east", "other")
        one = made.start("a")
        eventually(lambda: {process.name.title for process in one.made if process.turns} == {"infra/east", "other/east"}, "both")
        assert set(made.holders()) == {"infra.east fleet", "other.east fleet"}


def test_labels_that_change_all_the_time_rebuild_nothing_all_the_time(text: io.StringIO) -> None:
    """A view is built anew at most every ten seconds, and no other policy is taken meanwhile."""
    with fleet(text, "east") as made:
        one = made.start("a")
        eventually(lambda: any(process.turns for process in one.made), "a turn", SECONDS)
        for number in range(20):
            made.add("east", beat=str(number))
            time.sleep(0.05)
        assert len(one.made) <= 2
        assert made.holders() == {"infra.east fleet": "a_1"}


@pytest.mark.parametrize("path", [LEASES, "clusters"])
def test_a_management_cluster_that_refuses_to_list(text: io.StringIO, path: str) -> None:
    """The process says so, and the loops that it holds go on."""
    with fleet(text, "east") as made:
        one = made.start("a")
        eventually(lambda: held(made, "east"), "the loop", SECONDS)
        if path == LEASES:
            made.server.forbidden.add(LEASES)
            eventually(lambda: "cannot be read" in one.process.problem, "the problem", SECONDS)
        else:
            whole = cluster_path("east").rpartition("/")[0].replace("/namespaces/infra", "")
            made.server.forbidden.add(whole)
            made.server.end(whole)
            one.process.shared.doubts = lambda _: ("clusters: forbidden",)  # type: ignore[method-assign]
            eventually(lambda: "cannot be seen" in one.process.problem, "the problem", SECONDS)
        turns = one.made[0].turns
        eventually(lambda: one.made[0].turns > turns + 5, "its turns", SECONDS)
        assert held(made, "east")


def test_the_lease_of_the_instance_that_cannot_be_written_is_told(text: io.StringIO) -> None:
    """Others would not count it, and nobody would know why shares are wrong."""
    with fleet(text, "east") as made:
        made.server.refused[LEASES] = ApiError(422, "Invalid", "a lowercase RFC 1123 subdomain")
        made.start("a")
        eventually(lambda: "by which others count it" in text.getvalue(), "the reason", SECONDS)


def test_one_chosen_policy(text: io.StringIO) -> None:
    """`--name`: other policies that count are left to others."""
    tree = Tree(lambda _: ("cpu", "gpu"))
    with fleet(text, "east", tree=tree) as made:
        one = made.start("a")
        one.process.settings = msgspec.structs.replace(one.process.settings, policy="gpu")
        eventually(lambda: held(made, "east", policy="gpu"), "the chosen one", SECONDS)


def test_an_end_at_any_moment_leaves_no_lease(text: io.StringIO) -> None:
    chance = random.Random()
    for number in range(6):
        with fleet(text, "east", "west", "north") as made:
            one = made.start(f"a{number}")
            time.sleep(chance.random() * 0.5)
            one.end()
            made.instances.clear()
            assert set(made.holders().values()) <= {""}
            assert all("ended" in process.said or "start" not in process.said for process in one.made)
            threading.Event().wait(0.05)
            assert made.wrong == []
