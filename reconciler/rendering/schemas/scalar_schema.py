"""The schema of one value, the same in JSON Schema and in a CRD.

Patterns are the common part of ECMA 262 and RE2 (no look-around), the two languages in which they are read.
"""

from reconciler.policy.field import LONGEST, Field, Kind

Schema = dict[str, object]

_DURATION = r"0|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+"
MONEY = r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$"
QUANTITY = r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = rf"({_SUBDOMAIN}/)?{_NAME}"
LABEL_KEY = f"^{_QUALIFIED}$"
KEY_OR_PREFIX = rf"^({_QUALIFIED}|({_SUBDOMAIN}/)?[A-Za-z0-9][-A-Za-z0-9_.]*\*|{_SUBDOMAIN}/\*)$"
DOMAIN_RESOURCE = f"^{_SUBDOMAIN}/{_NAME}$"
LABEL_VALUE = f"^({_NAME})?$"
_CRON_FIELD = r"[0-9A-Za-z*?,/-]+"
_CRON = rf"^\s*(@[A-Za-z]+|{_CRON_FIELD}(\s+{_CRON_FIELD}){{4}})\s*$"
_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[-+][0-9]{2}:[0-9]{2})$"
PERCENT = r"^0*(100|[1-9]?[0-9])%$"
_NOT_BLANK = r"\S"


def scalar_schema(field: Field) -> Schema:
    """Type and bounds of a scalar field. Raises ValueError for kinds that are objects, lists, maps or int-or-string."""
    bound = {"maxLength": LONGEST[field.kind]} if field.kind in LONGEST and not field.enum else {}
    match field.kind:
        case Kind.STRING:
            anything = field.default == "" or bool(field.enum)
            pattern = f"^({field.pattern})$" if field.pattern else "" if anything else _NOT_BLANK
            return _text(field, **({"pattern": pattern} if pattern else {}), **bound)
        case Kind.ENUM:
            return _text(field)
        case Kind.NAME:
            return _text(field, pattern=f"^{_NAME}$", **bound)
        case Kind.OBJECT_NAME:
            return _text(field, pattern=f"^{_SUBDOMAIN}$", **bound)
        case Kind.LABEL_KEY:
            return _text(field, pattern=LABEL_KEY, **bound)
        case Kind.KEY_OR_PREFIX:
            return _text(field, pattern=KEY_OR_PREFIX, **bound)
        case Kind.DURATION:
            words = "".join(f"{word}|" for word in field.enum)
            return {"type": "string", "pattern": f"^({words}{_DURATION})$", "maxLength": LONGEST[field.kind]}
        case Kind.MONEY:
            return {"type": "string", "pattern": MONEY, **bound}
        case Kind.INSTANT:
            return {"type": "string", "format": "date-time", "pattern": _INSTANT, **bound}
        case Kind.CRON:
            return {"type": "string", "pattern": _CRON, **bound}
        case Kind.TIME_ZONE:
            return {"type": "string", "pattern": r"^[A-Za-z0-9_+/-]+$", **bound}
        case Kind.REGEX:
            return {"type": "string", "minLength": 1, **bound}
        case Kind.INTEGER | Kind.PERCENT:
            bounds = (("minimum", field.minimum), ("maximum", field.maximum))
            return {"type": "integer"} | {name: bound for name, bound in bounds if bound is not None}
        case _:
            raise ValueError(f"{field.path} is no scalar: {field.kind}")


def described(field: Field) -> str:
    """The description with the unit where the text of the value does not carry it."""
    in_words = field.kind in (Kind.DURATION, Kind.QUANTITY, Kind.INTEGER_OR_PERCENT)
    return field.description if not field.unit or in_words else f"{field.description} Unit: {field.unit}."


def _text(field: Field, **bounds: object) -> Schema:
    return {"type": "string"} | ({"enum": [str(word) for word in field.enum]} if field.enum else {}) | bounds
