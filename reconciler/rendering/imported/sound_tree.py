"""Whether a part of a policy holds by itself: the reader of policies is the judge."""

import json
from collections.abc import Mapping
from typing import Any

from reconciler.policy.documents import API_VERSION
from reconciler.policy.problems.findings import Severity
from reconciler.policy.tree import read_tree


def fault_of(spec: Mapping[str, Any]) -> str:
    """Why the reader refuses a policy with this `spec`; empty where it does not."""
    document = {"apiVersion": API_VERSION, "kind": "NodeGroupPolicy", "metadata": {"name": "imported"}, "spec": spec}
    problems = read_tree({"policy.json": json.dumps(document).encode()}, now_seconds=0).problems
    errors = (f"{one.message}; {one.hint}" if one.hint else one.message for one in problems if one.severity is Severity.ERROR)
    return "; ".join(dict.fromkeys(errors))
