"""Selectors of devices: the part of the Common Expression Language that is evaluated here.

Values: the driver of a device, whether it allows several allocations, its attributes and capacities, texts, whole numbers,
booleans, and lists of these three. Operators: `&& || ! ?: == != < <= > >= in .?`. Functions: `has`, `cel.bind`, `orValue`,
`hasValue`, `quantity`, `semver`, `compareTo`, `isGreaterThan`, `isLessThan`, `startsWith`, `endsWith`, `contains`,
`lowerAscii` and `matches`. Patterns are only those that every engine reads alike. Everything else raises `NotEvaluatedError` with
its place, before any device is looked at.

Tenants write selectors. So words, nesting and the steps of an evaluation have bounds, and the steps are counted.
"""

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from reconciler.cluster.devices.resource_slice import Device
from reconciler.scheduling.devices.selector_values import (
    DeviceValue,
    NotEvaluatedError,
    Present,
    SelectorError,
    compared,
    contains,
    device_value,
    equal,
    ordered,
    quantity,
    selected,
    semver,
    text_of,
    truth,
    unequal,
)
from reconciler.scheduling.devices.selector_words import Word, string_literal, words_of
from reconciler.values.linear_pattern import found, is_linear
from reconciler.values.shown_text import shown

MAX_PATTERN = 256
_LONGEST = 10 * 1024
"""Source: `CELSelectorExpressionMaxLength` of resource.k8s.io/v1, in bytes."""


_DEEPEST = 40
_DEEPEST_CODE = 100
"""So many parts of an expression are inside each other; each takes a place on the stack when it is evaluated."""
_INT64 = 2**63
_MOST_DIGITS = 20
MOST_STEPS = 20_000
"""So much one evaluation on one device may take."""
_CHARACTERS_A_STEP = 16


class Scope:
    """What an expression is evaluated on: the device, what `cel.bind` has bound, and the steps so far."""

    __slots__ = ("bound", "device", "steps")

    def __init__(self, device: DeviceValue, steps: int) -> None:
        self.device = device
        self.bound: dict[str, object] = {}
        self.steps = steps

    def read(self, characters: int) -> None:
        """Count the reading of a text. Raises `NotEvaluatedError` beyond the bound."""
        self.steps += characters // _CHARACTERS_A_STEP
        if self.steps > MOST_STEPS:
            raise NotEvaluatedError(f"an evaluation of more than {MOST_STEPS} steps")


Code = Callable[[Scope], object]

# The type that an expression has whatever the device. `dyn`: only the device tells.
DYN, BOOL, INT, TEXT, QUANTITY, SEMVER, LIST, MAP, DOMAINS, OPTIONAL = (
    "dyn", "bool", "int", "string", "quantity", "semver", "list", "map", "domains", "optional",
)  # fmt: skip


class _Part(msgspec.Struct, frozen=True):
    """A compiled part: its type, what evaluates it, and the type of its values where it is a map of known values or a list.
    `depth` counts the parts that are inside each other."""

    type: str
    code: Code
    of: str = DYN
    depth: int = 1


class Selector:
    """One compiled selector. `words` are the words of its expression; evaluating each takes a step."""

    def __init__(self, expression: str) -> None:
        """Raises `NotEvaluatedError`."""
        if len(expression.encode()) > _LONGEST:
            raise NotEvaluatedError("an expression of more than 10 KiB")
        words = words_of(expression)
        self.words = len(words)
        self._code = _Parser(words).whole()

    def matches(self, driver: str, device: Device) -> bool:
        """Does it select the device? Raises `SelectorError` and `NotEvaluatedError`."""
        return truth(self._code(Scope(device_value(driver, device), self.words)))

    def answer(self, driver: str, device: Device) -> "Answer":
        """The same without raising these, and the steps that it took."""
        steps = self.words
        try:
            scope = Scope(device_value(driver, device), steps)
            try:
                return Answer(truth(self._code(scope)), scope.steps)
            finally:
                steps = scope.steps
        except (SelectorError, NotEvaluatedError) as error:
            return Answer(error.with_traceback(None), steps)


class Answer(msgspec.Struct, frozen=True):
    """What a selector says of a device, or why it says nothing; and the steps that it took."""

    said: bool | SelectorError | NotEvaluatedError
    steps: int


_ORDERED = (INT, TEXT, BOOL)
_WORDS_OF_THE_LANGUAGE = frozenset({"null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"})


class _Parser:
    """Reads by the grammar of CEL, and compiles on the way."""

    def __init__(self, words: list[Word]) -> None:
        self._words_of = words
        self._next = 0
        self._depth = 0
        self._bound: dict[str, _Part] = {}
        self._tested: tuple[_Part, str] | None = None
        """The map and the name of the field that was read last, for `has`."""

    def whole(self) -> Code:
        part = self._expression()
        if self._peek.kind != "end":
            raise self._cannot(self._peek)
        self._demand(part, BOOL, self._words_of[0])
        return part.code

    @property
    def _peek(self) -> Word:
        return self._words_of[self._next]

    def _take(self) -> Word:
        word = self._peek
        self._next += 1
        return word

    def _accept(self, *signs: str) -> Word | None:
        word = self._peek
        return self._take() if word.text in signs and word.kind in ("sign", "name") else None

    def _expect(self, sign: str) -> Word:
        word = self._accept(sign)
        if word is None:
            raise self._cannot(self._peek)
        return word

    def _cannot(self, word: Word, what: str = "") -> NotEvaluatedError:
        return NotEvaluatedError(f"{what or repr(word.text)} at character {word.at + 1}")

    def _over(self, word: Word, parts: Iterable[_Part], kind: str, code: Code, of: str = DYN) -> _Part:
        """A part that evaluates these ones."""
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > _DEEPEST_CODE:
            raise self._cannot(word, "an expression nested too deeply")
        return _Part(kind, code, of, depth)

    def _demand(self, part: _Part, kind: str, word: Word) -> None:
        if part.type not in (kind, DYN):
            raise self._cannot(word, f"{part.type} where {kind} is needed")

    def _expression(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._cannot(self._peek, "brackets nested too deeply")
        start = self._peek
        part = self._or()
        if self._accept("?"):
            self._demand(part, BOOL, start)
            yes = self._or()
            self._expect(":")
            no = self._expression()
            kind = yes.type if yes.type == no.type else DYN
            if kind == DYN and DYN not in (yes.type, no.type):
                raise self._cannot(start, f"{yes.type} or {no.type}")
            condition, first, second = part.code, yes.code, no.code
            part = self._over(
                start, (part, yes, no), kind, lambda scope: first(scope) if truth(condition(scope)) else second(scope)
            )
        self._depth -= 1
        return part

    def _or(self) -> _Part:
        return self._logical("||", self._and, decides=True)

    def _and(self) -> _Part:
        return self._logical("&&", self._relation, decides=False)

    def _logical(self, sign: str, operand: Callable[[], _Part], *, decides: bool) -> _Part:
        parts = [operand()]
        while word := self._accept(sign):
            parts.append(operand())
            for part in parts[-2:]:
                self._demand(part, BOOL, word)
        if len(parts) == 1:
            return parts[0]
        return self._over(self._peek, parts, BOOL, _any_of([part.code for part in parts], decides=decides))

    def _relation(self) -> _Part:
        part = self._unary()
        while word := self._accept("==", "!=", "<", "<=", ">", ">=", "in"):
            other = self._unary()
            part = self._over(word, (part, other), BOOL, self._related(word, part, other))
        return part

    def _related(self, word: Word, part: _Part, other: _Part) -> Code:
        one, two, sign = part.code, other.code, word.text
        if sign == "in":
            if other.type not in (LIST, MAP, DOMAINS, DYN):
                raise self._cannot(word, f"in {other.type}")
            if other.type == LIST and DYN not in (part.type, other.of) and part.type != other.of:
                raise self._cannot(word, f"{part.type} in a list of {other.of}")
            if other.type in (MAP, DOMAINS):
                self._demand(part, TEXT, word)
            return lambda scope: contains(one(scope), two(scope))
        if part.type != other.type and DYN not in (part.type, other.type):
            raise self._cannot(word, f"{part.type} {sign} {other.type}")
        if sign in ("==", "!="):
            if {part.type, other.type} & {LIST, MAP, DOMAINS, OPTIONAL}:
                raise self._cannot(word, f"{sign} of maps, lists or optional values")
            judge = equal if sign == "==" else unequal
            return lambda scope: judge(_read(scope, one(scope)), two(scope))
        for kind in (part.type, other.type):
            if kind not in (*_ORDERED, DYN):
                raise self._cannot(word, f"{sign} of {kind}")
        return lambda scope: ordered(sign, _read(scope, one(scope)), two(scope))

    def _unary(self) -> _Part:
        if word := self._accept("!"):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._cannot(word, "signs nested too deeply")
            part = self._unary()
            self._depth -= 1
            self._demand(part, BOOL, word)
            inner = part.code
            return self._over(word, (part,), BOOL, lambda scope: not truth(inner(scope)))
        if word := self._accept("-"):
            number = self._take()
            if number.kind != "number":
                raise self._cannot(word)
            return self._number(number, -1)
        return self._member()

    def _number(self, word: Word, sign: int) -> _Part:
        if len(word.text) > _MOST_DIGITS:
            raise self._cannot(word, f"a number of more than {_MOST_DIGITS} digits")
        value = sign * int(word.text, 0 if word.text.startswith("0x") else 10)
        if not -_INT64 <= value < _INT64:
            raise self._cannot(word, "a number beyond 64 bits")
        return _constant(INT, value)

    def _member(self) -> _Part:
        part = self._primary()
        tested: tuple[_Part, str] | None = None
        while word := self._accept(".", ".?", "["):
            before, tested = part, None
            if word.text == "[":
                key = self._expression()
                self._demand(key, TEXT, word)
                self._expect("]")
                part = self._selected(word, part, key)
                continue
            name = self._take()
            if name.kind != "name":
                raise self._cannot(name)
            if word.text == ".?":
                part = self._maybe(word, part, name.text)
            elif self._accept("("):
                part = self._method(name, part, self._arguments())
            elif part.type == DOMAINS:
                raise self._cannot(name)
            else:
                part, tested = self._selected(name, part, _constant(TEXT, name.text)), (before, name.text)
        self._tested = tested
        return part

    def _selected(self, word: Word, part: _Part, key: _Part) -> _Part:
        if part.type not in (MAP, DOMAINS):
            raise self._cannot(word)
        kind, of = (MAP, part.of) if part.type == DOMAINS else (part.of, DYN)
        inner, name = part.code, key.code
        return self._over(word, (part, key), kind, lambda scope: selected(inner(scope), name(scope)), of)

    def _maybe(self, word: Word, part: _Part, name: str) -> _Part:
        if part.type != MAP:
            raise self._cannot(word)
        inner = part.code

        def look(scope: Scope) -> object:
            names = inner(scope)
            return Present(names[name]) if isinstance(names, dict) and name in names else None

        return self._over(word, (part,), OPTIONAL, look, part.of)

    def _arguments(self) -> list[_Part]:
        if self._accept(")"):
            return []
        arguments = [self._expression()]
        while self._accept(","):
            arguments.append(self._expression())
        self._expect(")")
        return arguments

    def _primary(self) -> _Part:
        word = self._take()
        if word.kind == "text":
            text = string_literal(word)
            return _constant(TEXT, text)
        if word.kind == "number":
            return self._number(word, 1)
        if word.text == "(" and word.kind == "sign":
            part = self._expression()
            self._expect(")")
            return part
        if word.text == "[" and word.kind == "sign":
            return self._list(word)
        if word.kind == "name":
            return self._named(word)
        raise self._cannot(word)

    def _list(self, word: Word) -> _Part:
        items: list[_Part] = []
        while not self._accept("]"):
            if items:
                self._expect(",")
            items.append(self._expression())
        kinds = {item.type for item in items}
        if len(kinds) != 1 or not kinds <= {TEXT, INT, BOOL, DYN}:
            raise self._cannot(word, "a list of nothing or of several types")
        codes = [item.code for item in items]
        return self._over(word, items, LIST, lambda scope: [code(scope) for code in codes], kinds.pop())

    def _named(self, word: Word) -> _Part:
        name = word.text
        if name in self._bound:
            return self._bound[name]
        if name in ("true", "false"):
            return _constant(BOOL, name == "true")
        if name == "device":
            return self._field(word)
        if name == "cel":
            self._expect(".")
            if self._take().text != "bind":
                raise self._cannot(word)
            self._expect("(")
            return self._bind()
        if self._accept("("):
            return self._has(word) if name == "has" else self._function(word, self._arguments())
        raise self._cannot(word)

    def _field(self, word: Word) -> _Part:
        if not self._accept("."):
            raise self._cannot(word, "device without a field")
        field = self._take()
        if field.text not in _FIELDS or self._peek.text == "(":
            raise self._cannot(field)
        return _FIELDS[field.text]

    def _bind(self) -> _Part:
        name = self._take()
        if name.kind != "name" or name.text in (*self._bound, "device", "cel", "has", "true", "false", *_WORDS_OF_THE_LANGUAGE):
            raise self._cannot(name)
        self._expect(",")
        value = self._expression()
        self._expect(",")
        key = name.text
        self._bound[key] = _Part(value.type, lambda scope: _bound(scope.bound[key]), value.of)
        body = self._expression()
        del self._bound[key]
        self._expect(")")
        code, inner = value.code, body.code

        def bind(scope: Scope) -> object:
            # No name is bound twice at once, so that nothing is to be restored.
            scope.bound[key] = _attempt(code, scope)
            return inner(scope)

        return self._over(name, (value, body), body.type, bind, body.of)

    def _has(self, word: Word) -> _Part:
        self._member()
        if self._tested is None:
            raise self._cannot(word)
        owner, name = self._tested
        self._expect(")")
        if owner.type != MAP:
            raise self._cannot(word)
        inner = owner.code
        return self._over(word, (owner,), BOOL, lambda scope: contains(name, inner(scope)))

    def _function(self, word: Word, arguments: list[_Part]) -> _Part:
        if word.text not in ("quantity", "semver") or len(arguments) != 1:
            raise self._cannot(word, f"the function {word.text}")
        self._demand(arguments[0], TEXT, word)
        inner = arguments[0].code
        if word.text == "quantity":
            return self._over(word, arguments, QUANTITY, lambda scope: quantity(_read(scope, inner(scope))))
        return self._over(word, arguments, SEMVER, lambda scope: semver(_read(scope, inner(scope))))

    def _method(self, word: Word, part: _Part, arguments: list[_Part]) -> _Part:
        name, inner, parts = word.text, part.code, (part, *arguments)
        if name == "hasValue" and part.type == OPTIONAL and not arguments:
            return self._over(word, parts, BOOL, lambda scope: inner(scope) is not None)
        if name == "orValue" and part.type == OPTIONAL and len(arguments) == 1:
            return self._or_value(word, part, arguments[0])
        if name in _COMPARISONS and len(arguments) == 1:
            kinds = {part.type, arguments[0].type} - {DYN}
            if len(kinds) != 1 or not kinds <= {QUANTITY, SEMVER}:
                raise self._cannot(word, f"{name} of {part.type} and {arguments[0].type}")
            kind, judge, other = *_COMPARISONS[name], arguments[0].code
            return self._over(word, parts, kind, lambda scope: judge(compared(inner(scope), other(scope))))
        if name in _TEXTS and len(arguments) == 1:
            self._demand(part, TEXT, word)
            self._demand(arguments[0], TEXT, word)
            said, other = _TEXTS[name], arguments[0].code
            return self._over(
                word, parts, BOOL, lambda scope: _compared(scope, said, text_of(inner(scope)), text_of(other(scope)))
            )
        if name == "lowerAscii" and not arguments:
            self._demand(part, TEXT, word)
            return self._over(word, parts, TEXT, lambda scope: text_of(_read(scope, inner(scope))).translate(_LOWER))
        if name == "matches" and len(arguments) == 1:
            self._demand(part, TEXT, word)
            pattern = self._pattern(word)
            return self._over(word, parts, BOOL, lambda scope: _found(scope, pattern, text_of(inner(scope))))
        raise self._cannot(word, f"the function {name}")

    def _or_value(self, word: Word, part: _Part, other: _Part) -> _Part:
        if DYN not in (part.of, other.type) and part.of != other.type:
            raise self._cannot(word, f"{part.of} or {other.type}")
        inner, instead = part.code, other.code

        def value(scope: Scope) -> object:
            found = inner(scope)
            return found.value if isinstance(found, Present) else instead(scope)

        return self._over(word, (part, other), other.type if part.of == other.type else DYN, value)

    def _pattern(self, word: Word) -> str:
        argument = self._words_of[self._next - 2]
        before = self._words_of[self._next - 3]
        if argument.kind != "text" or before.text != "(":
            raise self._cannot(word, "matches without a pattern as a text")
        text = string_literal(argument)
        if len(text) > MAX_PATTERN or not _PLAIN_PATTERN.fullmatch(text) or not is_linear(text):
            raise self._cannot(argument, f"the pattern {shown(text)}")
        return text


_CLASS = r"\[(?:[A-Z]-[A-Z]|[a-z]-[a-z]|[0-9]-[0-9]|[A-Za-z0-9_.])+-?\]"
_PLAIN_PATTERN = re.compile(rf"(?:[A-Za-z0-9 _/:,.$^|-]|\\\.|\\d|{_CLASS}|(?<![*+?^|])(?<!\A)[*+?])*")
_COMPARISONS: Mapping[str, tuple[str, Callable[[int], object]]] = {
    "compareTo": (INT, lambda sign: sign),
    "isGreaterThan": (BOOL, lambda sign: sign > 0),
    "isLessThan": (BOOL, lambda sign: sign < 0),
}
_TEXTS: Mapping[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
}


_FIELDS: Mapping[str, _Part] = {
    "driver": _Part(TEXT, lambda scope: scope.device.driver),
    "allowMultipleAllocations": _Part(BOOL, lambda scope: scope.device.multiple),
    "attributes": _Part(DOMAINS, lambda scope: scope.device.attributes),
    "capacity": _Part(DOMAINS, lambda scope: scope.device.capacity, QUANTITY),
}


def _constant(kind: str, value: object) -> _Part:
    return _Part(kind, lambda _: value)


def _attempt(code: Code, scope: Scope) -> object:
    """The value, or the error that whoever uses it meets: what is bound and not used does no harm."""
    try:
        return code(scope)
    except SelectorError as error:
        return error


def _bound(value: object) -> object:
    if isinstance(value, SelectorError):
        raise value
    return value


def _read(scope: Scope, value: object) -> object:
    """The value, whose characters are counted where it is a text."""
    if isinstance(value, str):
        scope.read(len(value))
    return value


def _compared(scope: Scope, said: Callable[[str, str], bool], text: str, other: str) -> bool:
    # As cel-go counts it, which gives up at a cost that is never reached within our bound.
    scope.read(len(text) * max(1, len(other)))
    return said(text, other)


def _found(scope: Scope, pattern: str, text: str) -> bool:
    scope.read(len(text) * len(pattern))
    return found(pattern, text)


_LOWER = {ord(sign): sign.lower() for sign in string.ascii_uppercase}


def _any_of(codes: Sequence[Code], *, decides: bool) -> Code:
    """`||` where true decides, `&&` where false does: if any side decides, an error on another one does not matter."""

    def code(scope: Scope) -> object:
        failed: SelectorError | None = None
        for one in codes:
            try:
                if truth(one(scope)) is decides:
                    return decides
            except SelectorError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not decides

    return code
