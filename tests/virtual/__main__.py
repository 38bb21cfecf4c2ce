"""Many worlds: `python -m tests.virtual --platform aws --first 0 --seeds 200`."""

import argparse
import time

from reconciler.cluster import defects
from tests.virtual.story import PLATFORMS, Story, script, shrunk, story
from tests.virtual.world import World


def outcome(told: Story) -> list[str]:
    """What went wrong; a defect in the product or the world counts."""
    try:
        return World(told).run()
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.virtual")
    options.add_argument("--platform", choices=PLATFORMS, action="append")
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seeds", type=int, default=100)
    options.add_argument("--shrink", action="store_true")
    chosen = options.parse_args()
    defects.CAUGHT = ()
    for platform in chosen.platform or PLATFORMS:
        began, bad = time.process_time(), 0
        for seed in range(chosen.first, chosen.first + chosen.seeds):
            told = story(platform, seed)
            wrong = outcome(told)
            if wrong:
                bad += 1
                print(f"{platform} {seed}: {wrong[0]}", flush=True)
                if chosen.shrink:
                    print(script(shrunk(told, lambda tried: bool(outcome(tried)))), flush=True)
        print(
            f"{platform}: {chosen.seeds} worlds, {bad} wrong, {time.process_time() - began:.0f} s of processor time", flush=True
        )


main()
