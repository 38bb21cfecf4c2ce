"""The bounds of a policy as the ConfigMap that admission policies take for their parameter, and how two of them differ."""

import json
from collections.abc import Mapping

from reconciler.cluster.target import TargetRef
from reconciler.decisions.ownership.admission_bounds import AdmissionBounds, TargetBound
from reconciler.decisions.ownership.person_tools import AT_SCALE, PERSON_TOOLS
from reconciler.rendering.manifests.policy_yaml import comment
from reconciler.rendering.printers.json_text import inert_json

BOUNDS_NAME = "reconciler-bounds"


ADOPT_FROM, BLOCKED_NAMESPACES, HELD = "adoptFrom", "blockedNamespaces", "held"


LONGEST_KEY = 253
"""SOURCE: keys of a ConfigMap are at most as long as a DNS subdomain."""


def bound_key(target: TargetRef) -> str:
    """The key of one target. No kind, namespace or name has an underscore, so that no two targets share a key."""
    return f"{target.kind}_{target.namespace}_{target.name}"


def bounds_data(bounds: AdmissionBounds) -> dict[str, str]:
    """Key -> text. Lists have one name per line; a range is `LOWEST-HIGHEST`. A target whose key would be too long is left out,
    as one that nothing bounds: neither may be resized then."""
    targets = {bound_key(bound.target): _range(bound) for bound in bounds.targets}
    return {
        ADOPT_FROM: "\n".join(bounds.adopt_from),
        **person_tools(),
        BLOCKED_NAMESPACES: "\n".join(bounds.blocked_namespaces),
        **{key: text for key, text in targets.items() if len(key) <= LONGEST_KEY},
    }


def person_tools() -> dict[str, str]:
    """The names whose Update is a person's: anywhere, and at the subresource `scale` alone. Two keys, as a field manager may be
    called by any printable text."""
    return {"personTools": "\n".join(sorted(PERSON_TOOLS)), "personToolsAtScale": "\n".join(sorted(AT_SCALE))}


def left_out(bounds: AdmissionBounds) -> tuple[str, ...]:
    """A sentence for every target that has no bound, and may not be resized therefore."""
    unbounded = (
        f"{group.target} (group {group.name}) has no maximum, so there is no range and it may not be resized. Set size.max: it "
        "says how large it may be"
        for group in bounds.unbounded
    )
    long = (
        f"{bound.target} is called by more than {LONGEST_KEY} characters, which no key holds: it may not be resized"
        for bound in bounds.targets
        if len(bound_key(bound.target)) > LONGEST_KEY
    )
    return (*unbounded, *long)


def bounds_manifest(bounds: AdmissionBounds, namespace: str) -> str:
    """YAML, one key per line, ends with a newline."""
    lines = comment(
        f"Rendered by `reconciler bounds` from policy {bounds.policy}: change the policy and render again. The person who "
        "installs the reconciler applies this over the empty one. The reconciler's own account may not do that."
    )
    lines += ["apiVersion: v1", "kind: ConfigMap", "metadata:", f"  name: {BOUNDS_NAME}", f"  namespace: {namespace}"]
    lines += ["  labels: {app.kubernetes.io/part-of: nodegroup-reconciler}", "data:"]
    lines += [f"  {key}: {inert_json(json.dumps(text))}" for key, text in bounds_data(bounds).items()]
    return "\n".join(lines) + "\n"


def bounds_differences(wanted: Mapping[str, str], current: Mapping[str, str]) -> tuple[str, ...]:
    """A phrase for every key that differs, in the order of the keys."""
    keys = sorted({*wanted, *current})
    return tuple(_difference(key, wanted.get(key), current.get(key)) for key in keys if wanted.get(key) != current.get(key))


def _difference(key: str, wanted: str | None, current: str | None) -> str:
    return f"{key}: {_phrase(current)} in the cluster, {_phrase(wanted)} by the policy"


def _phrase(text: str | None) -> str:
    return "nothing" if text is None else " ".join(text.split()) or "none"


def _range(bound: TargetBound) -> str:
    return HELD if bound.held else f"{bound.lowest}-{bound.highest}"
