"""The feature gates that an API server reports."""

import re

from reconciler.kube.connection.api import Api, ApiError, UnreachableError

# SOURCE: k8s.io/component-base/metrics/prometheus/feature. Each gate has one line.
_LINE = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])$', re.MULTILINE)


def feature_gates(api: Api, names: frozenset[str]) -> tuple[tuple[str, bool], ...]:
    """Those of `names` that the server reports, by name. Empty if it does not report any, refuses to, or cannot be reached. It
    reports them to those who may get the path /metrics."""
    try:
        text = api.get("/metrics")
    except (ApiError, UnreachableError):
        return ()
    found = {name.decode(): value == b"1" for name, value in _LINE.findall(text)}
    return tuple(sorted((name, on) for name, on in found.items() if name in names))
