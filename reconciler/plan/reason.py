"""The reason value that plans carry: a stable code, one sentence, the numbers in it."""

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
    A verb agrees with its number in `{pods:fits|fit}`. Of a tuple, the length counts; without a word, its items are listed.
    """

    code: ClassVar[str] = ""
    template: ClassVar[str] = ""

    def sentence(self) -> str:
        """The reason in one sentence, without a full stop."""
        parts = _parts(self.template)
        return "".join(text + (_words(getattr(self, name), spec) if name else "") for text, name, spec in parts)

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


@cache
def _parts(template: str) -> tuple[tuple[str, str, str], ...]:
    """The texts of a template, each with the field and the word of the place that follows."""
    return tuple((text, name or "", spec or "") for text, name, spec, _ in Formatter().parse(template))


def _words(value: object, spec: str) -> str:
    number = len(value) if isinstance(value, tuple) else value
    if spec and isinstance(number, int):
        one, agrees, several = spec.partition("|")
        return (one if number == 1 else several) if agrees else count_text(number, spec)
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@cache
def _keys(kind: type[Because]) -> tuple[tuple[str, str], ...]:
    """The fields of a kind of reason, each with its key in `data`."""
    return tuple((name, _camel(name)) for name in kind.__struct_fields__)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
