"""Custom resources as a source of policy: every instance follows them, and the leader judges and stores them."""

from collections.abc import Callable, Sequence

from reconciler.control.policy.custom_resources import CustomResourcePolicy
from reconciler.control.policy.followed_source import FollowedSource
from reconciler.gitops.sources.standing import SourceEvent, Standing
from reconciler.kube.custom.custom_object import CustomObjects
from reconciler.policy.documents import PolicySet


class CustomResourceSource:
    """The `Source` of a live process. `follow` makes the policy again whenever this process begins to lead, and `policy` is the
    current one. `term`, `wait_seconds`, `looked` and `tell` as for a `FollowedSource`. `looked_too` may be set: it is called
    after every look."""

    def __init__(
        self,
        objects: CustomObjects,
        follow: Callable[[], CustomResourcePolicy],
        term: Callable[[], int],
        wait_seconds: Callable[[int], float],
        looked: Sequence[Callable[[Standing], None]] = (),
        tell: Callable[[SourceEvent], None] = lambda _: None,
    ) -> None:
        self.objects = objects
        self.policy: CustomResourcePolicy
        self.looked_too: Callable[[], None] = lambda: None
        self._follow = follow
        self._followed = FollowedSource(self._anew, term, wait_seconds, (*looked, lambda _: self.looked_too()), tell)

    def current(self) -> PolicySet:
        """The policy in force. Raises `NoPolicyError` unless `missing` is empty."""
        return self._followed.current()

    def missing(self) -> str:
        """Why there is none."""
        return self._followed.missing()

    @property
    def standing(self) -> Standing:
        """How the source stands."""
        return self._followed.standing

    def start(self, changed: Callable[[], None]) -> None:
        """Follow from now on; `changed` is called when another policy is in force."""
        self.objects.start(self._followed.notify)
        self._followed.start(changed)

    def poll(self) -> bool:
        """Look once, instead of `start`."""
        self.objects.start()
        return self._followed.poll()

    def notify(self) -> None:
        """Look soon."""
        self._followed.notify()

    def stop(self) -> None:
        """Follow no more."""
        self.objects.stop()
        self._followed.stop()

    def _anew(self) -> CustomResourcePolicy:
        self.policy = self._follow()
        return self.policy
