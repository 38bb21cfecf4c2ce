"""What a source says of itself, as values: sentences of faults, conditions, events, counters, waits, what is kept on disk."""

import base64
import os
import zlib
from pathlib import Path

import msgspec
import pytest

from reconciler.gitops.git.fault import GETTING, Fault, FaultCode, failed
from reconciler.gitops.git.tree_bounds import MAX_TREE_BYTES
from reconciler.gitops.sources import last_good
from reconciler.gitops.sources.acceptance import short_revision
from reconciler.gitops.sources.last_good import (
    FileLastGoodStore,
    LastGood,
    LastGoodError,
    MemoryLastGoodStore,
    decode_last_good,
    encode_last_good,
)
from reconciler.gitops.sources.poll_times import Polling, next_wait_seconds
from reconciler.gitops.sources.standing import Standing, fault_words, refused, succeeded
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem

FIRST, SECOND = "1" * 40, "2" * 40
NOW = 1_800_000_000
BEGUN = Standing(source="git://x:main")
GONE = Fault(code=FaultCode.UNREACHABLE, message="nobody answers")
BAD = Fault(code=FaultCode.INVALID_POLICY, message="commit has an error", revision=SECOND)


def problem(line: int, message: str) -> Problem:
    return Problem(place=Place("a.yaml", line, 3), code="UnknownKey", message=message)


@pytest.mark.parametrize(
    ("problems", "hint", "sentence"),
    [
        ((), "", "it is so"),
        ((), "do that", "it is so. Do that"),
        ((problem(4, "odd"),), "", "it is so: a.yaml:4:3: odd"),
        ((problem(4, "odd"), problem(5, "even")), "", "it is so: a.yaml:4:3: odd (and 1 more)"),
        ((problem(4, "odd"), problem(5, "b"), problem(6, "c")), "do that", "it is so: a.yaml:4:3: odd (and 2 more). Do that"),
    ],
)
def test_sentence_of_a_fault(problems: tuple[Problem, ...], hint: str, sentence: str) -> None:
    """The first problem with its place, how many more, and what to do."""
    fault = Fault(code=FaultCode.INVALID_POLICY, message="it is so", hint=hint, problems=problems)
    assert fault.sentence == sentence
    assert fault.place == (problems[0].place if problems else None)
    assert str(failed(FaultCode.NO_POLICY, "none", "look", SECOND)) == "none. Look"


@pytest.mark.parametrize(("revision", "told"), [
    ("", "the tree"), ("main", "main"), (FIRST, "commit 111111111111"), ("a" * 64, "commit aaaaaaaaaaaa"),
    ("a" * 41, "a" * 41), ("sha256:" + "b" * 64, "sha256:bbbbbbbbbbbb"),
])  # fmt: skip
def test_revision_in_a_sentence(revision: str, told: str) -> None:
    """Twelve digits of an id, other names whole."""
    assert short_revision(revision) == told


def conditions(standing: Standing) -> list[tuple[str, str, str, str]]:
    return [(one.type, one.status, one.reason, one.message) for one in standing.conditions()]


def test_conditions_before_and_after_the_first_tree() -> None:
    """Not ready before, ready after; nothing is stalled."""
    assert conditions(BEGUN) == [
        ("Ready", "False", "Current", "not read yet"),
        ("Stalled", "False", "Current", "not read yet"),
    ]
    assert not BEGUN.getting_fails
    assert (BEGUN.since_seconds, BEGUN.success_seconds, BEGUN.failures, BEGUN.fetches, BEGUN.updates) == (0, 0, 0, 0, 0)
    after, events = succeeded(BEGUN, FIRST, "", NOW)
    told = "commit 111111111111 of git://x:main is in force"
    assert conditions(after) == [("Ready", "True", "Current", told), ("Stalled", "False", "Current", told)]
    assert [(event.type, event.reason, event.message) for event in events] == [("Normal", "PolicyUpdated", told)]
    assert (after.revision, after.success_seconds, after.fetches, after.updates, after.failures) == (FIRST, NOW, 1, 1, 0)


def test_another_revision_is_told_with_the_one_before() -> None:
    """And with who signed it; the same one again is no news."""
    first, _ = succeeded(BEGUN, FIRST, "", NOW)
    second, (event,) = succeeded(first, SECOND, "ada", NOW + 60)
    assert event.message == "commit 222222222222 of git://x:main is in force instead of commit 111111111111, signed by ada"
    assert (second.signer, second.success_seconds, second.fetches, second.updates) == ("ada", NOW + 60, 2, 2)
    again, events = succeeded(second, SECOND, "ada", NOW + 120)
    assert (events, again.fetches, again.updates, again.success_seconds) == ((), 3, 2, NOW + 120)


def test_a_source_that_cannot_be_got_at() -> None:
    """Not ready and not stalled: asking again may help. Failures are counted, the event is told once, recovery too."""
    good, _ = succeeded(BEGUN, FIRST, "", NOW)
    once, (event,) = refused(good, GONE, NOW + 10)
    twice, events = refused(once, GONE, NOW + 20)
    told = "nobody answers. The policy of commit 111111111111 stays in force"
    assert (event.type, event.reason, event.message, events) == ("Warning", "SourceUnreachable", told, ())
    assert conditions(twice) == [
        ("Ready", "False", "SourceUnreachable", told),
        ("Stalled", "False", "SourceUnreachable", told),
    ]
    assert twice.getting_fails
    assert (twice.failures, twice.since_seconds, twice.fetches, dict(twice.faults)) == (2, NOW + 10, 3, {"SourceUnreachable": 2})
    back, (event,) = succeeded(twice, FIRST, "", NOW + 30)
    assert (event.type, event.reason) == ("Normal", "SourceRecovered")
    assert event.message == "git://x:main is at commit 111111111111 again, which is in force"
    assert (back.failures, back.since_seconds, back.fault, back.fetches) == (0, 0, None, 4)
    assert dict(back.faults) == {"SourceUnreachable": 2}


def test_a_tree_that_is_refused() -> None:
    """Stalled: somebody has to change it. It is no failure to get at it; another revision or another fault is told anew."""
    good, _ = succeeded(BEGUN, FIRST, "", NOW)
    away, _ = refused(good, GONE, NOW + 5)
    once, (event,) = refused(away, msgspec.structs.replace(BAD, problems=(problem(4, "odd"),)), NOW + 10)
    assert not once.getting_fails
    assert [status for _, status, _, _ in conditions(once)] == ["False", "True"]
    assert (once.failures, once.since_seconds, len(event.problems)) == (0, NOW + 10, 1)
    assert dict(once.faults) == {"SourceUnreachable": 1, "InvalidPolicy": 1}
    same, events = refused(once, BAD, NOW + 20)
    assert (same.since_seconds, events) == (NOW + 10, ())
    other, events = refused(same, msgspec.structs.replace(BAD, revision=FIRST), NOW + 30)
    assert (other.since_seconds, len(events)) == (NOW + 30, 1)
    _, events = refused(other, msgspec.structs.replace(BAD, revision=FIRST, code=FaultCode.NO_GROUPS), NOW + 40)
    assert [event.reason for event in events] == ["NoGroups"]


def test_without_any_policy_nothing_is_done() -> None:
    """That is said instead of what stays in force."""
    assert fault_words(GONE, "") == "nobody answers. No policy is in force, so nothing is done"


@pytest.mark.parametrize("revision", ["", FIRST])
def test_words_at_their_bound(revision: str) -> None:
    """An event takes 1,024 characters: what stays in force is never cut, one character less is not cut at all."""
    kept = "The policy of commit 111111111111 stays in force" if revision else "No policy is in force, so nothing is done"
    for size, whole in ((1024 - len(kept) - 3, True), (1024 - len(kept) - 2, False)):
        told = fault_words(Fault(code=FaultCode.UNREACHABLE, message="x" * size), revision)
        assert told.endswith(f". {kept}")
        assert len(told) <= 1024
        assert ("x" * size in told) is whole


def test_which_faults_pass_by_themselves() -> None:
    """About getting at the source; those about what was got need somebody."""
    assert {code.value for code in GETTING} == {
        "SourceUnreachable", "SourceTimedOut", "SourceTooLarge", "AuthenticationFailed", "RefNotFound", "SourceDamaged",
        "LastGoodNotSaved",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "chance", "seconds"),
    [
        (0, 0.0, 60), (1, 0.0, 60), (2, 0.0, 120), (3, 0.0, 240), (4, 0.0, 480), (5, 0.0, 900), (50, 0.0, 900),
        (0, 0.5, 66), (5, 0.5, 990),
    ],
)  # fmt: skip
def test_waits(failures: int, chance: float, seconds: float) -> None:
    """A minute, doubled after each failure but the first up to a quarter of an hour, and up to a fifth more by chance."""
    assert next_wait_seconds(Polling(), failures, chance) == pytest.approx(seconds)


def test_waits_of_short_and_long_intervals() -> None:
    """An interval that is longer than the longest wait is not shortened; doubling ends at 2^30."""
    assert next_wait_seconds(Polling(interval_seconds=3600), 9, 0.0) == 3600
    assert next_wait_seconds(Polling(interval_seconds=1e-9), 9999, 0.0) == pytest.approx(2**30 * 1e-9)


KEPT = LastGood(source="git://x", revision=FIRST, root="policies", files={"a.yaml": b"x"}, read_seconds=7, signer="ada")


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    """From a file and from memory; before the first time there is nothing."""
    for store in (FileLastGoodStore(tmp_path / "far" / "below" / "kept"), MemoryLastGoodStore()):
        assert store.load() is None
        for _ in range(2):
            store.save(KEPT)
            assert store.load() == KEPT
    assert encode_last_good(KEPT).isascii()
    assert decode_last_good(encode_last_good(KEPT)) == KEPT


def packed(content: bytes) -> bytes:
    return b"reconciler-last-good/1\n" + base64.b64encode(content) + b"\n"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"reconciler-last-good/2\nabcd", "has a format that this version does not know"),
        (packed(zlib.compress(b"{}")[:-3]), "is cut off, or too large"),
        (packed(zlib.compress(b"{}")), "is damaged"),
        (packed(b"no zlib"), "is damaged"),
        (encode_last_good(KEPT).rstrip() + b"!", "is damaged"),
    ],
    ids=["form", "cut", "fields", "bytes", "base64"],
)
def test_what_was_kept_and_is_of_no_use(data: bytes, told: str) -> None:
    """Told as damage, so that nobody waits for it to mend."""
    with pytest.raises(LastGoodError, match=f"the stored policy {told}") as found:
        decode_last_good(data)
    assert found.value.damaged


def test_who_may_read_what_is_kept(tmp_path: Path) -> None:
    """As far as the process is allowed to let others; nothing is left beside it."""
    before = os.umask(0o027)
    try:
        FileLastGoodStore(tmp_path / "kept").save(KEPT)
        os.umask(0)
        FileLastGoodStore(tmp_path / "open").save(KEPT)
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {"kept": 0o640, "open": 0o666}


def test_how_much_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """128 MiB: room for the largest policy that is read, 16 MiB, written in base64, and for those of before."""
    assert last_good._MOST_BYTES == 134_217_728 > MAX_TREE_BYTES * 4 // 3
    kept = encode_last_good(KEPT)
    monkeypatch.setattr(last_good, "_MOST_BYTES", len(msgspec.json.encode(KEPT)) - 1)
    with pytest.raises(LastGoodError, match="is cut off, or too large"):
        decode_last_good(kept)


def test_a_disk_that_fails(tmp_path: Path) -> None:
    """That may pass: it is no damage."""
    (tmp_path / "file").write_text("x")
    for store in (FileLastGoodStore(tmp_path), FileLastGoodStore(tmp_path / "file" / "kept")):
        with pytest.raises(LastGoodError, match=str(tmp_path)) as found:
            store.save(KEPT)
        assert not found.value.damaged
    with pytest.raises(LastGoodError, match=r": Is a directory$") as found:
        FileLastGoodStore(tmp_path).load()
    assert not found.value.damaged
