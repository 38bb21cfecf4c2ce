"""What happens in a world, as data: drawn from a seed, printed, and shortened while it still goes wrong."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tests.virtual.clouds.cloud import Shape

PLATFORMS = ("aws", "clusterapi", "openshift", "crusoe")
STORM_SECONDS = 900
_APPS = 10
_One = TypeVar("_One")


class Happening(msgspec.Struct, frozen=True, omit_defaults=True):
    """At so many seconds. `index` names a group, an app or a machine, as far as there are so many; `amount` and `seconds` mean
    what `what` makes of them (see `World.happen`)."""

    at: float
    what: str
    index: int = 0
    amount: int = 0
    seconds: float = 0


class Story(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One world."""

    platform: str
    seed: int = 0
    """For what is drawn at every call: how long it takes, and how old its answer is."""
    period_seconds: float = 30
    slowest_seconds: float = 0
    """The slowest call."""
    late_seconds: float = 0
    """The latest watch event."""
    most_nodes: int = 100
    shape: Shape = Shape()
    happenings: tuple[Happening, ...] = ()


def story(platform: str, seed: int) -> Story:
    """The story of this seed."""
    dice = random.Random(f"{platform} {seed}")
    happenings: list[Happening] = []

    def often(times: float, what: str, make: Callable[[], dict[str, float]] = dict) -> None:
        """On average so many times. Most stories leave most kinds out, so that the others are seen alone."""
        if dice.random() < 0.5:
            return
        while dice.random() < times / (times + 1):
            at = round(dice.uniform(0, STORM_SECONDS), 1)
            happenings.append(Happening(at, what, **make()))  # type: ignore[arg-type]

    def which() -> int:
        return dice.randrange(12)

    for _ in range(dice.randint(3, 14)):
        at = round(dice.uniform(0, STORM_SECONDS * 0.8), 1)
        happenings.append(Happening(at, "pods", dice.randrange(_APPS), dice.choice((0, 1, 1, 2, 2, 3, 5))))
    often(3, "stock", lambda: {"index": which(), "amount": dice.choice((0, 0, 1, 2, -1))})
    often(1, "template", lambda: {"index": which(), "amount": dice.randrange(3)})
    often(1, "shift", lambda: {"index": which(), "amount": dice.randrange(2)})
    often(1, "by hand", lambda: {"index": which(), "amount": dice.choice((-3, -2, -1, 1, 2, 4))})
    often(1, "breaks", lambda: {"index": which()})
    often(2, "lost", lambda: {"amount": dice.randint(1, 2)})
    often(2, "refused", lambda: {"amount": dice.randint(1, 3)})
    often(1, "denied", lambda: {"seconds": dice.choice((30, 120, 300))})
    often(1, "expired", lambda: {"seconds": dice.choice((10, 60, 200))})
    often(2, "kill", lambda: {"amount": dice.randint(-6, 6), "seconds": dice.choice((1, 10, 60))})
    often(1, "watches end")
    shape = Shape(
        joins_seconds=round(dice.uniform(10, 100)),
        ends_seconds=round(dice.uniform(5, 60)),
        acts_seconds=round(dice.choice((0, dice.uniform(0, 5)))),
        lag_seconds=dice.choice((0, round(dice.uniform(0, 30)))),
        most=(dice.randint(2, 10), dice.randint(2, 10), dice.randint(2, 10)),
        fails_hard=dice.random() < 0.5,
    )
    return Story(
        platform=platform,
        seed=seed,
        period_seconds=dice.choice((10, 30, 30)),
        slowest_seconds=dice.choice((0, round(dice.uniform(0, 2), 1))),
        late_seconds=dice.choice((0, round(dice.uniform(0, 5), 1))),
        most_nodes=dice.choice((100, dice.randint(6, 14))),
        shape=shape,
        happenings=tuple(sorted(happenings, key=lambda one: one.at)),
    )


def shrunk(told: Story, fails: Callable[[Story], bool]) -> Story:
    """The shortest story that fails, as far as leaving things out leads to it."""
    current = msgspec.structs.replace(told.shape, lag_seconds=0)
    for calmer in (
        {"slowest_seconds": 0}, {"late_seconds": 0}, {"most_nodes": 100}, {"shape": current}, {"period_seconds": 30},
    ):  # fmt: skip
        tried = msgspec.structs.replace(told, **calmer)
        if tried != told and fails(tried):
            told = tried
    return msgspec.structs.replace(
        told,
        happenings=tuple(_shortest(told.happenings, lambda some: fails(msgspec.structs.replace(told, happenings=tuple(some))))),
    )


def _shortest(items: Sequence[_One], fails: Callable[[Sequence[_One]], bool]) -> Sequence[_One]:
    """Delta debugging: parts are left out, ever smaller ones."""
    size = len(items) // 2
    while size:
        start = 0
        while start < len(items):
            fewer = [*items[:start], *items[start + size :]]
            if fails(fewer):
                items = fewer
            else:
                start += size
        size //= 2
    return items


def script(told: Story) -> str:
    """The story as a test can replay it."""
    lines = [f"    {one!r}," for one in told.happenings]
    head = ", ".join(f"{name}={getattr(told, name)!r}" for name in told.__struct_fields__ if name != "happenings")
    return "\n".join([f"Story({head}, happenings=(", *lines, "))"])
