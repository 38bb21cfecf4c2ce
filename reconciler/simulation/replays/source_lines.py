"""Sources of demand as lines of a recording. Those that differ only in names, as Jobs of one template do, need few bytes each."""

import msgspec

from reconciler.cluster.pods.pod import Owner
from reconciler.simulation.replays.trace import DemandSource
from reconciler.values.decoding import decode

MOST_SOURCES = 100_000
LARGEST_NAMED_BYTES = 8 << 20
"""The text of all sources of a file that differ from others only in names, about 10,000. A replay has to hold them all."""
Like = tuple[int, str, str]
"""The number of an earlier source in the file, and the names of owner and pod of one that differs only in these."""
_OWNER, _POD = b"\x00", b"\x01"  # JSON escapes them, so they are in no text of a source


class SourceError(ValueError):
    """A source that no file may have."""


class FileSources:
    """The sources of one file, numbered from 0. `count` is how many there are."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[DemandSource, int] = {}
        self._templates: dict[int, bytes] = {}
        self._first: dict[bytes, int] = {}
        self._named_bytes = 0

    def of(self, source: DemandSource) -> int:
        """The number of a source; -1 if it has none."""
        return self._numbers.get(source, -1)

    def read(self, whole: DemandSource | None, like: Like | None) -> DemandSource | None:
        """The source that a line describes, if it describes one. Raises `SourceError` and `msgspec.MsgspecError`."""
        if like is not None:
            first, owner, pod = like
            if first not in self._templates:
                raise SourceError(f"no source before it has the number {first}")
            text = self._templates[first].replace(_OWNER, _quoted(owner)).replace(_POD, _quoted(pod))
            self._named_bytes += len(text)
            if self._named_bytes > LARGEST_NAMED_BYTES:
                raise SourceError(f"sources that differ only in names have more than {LARGEST_NAMED_BYTES >> 20} MiB of text")
            source = decode(text, DemandSource)
        elif whole is not None:
            source = whole
            self._keep(_template(source))
        else:
            return None
        if self.count >= MOST_SOURCES:
            raise SourceError(f"more than {MOST_SOURCES} kinds of pods")
        if any(amount < 0 for _, amount in source.shape.requests.items()):
            raise SourceError("a pod requests less than nothing")
        self._take(source)
        return source

    def line(self, source: DemandSource) -> DemandSource | Like | None:
        """What to write for a source without a number, which it then has. None if the file has too many already. Then its pods
        count as those of the first source that differs only in names, or not at all."""
        template = _template(source)
        first, size = self._first.get(template), len(msgspec.json.encode(source))
        full = self.count >= MOST_SOURCES or (first is not None and self._named_bytes + size > LARGEST_NAMED_BYTES)
        if full:
            if first is not None:
                self._numbers[source] = first
            return None
        if first is None:
            self._keep(template)
            self._take(source)
            return source
        self._named_bytes += size
        self._take(source)
        return first, _owner_name(source), source.pod_name

    def _keep(self, template: bytes) -> None:
        self._templates[self.count] = template
        self._first.setdefault(template, self.count)

    def _take(self, source: DemandSource) -> None:
        self._numbers.setdefault(source, self.count)
        self.count += 1


def plain(source: DemandSource) -> DemandSource:
    """Without the uid of its owner. Where other fields have it, as labels of Jobs do, they get the name of the owner."""
    owner = source.traits.controller
    if owner is None or not owner.uid:
        return source
    again = decode(msgspec.json.encode(source).replace(_quoted(owner.uid), _quoted(owner.name)), DemandSource)
    named = Owner(api_group=owner.api_group, kind=owner.kind, name=owner.name)
    return msgspec.structs.replace(again, traits=msgspec.structs.replace(again.traits, controller=named))


def _template(source: DemandSource) -> bytes:
    """The text of a source, with marks for the names of its owner and of its pod."""
    text = msgspec.json.encode(source)
    for mark, name in ((_OWNER, _owner_name(source)), (_POD, source.pod_name)):
        text = text.replace(_quoted(name), mark) if name else text
    return text


def _owner_name(source: DemandSource) -> str:
    return "" if source.traits.controller is None else source.traits.controller.name


def _quoted(text: str) -> bytes:
    return msgspec.json.encode(text)
