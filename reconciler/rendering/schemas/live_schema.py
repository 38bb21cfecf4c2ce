"""The JSON Schema of what the commands for a live cluster print with `-o json`."""

from typing import Any

from reconciler.rendering.doctor import FORMAT_VERSION as DOCTOR_VERSION
from reconciler.rendering.doctor import DoctorDocument
from reconciler.rendering.hold import FORMAT_VERSION as HOLD_VERSION
from reconciler.rendering.hold import HoldDocument
from reconciler.rendering.schemas.output_schema import format_version, struct_schema
from reconciler.rendering.status import FORMAT_VERSION as STATUS_VERSION
from reconciler.rendering.status import StatusDocument


def doctor_schema() -> dict[str, Any]:
    """The schema of `doctor -o json`."""
    schema = struct_schema(DoctorDocument, "doctor", "What runs here, and whether the loop can run on a cluster")
    schema["$defs"]["DoctorDocument"]["properties"]["formatVersion"] |= format_version(DOCTOR_VERSION)
    schema["$defs"]["CheckLine"]["properties"]["state"] |= {"enum": ["Pass", "Warn", "Fail"]}
    return schema


def loop_status_schema() -> dict[str, Any]:
    """The schema of `status -o json`."""
    schema = struct_schema(StatusDocument, "status", "What a loop left on the API server")
    properties = schema["$defs"]["StatusDocument"]["properties"]
    properties["formatVersion"] |= format_version(STATUS_VERSION)
    properties["now"] |= {"format": "date-time"}
    return schema


def hold_schema() -> dict[str, Any]:
    """The schema of `hold -o json`."""
    schema = struct_schema(HoldDocument, "hold", "What became of holds")
    schema["$defs"]["HoldDocument"]["properties"]["formatVersion"] |= format_version(HOLD_VERSION)
    states = ["Held", "Released", "Unchanged", "Refused", "Failed"]
    schema["$defs"]["HoldLine"]["properties"]["state"] |= {"enum": states}
    return schema
