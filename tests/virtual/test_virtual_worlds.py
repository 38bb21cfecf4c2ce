"""Random worlds of every platform in virtual time. `--seeds 200` runs so many, and `python -m tests.virtual` many more."""

import msgspec
import pytest

from tests.virtual.clouds.cloud import Shape
from tests.virtual.story import PLATFORMS, Happening, Story, script, shrunk, story
from tests.virtual.world import World

_TRIES = 60
"""So many worlds at most to shorten a story."""


def failing(told: Story) -> str:
    """What went wrong, with the shortest story that was found."""
    wrong = World(told).run()
    left = _TRIES

    def fails(tried: Story) -> bool:
        nonlocal left
        left -= 1
        return left > 0 and bool(World(tried).run())

    return f"{wrong[0]}\n{script(shrunk(told, fails))}" if wrong else ""


@pytest.mark.seeds(3)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_all_invariants_hold(platform: str, seed: int) -> None:
    if wrong := failing(story(platform, seed)):
        pytest.fail(wrong, pytrace=False)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_same_seed_gives_the_same_bytes(platform: str) -> None:
    def log() -> bytes:
        world = World(msgspec.structs.replace(story(platform, 11), slowest_seconds=1, late_seconds=3))
        world.run()
        return "\n".join(world.log).encode()

    assert log() == log()


def test_a_failing_story_is_shortened() -> None:
    """Down to the two happenings without which it does not fail."""
    told = story("aws", 3)
    needed = (Happening(10, "kill", amount=1), Happening(20, "expired", seconds=60))
    told = msgspec.structs.replace(told, happenings=(*told.happenings, *needed), slowest_seconds=1.5)
    short = shrunk(told, lambda tried: set(needed) <= set(tried.happenings))
    assert short.happenings == needed
    assert short.slowest_seconds == 0
    assert isinstance(short.shape, Shape)
    assert eval(script(short)) == short
