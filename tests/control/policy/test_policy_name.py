"""Under which name a restarted loop finds its last good policy, whatever stands in the source by then."""

import io
import json
from pathlib import Path

import pytest

from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.processes.live_source import LiveSource, say
from reconciler.control.log import Log
from reconciler.control.pages.route import Request
from reconciler.control.pages.waiting_pages import waiting_routes
from reconciler.control.policy.policy_source import FollowedPolicy
from reconciler.gitops.sources.directory_source import DirectorySource
from reconciler.gitops.sources.last_good import FileLastGoodStore
from reconciler.gitops.sources.standing import SourceEvent
from tests.live.reconciler_process import policy_text

BAD = ("mode: Enforcing", "pace: {delay: 0s}", "budgets: [{nodes: ten}]")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "policies"
    made.mkdir()
    (made / "prod.yaml").write_text(policy_text("prod", "default", {"general": (0, 9)}))
    return made


def _spoil(directory: Path) -> None:
    """Three mistakes in one commit."""
    text = (directory / "prod.yaml").read_text()
    for good, bad in zip(
        ("mode: Enforce", "pace: {delayAfterAdd: 0s, delayAfterFailure: 0s}", "budgets: [{nodes: 10}]"), BAD, strict=True
    ):
        assert good in text
        text = text.replace(good, bad)
    (directory / "prod.yaml").write_text(text)


def _source(directory: Path, told: list[SourceEvent], **choice: object) -> LiveSource:
    fields = {**dict.fromkeys(SourceChoice.__struct_fields__), **choice}
    return LiveSource(directory, SourceChoice(**fields), keep=True, tell=told.append)  # type: ignore[arg-type]


def test_the_name_is_that_of_the_policy_of_this_source(directory: Path) -> None:
    """Without --name, and with a tree that cannot be used: what was in force from the same source goes on."""
    _spoil(directory)
    asked: list[str] = []

    def kept(source: str) -> tuple[str, ...]:
        asked.append(source)
        return ("prod",)

    assert _source(directory, []).policy_name(lambda _: True, kept) == "prod"
    assert asked == [DirectorySource(directory).name]


def test_the_name_in_a_file_of_our_own(directory: Path, tmp_path: Path) -> None:
    """--last-good FILE: the same."""
    file = tmp_path / "last-good"
    FollowedPolicy(DirectorySource(directory), FileLastGoodStore(file), lambda: 1_800_000_000).poll()
    _spoil(directory)
    assert _source(directory, [], last_good=file).policy_name(lambda _: True) == "prod"


def test_several_names_are_not_guessed(directory: Path) -> None:
    """Two policies were in force from one source: the process waits, and says which there are."""
    _spoil(directory)
    source = _source(directory, [])
    assert source.policy_name(lambda _: True, lambda _: ("dev", "prod")) is None
    assert source.waits_for.endswith("Several policies were in force from it. Choose one with --name (dev, prod)")


def test_what_can_be_used_comes_first(directory: Path) -> None:
    """A good tree says its name itself, and nobody is asked."""

    def nobody(source: str) -> tuple[str, ...]:
        raise AssertionError(source)

    assert _source(directory, []).policy_name(lambda _: True, nobody) == "prod"


def test_once_there_is_no_waiting(directory: Path) -> None:
    """A first tree that is bad, with nothing kept: an error."""
    _spoil(directory)
    with pytest.raises(InputError):
        _source(directory, []).policy_name(None)


def test_every_fault_of_a_tree_is_in_the_log(directory: Path) -> None:
    """A line each with its place, behind the one that says what goes on."""
    _spoil(directory)
    told: list[SourceEvent] = []
    _source(directory, told).policy_name(lambda _: True)
    stream = io.StringIO()
    for event in told:
        say(Log(stream, lambda: 0), event)
    first, *lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first["code"] == "InvalidPolicy"
    assert [line["place"].rpartition("prod.yaml:")[2].split(":")[0] for line in lines] == ["5", "8", "10"]


def test_a_loop_without_a_policy_is_alive_and_says_why() -> None:
    """The port is open before there is a policy: the probe of life holds, that of readiness says what is waited for."""
    answers = {
        route.path: route.answer(Request(method="GET", path=route.path, headers={}, body=b"", peer="127.0.0.1"))
        for route in waiting_routes(lambda: "prod.yaml:5:9: no such mode", lambda: 0)
    }
    assert answers["/healthz"].status == 200
    assert (answers["/readyz"].status, answers["/readyz"].body) == (503, b"nothing is decided: prod.yaml:5:9: no such mode\n")
    assert b"reconciler_" in answers["/metrics"].body
