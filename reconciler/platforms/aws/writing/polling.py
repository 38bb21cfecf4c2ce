"""Auto Scaling groups as a part of the live view, polled for what the policy in force names."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.unread import Unread
from reconciler.decisions.groups.cluster_names import cluster_names
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.kube.watching.asking_thread import AskingThread
from reconciler.kube.watching.polled_source import GARBAGE
from reconciler.kube.watching.stream_state import StreamState, polled_state
from reconciler.platforms.aws.facts.named_clusters import clusters
from reconciler.platforms.aws.facts.view import SIZERS
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.rules import RULES
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import AwsError, Parameters
from reconciler.platforms.aws.writing.wanted_groups import Wanted, wanted
from reconciler.policy.documents import PolicySet
from reconciler.values.cluster_identity import FleetPlace

MOVING_SECONDS, RESTING_SECONDS = 10.0, 30.0
_ROUND_SECONDS = 5.0
"""How long a round waits for several regions."""
_BEFORE = "Auto Scaling groups that were sized before"


class AwsPoll:
    """A `PolledSource`. Without a policy, or with one that names nothing of AWS, it asks nothing and waits for nothing.

    `remembered` are the targets of the last decision, also of an earlier process. If the policy no longer names one, the loop
    looks it up by name, with the credentials of the process itself. It follows the group as long as the group has our mark. Both
    conditions must hold, because the mark is only the policy's name, and a policy of another cluster may have the same name. This
    loop must not release what it has not sized. A group of another account is not found this way: only the former policy had its
    role.
    """

    def __init__(
        self,
        accounts: Accounts,
        policy: Callable[[], PolicySet | None],
        monotonic: Callable[[], float] = time.monotonic,
        remembered: Callable[[], Iterable[str]] | None = None,
        wall_seconds: Callable[[], float] = time.time,
        loop: str = "",
        fleet: Callable[[], FleetPlace] | None = None,
        pods_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        """`loop` tells the loops of one process apart. `fleet` returns the place of the cluster in a fleet, whose loops share
        their reads (None: outside a fleet). While `pods_wait`, all that may let a group grow is read again within a minute."""
        self._pods_wait = pods_wait
        self._loop = loop
        self._fleet = fleet
        self._wall_seconds = wall_seconds
        self._accounts = accounts
        self._policy = policy
        self._monotonic = monotonic
        self._remembered = remembered
        """None: there is nothing to learn, or it is done."""
        self._known: tuple[str, ...] = ()
        """What was learned, until there is a policy to compare it with."""
        self._unknown = ""
        self._lock = threading.Lock()
        self._asked: tuple[Wanted, ...] = ()
        self._regions: dict[Wanted, Region] = {}
        self._failures: dict[Wanted, str] = {}
        self._documents: dict[Wanted, tuple[Document, ...]] = {}
        self._asks = 0
        self._under_way: set[Region] = set()
        self._news = False
        self._thread = AskingThread("aws", self.ask, self._pause_seconds)
        accounts.on_write(self._wrote, loop)

    def start(self, changed: Callable[[], None]) -> None:
        """Start to ask; `changed` is called after every answer with news."""
        self._thread.start(changed)

    def stop(self) -> None:
        """Stop asking."""
        self._accounts.end(self._wrote, self._loop)
        self._thread.stop()

    def ask(self) -> bool:
        """One round over all regions; returns whether something has changed. `states` reports what fails."""
        policy = self._policy()
        with self._lock:
            # A policy that is just being read again is not a policy that names nothing.
            asked = wanted(policy) if policy is not None else self._asked
            if not self._recall():
                return True
            former = _former(self._known, asked) if policy is not None else {}
            self._known = self._known if policy is None else ()
            changed = asked != self._asked or bool(former)
            if changed:
                self._asked = asked
                self._regions = self._followed(asked, policy.policy.name if policy is not None else "", former)
            self._documents = {one: documents for one, documents in self._documents.items() if one in self._regions}
            self._failures = {one: text for one, text in self._failures.items() if one in self._regions}
            due = [(one, region) for one, region in self._regions.items() if region not in self._under_way]
            self._under_way.update(region for _, region in due)
            alone = len(self._regions) == 1
        pods_wait = self._pods_wait()
        if alone:
            for one, region in due:
                self._ask_region(one, region, pods_wait=pods_wait)
        else:
            self._ask_together(due, pods_wait=pods_wait)
        with self._lock:
            changed, self._news = changed or self._news, False
        return changed

    def _ask_together(self, due: list[tuple[Wanted, Region]], *, pods_wait: bool) -> None:
        """All at once. One that takes long goes on by itself, so that it delays no round of the others."""
        ask = partial(self._ask_region, pods_wait=pods_wait)
        threads = [threading.Thread(target=ask, args=one, name="aws-region", daemon=True) for one in due]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _ROUND_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    def _ask_region(self, one: Wanted, region: Region, *, pods_wait: bool) -> None:
        news, failure, denied = False, "", False
        if pods_wait and self._fleet is not None:
            self._accounts.shared(one.region, one.role).renew()
        try:
            news = region.ask(self._monotonic(), pods_wait=pods_wait)
        except AwsError as error:
            failure, denied = str(error), error.denied
        except GARBAGE as error:
            failure = f"an answer cannot be read: {type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._under_way.discard(region)
        with self._lock:
            if self._regions.get(one) is not region:
                return
            if region.over or (denied and one not in self._asked):
                self._drop(one)
                self._news = True
                return
            self._news = self._news or news or failure != self._failures.get(one, "")
            self._failures[one] = failure
            if region.whole and (news or one not in self._documents):
                self._documents[one] = _polling_documents(one, region)
            self._asks += 1

    def states(self) -> tuple[StreamState, ...]:
        """One state per region: synced while its groups were listed recently, even if AWS throttles. A write reads its group
        again."""
        asked = wanted(self._policy())
        with self._lock:
            if asked != self._asked:
                # A new policy is asked for now, not when the next round is due.
                self._thread.wake()
            if self._remembered is not None:
                # A first decision without them would forget them.
                return (polled_state(_BEFORE, None, objects=0, asks=self._asks, failure=self._unknown),)
            return tuple(self._state(one, self._regions.get(one)) for one in asked)

    def unread(self, doubtful: Mapping[str, str]) -> tuple[Unread, ...]:
        """The groups of each region and role whose answer is in doubt, or that may not tell who else sizes its groups."""
        if _BEFORE in doubtful:
            return (Unread(kind=AUTO_SCALING_GROUP, why=doubtful[_BEFORE]),)
        asked = wanted(self._policy())
        roles = Counter(one.region for one in asked)
        with self._lock:
            return tuple(
                Unread(kind=AUTO_SCALING_GROUP, namespace=one.region, name=name, why=why)
                for one in asked
                if (why := doubtful.get(_title(one)) or (len(asked) > 1 and _untold(self._documents.get(one, ()))))
                for name in (("",) if roles[one.region] == 1 else self._names(one))
            )

    def _names(self, one: Wanted) -> Iterable[str]:
        """The groups that are known to be of one of several roles in a region."""
        region = self._regions.get(one)
        listed = () if region is None else (item["AutoScalingGroupName"] for item in region.items()[AUTO_SCALING_GROUP])
        return sorted({*one.names, *listed})

    def documents(self) -> tuple[Document, ...]:
        """The last complete answers."""
        with self._lock:
            return tuple(document for one in sorted(self._documents) for document in self._documents[one])

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, although the groups could, by region."""
        with self._lock:
            return tuple(f"{one.region}: {text}" for one, region in self._regions.items() for text in region.problems)

    def _recall(self) -> bool:
        """Ask once for what was sized before; returns whether that is known."""
        if self._remembered is not None:
            try:
                self._known, self._remembered = tuple(self._remembered()), None
            except StateUnavailableError as error:
                self._unknown = str(error)
        return self._remembered is None

    def _followed(
        self, asked: tuple[Wanted, ...], owner: str, former: Mapping[tuple[str, str], frozenset[str]]
    ) -> dict[Wanted, Region]:
        """Answers for regions that are still asked for stay. Groups that the policy no longer names are read until their mark is
        removed: only what is seen is released. Nothing waits for them."""
        before = {(one.region, one.role): region for one, region in self._regions.items()}
        places = {(one.region, one.role) for one in asked}
        gone = [Wanted(region=region, role=role) for region, role in {**before, **former} if (region, role) not in places]
        followed: dict[Wanted, Region] = {}
        for one in (*asked, *gone):
            place = one.region, one.role
            left = (before[place].marked(owner) if place in before else frozenset[str]()) | former.get(place, frozenset())
            known = self._regions.get(one)
            written = before[place].written_lately if place in before else {}
            followed[one] = known if known is not None and one in asked else self._region(one, left, owner, written)
            self._accounts.named(one.region, one.role, left, self._loop)
        return {one: region for one, region in followed.items() if not region.over}

    def _region(self, one: Wanted, left: Iterable[str], owner: str, written: Mapping[str, float]) -> Region:
        if self._fleet is None:
            return Region(self._accounts.of(one.region, one.role), one, left, owner, self._wall_seconds, written)
        return Region(
            self._accounts.shared(one.region, one.role), one, left, owner, self._wall_seconds, written,
            self._fleet().cluster.title, self._passed_over,
        )  # fmt: skip

    def _passed_over(self) -> Callable[[Parameters], bool]:
        """Whether the tags of a group name other clusters of the fleet alone, as the fleet is now."""
        names = cluster_names(self._fleet(), RULES) if self._fleet is not None else None

        def of_others(item: Parameters) -> bool:
            tags = ((tag["Key"], tag.get("Value", "")) for tag in item.get("Tags") or ())
            return names is not None and names.of_others_alone(clusters(tags))

        return of_others

    def _drop(self, one: Wanted) -> None:
        for known in (self._regions, self._documents, self._failures):
            known.pop(one, None)

    def _state(self, one: Wanted, region: Region | None) -> StreamState:
        # The groups alone are not enough: their surroundings are asked next, and the view is all or nothing.
        heard = region.heard if region is not None and one in self._documents else None
        age = None if heard is None else self._monotonic() - heard
        groups = region.items()[AUTO_SCALING_GROUP] if region is not None else ()
        return polled_state(_title(one), age, objects=len(groups), asks=self._asks, failure=self._failures.get(one, ""))

    def _wrote(self, region: str, name: str, others: bool) -> None:  # noqa: FBT001 - as it is told
        with self._lock:
            for one, known in self._regions.items():
                if one.region == region:
                    known.wrote(name, others=others)
        self._thread.wake()

    def _pause_seconds(self) -> float:
        with self._lock:
            moving = not self._regions or any(region.moving() for region in self._regions.values())
        return MOVING_SECONDS if moving or self._pods_wait() else RESTING_SECONDS


def _title(one: Wanted) -> str:
    return f"Auto Scaling groups of {one.region}" + (f" as {one.role}" if one.role else "")


def _untold(documents: Iterable[Document]) -> str:
    """Which kinds of other writers an answer says nothing of: those of another region say nothing of this one."""
    told = {one.kind for one in documents}
    missing = [kind for kind in SIZERS if kind not in told] if told else []
    return f"AWS does not tell each {' and '.join(missing)} there" if missing else ""


def _former(targets: Iterable[str], asked: tuple[Wanted, ...]) -> dict[tuple[str, str], frozenset[str]]:
    """The groups among these targets that nobody names any more, by region, asked with the role of discovery there, else as the
    process itself."""
    roles = {one.region: one.role for one in asked if one.tags}
    named = {(one.region, name) for one in asked for name in one.names}
    by_region: dict[tuple[str, str], set[str]] = {}
    for text in targets:
        kind, _, rest = text.partition(" ")
        region, _, name = rest.partition("/")
        if kind == AUTO_SCALING_GROUP and (region, name) not in named:
            by_region.setdefault((region, roles.get(region, "")), set()).add(name)
    return {place: frozenset(names) for place, names in by_region.items()}


def _polling_documents(one: Wanted, region: Region) -> tuple[Document, ...]:
    file = f"aws {one.region}"
    return tuple(
        Document(file=file, api_version="", kind=kind, items=[Raw(msgspec.json.encode(item)) for item in items], is_list=True)
        for kind, items in _timed(region.items(), region.read_seconds).items()
    )


def _timed(items: dict[str, list[Parameters]], read_seconds: Mapping[str, int]) -> dict[str, list[Parameters]]:
    """Each group with the time at which its read began."""
    groups = [{**one, "ReadSeconds": read_seconds.get(one["AutoScalingGroupName"], 0)} for one in items[AUTO_SCALING_GROUP]]
    return {**items, AUTO_SCALING_GROUP: groups}
