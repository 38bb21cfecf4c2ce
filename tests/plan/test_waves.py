"""The order in which clusters take a tree, worked out by hand, and random rollouts: no later wave takes what broke one."""

import random
import secrets

import msgspec
import pytest

from reconciler.plan.waves import (
    ANNOTATION,
    Health,
    Ring,
    Wait,
    WaveRecord,
    closed,
    decided,
    record_problem,
    wave_record,
    waves_in_order,
)

SOAK = 600


def record(
    content: str, *, seen: int = SOAK, watched: int = SOAK, now: int = 0, before: int = 0, proven: bool = True
) -> WaveRecord:
    return WaveRecord(
        content=content, revision=content, digest=content, seen=seen, watched_seconds=watched, now=Health(unplaced=now),
        before=Health(unplaced=before), proven=proven,
    )  # fmt: skip


def asked(wave: int | None, *rings: Ring, decides: bool = True) -> Wait | None:
    return closed("new", wave, rings, decides=decides, soak_seconds=SOAK)


GOOD = Ring(cluster="infra/a", wave=0, record=record("new"))


@pytest.mark.parametrize("wave", [0, 1, None])
def test_nothing_is_waited_for_without_an_earlier_wave(wave: int | None) -> None:
    assert asked(wave) is None
    assert asked(wave, Ring(cluster="infra/z", wave=None, record=record("old"))) is None
    assert asked(0, GOOD, Ring(cluster="infra/b", wave=0, record=record("old"))) is None


@pytest.mark.parametrize("wave", [1, 7, None])
def test_an_earlier_wave_goes_first(wave: int | None) -> None:
    assert asked(wave, GOOD) is None
    for other in (None, record("old")):
        wait = asked(wave, GOOD, Ring(cluster="infra/b", wave=0, record=other))
        assert wait is not None
        assert not wait.stopped
        assert wait.why == "it waits for wave 0: infra/b did not take it yet"


def test_a_wave_is_watched_first() -> None:
    young = Ring(cluster="infra/a", wave=0, record=record("new", seen=1000 + SOAK - 1, watched=SOAK - 1, proven=False))
    wait = asked(1, young)
    assert wait is not None
    assert not wait.stopped
    assert wait.why == "it waits for wave 0: infra/a is watched under it until 1970-01-01T00:26:40Z or later"


def test_a_wave_that_got_worse_stops_the_next() -> None:
    """Also when it had been proven. A new cluster takes what was proven: without a policy it would decide nothing."""
    bad = Ring(cluster="infra/a", wave=0, record=record("new", now=3, before=1, proven=False))
    wait = asked(1, bad)
    assert wait is not None
    assert wait.stopped
    assert wait.why == "wave 0 stopped: since infra/a took it, it has 3 unplaced pods (1 before)"
    assert 'label reconciler.dev/wave: "0"' in wait.how
    later = Ring(cluster="infra/a", wave=0, record=record("new", now=3, before=1))
    assert asked(1, later) is not None
    assert asked(1, later, decides=False) is None
    assert asked(1, bad, decides=False) is not None


def test_the_first_wave_that_is_not_done_is_named() -> None:
    rings = [Ring(cluster=f"infra/{wave}", wave=wave, record=record("old" if wave else "new")) for wave in (2, 1, 0)]
    wait = asked(None, *rings)
    assert wait is not None
    assert "wave 1: infra/1 did" in wait.why


def turn(known: WaveRecord | None, digest: str, at: int, unplaced: int = 0, failed: int = 0) -> WaveRecord:
    return decided(
        known, content=f"tree of {digest}", revision=digest, digest=digest, found=Health(unplaced=unplaced, failed=failed),
        at_seconds=at, soak_seconds=SOAK,
    )  # fmt: skip


def watched(known: WaveRecord | None, digest: str, since: int, until: int, unplaced: int = 0) -> WaveRecord:
    """A decision at least once a minute."""
    for at in (*range(since, until, 60), until):
        known = turn(known, digest, at, unplaced)
    assert known is not None
    return known


def test_a_policy_is_proven_after_a_while_without_getting_worse() -> None:
    one = watched(None, "a", 0, SOAK - 1, 2)
    assert not one.proven
    assert turn(one, "a", SOAK, 2).proven
    worse = turn(one, "a", SOAK, 3)
    assert not worse.proven
    assert turn(worse, "a", SOAK + 1, 1).proven


def test_time_out_of_sight_proves_nothing() -> None:
    """A cluster that was away, or whose clock jumped, has been watched for two minutes more at most."""
    away = turn(turn(None, "a", 0), "a", 100 * SOAK)
    assert (away.watched_seconds, away.proven) == (120, False)
    assert turn(away, "a", 0).watched_seconds == 120
    assert watched(away, "a", 100 * SOAK, 101 * SOAK - 120).proven


def test_growth_that_fails_under_a_first_policy_counts() -> None:
    assert turn(None, "a", 0, failed=1).worse == "1 group without the nodes that were requested (0 before)"


def test_what_an_unrelated_commit_comes_after_is_not_forgotten() -> None:
    """The policy that broke pods is not proven, so the next is compared with what was before both."""
    broken = turn(watched(None, "a", 0, SOAK), "b", 700, 4)
    again = turn(broken, "c", 800, 4)
    assert again.worse == "4 unplaced pods (0 before)"
    assert not watched(again, "c", 800, 800 + 9 * SOAK, 4).proven
    assert watched(again, "d", 9000, 9000 + SOAK).proven


def test_a_commit_without_effect_in_a_cluster_does_not_begin_anew() -> None:
    one = watched(None, "a", 0, SOAK - 60)
    same = decided(one, content="other", revision="r2", digest="a", found=Health(), at_seconds=SOAK, soak_seconds=SOAK)
    assert (same.content, same.proven) == ("other", True)


def test_pods_that_wait_for_long_are_not_what_a_new_policy_did() -> None:
    busy = turn(watched(None, "a", 0, SOAK), "a", 5000, 7)
    assert turn(busy, "b", 6000, 7).worse == ""


@pytest.mark.parametrize(
    "text", ["", "{}", "null", "[1]", '{"content": 1}', "{", "\ud800", '{"a":' * 5000], ids=lambda text: repr(text[:16])
)
def test_what_cannot_be_read_proves_nothing(text: str) -> None:
    assert wave_record({ANNOTATION: text}) is None
    known = record("new")
    assert wave_record({ANNOTATION: msgspec.json.encode(known).decode()}) == known


ODD = ["1000000000000", "-1", "-1e30", "1e30", "9223372036854775807", "18446744073709551616", "1.5", "NaN", '"1"', "null"]


@pytest.mark.parametrize("field", ["seen", "watchedSeconds", "unplaced", "failed", "held"])
@pytest.mark.parametrize("number", ODD)
def test_a_record_with_odd_numbers_is_unreadable(field: str, number: str) -> None:
    """Instants outside of any calendar and negative counts are no record: the waves after it wait, and it is told."""
    health = "{}" if field in ("seen", "watchedSeconds") else f'{{"{field}": {number}}}'
    moments = "".join(f', "{name}": {number if name == field else 5}' for name in ("seen", "watchedSeconds"))
    text = f'{{"content": "new", "revision": "r", "digest": "d", "now": {health}{moments}}}'
    known = {ANNOTATION: text}
    read = wave_record(known)
    assert read is None
    wait = asked(1, Ring(cluster="infra/a", wave=0, record=read))
    assert wait is not None
    assert record_problem(known) == "its annotation reconciler.dev/rollout cannot be read. Later waves wait"


def test_what_can_be_read_is_no_problem() -> None:
    assert record_problem({}) == ""
    assert record_problem({ANNOTATION: msgspec.json.encode(record("new")).decode()}) == ""


def test_the_order_in_words() -> None:
    assert waves_in_order([1, None, 0, 1, None]) == "0 (1 cluster), 1 (2 clusters), then 2 clusters"
    assert waves_in_order([2]) == "2 (1 cluster)"
    assert waves_in_order([None, None]) == ""


def test_random_rollouts() -> None:
    """Trees come at random, and some break the cluster that takes them. Whoever takes one sees every earlier wave at it, healthy.
    Once a good tree stays, all take it."""
    seed = secrets.randbits(32)
    rng = random.Random(f"waves {seed}")
    clusters = {f"c{number}": rng.choice([None, 0, 1, 1, 2]) for number in range(8)}
    records: dict[str, WaveRecord | None] = dict.fromkeys(clusters)
    bad: set[str] = set()
    tree, now = "tree 0", 0
    for step in range(500):
        now += rng.choice((10, 60, 300))
        if step < 350 and rng.random() < 0.08:
            tree = f"tree {step}"
            bad |= {tree} if rng.random() < 0.5 else set()
        if step == 350:
            tree = "tree that stays"
        for name, wave in clusters.items():
            rings = [Ring(cluster=each, wave=clusters[each], record=records[each]) for each in clusters if each != name]
            known = records[name]
            decides = known is not None
            taken = known is not None and known.content == tree
            if not taken and closed(tree, wave, rings, decides=decides, soak_seconds=SOAK) is None:
                earlier = [r for r in rings if r.wave is not None and (wave is None or r.wave < wave)]
                assert all(r.record is not None and r.record.content == tree and r.record.proven for r in earlier), seed
                assert tree not in bad or not earlier, seed
                taken = True
            content = tree if taken else known.content if known is not None else ""
            if not content:
                continue
            broken = Health(unplaced=5 if content in bad else 0)
            # A first policy is compared with its own first plan: what is broken from the beginning is not its doing.
            start = known or decided(
                None, content="", revision="", digest="none", found=Health(), at_seconds=now, soak_seconds=SOAK
            )
            records[name] = decided(
                start, content=content, revision=content, digest=content, found=broken, at_seconds=now, soak_seconds=SOAK
            )
    assert {one.content for one in records.values() if one is not None} == {"tree that stays"}, seed
