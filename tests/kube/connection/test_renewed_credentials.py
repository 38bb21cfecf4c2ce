"""Credentials that run out while the process lives, by the client library's own loader and a clock that the test sets."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from kubernetes.config import incluster_config

from reconciler.kube.connection.api import UnreachableError
from reconciler.kube.connection.connection_choice import Choice
from reconciler.kube.connection.transport import KubernetesApi, Session
from tests.testbed.certificates import Authority


class _Clock:
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)

    @classmethod
    def now(cls) -> datetime:
        return cls.at


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The token file of the service account of a pod that this process seems to be."""
    file = tmp_path / "token"
    file.write_text("old")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(file))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(Authority(tmp_path).certificate))
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=_Clock, timedelta=timedelta))
    monkeypatch.setattr(_Clock, "at", _Clock.at)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    return file


def test_a_token_that_cannot_be_read_anew(token: Path) -> None:
    """It is read again after a minute: an empty file then is a server that is out of reach for now, and nothing of the write was
    sent; the next request finds the new token."""
    session = Session(Choice(server="in-cluster"))
    api = KubernetesApi(session, timeout_seconds=5, guard=None, user_agent="test")
    assert session.authorization() == {"Authorization": "bearer old"}
    token.write_text("")
    _Clock.at += timedelta(minutes=2)
    with pytest.raises(UnreachableError, match="service account of this pod: cannot renew the credentials") as refused:
        api.write("POST", "/x", {})
    assert refused.value.sent is False
    token.write_text("new")
    assert session.authorization() == {"Authorization": "bearer new"}
