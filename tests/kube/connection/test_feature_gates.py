"""Feature gates as an API server reports them."""

from collections.abc import Mapping

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.connection.feature_gates import feature_gates

# As kube-apiserver 1.36 prints them.
METRICS = b"""# HELP kubernetes_feature_enabled [BETA] This metric records the stage and enablement of a k8s feature.
# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="APIResponseCompression",stage="BETA"} 1
kubernetes_feature_enabled{name="GenericWorkload",stage="ALPHA"} 0
kubernetes_feature_enabled{name="NodeDeclaredFeatures",stage=""} 1
kubernetes_feature_enabledness{name="VolumeLimitScaling",stage="BETA"} 1
process_cpu_seconds_total 5.83
"""


class Server:
    """Answers with some metrics, or an error."""

    def __init__(self, answer: bytes | Exception) -> None:
        self.answer = answer

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The metrics."""
        assert (path, query) == ("/metrics", None)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_gates_that_are_asked_for() -> None:
    """By name. Others are left out."""
    asked = frozenset({"NodeDeclaredFeatures", "GenericWorkload", "VolumeLimitScaling"})
    assert feature_gates(Server(METRICS), asked) == (("GenericWorkload", False), ("NodeDeclaredFeatures", True))


@pytest.mark.parametrize("answer", [b"", ApiError(403, "Forbidden", "no"), UnreachableError("gone")])
def test_a_server_that_does_not_say(answer: bytes | Exception) -> None:
    """Nothing is known then."""
    assert feature_gates(Server(answer), frozenset({"GenericWorkload"})) == ()
