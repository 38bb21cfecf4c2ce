"""The terms of the field model: what can be said about one key of a policy document."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from reconciler.policy.values import pattern, schedule
from reconciler.values import duration, instant, money, quantity

Written = str | int | tuple[str, ...]
"""A value as written in YAML: text, an integer, a list of texts."""


class Kind(StrEnum):
    """How a value is written."""

    OBJECT = "Object"  # keys are `children`
    LIST = "List"  # of `item`
    STRING = "String"
    NAME = "Name"  # name of a list item, tier, sibling set: at most 63 letters, digits, - _ .
    OBJECT_NAME = "ObjectName"  # name of an API object: a DNS subdomain
    INTEGER = "Integer"
    PERCENT = "Percent"  # an integer 0..100
    INTEGER_OR_PERCENT = "IntegerOrPercent"  # 3 or "10%"
    DURATION = "Duration"  # Go: 1h30m; also a word of `enum`
    QUANTITY = "Quantity"  # Kubernetes: 500m, 16Gi, 4; the values of a ResourceMap
    MONEY = "Money"  # decimal string "0.768"
    INSTANT = "Instant"  # RFC 3339
    CRON = "Cron"  # five fields
    TIME_ZONE = "TimeZone"  # IANA name
    REGEX = "Regex"
    ENUM = "Enum"  # one of `enum`
    LABEL_KEY = "LabelKey"
    KEY_OR_PREFIX = "KeyOrPrefix"  # of a taint; a beginning ends with *
    LABEL_MAP = "LabelMap"  # label key -> value
    STRING_MAP = "StringMap"  # any key -> text (tags, annotations)
    RESOURCE_MAP = "ResourceMap"  # resource name -> Quantity
    QUANTITY_MAP = "QuantityMap"  # any name -> Quantity, kept as written
    TAINT_LIST = "TaintList"  # a List whose item is a taint
    SELECTOR = "Selector"  # an Object: matchLabels, matchExpressions; empty is an error
    OPAQUE = "Opaque"  # accepted and not read: what API servers add


BYTES = "bytes"
"""The unit of a map whose amounts are whole; those of others may have thousandths."""
MAPS = (Kind.LABEL_MAP, Kind.STRING_MAP, Kind.RESOURCE_MAP, Kind.QUANTITY_MAP)
"""Kinds of maps with free keys."""


class Loosens(StrEnum):
    """Which change of a value lets more be written, removed or evicted. For a choice it is the word to which a change loosens, or
    its words in order (`from_tightest`)."""

    SAFE = "safe"  # none by itself; what it does to the decision is compared there
    UP = "up"  # a larger number; nothing at all is no bound, so that it is the loosest of all
    DOWN = "down"  # a smaller number; nothing at all as for UP
    UP_FROM_NOTHING = "up from nothing"  # as UP, but nothing at all is the tightest: without a maximum a group keeps its size
    FEWER = "fewer"  # a list that loses items
    MORE = "more"  # a list that gains items


class MergeRule(StrEnum):
    """Which levels count. The words complete the sentence `of several levels ...`."""

    NEAREST = "the nearest applies as a whole"
    IN_FORCE = "the nearest that has not ended applies"
    KEYS = "each adds keys, and the nearest that names a key applies"
    UNION = "all are added together"


_TIGHTER = " < "


def from_tightest(words: Iterable[str]) -> str:
    """`Field.loosens` of a choice of more than two words, in this order."""
    return _TIGHTER.join(words)


def words_from_tightest(loosens: str) -> tuple[str, ...]:
    """The words of `from_tightest`; one word or none for any other direction."""
    return tuple(loosens.split(_TIGHTER))


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One key. `path` is complete from the document's root, list items as `[]`: `spec.tiers[].name`.

    `attribute` is the struct attribute that the value feeds (empty: the children feed the struct of the parent, or the value is
    not kept). `default` is written as in YAML; None means that nothing applies when the key is left out. `cluster_autoscaler` is
    the flag of the Cluster Autoscaler for the same setting (empty: none). `elsewhere` maps the key of a platform to the name on
    its objects. The names come from the platform's `policy_keys`. `minimum` and `maximum` bound integers, durations (in seconds)
    and the number of items of a list or of keys of a map. `exactly_one_of` and `at_most_one_of` name children that exclude each
    other. `list_key` is the child that names an item of this list (unique), `unique` says that a list of scalars is a set.
    `pattern` is what a whole text must match. `constants` are attributes that the presence of this key sets. `resources` are
    names without a domain that a map of amounts may have, as well as names that begin with `resource_prefix`. `loosens` is a
    `Loosens`, the looser word of a choice, or its words in order. It also applies to everything below. If it is empty, any change
    may loosen, and previews say so. `merge` says which levels of a group count.
    """

    path: str = ""
    yaml_key: str
    kind: Kind
    description: str
    unit: str = ""
    default: Written | None = None
    examples: tuple[Written, ...] = ()
    enum: tuple[str, ...] = ()
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    pattern: str = ""
    cluster_autoscaler: str = ""
    elsewhere: Mapping[str, str] = {}
    item: "Field | None" = None
    children: tuple["Field", ...] = ()
    exactly_one_of: tuple[str, ...] = ()
    at_most_one_of: tuple[str, ...] = ()
    list_key: str = ""
    unique: bool = False
    resources: tuple[str, ...] = ()
    resource_prefix: str = ""
    attribute: str = ""
    constants: tuple[tuple[str, str], ...] = ()
    loosens: str = ""
    merge: MergeRule = MergeRule.NEAREST

    def child(self, yaml_key: str) -> "Field | None":
        """The child with that key, or None."""
        return next((child for child in self.children if child.yaml_key == yaml_key), None)


def walk(field: Field) -> Iterator[Field]:
    """The field and everything below it, depth first, in their order; the item of a list after the list."""
    yield field
    if field.item is not None:
        yield from walk(field.item)
    for child in field.children:
        yield from walk(child)


def structs_in(annotation: object) -> list[type[msgspec.Struct]]:
    """The structs inside an annotation such as `tuple[Window, ...]`, `ScaleDown[None]` or `Selector | None`."""
    plain = getattr(annotation, "__origin__", annotation)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        return [plain]
    return [struct for part in getattr(annotation, "__args__", ()) for struct in structs_in(part)]


MAX_ITEMS = 256
"""How many items a list may have where its field says nothing else."""


def rooted(field: Field, path: str) -> Field:
    """`field` with complete paths, itself being at `path`."""
    item = rooted(field.item, path + "[]") if field.item is not None else None
    prefix = path + "." if path else ""
    children = tuple(rooted(child, prefix + child.yaml_key) for child in field.children)
    maximum = field.maximum if item is None or field.maximum is not None else MAX_ITEMS
    return msgspec.structs.replace(field, path=path, item=item, children=children, maximum=maximum)


LONGEST_TEXT = 1024
"""Of a text without a form of its own, such as the reason of a hold or the value of a tag."""

LONGEST: Mapping[Kind, int] = {
    Kind.STRING: LONGEST_TEXT,
    Kind.STRING_MAP: LONGEST_TEXT,
    Kind.NAME: 63,
    Kind.OBJECT_NAME: 253,
    Kind.LABEL_KEY: 317,
    Kind.KEY_OR_PREFIX: 317,
    Kind.LABEL_MAP: 63,
    Kind.DURATION: duration.MAX_LENGTH,
    Kind.QUANTITY: quantity.MAX_LENGTH,
    Kind.RESOURCE_MAP: quantity.MAX_LENGTH,
    Kind.QUANTITY_MAP: quantity.MAX_LENGTH,
    Kind.INTEGER_OR_PERCENT: 10,
    Kind.MONEY: money.MAX_LENGTH,
    Kind.INSTANT: instant.MAX_LENGTH,
    Kind.CRON: schedule.MAX_LENGTH,
    Kind.TIME_ZONE: 64,
    Kind.REGEX: pattern.MAX_LENGTH,
}


def text_field(
    yaml_key: str, kind: Kind, description: str, example: str, attribute: str, *, required: bool = True, pattern: str = ""
) -> Field:
    """A key that holds a text of some kind."""
    return Field(
        yaml_key=yaml_key,
        kind=kind,
        description=description,
        examples=(example,),
        required=required,
        attribute=attribute,
        pattern=pattern,
    )
