"""A followed policy is looked at by the leader only, and anew by one that leads again."""

from reconciler.control.followed import FollowedSource
from reconciler.control.policy_source import FollowedPolicy
from reconciler.gitops.last_good import MemoryLastGoodStore
from reconciler.gitops.source import Fetched
from reconciler.gitops.standing import Standing
from tests.live.reconciler_process import policy_text


class Tree:
    """A source whose text the test sets, and how often it was asked."""

    name = "tree"

    def __init__(self) -> None:
        self.text = policy_text("prod", "shop", {"general": (0, 5)})
        self.asked = 0

    def fetch(self, last_revision: str | None) -> Fetched:
        self.asked += 1
        return Fetched(revision=f"r{len(self.text)}", root="", files={"policy.yaml": self.text.encode()})


class Stage:
    """A followed source of one process."""

    def __init__(self) -> None:
        self.tree, self.store = Tree(), MemoryLastGoodStore()
        self.leading = True
        self.looked: list[Standing] = []
        self.source = FollowedSource(self.follow, lambda: self.leading, lambda _: 3600.0, self.looked.append)

    def follow(self) -> FollowedPolicy:
        return FollowedPolicy(self.tree, self.store, lambda: 1000)


def test_one_that_stands_by_does_not_ask() -> None:
    """What is in force is saved before it is used, and only the leader may save."""
    stage = Stage()
    stage.leading = False
    assert not stage.source.poll()
    assert (stage.tree.asked, stage.source.missing()) == (0, "tree was not read yet")
    stage.leading = True
    assert stage.source.poll()
    assert (stage.source.current().policy.name, stage.source.missing(), stage.looked[-1].fault) == ("prod", "", None)


def test_one_that_leads_again_begins_with_what_is_saved_now() -> None:
    """While it stood by another instance saved a newer policy, and the source is broken by now: the newer one is in force."""
    stage = Stage()
    stage.source.poll()
    stage.leading = False
    stage.source.poll()
    stage.tree.text = policy_text("prod", "shop", {"general": (0, 7)})
    stage.follow().poll()
    stage.tree.text = "kind: [broken"
    stage.leading = True
    stage.source.poll()
    assert stage.source.current().groups[0].size.max == 7
    assert stage.looked[-1].fault is not None
