"""Names of paths in messages."""

from reconciler.policy.field import Kind
from reconciler.policy.values.pattern import CLUSTER_AUTOSCALER_EXPANDERS

_LONGEST = 400
"""Room for the longest label key and the path above it."""


def name_of(path: str) -> str:
    """A path as messages name it: without the leading `spec.`, and cut if a key is longer than any valid one."""
    name = path.removeprefix("spec.") or "the document"
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


ALIASES = {
    "x86_64": "amd64",
    "x64": "amd64",
    "aarch64": "arm64",
    "true": "Enabled",
    "on": "Enabled",
    "yes": "Enabled",
    "false": "Disabled",
    "off": "Disabled",
    "no": "Disabled",
    "dryrun": "Observe",
    **CLUSTER_AUTOSCALER_EXPANDERS,
}


FREE = (Kind.STRING, Kind.STRING_MAP, Kind.TIME_ZONE)
