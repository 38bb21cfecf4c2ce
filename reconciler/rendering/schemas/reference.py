"""The reference table of policy documents: every key, and what the same setting is called elsewhere."""

from collections.abc import Iterator

from reconciler.policy.field import Field, Kind
from reconciler.policy.fields import DocumentKind, document_kinds
from reconciler.policy.platform.policy_keys import Elsewhere, platform_keys
from reconciler.policy.problems.problem_codes import PROBLEM_CODES

_HEAD = """\
# Keys of a policy

These are all keys of `NodeGroupPolicy` and `NodeGroup`. Other names of the same setting come last:

- CA: flags of the Cluster Autoscaler
{elsewhere}
The first level that sets a value wins. The order is: the NodeGroup, the target's own annotation or tag, the tier's defaults, the
policy's defaults, the default below. Fields that other software adds to `metadata` are accepted and ignored, and so is `status`.
"""
_COLUMNS = ("key and meaning", "type", "default")
_SHARED = ("spec.defaults", "spec.tiers[].defaults")
_TYPES = {
    Kind.OBJECT: "object",
    Kind.STRING: "text",
    Kind.NAME: "name",
    Kind.OBJECT_NAME: "object name",
    Kind.INTEGER: "integer",
    Kind.PERCENT: "integer 0..100",
    Kind.INTEGER_OR_PERCENT: 'integer or `"10%"`',
    Kind.DURATION: "duration",
    Kind.QUANTITY: "quantity",
    Kind.MONEY: "decimal text",
    Kind.INSTANT: "RFC 3339 instant",
    Kind.CRON: "cron schedule",
    Kind.TIME_ZONE: "IANA time zone",
    Kind.REGEX: "regular expression",
    Kind.LABEL_KEY: "label key",
    Kind.KEY_OR_PREFIX: "taint key, or `PREFIX*`",
    Kind.LABEL_MAP: "label: value",
    Kind.STRING_MAP: "key: text",
    Kind.RESOURCE_MAP: "resource: quantity",
    Kind.QUANTITY_MAP: "name: quantity",
    Kind.SELECTOR: "label selector",
    Kind.TAINT_LIST: "list of taints",
}


def reference_text() -> str:
    """The whole page, as markdown."""
    keys = (line for kind in document_kinds() for line in _section(kind))
    elsewhere = "".join(f"- {one.column}: {one.meaning}\n" for one in _elsewhere().values())
    return "\n".join([_HEAD.format(elsewhere=elsewhere), *keys, *_codes()]) + "\n"


def _elsewhere() -> dict[str, Elsewhere]:
    """What platforms call settings, by the platform's key in policies."""
    return {keys.provider: keys.elsewhere for keys in platform_keys() if keys.elsewhere is not None}


def _codes() -> Iterator[str]:
    yield "## Problem codes"
    yield ""
    yield "A problem shows its code in brackets. Each code names a rule. Codes are stable."
    yield ""
    yield _line(("code", "rule"))
    yield _line(("---", "---"))
    for code, rule in sorted(PROBLEM_CODES.items()):
        yield _line((f"`{code}`", rule))
    yield ""


def _section(kind: DocumentKind) -> Iterator[str]:
    yield f"## {kind.kind}"
    yield ""
    yield f"{kind.description} Scope: {kind.scope.lower()}."
    yield ""
    yield _line(_COLUMNS)
    yield _line(["---"] * len(_COLUMNS))
    for field in _fields(kind.root):
        yield _line(_cells(field))
    yield ""


def _fields(field: Field) -> Iterator[Field]:
    """The keys that deserve a line. The fields of a NodeGroup are told once, below NodeGroup."""
    if field.path and field.kind is not Kind.OPAQUE and not field.path.endswith("[]"):
        yield field
    if field.kind is Kind.SELECTOR or field.path in _SHARED:
        return
    if field.item is not None:
        yield from _fields(field.item)
    for child in field.children:
        yield from _fields(child)


def _cells(field: Field) -> list[str]:
    meaning = field.description
    if field.path in _SHARED:
        meaning += " Any field below `spec` of NodeGroup from `mode` on."
    elif field.examples:
        meaning += " Example: " + " ".join(f"`{_written(example)}`" for example in field.examples)
    names = [("CA", field.cluster_autoscaler)]
    names += [(one.column, field.elsewhere.get(provider, "")) for provider, one in _elsewhere().items()]
    same = ", ".join(f"{column} `{name}`" for column, name in names if name)
    unit = "h, m, s" if field.kind is Kind.DURATION else field.unit
    default = "" if field.default in (None, "") else f"`{_written(field.default)}`"
    return [
        "<br>".join(part for part in (f"`{field.path}`", meaning, same) if part),
        f"{_type(field)} ({unit})" if unit else _type(field),
        "required" if field.required else default,
    ]


def _type(field: Field) -> str:
    if field.kind is Kind.LIST and field.item is not None:
        return f"list of {_type(field.item)}"
    words = " or ".join(f"`{word}`" for word in field.enum)
    if field.kind in (Kind.ENUM, Kind.STRING) and words:
        return words
    return _TYPES[field.kind] + (f" or {words}" if words else "")


def _written(value: object) -> str:
    return f"[{', '.join(str(word) for word in value)}]" if isinstance(value, tuple) else str(value)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
