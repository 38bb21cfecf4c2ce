"""AWS's query, ec2 and rest-json protocols on the side of the service, by botocore's own models of them.

The models decide every name and every type, so that an answer which a real client could not read cannot be written.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import ServiceModel, Shape

NAMESPACES = {
    "autoscaling": "http://autoscaling.amazonaws.com/doc/2011-01-01/",
    "ec2": "http://ec2.amazonaws.com/doc/2016-11-15/",
    "sts": "https://sts.amazonaws.com/doc/2011-06-15/",
}


class ServiceError(Exception):
    """What a call is refused with."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status


@cache
def model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def parsed(service: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """The action and its parameters."""
    fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
    action = fields["Action"]
    shape = model(service).operation_model(action).input_shape
    return action, _value(shape, fields, "", ec2=service == "ec2") if shape is not None else {}


def _value(shape: Shape, fields: Mapping[str, str], prefix: str, *, ec2: bool) -> Any:
    if shape.type_name == "structure":
        found = {}
        for name, member in shape.members.items():
            key = f"{prefix}.{_name(name, member, ec2=ec2)}" if prefix else _name(name, member, ec2=ec2)
            if key in fields or any(field.startswith(f"{key}.") for field in fields):
                found[name] = _value(member, fields, key, ec2=ec2)
        return found
    if shape.type_name == "list":
        inner = prefix if ec2 or shape.serialization.get("flattened") else f"{prefix}.member"
        found_items, number = [], 1
        while any(field == f"{inner}.{number}" or field.startswith(f"{inner}.{number}.") for field in fields):
            found_items.append(_value(shape.member, fields, f"{inner}.{number}", ec2=ec2))
            number += 1
        return found_items
    text = fields[prefix]
    if shape.type_name in ("integer", "long"):
        return int(text)
    if shape.type_name == "boolean":
        return text == "true"
    if shape.type_name == "timestamp":
        return datetime.fromisoformat(text)
    return text


def _name(name: str, member: Shape, *, ec2: bool) -> str:
    if not ec2:
        return member.serialization.get("name", name)
    if "queryName" in member.serialization:
        return member.serialization["queryName"]
    written = member.serialization.get("name", name)
    return written[:1].upper() + written[1:]


def rendered(service: str, action: str, answer: Mapping[str, Any], request_id: str) -> bytes:
    """The XML of an answer. Raises `KeyError` for a field that the model does not have."""
    shape = model(service).operation_model(action).output_shape
    content = _xml(shape, answer, ec2=service == "ec2") if shape is not None else ""
    space = NAMESPACES[service]
    if service == "ec2":
        return f'<{action}Response xmlns="{space}"><requestId>{request_id}</requestId>{content}</{action}Response>'.encode()
    metadata = f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
    return f'<{action}Response xmlns="{space}"><{action}Result>{content}</{action}Result>{metadata}</{action}Response>'.encode()


def _xml(shape: Shape, value: Any, *, ec2: bool) -> str:
    if shape.type_name == "structure":
        parts = []
        for name, inner in value.items():
            if inner is None:
                continue
            member = shape.members[name]
            tag = member.serialization.get("name", name)
            parts.append(f"<{tag}>{_xml(member, inner, ec2=ec2)}</{tag}>")
        return "".join(parts)
    if shape.type_name == "list":
        tag = shape.member.serialization.get("name", "item" if ec2 else "member")
        return "".join(f"<{tag}>{_xml(shape.member, item, ec2=ec2)}</{tag}>" for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return escape(str(value))


def refused(service: str, error: ServiceError, request_id: str) -> bytes:
    """The body of a refusal."""
    code, message = escape(error.code), escape(error.message)
    if service == "eks":
        return json.dumps({"message": error.message}).encode()
    if service not in NAMESPACES:
        return json.dumps({"message": error.message, "code": error.code}).encode()
    if service == "ec2":
        inner = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
        return f"<Response>{inner}<RequestID>{request_id}</RequestID></Response>".encode()
    kind = "Sender" if error.status < 500 else "Receiver"
    space = NAMESPACES[service]
    inner = f"<Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return f'<ErrorResponse xmlns="{space}">{inner}<RequestId>{request_id}</RequestId></ErrorResponse>'.encode()
