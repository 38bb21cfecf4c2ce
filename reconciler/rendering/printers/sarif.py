"""Problems as SARIF 2.1.0, for code scanning.

SOURCE: OASIS SARIF 2.1.0 with errata 01. Columns count Unicode code points, which the run declares; paths are relative to the
repository and percent-encoded.
"""

import hashlib
from typing import Any
from urllib.parse import quote

from reconciler import __version__
from reconciler.policy.manifests.declared_sizes import MANIFEST_CODES
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.policy.problems.problem_codes import PROBLEM_CODES
from reconciler.rendering.printers.json_text import json_text

_RULES = {**PROBLEM_CODES, **MANIFEST_CODES}
SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render_sarif(problems: tuple[Problem, ...]) -> str:
    """A SARIF log with one run."""
    codes = sorted({problem.code for problem in problems})
    rules = [{"id": code, "name": code, "shortDescription": {"text": _RULES[code]}} for code in codes]
    log = {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "reconciler", "semanticVersion": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(problem, codes.index(problem.code)) for problem in problems],
            }
        ],
    }
    return json_text(log, None)


def _result(problem: Problem, rule_index: int) -> dict[str, Any]:
    place = problem.place
    location = _location(place)
    location["physicalLocation"]["region"]["endColumn"] = place.column + problem.width
    if problem.source:
        location["physicalLocation"]["contextRegion"] = {"startLine": place.line, "snippet": {"text": problem.source}}
    text = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": rule_index,
        "level": problem.severity.value,
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"reconcilerProblem/v1": _fingerprint(problem)},
    }
    if problem.related:
        result["relatedLocations"] = [
            {**_location(related), "id": number, "message": {"text": label}}
            for number, (related, label) in enumerate(problem.related, 1)
        ]
    return result


def _location(place: Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path)},
            "region": {"startLine": place.line, "startColumn": place.column},
        }
    }


def _fingerprint(problem: Problem) -> str:
    """The same for a problem that only moved to another line."""
    parts = (problem.code, problem.place.path, problem.source.strip(), problem.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
