"""Values of maps with free keys: labels, tags, amounts of resources. The keys are checked as well."""

from reconciler.policy.field import BYTES, Field, Kind
from reconciler.policy.problems.suggestion import near
from reconciler.policy.reading.path_names import name_of
from reconciler.policy.reading.scalars import Recorder, money_value, quoted, text_of, too_long
from reconciler.policy.values.quantity import QuantityError, parse_amount
from reconciler.policy.yaml_nodes import Node, Scalar, described, look_of
from reconciler.values.money import PRICE_HOURS, parse_money
from reconciler.values.name_syntax import (
    label_value_fault,
    qualified_name_fault,
    resource_name_fault,
)
from reconciler.values.plain_scalar import Look
from reconciler.values.shown_text import cut, shown
from reconciler.values.whole_number import whole_number

_RESOURCE_ALIASES = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "cores": "cpu", "mem": "memory", "maxpods": "pods"}


def map_value(record: Recorder, field: Field, key: str, key_node: Node, node: Node, path: str) -> str | int | None:
    """One value of a map with free keys; checks the key as well."""
    if field.kind is Kind.RESOURCE_MAP:
        return _amount(record, field, key, key_node, node, path)
    if field.kind is Kind.QUANTITY_MAP:
        fault = qualified_name_fault(key)
        if fault:
            record.fault("BadName", key_node, path, f"the name {shown(key)} {fault}")
        amount = _quantity(record, key, node, path, milli=field.unit != BYTES)
        return node.text if isinstance(node, Scalar) and amount is not None and not fault else None
    text = text_of(record, field, node, path)
    if field.kind is not Kind.LABEL_MAP:
        return None if too_long(record, field, key, key_node, path) else text
    fault = qualified_name_fault(key)
    if fault:
        record.fault("BadLabel", key_node, path, f"the label key {shown(key)} {fault}")
    elif text is not None and (fault := label_value_fault(text)):
        record.fault("BadLabel", node, path, f"the value {shown(text)} of the label {key} {fault}")
    return None if fault else text


def _amount(record: Recorder, field: Field, key: str, key_node: Node, node: Node, path: str) -> int | None:
    fault = resource_name_fault(key, field.resources, field.resource_prefix)
    if fault:
        alias = _RESOURCE_ALIASES.get(key.lower(), "") or near(key, field.resources)
        record.fault("UnknownResource", key_node, path, f"{shown(key)} {fault}", f"did you mean {alias}?" if alias else "")
    if key in PRICE_HOURS and not fault:
        money = money_value(record, field, node, path)
        return None if money is None else parse_money(money)
    amount = _quantity(record, key, node, path, milli=key == "cpu")
    return None if fault else amount


def _quantity(record: Recorder, key: str, node: Node, path: str, *, milli: bool) -> int | None:
    if not isinstance(node, Scalar):
        record.fault("WrongType", node, path, f"{name_of(path)} must be a quantity, not {described(node)}")
        return None
    look = look_of(node)
    if look is Look.FLOAT:
        plain = whole_number(node.text.replace(".", "", 1)) is not None
        cores = f" or {round(float(node.text) * 1000)}m" if key == "cpu" and plain else ""
        record.fault("FloatValue", node, path, f"{name_of(path)} is the float {cut(node.text)}", quoted(node) + cores)
        return None
    if look not in (Look.INTEGER, Look.TEXT):
        if look is Look.NULL:
            record.fault("NullValue", node, path, f"{name_of(path)} has no value", "write the amount, or remove the key")
        else:
            record.fault("AmbiguousNumber", node, path, f"{name_of(path)} is {described(node)}", "write plain decimal digits")
        return None
    try:
        return parse_amount(node.text, milli=milli)
    except QuantityError as error:
        record.fault(error.code, node, path, f"{name_of(path)}: {error}", error.hint)
        return None
