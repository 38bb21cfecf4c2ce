"""Random selectors of devices: mostly well-formed, over all that is evaluated here, and some of what is not."""

import random
from collections.abc import Callable, Iterator

from tests.differential.oracle import Object
from tests.scheduling.devices.test_device_selectors import DRIVER

DEVICE: Object = {
    "name": "gpu-0",
    "attributes": {
        "index": {"int": 3},
        "low": {"int": -(2**63)},
        "model": {"string": "a100-SXM"},
        "empty": {"string": ""},
        "odd": {"string": "ÄÖ\u00df\U0001f600"},
        "other.example.com/healthy": {"bool": True},
        "other.example.com/model": {"string": "h100"},
        "off": {"bool": False},
        "version": {"version": "1.10.0-rc.1"},
        "other.example.com/version": {"version": "18446744073709551615.0.0"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "cores": {"value": "12"}, "other.example.com/none": {"value": "0"}},
    "allowMultipleAllocations": True,
}
_NAMES = ("index", "low", "model", "empty", "odd", "off", "version", "healthy", "missing")
_CAPACITIES = ("memory", "cores", "none", "missing")
_DOMAINS = (DRIVER, DRIVER, DRIVER, "other.example.com", "nowhere.example.com")
_TEXTS = ("", "a", "a100", "a100-SXM", "h100", "1", "1.10.0", "40Gi", "ÄÖ", "A-ß", "\U0001f600", "x" * 70)
_WRITTEN = (r"'it\'s'", r"r'\d+'", r"'\\'", r"'\n'", r'"\"q\""', r"'\u00e9'", r"'\x41'", "'''long'''", "b'bytes'")
_NUMBERS = (
    "0", "1", "3", "-1", "0x3", "00", "007", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "3u",
    "1.5",
)  # fmt: skip
_QUANTITIES = (
    "40Gi", "12", "0", "-1", "1.5", "1e3", "1E", "1Ei", "0.1n", "1K", "1ki", "1_0", ".5", "5.", "+1", "1e", "", " 1",
    "9" * 30,
)  # fmt: skip
_VERSIONS = (
    "1.10.0", "1.10.0-rc.1", "1.10.0-rc.01", "1.10", "v1.0.0", "1.0.0+b", "1.0.0-a+b", "18446744073709551616.0.0",
    "1.0.0-", "",
)  # fmt: skip
_PATTERNS = (
    "a", "^a", "100$", "^$", "a*", "[0-9]+", "[a-z]*-S", "^a|b$", "a.c", "a|", "|", r"\\d+", r"\\.", "[A-Z0-9]+$", "a??",
    "a+*", "x{3}", "(a|b)", "[^a]", "^*", "$+", "[a-", "[z-a]", "ä", ".", "^.$", "..", "[a.]", "[-a]", "[a-]", "a-b",
    "_/:,", "A B", "",
)  # fmt: skip
_RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


class RandomSelectors:
    """Expressions of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._bound: list[tuple[str, str]] = []

    def some(self, count: int) -> list[str]:
        """So many of them."""
        return [self._spaced(self._bool(4)) for _ in range(count)]

    def _one(self, *choices: Callable[[], str]) -> str:
        return self._random.choice(choices)()

    def _pick(self, among: tuple[str, ...]) -> str:
        return self._random.choice(among)

    def _spaced(self, text: str) -> str:
        return text.replace(" ", self._pick((" ", " ", "  ", "\n", "\t")))

    def _bool(self, depth: int) -> str:
        if depth <= 0:
            return self._one(
                lambda: self._pick(("true", "false", "device.allowMultipleAllocations")), self._has, self._attribute, self._within
            )
        return self._one(
            lambda: f" {self._pick(('||', '&&'))} ".join(self._bool(depth - 1) for _ in range(self._random.randint(2, 4))),
            lambda: f"({self._bool(depth - 1)})",
            lambda: f"!({self._bool(depth - 1)})",
            lambda: f"!{self._bool(0)}",
            lambda: f"({self._bool(depth - 1)} ? {self._bool(depth - 1)} : {self._bool(depth - 1)})",
            lambda: self._relation(depth),
            lambda: self._relation(depth),
            lambda: self._texts(depth),
            lambda: self._texts(depth),
            lambda: self._amounts(depth),
            lambda: self._bind(depth),
            self._has,
            self._within,
        )

    def _relation(self, depth: int) -> str:
        kinds = (self._int, self._text, self._dyn, self._bool, self._quantity, self._version)
        kind = self._random.choice(kinds)
        other = kind if self._random.random() < 0.7 else self._random.choice((self._dyn, *kinds))
        return f"{kind(depth - 1)} {self._pick(_RELATIONS)} {other(depth - 1)}"

    def _texts(self, depth: int) -> str:
        of = self._random.choice((self._text, self._text, self._dyn))(depth - 1)
        if self._random.random() < 0.4:
            return f"{of}.matches('{self._pick(_PATTERNS)}')"
        return f"{of}.{self._pick(('startsWith', 'endsWith', 'contains'))}({self._text(depth - 1)})"

    def _amounts(self, depth: int) -> str:
        one = self._random.choice((self._quantity, self._version, self._dyn))
        two = one if self._random.random() < 0.8 else self._random.choice((self._quantity, self._version, self._text))
        method = self._pick(("compareTo", "isGreaterThan", "isLessThan"))
        call = f"{one(depth - 1)}.{method}({two(depth - 1)})"
        return f"{call} {self._pick(_RELATIONS)} {self._pick(_NUMBERS)}" if method == "compareTo" else call

    def _bind(self, depth: int) -> str:
        name, kind = (
            self._pick(("x", "y", "own")),
            self._random.choice((self._int, self._text, self._dyn, self._bool, self._quantity)),
        )
        value = kind(depth - 1)
        self._bound.append((name, kind.__name__))
        body = self._bool(depth - 1)
        self._bound.pop()
        return f"cel.bind({name}, {value}, {body})"

    def _named(self, kind: str) -> str | None:
        names = [name for name, of in self._bound if of in (kind, "_dyn")]
        return self._random.choice(names) if names and self._random.random() < 0.5 else None

    def _domain(self, field: str = "attributes") -> str:
        return f'device.{field}["{self._pick(_DOMAINS)}"]'

    def _attribute(self) -> str:
        name = self._pick(_NAMES)
        return f'{self._domain()}["{name}"]' if self._random.random() < 0.3 else f"{self._domain()}.{name}"

    def _has(self) -> str:
        field, names = self._random.choice((("attributes", _NAMES), ("capacity", _CAPACITIES)))
        return self._one(
            lambda: f"has({self._domain(field)}.{self._pick(names)})",
            lambda: f"{self._domain(field)}.?{self._pick(names)}.hasValue()",
            lambda: f'"{self._pick(names)}" in {self._domain(field)}',
            lambda: f'"{self._pick(_DOMAINS)}" in device.{field}',
        )

    def _within(self) -> str:
        kind = self._random.choice((self._int, self._text))
        of = self._random.choice((kind, self._dyn))
        return f"{of(0)} in [{', '.join(kind(0) for _ in range(self._random.randint(1, 3)))}]"

    def _dyn(self, depth: int) -> str:
        named = self._named("_dyn")
        if named:
            return named
        if self._random.random() < 0.2:
            instead = self._random.choice((self._int, self._text, self._bool))
            return f"{self._domain()}.?{self._pick(_NAMES)}.orValue({instead(depth - 1)})"
        return self._attribute()

    def _int(self, depth: int) -> str:
        del depth
        return self._named("_int") or self._pick(_NUMBERS)

    def _text(self, depth: int) -> str:
        if named := self._named("_text"):
            return named
        if depth > 0 and self._random.random() < 0.2:
            return f"{self._text(depth - 1)}.lowerAscii()"
        if self._random.random() < 0.1:
            return self._pick((*_WRITTEN, "device.driver"))
        quote = self._pick(("'", '"'))
        return f"{quote}{self._pick(_TEXTS)}{quote}"

    def _quantity(self, depth: int) -> str:
        del depth
        if named := self._named("_quantity"):
            return named
        if self._random.random() < 0.4:
            return f"{self._domain('capacity')}.{self._pick(_CAPACITIES)}"
        return f"quantity('{self._pick(_QUANTITIES)}')"

    def _version(self, depth: int) -> str:
        del depth
        return f"semver('{self._pick(_VERSIONS)}')" if self._random.random() < 0.6 else f"{self._domain()}.version"


def batches(seed: int, count: int, size: int = 500) -> Iterator[list[str]]:
    """`count` expressions, some at a time."""
    for start in range(0, count, size):
        yield RandomSelectors(seed + start).some(min(size, count - start))
