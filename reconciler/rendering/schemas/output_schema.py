"""The JSON Schema of what is printed with `-o json`, made from the types that are printed."""

import re
from typing import Any

import msgspec

from reconciler.decisions.removal.drains.drain_report import DrainReport
from reconciler.plan.plan import FORMAT_VERSION, Plan
from reconciler.plan.rollout import ROLLOUT_VERSION, Rollout
from reconciler.policy.problems.problem import Severity
from reconciler.rendering.documents.apply import FORMAT_VERSION as APPLY_VERSION
from reconciler.rendering.documents.apply import ApplyDocument
from reconciler.rendering.documents.doctor import FORMAT_VERSION as DOCTOR_VERSION
from reconciler.rendering.documents.doctor import DoctorDocument
from reconciler.rendering.documents.explanation.values import FORMAT_VERSION as EXPLANATION_VERSION
from reconciler.rendering.documents.explanation.values import ExplanationDocument
from reconciler.rendering.documents.fleet.comparison import FleetDocument
from reconciler.rendering.documents.fleet.plans import FLEET_PLANS_VERSION, FleetPlansDocument
from reconciler.rendering.documents.fleet.status import FLEET_STATUS_VERSION, FleetStatusDocument
from reconciler.rendering.documents.hold import FORMAT_VERSION as HOLD_VERSION
from reconciler.rendering.documents.hold import HoldDocument
from reconciler.rendering.documents.preview.values import FORMAT_VERSION as PREVIEW_VERSION
from reconciler.rendering.documents.preview.values import PreviewDocument
from reconciler.rendering.documents.problems import FORMAT_VERSION as PROBLEMS_VERSION
from reconciler.rendering.documents.problems import ProblemReport
from reconciler.rendering.documents.replay import FORMAT_VERSION as SIMULATION_VERSION
from reconciler.rendering.documents.replay import SimulationDocument
from reconciler.rendering.documents.report import FORMAT_VERSION as REPORT_VERSION
from reconciler.rendering.documents.report import ReportDocument
from reconciler.rendering.documents.simulated_run import FORMAT_VERSION as RUN_VERSION
from reconciler.rendering.documents.simulated_run import RunDocument
from reconciler.rendering.documents.status import FORMAT_VERSION as STATUS_VERSION
from reconciler.rendering.documents.status import StatusDocument
from reconciler.rendering.documents.tuning import FORMAT_VERSION as TUNING_VERSION
from reconciler.rendering.documents.tuning import TuningDocument
from reconciler.rendering.printers.text.fit import FORMAT_VERSION as FIT_VERSION
from reconciler.rendering.schemas.schema_names import DIALECT, schema_id

_SPACES = re.compile(r"\s+")


def plan_schema() -> dict[str, Any]:
    """The schema of a plan. Further keys may come within a major version; every key there is now is always written."""
    schema = struct_schema(Plan, "plan", "A plan")
    properties = schema["$defs"]["Plan"]["properties"]
    properties["formatVersion"] |= format_version(FORMAT_VERSION)
    properties["digest"] |= {"pattern": "^(sha256:[0-9a-f]{64})?$"}
    properties["now"] |= {"format": "date-time"}
    properties["mode"] |= {"enum": ["Observe", "Enforce"]}
    return schema


def preview_schema() -> dict[str, Any]:
    """The schema of `preview -o json`."""
    schema = struct_schema(PreviewDocument, "preview", "What a policy change does")
    properties = schema["$defs"]["PreviewDocument"]["properties"]
    properties["formatVersion"] |= format_version(PREVIEW_VERSION)
    properties["digest"] |= {"pattern": "^(sha256:[0-9a-f]{64})?$"}
    properties["now"] |= {"format": "date-time"}
    return schema


def apply_schema() -> dict[str, Any]:
    """The schema of `apply -o json`."""
    schema = struct_schema(ApplyDocument, "apply", "What became of a saved plan")
    properties = schema["$defs"]["ApplyDocument"]["properties"]
    properties["formatVersion"] |= format_version(APPLY_VERSION)
    properties["now"] |= {"format": "date-time"}
    schema["$defs"]["AppliedAction"]["properties"]["state"] |= {"enum": ["Done", "Skipped", "Refused", "Failed"]}
    return schema


def explain_schema() -> dict[str, Any]:
    """The schema of `explain -o json`."""
    schema = struct_schema(ExplanationDocument, "explain", "Everything that led to one outcome")
    properties = schema["$defs"]["ExplanationDocument"]["properties"]
    properties["formatVersion"] |= format_version(EXPLANATION_VERSION)
    properties["what"] |= {"enum": ["pod", "node", "group", "value"]}
    properties["now"] |= {"format": "date-time"}
    return schema


def simulate_schema() -> dict[str, Any]:
    """The schema of `simulate -o json`."""
    schema = struct_schema(SimulationDocument, "simulate", "Demand over time under one policy or two")
    properties = schema["$defs"]["SimulationDocument"]["properties"]
    properties["formatVersion"] |= format_version(SIMULATION_VERSION)
    properties["sides"] |= {"minItems": 1, "maxItems": 2}
    for key in ("start", "end"):
        properties[key] |= {"format": "date-time"}
    return schema


def tune_schema() -> dict[str, Any]:
    """The schema of `tune -o json`."""
    schema = struct_schema(TuningDocument, "tune", "A search for a better policy on past demand")
    definitions = schema["$defs"]
    properties = definitions["TuningDocument"]["properties"]
    properties["formatVersion"] |= format_version(TUNING_VERSION)
    for key in ("start", "end"):
        properties[key] |= {"format": "date-time"}
    definitions["DemandFigures"]["properties"]["start"] |= {"format": "date-time"}
    return schema


def run_schema() -> dict[str, Any]:
    """The schema of `run --simulate -o json`."""
    schema = struct_schema(RunDocument, "run", "The loop on the embedded cluster, turn by turn")
    definitions = schema["$defs"]
    definitions["RunDocument"]["properties"]["formatVersion"] |= format_version(RUN_VERSION)
    definitions["RunAction"]["properties"]["state"] |= {"enum": ["Done", "Skipped", "Refused", "Failed"]}
    for name in ("RunTurn", "BrokenRule"):
        definitions[name]["properties"]["at"] |= {"format": "date-time"}
    return schema


def drain_report_schema() -> dict[str, Any]:
    """The schema of `drain-report -o json`."""
    schema = struct_schema(DrainReport, "drain-report", "Which nodes could be drained at which threshold")
    schema["$defs"]["DrainReport"]["properties"]["formatVersion"] |= format_version("1.0")
    return schema


def rollout_schema() -> dict[str, Any]:
    """The schema of `plan --rollout GROUP -o json`."""
    schema = struct_schema(Rollout, "rollout", "What replacing all nodes of a group would take")
    properties = schema["$defs"]["Rollout"]["properties"]
    properties["formatVersion"] |= format_version(ROLLOUT_VERSION)
    properties["now"] |= {"format": "date-time"}
    return schema


def fleet_preview_schema() -> dict[str, Any]:
    """The schema of `preview --fleet -o json`."""
    schema = struct_schema(FleetDocument, "fleet-preview", "What a policy change does in many clusters")
    schema["$defs"]["FleetDocument"]["properties"]["formatVersion"] |= format_version(PREVIEW_VERSION)
    return schema


def fleet_plans_schema() -> dict[str, Any]:
    """The schema of `plan --fleet -o json`."""
    schema = struct_schema(FleetPlansDocument, "fleet-plans", "What a policy does in many clusters")
    schema["$defs"]["FleetPlansDocument"]["properties"]["formatVersion"] |= format_version(FLEET_PLANS_VERSION)
    return schema


def fleet_status_schema() -> dict[str, Any]:
    """The schema of `status --fleet -o json`, and of the page `/fleet`."""
    schema = struct_schema(FleetStatusDocument, "fleet-status", "The loops of many clusters")
    schema["$defs"]["FleetStatusDocument"]["properties"]["formatVersion"] |= format_version(FLEET_STATUS_VERSION)
    return schema


def validate_schema() -> dict[str, Any]:
    """The schema of `validate -o json`."""
    schema = struct_schema(ProblemReport, "validate", "Problems of a policy tree")
    properties = schema["$defs"]["ProblemReport"]["properties"]
    properties["formatVersion"] |= format_version(PROBLEMS_VERSION)
    schema["$defs"]["ProblemEntry"]["properties"]["severity"] |= {"enum": [str(severity) for severity in Severity]}
    return schema


def fit_schema() -> dict[str, Any]:
    """The schema of `fit -o json`, which is written in pieces and has no type of its own."""
    plugins = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    node = _closed(node={"type": "string"}, fits={"type": "boolean"}, reasons=plugins)
    node["description"] = "One node and the sorted names of all filter plugins that reject the pod there."
    node["if"] = {"properties": {"fits": {"const": True}}}
    node["then"] = {"properties": {"reasons": {"maxItems": 0}}}
    node["else"] = {"properties": {"reasons": {"minItems": 1}}}
    pod = _closed(pod={"type": "string", "pattern": "^[^/]+/[^/]+$"}, nodes={"type": "array", "items": node})
    pod["description"] = "A pending pod, alone against the cluster as it stands."
    version = {"type": "string"} | format_version(FIT_VERSION)
    document = _closed(formatVersion=version, pods={"type": "array", "items": pod})
    return {"$schema": DIALECT, "$id": schema_id("fit"), "title": "Which pending pod fits on which node"} | document


def _closed(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def struct_schema(kind: type[msgspec.Struct], name: str, title: str) -> dict[str, Any]:
    """The schema of a struct that is printed whole: no defaults, since nothing is left out but what is unset."""
    schema = msgspec.json.schema(kind)
    for definition in schema["$defs"].values():
        if "description" in definition:
            definition["description"] = _SPACES.sub(" ", definition["description"])
        properties, given = definition.get("properties", {}), definition.get("required", ())
        if properties:
            # What may be unset has no default here.
            definition["required"] = [key for key, value in properties.items() if key in given or "default" in value]
        for value in properties.values():
            value.pop("default", None)
    return {"$schema": DIALECT, "$id": schema_id(name), "title": title} | schema


def format_version(version: str) -> dict[str, str]:
    """Readers reject a major version that they do not know."""
    return {"pattern": rf"^{version.partition('.')[0]}\.[0-9]+$"}


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


def report_schema() -> dict[str, Any]:
    """The schema of `report -o json`."""
    schema = struct_schema(ReportDocument, "report", "What a loop did in a stretch of time")
    properties = schema["$defs"]["ReportDocument"]["properties"]
    properties["formatVersion"] |= format_version(REPORT_VERSION)
    for key in ("from", "to"):
        properties[key] |= {"format": "date-time"}
    return schema
