"""`reconciler previewer` from the command line: one round, the loop, options that are wrong."""

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
from tests.gitops.hosts import TOKEN
from tests.gitops.previewing import MORE, Place, github, place
from tests.kube.cluster import eventually

__all__ = ["github", "place"]


def call(place: Place, cluster: Path, capsys: pytest.CaptureFixture[str], *more: object) -> tuple[int, str, str]:
    (place.tmp_path / "token").write_text(f"{TOKEN}\n")
    words = ("previewer", "--host", place.kind, "--api-url", place.host.url, "--repository",
             "team/policies" if place.kind == "github" else "42", "--git", place.url, "--git-protocol", "http",
             "--token-file", place.tmp_path / "token", "--cluster", cluster, "--cluster-name", "small",
             "--git-cache", place.tmp_path / "cache", "--once")  # fmt: skip
    code = guarded(cli, [str(word) for word in (*words, *more)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_command(place: Place, cluster: Path, capsys: pytest.CaptureFixture[str]):
    """One round from the command line: a line a comment with what it says and where it is."""
    place.push(7, MORE)
    code, out, _ = call(place, cluster, capsys)
    assert code == 0
    assert out.startswith("#7 small Created Plan: 1 group up (+2 nodes)")
    assert out.rstrip().endswith("issuecomment-1" if place.kind == "github" else "/merge_requests/7#note_1")
    assert call(place, cluster, capsys)[1] == "#7 Recent\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "here"), "--listen here: an address is HOST:PORT"),
        (("--git", "http://user:pw@host/x"), "--git: the address has a user or a password"),
        (("--path", "../x"), "it cannot leave the repository"),
        (("--branch", "-x"), "is an option"),
        (("--fork-label", "ready-to-go"), "is too long for a label, which may have 9 characters"),
        (("--api-url", "http://git.example.org/api/v3"), "a token is not sent without TLS"),
        (("--token-file", "/nowhere/token"), "--token-file /nowhere/token: No such file"),
    ],
)
def test_wrong_options(github: Place, cluster: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str], told: str):
    """Said before anything is asked, without what may be a secret."""
    code, out, err = call(github, cluster, capsys, *words)
    assert (code, out) == (1, "")
    assert told in err
    assert "pw" not in err
    assert github.host.requests == []


def probe(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_runs_until_it_is_told_to_end(github: Place, cluster: Path):
    """A process of its own: rounds one after the other, probes answer, SIGTERM ends it at once with exit code 0."""
    (github.tmp_path / "token").write_text(TOKEN)
    github.push(7, MORE)
    command = [
        sys.executable, "-m", "reconciler", "previewer", "--api-url", github.host.url, "--repository", "team/policies",
        "--git", github.url, "--git-protocol", "http", "--token-file", str(github.tmp_path / "token"), "--cluster", str(cluster),
        "--cluster-name", "small", "--git-cache", str(github.tmp_path / "cache"), "--poll", "3600", "--listen", "127.0.0.1:0",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            told = [json.loads(process.stderr.readline()) for _ in range(2)]
            healthy, _ = probe(told[0]["port"], "/healthz")
            # The line of the comment comes before the end of the round.
            eventually(lambda: probe(told[0]["port"], "/readyz") == (200, b"ok\n"), "being ready")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
        told += [json.loads(line) for line in process.stderr]
    assert healthy == 200
    assert [line["code"] for line in told] == ["Started", "Created", "Stopped"]
    assert (told[1]["pullRequest"], told[1]["key"]) == (7, "small")
    assert len(github.host.comments) == 1
