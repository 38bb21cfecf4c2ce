"""How the client library is asked for credentials, and what is told of its failures."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import config

from reconciler.kube.connection import transport
from reconciler.kube.connection.connection_choice import Choice, ConnectionConfigError, choose
from reconciler.kube.connection.transport import connect
from tests.kube.connection.test_transport import kubeconfig


def test_a_kubeconfig_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library may write renewed tokens into it: it is told not to, and which context is meant."""
    asked: list[tuple[Any, ...]] = []
    load = config.load_kube_config

    def noting(*arguments: Any, **options: Any) -> None:
        asked.append((arguments[0], arguments[1], options))
        load(*arguments, **options)

    monkeypatch.setattr(config, "load_kube_config", noting)
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    connect(path, "here", environment={})
    assert asked == [(str(path), "here", {"persist_config": False})]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (config.ConfigException("Missing key: {'token': 'secret'}"), "Missing key:"),
        (config.ConfigException("{'token': 'secret'}"), "cannot read it"),
        (TypeError(), "cannot read it"),
    ],
)
def test_what_is_told_of_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str) -> None:
    """Its words up to the first brace, which may begin an entry with a token; no name of an exception where none are left."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(config, "load_kube_config", fail)
    path = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(ConnectionConfigError) as found:
        connect(path, environment={})
    assert str(found.value) == f'kubeconfig {path}, context "here", user "u": {told}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


def test_which_cluster_is_meant(home: Path) -> None:
    """The file that is named, then KUBECONFIG, then the one in the home directory, then the pod's own account."""
    assert choose(None, None, IN_A_POD) == Choice(server="in-cluster")
    own = kubeconfig(home, "http://own:1")
    (home / ".kube").mkdir()
    own.rename(home / ".kube" / "config")
    other, named = kubeconfig(home, "http://other:1", name="other"), kubeconfig(home, "http://named:1", name="named")
    assert choose(None, None, IN_A_POD).server == "http://own:1"
    assert choose(None, None, IN_A_POD | {"KUBECONFIG": ""}).server == "http://own:1"
    assert choose(None, None, IN_A_POD | {"KUBECONFIG": str(other)}).server == "http://other:1"
    found = choose(str(named), None, IN_A_POD | {"KUBECONFIG": str(other)})
    assert found == Choice(files=str(named), context="here", server="http://named:1", user="u")


def test_a_context_that_is_named_is_no_pods_account(home: Path) -> None:
    """Whoever names a context means a kubeconfig, though this is a pod."""
    with pytest.raises(ConnectionConfigError, match="no cluster configured"):
        choose(None, "prod", IN_A_POD)


def test_several_files(home: Path) -> None:
    """The first that says a thing wins, empty names in the list are none, and files that are not there are passed over."""
    first = home / "first"
    first.write_text("contexts: [{name: a, context: {cluster: c}}, 7]\nusers:\ncurrent-context:\n")
    second = home / "second"
    second.write_text(
        "current-context: a\ncontexts: [{name: a, context: {cluster: other}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://c:1'}}, {name: other, cluster: {server: 'http://o:1'}}]\n"
        "users: [{name: u, user: {exec: {command: x}}}]\n"
    )
    listed = os.pathsep.join(("", str(home / "none"), str(first), "", str(second)))
    files = os.pathsep.join((str(first), str(second)))
    assert choose(listed, None, {}) == Choice(files=files, context="a", server="http://c:1")
    with pytest.raises(ConnectionConfigError, match="no such file"):
        choose(str(home / "none"), None, {})


def test_a_user_with_a_program(home: Path) -> None:
    """It is told, since its failure is told otherwise than that of a token."""
    for user, runs in (({"exec": {"command": "x"}}, True), ({"token": "t"}, False)):
        found = choose(str(kubeconfig(home, "http://x:1", user)), None, {})
        assert (found.runs_program, found.user) == (runs, "u")


def test_places_in_a_text_that_is_no_yaml(home: Path) -> None:
    """Line and column count from one."""
    path = home / "broken"
    path.write_text("a: 1\nb: [\n")
    with pytest.raises(ConnectionConfigError, match=f"^kubeconfig {path}:3:1: invalid YAML$"):
        choose(str(path), None, {})
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConnectionConfigError, match=f"^kubeconfig {path}: invalid YAML$|invalid kubeconfig$"):
        choose(str(path), None, {})


def test_credentials_are_loaded_anew_at_most_every_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig that is broken meanwhile leaves the old ones, and counts as a try."""
    now = [100.0]
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: now[0]))
    path = kubeconfig(tmp_path, "http://127.0.0.1:1", {"token": "old"})
    session = transport.Session(choose(str(path), None, {}))
    whole = kubeconfig(tmp_path, "http://127.0.0.1:1", {"token": "new"}).read_text()

    told = []
    for seconds, text in ((109.9, whole), (110.0, "users: ["), (119.9, whole), (120.0, whole)):
        path.write_text(text)
        now[0] = seconds
        told.append((session.renew(), session.authorization()["Authorization"]))

    assert told == [(False, "Bearer old"), (False, "Bearer old"), (False, "Bearer old"), (True, "Bearer new")]
