"""The reason value that plans carry: a stable code, one sentence, the numbers in it."""

from collections.abc import Mapping
from functools import cache
from typing import ClassVar

import msgspec

Scalar = str | int | bool | None | tuple[str, ...]


class Reason(msgspec.Struct, frozen=True, order=True, gc=False):
    """A reason as printed and stored: `{"code","message","data"}`; `data` keys are camelCase, values plain."""

    code: str
    message: str
    data: Mapping[str, Scalar] = {}


class Because(msgspec.Struct, frozen=True, kw_only=True):
    """The ancestor of all reason types: one subclass a code, its fields the numbers, `sentence` the words.

    Subclasses set `code` (PascalCase, never renamed once released) and a `template` with `{field}` places, or override
    `sentence` where words depend on numbers.
    """

    code: ClassVar[str] = ""
    template: ClassVar[str] = ""

    def sentence(self) -> str:
        """The reason in one sentence, without a full stop."""
        return self.template.format(**msgspec.structs.asdict(self))

    def reason(self) -> Reason:
        """The value to put into a plan."""
        return Reason(self.code, self.sentence(), {_camel(name): value for name, value in msgspec.structs.asdict(self).items()})


@cache
def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
