"""The reason value that plans carry: a stable code, one sentence, the numbers in it."""

import re
from collections.abc import Mapping
from functools import cache
from string import Formatter
from typing import ClassVar

import msgspec

from reconciler.values.plural import count_text

Scalar = str | int | bool | None | tuple[str, ...]


class Reason(msgspec.Struct, frozen=True, order=True, gc=False):
    """A reason as printed and stored: `{"code","message","data"}`; `data` keys are camelCase, values plain."""

    code: str
    message: str
    data: Mapping[str, Scalar] = {}


class Blocker(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Something that keeps a node: a pod (`namespace/name`) or, with an empty pod, the node or group itself.

    Code, message and data are those of a reason (`KeepsNode.blocker` makes it).
    """

    code: str
    pod: str = ""
    message: str
    data: Mapping[str, Scalar] = {}


class Because(msgspec.Struct, frozen=True, kw_only=True):
    """The ancestor of all reason types: one subclass per code, its fields the numbers, `sentence` the words.

    Subclasses set `code` (PascalCase, never renamed once released) and a `template` with `{field}` places, or override `sentence`
    if the words depend on the fields. A place with a noun counts it: `{pods:pod}` is `1 pod` or `2 pods`.
    """

    code: ClassVar[str] = ""
    template: ClassVar[str] = ""

    def sentence(self) -> str:
        """The reason in one sentence, without a full stop."""
        if _counts(self.template):
            return _COUNTING.vformat(self.template, (), msgspec.structs.asdict(self))
        return self.template.format(**msgspec.structs.asdict(self))

    def reason(self) -> Reason:
        """The value to put into a plan."""
        return Reason(self.code, self.sentence(), self._data())

    def _data(self) -> dict[str, Scalar]:
        return {key: getattr(self, name) for name, key in _keys(type(self))}


class KeepsNode(Because, frozen=True, kw_only=True):
    """A reason why a node stays. Each has a row in the table of `decisions.removal.keeps`."""

    def blocker(self, pod: str = "") -> Blocker:
        """The value to put into the line of a node that stays for this reason; `pod` (`namespace/name`) if a pod keeps it."""
        return Blocker(code=self.code, pod=pod, message=self.sentence(), data=self._data())


class _CountingFormatter(Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        if format_spec and isinstance(value, int):
            return count_text(value, format_spec)
        return str(value)


_COUNTING = _CountingFormatter()
_COUNTED = re.compile(r"\{\w+:")


@cache
def _counts(template: str) -> bool:
    """Whether a place of the template counts something. Plans render thousands of sentences, and `str.format` is the fast way."""
    return _COUNTED.search(template) is not None


@cache
def _keys(kind: type[Because]) -> tuple[tuple[str, str], ...]:
    """The fields of a kind of reason, each with its key in `data`."""
    return tuple((name, _camel(name)) for name in kind.__struct_fields__)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
