"""A followed policy is looked at by the leader only, and anew by one that leads again."""

import queue

from reconciler.control.policy.followed_source import FollowedSource
from reconciler.control.policy.policy_source import FollowedPolicy, SourceWatch
from reconciler.gitops.sources.last_good import LastGood, LastGoodError, MemoryLastGoodStore
from reconciler.gitops.sources.source import Fetched
from reconciler.gitops.sources.standing import SourceEvent, Standing
from tests.live.reconciler_process import policy_text


class Tree:
    """A source whose text the test sets, and how often it was asked."""

    name = "tree"

    def __init__(self) -> None:
        self.text = policy_text("prod", "shop", {"general": (0, 5)})
        self.asked = 0

    def fetch(self, last_revision: str | None, last_seconds: int = 0) -> Fetched:
        self.asked += 1
        return Fetched(revision=f"r{len(self.text)}", root="", files={"policy.yaml": self.text.encode()})


class Stage:
    """A followed source of one process."""

    def __init__(self) -> None:
        self.tree, self.store = Tree(), MemoryLastGoodStore()
        self.term = 1
        self.looked: list[Standing] = []
        self.said: list[SourceEvent] = []
        self.source = FollowedSource(
            self.follow, lambda: self.term, lambda _: 3600.0, (self.told, self.looked.append), self.said.append
        )
        self.fault: Exception | None = None

    def told(self, _: Standing) -> None:
        if self.fault is not None:
            raise self.fault

    def follow(self) -> FollowedPolicy:
        return FollowedPolicy(self.tree, self.store, lambda: 1000)


def test_one_that_stands_by_does_not_ask() -> None:
    """What is in force is saved before it is used, and only the leader may save."""
    stage = Stage()
    stage.term = 0
    assert not stage.source.poll()
    assert (stage.tree.asked, stage.source.missing()) == (0, "tree was not read yet")
    stage.term = 1
    assert stage.source.poll()
    assert (stage.source.current().policy.name, stage.source.missing(), stage.looked[-1].fault) == ("prod", "", None)


def test_one_that_leads_again_begins_with_what_is_saved_now() -> None:
    """While it stood by another instance saved a newer policy, and the source is broken by now: the newer one is in force."""
    stage = Stage()
    stage.source.poll()
    stage.term = 0
    stage.source.poll()
    stage.tree.text = policy_text("prod", "shop", {"general": (0, 7)})
    stage.follow().poll()
    stage.tree.text = "kind: [broken"
    stage.term = 1
    stage.source.poll()
    assert stage.source.current().groups[0].size.max == 7
    assert stage.looked[-1].fault is not None


def test_what_breaks_after_a_look_is_told_and_stops_nothing() -> None:
    """The policy that the look brought is in force, who else wants to know is told, and the defect is said once."""
    stage = Stage()
    stage.fault = RuntimeError("no room")
    assert stage.source.poll()
    stage.source.poll()
    assert stage.source.current().policy.name == "prod"
    assert len(stage.looked) == 2
    said = [(event.type, event.reason, event.message) for event in stage.said]
    assert said == [("Warning", "LookBroken", "the work after a look at tree ended by a defect: RuntimeError: no room")]
    stage.fault = None
    stage.source.poll()
    stage.fault = RuntimeError("no room")
    stage.source.poll()
    assert len(stage.said) == 2


def test_one_that_lost_and_regained_between_two_looks_begins_anew() -> None:
    """Nobody looked while another instance led and saved a newer policy: there is none to decide by until the next look."""
    stage = Stage()
    stage.source.poll()
    stage.tree.text = policy_text("prod", "shop", {"general": (0, 7)})
    stage.follow().poll()
    stage.term = 2
    assert stage.source.missing() == "tree is read again, since another instance may have led"
    assert stage.source.poll()
    assert (stage.source.missing(), stage.source.current().groups[0].size.max) == ("", 7)


def test_one_that_begins_to_lead_reads_before_it_decides() -> None:
    """A policy that it had before it stood by is not decided by."""
    stage = Stage()
    stage.source.poll()
    stage.term = 0
    stage.source.poll()
    stage.term = 2
    assert stage.source.missing() == "tree is read again, since another instance may have led"


def test_what_is_said_of_a_policy_that_nobody_needs_now() -> None:
    """Before the first look it was not read; of one that stands by there is one to show, until another instance has led."""
    stage = Stage()
    assert stage.source.missing() == "tree was not read yet"
    stage.source.poll()
    stage.term = 0
    assert stage.source.missing() == ""


class Looks:
    """What a watch looks at: each look is told to the test, and does what that wants."""

    def __init__(self) -> None:
        self.looked: queue.Queue[int] = queue.Queue()
        self.answers: list[bool | Exception] = []
        self.count = 0
        self.standing = Standing(source="tree")
        self.waits: list[Standing] = []
        self.changed: list[int] = []
        self.broken: list[Exception] = []
        self.watch = SourceWatch(self, self._wait, lambda: self.changed.append(self.count), self.broken.append)

    def poll(self) -> bool:
        self.count += 1
        answer = self.answers.pop(0) if self.answers else False
        self.looked.put(self.count)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _wait(self, standing: Standing) -> float:
        self.waits.append(standing)
        return 3600.0


def test_a_watch_looks_at_once_and_when_it_is_told() -> None:
    """`changed` follows a look that brought another policy, `broken` one that failed; it goes on until it is stopped."""
    looks = Looks()
    looks.answers = [True, RuntimeError("no room"), False]
    looks.watch.start()
    assert looks.looked.get(timeout=30) == 1
    for number in (2, 3):
        looks.watch.notify()
        assert looks.looked.get(timeout=30) == number
    looks.watch.stop(30)
    assert not looks.watch._thread.is_alive()
    assert (looks.changed, [str(error) for error in looks.broken]) == ([1], ["no room"])
    assert all(standing is looks.standing for standing in looks.waits)
    assert looks.count == 3
    assert looks.watch._thread.daemon, "a process that ends does not wait for its hour"


def test_a_watch_that_never_began_ends_at_once() -> None:
    """And looks no more when it begins after all."""
    looks = Looks()
    looks.watch.stop()
    looks.watch.start()
    looks.watch._thread.join(30)
    assert looks.count == 0


class Overtaken(MemoryLastGoodStore):
    """A store that another instance writes to in the moment in which we save; it counts how often it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.theirs: LastGood | None = None
        self.loads = 0

    def load(self) -> LastGood | None:
        self.loads += 1
        return super().load()

    def save(self, last_good: LastGood) -> None:
        if self.theirs is not None:
            theirs, self.theirs = self.theirs, None
            super().save(theirs)
            raise LastGoodError("somebody else has changed it since")
        super().save(last_good)


def test_the_last_good_policy_is_read_again_after_a_save_that_failed_and_only_then() -> None:
    """What another instance saved meanwhile is in force at the next look, though the source is broken by then."""
    tree, elsewhere = Tree(), MemoryLastGoodStore()
    store = Overtaken()
    policy = FollowedPolicy(tree, store, lambda: 1000)
    policy.poll()
    policy.poll()
    assert store.loads == 1
    tree.text = policy_text("prod", "shop", {"general": (0, 9)})
    other = FollowedPolicy(tree, elsewhere, lambda: 1000)
    other.poll()
    store.theirs = elsewhere.load()
    tree.text = policy_text("prod", "shop", {"general": (0, 77)})
    policy.poll()
    assert policy.current().groups[0].size.max == 5
    tree.text = "kind: [broken"
    policy.poll()
    assert (store.loads, policy.current().groups[0].size.max) == (2, 9)
    assert dict(policy.standing.faults) == {"LastGoodNotSaved": 1, "InvalidPolicy": 1}
    policy.poll()
    assert store.loads == 2
