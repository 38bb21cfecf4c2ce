"""Answers to objects that ask for room: what is true of each is written into its status, unless another program answers it."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Raw

from reconciler.cluster.wire.capacity_buffer import AnsweredMeta
from reconciler.cluster.workloads.capacity_buffer import status_writers
from reconciler.cluster.world import World
from reconciler.decisions.buffers import answered_by
from reconciler.decisions.ownership.owner import OUR_MANAGER
from reconciler.kube.connection.api import Api, ApiError, UnreachableError
from reconciler.kube.custom.status import Status, StatusWriter
from reconciler.kube.leading.lease import NotLeaderError
from reconciler.kube.watching.collection import Collection, located
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Mode, NodeGroupPolicy
from reconciler.values.decoding import decode
from reconciler.values.instant import instant_text

_NOT_FOUND = 404


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of one object. `writers` are the managers that write its status, as the view shows them."""

    namespace: str
    name: str
    uid: str
    writers: tuple[str, ...]
    status: Status

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class _Object(msgspec.Struct, rename="camel"):
    metadata: AnsweredMeta
    status: Raw = msgspec.field(default_factory=lambda: Raw(b"null"))


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An object as the server has it now; `collection` says in which version."""

    collection: Collection
    namespace: str
    name: str
    uid: str
    resource_version: str
    status: Any
    writers: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.collection.kind

    @property
    def api_version(self) -> str:
        return self.collection.api_version

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        return f"{msgspec.structs.replace(self.collection, namespace=self.namespace).path}/{self.name}"


class Answers:
    """Told after each turn, by the loop's thread. It writes while the policy enforces, and nothing to an object that another
    program answers. Best effort: a refusal is tried again after the next turn. `failures` counts them."""

    def __init__(
        self, api: Api, clock: Callable[[], int], collection: Collection, answers: Callable[[Plan, World], Iterable[Answer]]
    ) -> None:
        """`api` refuses writes of a process that does not lead. `clock` is in Unix seconds. `answers` are to all objects of the
        collection that a plan speaks of."""
        self._api = api
        self._clock = clock
        self._unlocated = collection
        self._answers = answers
        self._writer = StatusWriter(api, tells_generation=False)
        self._collection: Collection | None = None
        self._told: dict[str, tuple[str, Status]] = {}
        self._seen: set[str] = set()
        """Objects whose status a view has shown to be ours."""

    @property
    def failures(self) -> int:
        """How many writes were refused so far."""
        return self._writer.failures

    def turned(self, plan: Plan | None, world: World | None, policy: NodeGroupPolicy) -> None:
        """After a turn that decided `plan` on `world`. Never raises for what a server does."""
        if plan is None or world is None or plan.mode != Mode.ENFORCE:
            return
        spoken_of: set[str] = set()
        wanted: list[Answer] = []
        for answer in self._answers(plan, world):
            spoken_of.add(answer.key)
            if answered_by(answer.writers, policy):
                continue
            ours = OUR_MANAGER in answer.writers
            # A view may be older than our write. Once it has shown that, a status that is not ours any more was taken away.
            wiped = answer.key in self._seen and not ours
            if wiped or self._told.get(answer.key) != (answer.uid, answer.status):
                wanted.append(answer)
            (self._seen.add if ours else self._seen.discard)(answer.key)
        self._told = {key: told for key, told in self._told.items() if key in spoken_of}
        try:
            self._tell(wanted, policy)
        except (ApiError, UnreachableError, NotLeaderError, msgspec.MsgspecError):
            # What is not told still differs after the next turn. The next leader reads what is there.
            return

    def _tell(self, wanted: list[Answer], policy: NodeGroupPolicy) -> None:
        now = instant_text(self._clock())
        for answer in wanted:
            item = self._read(answer)
            # The view may be older than the first answer of another program.
            if item is None or answered_by(item.writers, policy):
                continue
            failures = self._writer.failures
            takes_over = any(writer != OUR_MANAGER for writer in item.writers)
            self._writer.round([(item, msgspec.structs.replace(answer.status, force=takes_over))], now)
            if self._writer.failures == failures:
                self._told[answer.key] = (answer.uid, answer.status)

    def _read(self, answer: Answer) -> _Seen | None:
        """The object as it is now; None if it is gone, or another one has its name."""
        if self._collection is None:
            self._collection = located(self._unlocated, self._api)
        collection = self._collection
        try:
            path = f"{msgspec.structs.replace(collection, namespace=answer.namespace).path}/{answer.name}"
            found = decode(self._api.get(path), _Object)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            self._collection = None
            return None
        head = found.metadata
        if head.uid != answer.uid:
            return None
        return _Seen(
            collection=collection, namespace=head.namespace, name=head.name, uid=head.uid,
            resource_version=head.resource_version, status=msgspec.json.decode(found.status),
            writers=status_writers(head),
        )  # fmt: skip
