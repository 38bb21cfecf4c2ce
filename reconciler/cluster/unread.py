"""What exists in a cluster and cannot be read: it concerns the targets that depend on it, and no others."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from reconciler.cluster.platform_reading import Key, PlatformReading, Reference, WireKind, objects_of
from reconciler.cluster.target import TargetFacts, TargetRef


class Unread(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """One object, or without a name all objects of a kind. Without a namespace (of a cloud: a region): in all of them. `why` is
    the server's or the reader's own sentence. `node` is a Node itself, or the one that a Pod is on (empty: none; None:
    unknown)."""

    group: str = ""
    kind: str
    namespace: str = ""
    name: str = ""
    why: str
    node: str | None = None

    @property
    def title(self) -> str:
        """`Pod shop/web-0`, `Pod in shop` or `Pod`."""
        if self.name:
            return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"
        return f"{self.kind} in {self.namespace}" if self.namespace else self.kind

    def sentence(self) -> str:
        """What cannot be read, and why."""
        return f"{self.title} cannot be read: {self.why}"

    def covers(self, namespace: str, name: str) -> bool:
        """Whether an object of its kind may be this one."""
        return self.namespace in ("", namespace) and self.name in ("", name)


def unread_target(unread: Iterable[Unread], target: TargetRef) -> Unread | None:
    """What keeps a target from being read. `kind` of those is as in `WireKind.known_as`."""
    return next((one for one in unread if one.kind == target.kind and one.covers(target.place, target.name)), None)


def judged(
    unread: tuple[Unread, ...],
    reading: PlatformReading,
    capi_group: str,
    kept: Mapping[tuple[str, str], Mapping[Key, Any]],
    targets: Iterable[TargetFacts],
) -> Iterable[TargetFacts]:
    """The targets of a platform. Each that cannot be judged without something unread says so. `kept` are the platform's
    objects."""
    for facts in targets:
        item = kept.get(("", facts.ref.kind), {}).get((facts.ref.namespace, facts.ref.name)) if unread else None
        refers_to = None if item is None else objects_of(reading.name).referred(item)
        missing = next((one for one in unread if _holds(one, reading, capi_group, facts, refers_to)), None)
        yield facts if missing is None else msgspec.structs.replace(facts, unseen=missing.sentence())


def _holds(one: Unread, reading: PlatformReading, capi_group: str, facts: TargetFacts, refers_to: Reference | None) -> bool:
    kind = _kind(one, reading, capi_group)
    if kind is None:
        return False
    if kind.any_kind_ending_so:
        return (
            refers_to is not None
            and (refers_to.group, refers_to.kind) == (one.group, one.kind)
            and one.covers(refers_to.namespace or facts.ref.namespace, refers_to.name)
        )
    if kind.of_cluster and one.name:
        return one.covers(facts.ref.namespace, facts.cluster_name or one.name)
    if facts.ref.kind == kind.known_as and one.name:
        return one.covers(facts.ref.place, facts.ref.name)
    return one.namespace in ("", facts.ref.place) and (not kind.only_for or facts.ref.kind in kind.only_for)


def _kind(one: Unread, reading: PlatformReading, capi_group: str) -> WireKind | None:
    """The kind of the platform that it is of; templates are of any group."""
    for kind in reading.kinds:
        if kind.any_kind_ending_so and one.kind.endswith(kind.kind):
            return kind
        if one.kind == kind.known_as and one.group in ("", reading.group_of(kind, capi_group)):
            return kind
    return None
