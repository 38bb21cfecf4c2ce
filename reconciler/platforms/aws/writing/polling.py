"""Auto Scaling groups as a part of the live view: asked again and again, by what the policy in force names."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Raw

from reconciler.cluster.snapshots.document import Document
from reconciler.kube.leading.state import StateUnavailableError
from reconciler.kube.watching.polled_source import AskingThread
from reconciler.kube.watching.reflector import StreamState, polled_state
from reconciler.platforms.aws.kinds import AUTO_SCALING_GROUP
from reconciler.platforms.aws.writing.accounts import Accounts
from reconciler.platforms.aws.writing.asking import Region
from reconciler.platforms.aws.writing.calls import AwsError, Parameters
from reconciler.platforms.aws.writing.wanted import Wanted, wanted
from reconciler.policy.documents import PolicySet

MOVING_SECONDS, RESTING_SECONDS = 10.0, 30.0
_BEFORE = "Auto Scaling groups that were sized before"


class AwsPoll:
    """A `PolledSource`. Without a policy, or with one that names nothing of AWS, nothing is asked and nothing is waited for.

    `remembered` are the targets of the last decision, also of an earlier process: a group of them that the policy names no more
    is looked at by its name, as the process itself, and followed while it bears our mark. Both have to hold, since the mark is
    the policy's name alone, which a policy of another cluster may have as well: what this loop has not sized is nothing that it
    could let go. One of another account is not found so: which role it was sized as stands in the former policy alone.
    """

    def __init__(
        self,
        accounts: Accounts,
        policy: Callable[[], PolicySet | None],
        monotonic: Callable[[], float] = time.monotonic,
        remembered: Callable[[], Iterable[str]] | None = None,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        self._wall_seconds = wall_seconds
        self._accounts = accounts
        self._policy = policy
        self._monotonic = monotonic
        self._remembered = remembered
        """None: there is nothing to learn, or it was."""
        self._known: tuple[str, ...] = ()
        """What was learned, until there is a policy to hold it against."""
        self._unknown = ""
        self._lock = threading.Lock()
        self._asked: tuple[Wanted, ...] = ()
        self._regions: dict[Wanted, Region] = {}
        self._failures: dict[Wanted, str] = {}
        self._documents: dict[Wanted, tuple[Document, ...]] = {}
        self._asks = 0
        self._thread = AskingThread("aws", self.ask, self._pause_seconds)
        accounts.on_write(self._wrote)

    def start(self, changed: Callable[[], None]) -> None:
        """Ask from now on; `changed` is called after every answer that says something new."""
        self._thread.start(changed)

    def stop(self) -> None:
        """Ask no more."""
        self._thread.stop()

    def ask(self) -> bool:
        """One round over all regions; whether something has changed. What fails is told by `states`."""
        policy = self._policy()
        with self._lock:
            # One that is read anew just now is none that names nothing.
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
            regions = list(self._regions.items())
        for one, region in regions:
            denied = False
            try:
                news = region.ask(self._monotonic())
                failure = ""
            except AwsError as error:
                news, failure = False, str(error)
                denied = error.denied
            with self._lock:
                if region.over or (denied and one not in asked):
                    self._drop(one)
                    changed = True
                    continue
                changed = changed or news or failure != self._failures.get(one, "")
                self._failures[one] = failure
                if region.whole and (news or one not in self._documents):
                    self._documents[one] = _documents(one, region)
                self._asks += 1
        return changed

    def states(self) -> tuple[StreamState, ...]:
        """One a region: synced while its groups were listed not long ago, also where AWS throttles; what is written is read
        anew."""
        asked = wanted(self._policy())
        with self._lock:
            if asked != self._asked:
                # Another policy: asked now, and not when it is time again.
                self._thread.wake()
            if self._remembered is not None:
                # A first decision without them would forget them.
                return (polled_state(_BEFORE, None, objects=0, asks=self._asks, failure=self._unknown),)
            return tuple(self._state(one, self._regions.get(one)) for one in asked)

    def documents(self) -> tuple[Document, ...]:
        """The last whole answers."""
        with self._lock:
            return tuple(document for one in sorted(self._documents) for document in self._documents[one])

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read, though the groups could, by region."""
        with self._lock:
            return tuple(f"{one.region}: {text}" for one, region in self._regions.items() for text in region.problems)

    def _recall(self) -> bool:
        """Ask once what was sized before; whether that is known."""
        if self._remembered is not None:
            try:
                self._known, self._remembered = tuple(self._remembered()), None
            except StateUnavailableError as error:
                self._unknown = str(error)
        return self._remembered is None

    def _followed(
        self, asked: tuple[Wanted, ...], owner: str, former: Mapping[tuple[str, str], frozenset[str]]
    ) -> dict[Wanted, Region]:
        """What is known of those that are asked for as before stays known. Groups of which the policy says nothing any more are
        read until its mark is taken off them, since only what is seen is released; nothing waits for them."""
        before = {(one.region, one.role): region for one, region in self._regions.items()}
        places = {(one.region, one.role) for one in asked}
        gone = [Wanted(region=region, role=role) for region, role in {**before, **former} if (region, role) not in places]
        found: dict[Wanted, Region] = {}
        for one in (*asked, *gone):
            place = one.region, one.role
            left = (before[place].marked(owner) if place in before else frozenset[str]()) | former.get(place, frozenset())
            known = self._regions.get(one)
            written = before[place].written_lately if place in before else {}
            found[one] = known if known is not None and one in asked else self._region(one, left, owner, written)
            self._accounts.named(one.region, one.role, left)
        return {one: region for one, region in found.items() if not region.over}

    def _region(self, one: Wanted, left: Iterable[str], owner: str, written: Mapping[str, float]) -> Region:
        return Region(self._accounts.of(one.region, one.role), one, left, owner, self._wall_seconds, written)

    def _drop(self, one: Wanted) -> None:
        for known in (self._regions, self._documents, self._failures):
            known.pop(one, None)

    def _state(self, one: Wanted, region: Region | None) -> StreamState:
        name = f"Auto Scaling groups of {one.region}" + (f" as {one.role}" if one.role else "")
        # Heard of the groups alone is not enough: what stands around them is asked next, and the view is whole or none.
        heard = region.heard if region is not None and one in self._documents else None
        age = None if heard is None else self._monotonic() - heard
        groups = region.items()[AUTO_SCALING_GROUP] if region is not None else ()
        return polled_state(name, age, objects=len(groups), asks=self._asks, failure=self._failures.get(one, ""))

    def _wrote(self, region: str, name: str, others: bool) -> None:  # noqa: FBT001 - as it is told
        with self._lock:
            for one, known in self._regions.items():
                if one.region == region:
                    known.wrote(name, others=others)
        self._thread.wake()

    def _pause_seconds(self) -> float:
        with self._lock:
            moving = not self._regions or any(region.moving() for region in self._regions.values())
        return MOVING_SECONDS if moving else RESTING_SECONDS


def _former(targets: Iterable[str], asked: tuple[Wanted, ...]) -> dict[tuple[str, str], frozenset[str]]:
    """The groups among these targets that nobody names any more, by region, as the process itself."""
    named = {(one.region, name) for one in asked for name in one.names}
    found: dict[tuple[str, str], set[str]] = {}
    for text in targets:
        kind, _, rest = text.partition(" ")
        region, _, name = rest.partition("/")
        if kind == AUTO_SCALING_GROUP and (region, name) not in named:
            found.setdefault((region, ""), set()).add(name)
    return {place: frozenset(names) for place, names in found.items()}


def _documents(one: Wanted, region: Region) -> tuple[Document, ...]:
    file = f"aws {one.region}"
    return tuple(
        Document(file=file, api_version="", kind=kind, items=[Raw(msgspec.json.encode(item)) for item in items], is_list=True)
        for kind, items in _timed(region.items(), region.read_seconds).items()
    )


def _timed(items: dict[str, list[Parameters]], read_seconds: Mapping[str, int]) -> dict[str, list[Parameters]]:
    """With each group when its read began."""
    groups = [{**one, "ReadSeconds": read_seconds.get(one["AutoScalingGroupName"], 0)} for one in items[AUTO_SCALING_GROUP]]
    return {**items, AUTO_SCALING_GROUP: groups}
