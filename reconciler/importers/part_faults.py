"""Asks the policy reader whether a part of a policy is valid on its own."""

import json
from collections.abc import Mapping
from typing import Any

from reconciler.policy.documents import API_VERSION
from reconciler.policy.problems.problem import Severity
from reconciler.policy.tree import read_tree
from reconciler.values.two_sentences import two_sentences


def fault_of(spec: Mapping[str, Any]) -> str:
    """Why the reader refuses a policy with this `spec`; empty if it does not."""
    document = {"apiVersion": API_VERSION, "kind": "NodeGroupPolicy", "metadata": {"name": "imported"}, "spec": spec}
    problems = read_tree({"policy.json": json.dumps(document).encode()}, now_seconds=0).problems
    errors = (two_sentences(one.message, one.hint) for one in problems if one.severity is Severity.ERROR)
    return ". ".join(dict.fromkeys(errors))
