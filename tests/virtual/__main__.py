"""Many worlds: `python -m tests.virtual --platform aws --first 0 --seeds 200`; `--shrink` shortens the stories that fail."""

import argparse
import time
from collections import Counter

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
    platforms = tuple(chosen.platform or PLATFORMS)
    bad, seconds = Counter[str](), dict.fromkeys(platforms, 0.0)
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        for platform in platforms:
            told, began = story(platform, seed), time.process_time()
            wrong = outcome(told)
            seconds[platform] += time.process_time() - began
            if wrong:
                bad[platform] += 1
                print(f"{platform} {seed}: {wrong[0]}", flush=True)
                if chosen.shrink:
                    print(script(shrunk(told, lambda tried: bool(outcome(tried)))), flush=True)
        if (done := seed - chosen.first + 1) % 100 == 0 or done == chosen.seeds:
            for platform in platforms:
                told_of = f"{done} worlds, {bad[platform]} wrong, {seconds[platform]:.0f} s of processor time"
                print(f"{platform}: {told_of}", flush=True)


if __name__ == "__main__":
    main()
