"""Plans of random clusters, a line each: `python -m tests.kernels.random_plans [--first SEED] [--count N] [--both] [--settled]`.

A line is the seed and a digest of the plan and of what is remembered beside it; `--settled` adds where the cluster comes to
rest: the settled columns, what happens on the way there, and the cluster that is left. Two builds of the kernels, or two versions
of the decisions that mean the same, print the same lines.
"""

import argparse
import hashlib
import random
import subprocess
import sys
from collections.abc import Callable, Sequence

KERNELS = ("domains", "fillings", "improvements", "loops", "passes", "rows")
COMPILED = tuple(f"reconciler.scheduling.kernels.compiled_{name}" for name in KERNELS)


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 where `--both` finds two plans that differ."""
    parser = argparse.ArgumentParser(prog="random_plans", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many plans")
    parser.add_argument("--interpreted", action="store_true", help="leave the compiled kernels aside")
    parser.add_argument("--both", action="store_true", help="compare both builds, a process each, and print what differs")
    parser.add_argument("--settled", action="store_true", help="compare where the cluster comes to rest, too")
    options = parser.parse_args(arguments)
    if options.both:
        return _compare(options.first, options.count, settled=options.settled)
    if options.interpreted:
        # An entry of None makes the import fail, as it does where no compiler was there.
        sys.modules.update(dict.fromkeys(COMPILED))  # type: ignore[arg-type]
    print(f"# {_build()}")
    plan_of = _planner(settled=options.settled)
    for seed in range(options.first, options.first + options.count):
        print(seed, plan_of(seed))
    return 0


def _compare(first: int, count: int, *, settled: bool) -> int:
    command = [sys.executable, "-m", "tests.kernels.random_plans", "--first", str(first), "--count", str(count)]
    command += ["--settled"] if settled else []
    running = [subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True) for more in ((), ("--interpreted",))]
    compiled, interpreted = (process.communicate()[0].splitlines() for process in running)
    if any(process.returncode for process in running) or compiled[:1] != ["# compiled"]:
        print("a build failed, or the kernels are not compiled here")
        return 1
    differing = [one for one, other in zip(compiled[1:], interpreted[1:], strict=True) if one != other]
    print("\n".join([*differing, f"{count} plans from seed {first}: {len(differing)} differ between the builds"]))
    return 1 if differing else 0


def _build() -> str:
    from reconciler.scheduling.kernels import active_build  # after the choice of the build

    return active_build()


def _planner(*, settled: bool) -> Callable[[int], str]:
    import msgspec  # what imports the kernels comes after the choice of the build

    from reconciler.cluster.world import World
    from reconciler.decisions.decide import decide
    from reconciler.simulation.settled import come_to_rest
    from tests.benchmarks.mixed.situations import Situation, small
    from tests.builders import NOW
    from tests.properties.random_clusters import random_cluster

    def situation(seed: int) -> Situation:
        from reconciler.decisions.memory import Memory

        if seed % 3:
            return small(seed)
        rng = random.Random(seed)
        found = random_cluster(seed, headroom=rng.random() < 0.5, expendable=rng.random() < 0.5, protected=rng.random() < 0.5)
        names = [node.name for node in found.world.nodes]
        return found.world, found.policy, Memory(unneeded_since=dict.fromkeys(names, NOW - 9_999))

    fields = [field.name for field in msgspec.structs.fields(World)]

    def plan_of(seed: int) -> str:
        world, rules, memory = situation(seed)
        plan, remembered = decide(world, rules, memory, NOW)
        made: tuple[object, ...] = (plan, remembered)
        if settled:
            rest = come_to_rest(world, rules, remembered, NOW, plan)
            pods = list(rest.world.pods)
            made = (*made, rest.plan, rest.impact, [getattr(rest.world, name) for name in fields if name != "pods"], pods)
        return hashlib.sha256(b"".join(msgspec.json.encode(part) for part in made)).hexdigest()[:32]

    return plan_of


if __name__ == "__main__":
    sys.exit(main())
