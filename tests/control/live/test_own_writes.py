"""A view that lags behind what we wrote a moment ago."""

import msgspec
import pytest

from reconciler.cluster.target import TargetRef
from reconciler.cluster.world import World
from reconciler.control.live.own_writes import PATIENCE_SECONDS, OwnWrites
from reconciler.providers.contract import RemovalProgress, RemovalState
from tests.builders import ClusterBuilder
from tests.kube.scripted import ManualPace


def _world(generation: int) -> World:
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    world = cluster.world()
    return msgspec.structs.replace(
        world, targets=tuple(msgspec.structs.replace(one, generation=generation) for one in world.targets)
    )


def _two(generation: int) -> World:
    """The same target, and one that nobody writes."""
    cluster = ClusterBuilder()
    for name in ("general", "other"):
        cluster.group(name, nodes=1)
    world = cluster.world()
    general, other = world.targets
    return msgspec.structs.replace(world, targets=(msgspec.structs.replace(general, generation=generation), other))


def _removal(target: TargetRef, generation: int, state: RemovalState = RemovalState.FINISHED) -> RemovalProgress:
    return RemovalProgress(target=target, node="general-1", state=state, generation=generation)


class Views:
    """Views that come one after the other; the last one stays."""

    def __init__(self, *generations: int) -> None:
        self._left = [_world(one) for one in generations]

    def look(self) -> World:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


@pytest.mark.parametrize(("written", "shown"), [(5, 5), (6, 6), (0, 4)])
def test_the_first_view_that_shows_what_was_written_is_taken(written: int, shown: int) -> None:
    """Two views are older; a platform without generations (0) is not waited for."""
    views = Views(4, 4, 5, 6)
    own = OwnWrites(ManualPace())
    own.note([_removal(_world(4).targets[0].ref, written)])
    assert own.shown(views.look(), views.look).targets[0].generation == shown
    # Once shown it is waited for no more.
    assert own.shown(_world(1), views.look).targets[0].generation == 1


def test_a_view_that_never_shows_it_is_taken_in_the_end() -> None:
    """The guards of writes hold anyway."""
    pace = ManualPace()
    own = OwnWrites(pace)
    own.note([_removal(_world(4).targets[0].ref, 9), _removal(_world(4).targets[0].ref, 0, RemovalState.DRAINING)])
    began = pace.monotonic()
    assert own.shown(_world(4), lambda: _world(4)).targets[0].generation == 4
    assert PATIENCE_SECONDS == 2
    assert PATIENCE_SECONDS <= pace.monotonic() - began < PATIENCE_SECONDS + 0.1


@pytest.mark.parametrize(
    ("removal", "there"),
    [
        (_removal(_world(4).targets[0].ref, 9, RemovalState.DRAINING), 4),
        (_removal(_world(4).targets[0].ref, 9, RemovalState.FAILED), 4),
        (_removal(_world(4).targets[0].ref, 0), 4),
        (msgspec.structs.replace(_removal(_world(4).targets[0].ref, 9), target=None), 4),
        (_removal(_world(4).targets[0].ref, 9), 0),
        (_removal(_world(4).targets[0].ref, 4), 4),
    ],
)
def test_what_is_not_waited_for(removal: RemovalProgress, there: int) -> None:
    """Removals that did not end, or wrote no generation or no target of ours; targets of which no generation is known."""
    pace = ManualPace()
    own = OwnWrites(pace)
    own.note([removal])
    began = pace.monotonic()
    assert own.shown(_world(there), lambda: _world(99)).targets[0].generation == there
    assert pace.monotonic() == began


def test_other_targets_are_not_waited_for() -> None:
    """One of two was written: the view is behind as long as it shows that one as it was."""
    own, views = OwnWrites(ManualPace()), [_two(4), _two(5)]
    own.note([_removal(_world(4).targets[0].ref, 5)])
    shown = own.shown(_two(4), lambda: views.pop(0))
    assert [one.generation for one in shown.targets] == [5, 1]
    assert views == []


def test_without_a_pace_nothing_is_waited_for() -> None:
    own = OwnWrites(None)
    own.note([_removal(_world(4).targets[0].ref, 9)])
    assert own.shown(_world(4), lambda: _world(9)).targets[0].generation == 4


def test_the_latest_of_several_writes_is_waited_for() -> None:
    """In whatever order they were told."""
    ref = _world(4).targets[0].ref
    own = OwnWrites(ManualPace())
    own.note([_removal(ref, 6), _removal(ref, 5)])
    views = Views(4, 5, 6)
    assert own.shown(views.look(), views.look).targets[0].generation == 6
