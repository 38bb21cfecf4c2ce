"""Snapshot files as documents: a kind with its items, each still bytes, in the order of the file."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from reconciler.cluster.platform_reading import envelopes
from reconciler.cluster.snapshots import texts, yaml_texts
from reconciler.cluster.snapshots.unlabelled_items import is_object, kind_of
from reconciler.cluster.values.object_parts import DECODING_ERRORS, finding
from reconciler.cluster.values.unreadable import ForeignError, SnapshotError, UnreadableError
from reconciler.cluster.wire.meta import api_group
from reconciler.values.decoding import decode, decoder
from reconciler.values.later import Later

if TYPE_CHECKING:
    import json
else:
    json = Later("json")

_UTF8_BOM, _UTF16_BOMS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_BYTE = re.compile(r"\(byte (\d+)\)")
_JSON, _SPACE = (b"{", b"["), (b" ", b"\t", b"\r", b"\n")


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Items of one kind from one place of one file; `api_version` and `kind` are those of an item.

    `is_list` distinguishes an empty list (captured, but no items) from a single object. `more` is true if the API said that more
    of the list follows. `offset` is the number of the first item in the whole list, from 1. `part` names the document if a file
    has several.
    """

    file: str
    part: str = ""
    api_version: str
    kind: str
    items: list[Raw]
    is_list: bool
    more: bool = False
    offset: int = 1

    @property
    def group(self) -> str:
        """The API group (`apps`), empty for the core group."""
        return api_group(self.api_version)

    def label(self, index: int) -> str:
        """How messages name one item: its number and, where it can be read, its kind and name."""
        number = f"item {self.offset + index}" if self.is_list else ""
        name = f"{self.kind} {object_name(bytes(self.items[index]))}".strip()
        return ", ".join(part for part in (self.part, f"{number} ({name})" if number else name) if part)


class _ListMeta(msgspec.Struct, rename="camel"):
    more: str = msgspec.field(default="", name="continue")
    name: str = ""


class _Envelope(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _ListMeta | None = None
    items: list[Raw] | msgspec.UnsetType | None = msgspec.UNSET


class Part(msgspec.Struct, frozen=True):
    """One JSON text of a file, with its name where there are several, and its envelope where that is known already."""

    body: bytes
    name: str = ""
    envelope: _Envelope | None = None


class _Type(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


class _NameMeta(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Named(msgspec.Struct):
    metadata: _NameMeta | None = None


_envelope = decoder(_Envelope)
_type = decoder(_Type)


@cache
def _named() -> msgspec.json.Decoder[_Named]:
    """Of an object, with what each cloud calls an item by as attribute `name<number>`."""
    names = [
        (f"name{number}", str, msgspec.field(default="", name=envelope.item_name))
        for number, (envelope, _) in enumerate(envelopes())
        if envelope.item_name
    ]
    kind: type[Any] = msgspec.defstruct("_AnyNamed", names, bases=(_Named,))
    return decoder(kind)


def object_name(body: bytes) -> str:
    """`namespace/name` of an object as far as it can be read, else empty."""
    try:
        named = _named().decode(body)
    except DECODING_ERRORS:
        return ""
    for number in range(len(envelopes())):
        if name := getattr(named, f"name{number}", ""):
            return str(name)
    meta = named.metadata or _NameMeta()
    return f"{meta.namespace}/{meta.name}" if meta.namespace and meta.name else meta.name


def documents(file: str, body: bytes) -> Iterator[Document]:
    """The documents of one file (JSON or YAML, with any number of parts). Raises `SnapshotError` for the first that is wrong."""
    for part in parts(file, body):
        yield from split(file, part)


def parts(file: str, body: bytes) -> Iterator[Part]:
    """The JSON texts of one file. Raises `SnapshotError`."""
    text = _utf8(file, body)
    if not text.strip():
        raise SnapshotError(file, "", "the file is empty: the capture failed")
    try:
        start = texts.without_messages(text)
        if start == len(text):
            raise SnapshotError(file, "", "only messages of kubectl and no objects: the capture failed")
        if _is_yaml(file, text, start):
            parts_of_text = yaml_texts.json_parts(text[start:] if text[:1] not in _SPACE else text)
            for number, part in enumerate(parts_of_text, 1):
                yield Part(part, f"document {number}" if len(parts_of_text) > 1 else "")
        elif envelope := None if start else _only_envelope(text):
            yield Part(text, envelope=envelope)
        elif text[start : start + 1] in _JSON and (start or _holds_several(text)):
            for number, (_, part) in enumerate(texts.json_values(text), 1):
                yield Part(part, f"document {number}")
        else:
            yield Part(text)
    except yaml_texts.YamlError as error:
        raise SnapshotError(file, error.item, error.message) from None
    except UnreadableError as error:
        raise SnapshotError(file, "", str(error)) from None


def _only_envelope(text: bytes) -> _Envelope | None:
    """Of a text that is one object, of which nothing is decoded twice. None: who reads the text tells what it is."""
    try:
        return _envelope.decode(text)
    except DECODING_ERRORS:
        return None


def _holds_several(text: bytes) -> bool:
    """Whether JSON follows JSON. Cheap where it does not: nothing is built, and a damaged value is told by who reads it."""
    try:
        decode(text, Raw)
    except DECODING_ERRORS as error:
        return texts.several(error)
    return False


def split(file: str, whole: Part) -> Iterator[Document]:
    """The documents of one JSON text. Raises `SnapshotError`, `ForeignError` where it holds no object."""
    part, body = whole.name, whole.body
    if whole.envelope is None and body.lstrip()[:1] == b"[":
        yield from _array(file, part, body)
        return
    try:
        envelope = whole.envelope or _envelope.decode(body)
    except msgspec.ValidationError as error:
        # An object whose own fields are called `items` or `metadata.continue`, and whose kind is none of ours.
        envelope = _object_envelope(file, part, body, error)
    except DECODING_ERRORS as error:
        raise SnapshotError(file, _breaking_item(part, body), _error_text(error, body)) from None
    if not envelope.kind and (listed := _cloud_list(file, part, body)) is not None:
        yield listed
        return
    if not envelope.kind:
        if isinstance(envelope.items, list):
            yield from _unnamed(file, part, envelope.items, more=bool(envelope.metadata and envelope.metadata.more))
            return
        first = envelopes()[0][0].list_key
        refused = SnapshotError if is_object(Raw(body)) else ForeignError
        raise refused(file, part, f"no kind and no {first}: neither a Kubernetes object nor a list of objects")
    if envelope.kind == "Status":
        raise SnapshotError(file, part, f"an answer of the API server instead of objects: {_status_message(body)}")
    if envelope.items is msgspec.UNSET:
        # A custom kind may be called AllowList; an object has a name, a list has none.
        if envelope.kind.endswith("List") and not (envelope.metadata and envelope.metadata.name):
            raise SnapshotError(file, part, f"a {envelope.kind} without items: the capture is not complete")
        yield Document(
            file=file, part=part, api_version=envelope.api_version, kind=envelope.kind, items=[Raw(body)], is_list=False
        )
        return
    more = bool(envelope.metadata and envelope.metadata.more)
    items = envelope.items or []
    if envelope.kind != "List":
        kind = envelope.kind.removesuffix("List")
        yield Document(file=file, part=part, api_version=envelope.api_version, kind=kind, items=items, is_list=True, more=more)
        return
    yield from _runs(file, part, items, more=more)


def _array(file: str, part: str, body: bytes) -> Iterator[Document]:
    """What `jq .items` or `--query` leaves of a list."""
    try:
        items = decode(body, list[Raw])
    except DECODING_ERRORS as error:
        raise SnapshotError(file, _breaking_item(part, body), _error_text(error, body)) from None
    yield from _unnamed(file, part, items, more=False)


def _unnamed(file: str, part: str, items: list[Raw], *, more: bool) -> Iterator[Document]:
    """Items without a kind above them: each has its own kind, or all have one kind of a cloud. Other lists have no objects."""
    if any(_kind_of(item) or is_object(item) for item in items):
        yield from _runs(file, part, items, more=more)
        return
    kind = kind_of(items) if items else None
    if kind is None:
        what = "an empty list without a kind" if not items else "a list of something other than Kubernetes objects"
        raise ForeignError(file, part, f"{what}. Pass the complete output, without --query and jq")
    yield Document(file=file, part=part, api_version="", kind=kind, items=items, is_list=True, more=more)


def _kind_of(item: Raw) -> str:
    try:
        return _type.decode(item).kind
    except DECODING_ERRORS:
        return ""


def _cloud_list(file: str, part: str, body: bytes) -> Document | None:
    """What a cloud's own command prints: one list, or one object, below a key of its own; None when it is none of those read."""
    try:
        parts = decode(body, dict[str, Raw])
    except DECODING_ERRORS as error:
        raise SnapshotError(file, part, _error_text(error, body)) from None
    match = next(((parts[envelope.list_key], kind) for envelope, kind in envelopes() if envelope.list_key in parts), None)
    if match is None:
        return None
    text, kind = bytes(match[0]), match[1]
    try:
        items = decode(text, list[Raw]) if text.lstrip()[:1] == b"[" else [Raw(text)]
    except DECODING_ERRORS as error:
        raise SnapshotError(file, part, finding(error)) from None
    return Document(file=file, part=part, api_version="", kind=kind, items=items, is_list=True)


def _runs(file: str, part: str, items: list[Raw], *, more: bool) -> Iterator[Document]:
    """A mixed List as one document for each run of items of one kind."""
    start, current = 0, None
    for index, item in enumerate(items):
        try:
            head = _type.decode(item)
        except DECODING_ERRORS as error:
            raise SnapshotError(file, _joined(part, f"item {index + 1}"), _error_text(error, bytes(item))) from None
        if not head.kind:
            name = object_name(bytes(item))
            label = f"item {index + 1} ({name})" if name else f"item {index + 1}"
            raise SnapshotError(file, _joined(part, label), "an item of a List has no kind")
        if current is not None and (head.kind, head.api_version) != (current.kind, current.api_version):
            yield _run(file, part, current, items[start:index], start, more=more)
            start = index
        current = head
    if current is not None:
        yield _run(file, part, current, items[start:], start, more=more)


def _run(file: str, part: str, head: _Type, items: list[Raw], start: int, *, more: bool) -> Document:
    return Document(
        file=file,
        part=part,
        api_version=head.api_version,
        kind=head.kind,
        items=items,
        is_list=True,
        more=more,
        offset=start + 1,
    )


def _object_envelope(file: str, part: str, body: bytes, error: msgspec.ValidationError) -> _Envelope:
    try:
        head = _type.decode(body)
    except msgspec.ValidationError as second:
        message = _error_text(second, body)
        if body.lstrip()[:1] != b"{":
            message = (
                "neither a Kubernetes object nor a list of them. A snapshot is the output of `kubectl get … -o json` or -o yaml"
            )
            raise ForeignError(file, part, message) from None
        raise SnapshotError(file, part, message) from None
    except DECODING_ERRORS as second:
        raise SnapshotError(file, part, _error_text(second, body)) from None
    if not head.kind or head.kind.endswith("List"):
        raise SnapshotError(file, part, _error_text(error, body)) from None
    return _Envelope(api_version=head.api_version, kind=head.kind)


def _status_message(body: bytes) -> str:
    try:
        content = msgspec.json.decode(body)
    except DECODING_ERRORS:
        return "(unreadable)"
    message = content.get("message") or content.get("reason") or "no message"
    return str(message)[:200]


def _utf8(file: str, body: bytes) -> bytes:
    # Windows shells write UTF-16 when output is redirected into a file.
    if body.startswith(_UTF16_BOMS):
        try:
            return body.decode("utf-16").encode()
        except UnicodeDecodeError:
            raise SnapshotError(file, "", "UTF-16 text that ends in the middle of a character") from None
    return body.removeprefix(_UTF8_BOM)


def _is_yaml(file: str, text: bytes, start: int) -> bool:
    """Texts that begin as JSON are read as JSON, the faster way; in a file that is called YAML, flow style may be meant."""
    if text[start : start + 1] not in _JSON:
        return not file.endswith(".json") or texts.looks_like_objects(text[: texts.BEGINNING_BYTES])
    return file.endswith((".yaml", ".yml")) and not _is_json(text)


def _is_json(text: bytes) -> bool:
    """Whether all of it is JSON, be it several values: YAML documents in flow style begin as JSON does."""
    try:
        for _, part in texts.json_values(text):
            decode(part, Raw)
    except (*DECODING_ERRORS, UnreadableError):
        return False
    return True


def _error_text(error: Exception, body: bytes) -> str:
    if "truncated" in str(error):
        return f"the JSON ends after {len(body)} bytes: the capture is not complete"
    return _BYTE.sub(lambda match: f"({texts.place(body, int(match[1]))})", finding(error))


def _joined(part: str, item: str) -> str:
    return f"{part}, {item}" if part else item


def _breaking_item(part: str, body: bytes) -> str:
    """At which item of a list a damaged JSON text breaks. Slow, for messages only."""
    text = body.decode("utf-8", errors="replace")
    start = re.search(rf'"(?:{"|".join(("items", *(envelope.list_key for envelope, _ in envelopes())))})"\s*:\s*\[', text)
    if start is None:
        return part
    decoder, position, number = json.JSONDecoder(), start.end(), 1
    last = ""
    while True:
        gap = re.compile(r"[\s,]*").match(text, position)
        position = gap.end() if gap else position
        if text[position : position + 1] in ("]", ""):
            break
        try:
            item, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        meta = item.get("metadata") if isinstance(item, dict) else None
        if isinstance(meta, dict):
            last = "/".join(str(meta[key]) for key in ("namespace", "name") if meta.get(key))
        number += 1
    after = f" (after {last})" if last else ""
    return _joined(part, f"item {number}{after}")
