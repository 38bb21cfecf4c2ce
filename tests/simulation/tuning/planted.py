"""Does a search find what is planted, and nothing in noise? The real decisions are replayed on demand that is drawn from a seed.

`python -m tests.simulation.tuning.planted planted 100` searches 100 seeds, and `noise 100` as many without anything to find.
"""

import argparse
import random
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from reconciler.plan.tuning import DemandFigures, Verdict
from reconciler.policy.text_edits import Setting
from reconciler.policy.tree import read_tree
from reconciler.simulation.replays.curve import read_curve
from reconciler.simulation.tuning.knobs import Knob, Value, named_knobs
from reconciler.simulation.tuning.objective import Objective, Term
from reconciler.simulation.tuning.search import Asked, Found, Settings, search, split_periods
from reconciler.simulation.tuning.variant import Past, figures_in, policy_with

BEGIN = 20_000 * 86_400
PERIODS, PERIOD_MINUTES = 8, 60
TRIALS = 12
OBJECTIVE = Objective(weights=((Term.COST, 3), (Term.WAIT, 1)), trades=True)
BASE_NODES = 10
THRESHOLDS, LEAST = ("5", "20", "40", "80"), ("10", "11", "12", "13")
TIERS = (("dear", "cheap"), ("cheap", "dear"))
THRESHOLD = Setting("NodeGroupPolicy", "prod", "spec.defaults.scaleDown.utilizationThresholdPercent")
LEAST_NODES = Setting("NodeGroup", "cheap", "spec.windows[rush].size.min")
ORDER = Setting("NodeGroupPolicy", "prod", "spec.tiers")
Policy = Mapping[Setting, Value]
POLICY = """\
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {{name: prod}}
spec:
  mode: Enforce
  tiers:
{tiers}
  defaults:
    size: {{min: 0, max: 40}}
    template: {{capacity: {{cpu: 8, memory: 32Gi, pods: 110}}, architecture: amd64}}
    scaleDown: {{utilizationThresholdPercent: {threshold}, unneededTime: 2m}}
  pace: {{delayAfterAdd: 0s, delayAfterDelete: 0s, maxRemovedPercent: 100}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: dear, namespace: reconciler}}
spec:
  policyRef: {{name: prod}}
  tier: dear
  pricePerHour: "{dear}"
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: dear}}}}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {{name: cheap, namespace: reconciler}}
spec:
  policyRef: {{name: prod}}
  tier: cheap
  pricePerHour: "1"
  target: {{clusterAPI: {{kind: MachineDeployment, namespace: prod, name: cheap}}}}
  windows:
    - {{name: rush, schedule: "0 * * * *", duration: 24m, size: {{min: {least}}}}}
"""


def planted_best(chance: random.Random) -> Policy:
    """What `planted_demand` makes best."""
    return {THRESHOLD: chance.choice(("20", "40")), LEAST_NODES: chance.choice(LEAST[1:]), ORDER: TIERS[1]}


def planted_demand(chance: random.Random, best: Policy) -> str:
    """An hour, eight times. In its window, bursts fill as many nodes as the best minimum has above the ten that are full.

    After it, four nodes lose some of their pods for minutes: what stays is above the best threshold. If a node leaves, it is
    missed at once. Then six nodes lose pods for 20 minutes: what stays is below the best threshold. Three new nodes are needed
    then, and are cheaper in the best order of tiers. All pods leave before the window opens again.
    """
    burst = int(str(best[LEAST_NODES])) - BASE_NODES
    lasting = 1 if best[THRESHOLD] == "20" else 2  # cores that stay on each of six nodes
    brief = lasting + 2  # and on each of four
    stays = 6 * lasting + 4 * brief
    rows = [
        f"# pod a-filler: cpu={8 - lasting}", f"# pod b-filler: cpu={8 - brief}", "# pod c-stays: cpu=1", "# pod d-burst: cpu=8",
        "time,nodes:a-filler,nodes:b-filler,pods:c-stays,pods:d-burst",
    ]  # fmt: skip
    for period in range(PERIODS):
        begin = BEGIN + period * PERIOD_MINUTES * 60
        steps: list[tuple[int, tuple[int, int, int, int]]] = [(3, (6, 4, stays, 0))]
        for minute in (6, 15):
            steps += [(minute, (6, 4, stays, burst)), (minute + chance.randint(3, 5), (6, 4, stays, 0))]
        steps += [(chance.randint(27, 28), (6, 0, stays, 0)), (33, (6, 4, stays, 0)), (chance.randint(35, 37), (0, 4, stays, 0))]
        steps += [(49, (0, 4, stays, 3)), (57, (0, 0, 0, 0))]
        rows += [f"{begin + minute * 60 + chance.randint(0, 59)},{','.join(map(str, pods))}" for minute, pods in steps]
    return "\n".join(rows)


def noise_demand(chance: random.Random) -> str:
    """Any number of pods in each ten minutes, whatever there was before."""
    rows = ["# pod: cpu=1 memory=2Gi", "time,pods"]
    rows += [f"{BEGIN + at * 600},{chance.randint(0, 64)}" for at in range(PERIODS * PERIOD_MINUTES // 10)]
    return "\n".join(rows)


def past_of(demand: str, today: Policy, dear: str = "2") -> Past:
    """Two groups of equal nodes."""
    tiers = "\n".join(f"    - {{name: {name}}}" for name in today[ORDER])
    text = POLICY.format(tiers=tiers, threshold=today[THRESHOLD], least=today[LEAST_NODES], dear=dear)
    trace = read_curve("planted", demand).between(BEGIN, BEGIN + PERIODS * PERIOD_MINUTES * 60)
    return Past(files={"prod.yaml": text.encode()}, name="prod", trace=trace, world=None)


def knobs_of(past: Past) -> list[Knob]:
    """Threshold, headroom in the window, and order of tiers."""
    policy = read_tree(dict(past.files), now_seconds=BEGIN).sets[0]
    words = (
        f"scaleDown.utilizationThresholdPercent={','.join(THRESHOLDS)}",
        f"cheap/windows[rush].size.min={','.join(LEAST[1:])}",
        "tiers=*",
    )
    return [
        knob
        for text in words
        for knob in named_knobs(policy, past.files, text, lambda edit: policy_with(past, (edit,)) is not None)
    ]


def searched(past: Past, objective: Objective, seed: int) -> Found:
    """The search as `tune` makes it."""

    def evaluate(asked: Sequence[Asked]) -> list[DemandFigures]:
        return [figures_in(past, *one) for one in asked]

    periods = split_periods(len(past.periods()), seed)
    return search(knobs_of(past), *periods, Settings(objective=objective, trials=TRIALS, seed=seed), evaluate)


def planted(seed: int) -> tuple[bool, str]:
    """Is the planted policy proposed? And what was."""
    chance = random.Random(seed)
    best = planted_best(chance)
    today = {
        THRESHOLD: chance.choice([one for one in THRESHOLDS if one != best[THRESHOLD]]),
        LEAST_NODES: LEAST[0],
        ORDER: chance.choice(TIERS),
    }
    found = searched(past_of(planted_demand(chance, best), today), OBJECTIVE, seed)
    proposed = today | {edit.setting: edit.value for edit in found.edits}
    return (
        proposed == best,
        f"{found.verdict}: {', '.join(str(proposed[one]) for one in best)} where {', '.join(map(str, best.values()))} is best",
    )


def noise(seed: int) -> tuple[bool, str]:
    """Is nothing proposed? Both groups have one price, so no order of tiers is better."""
    chance = random.Random(seed)
    today = {THRESHOLD: chance.choice(THRESHOLDS), LEAST_NODES: LEAST[0], ORDER: chance.choice(TIERS)}
    found = searched(past_of(noise_demand(chance), today, dear="1"), Objective(), seed)
    words = ", ".join(f"{edit.setting}={edit.value}" for edit in found.edits)
    return found.verdict is not Verdict.PROPOSED, f"proposed {words}, where {', '.join(map(str, today.values()))} is today's"


KINDS = {"planted": planted, "noise": noise}


def main() -> int:
    """Search some seeds, and say how many came to what they should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seeds", type=int)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    right = 0
    seeds = range(given.first, given.first + given.seeds)
    with ProcessPoolExecutor(given.workers) as pool:
        for seed, (is_right, told) in zip(seeds, pool.map(KINDS[given.kind], seeds), strict=True):
            right += is_right
            if not is_right:
                print(f"seed {seed}: {told}", flush=True)
    print(f"{given.kind}: {right} of {given.seeds} seeds")
    return 0 if 100 * right >= 95 * given.seeds else 1


if __name__ == "__main__":
    sys.exit(main())
