"""Random loops under limits on money: `python -m tests.properties.spending [--loops N] [--seed FIRST] [--story SEED]`.

What is spent is counted here and not taken from the decisions. It is the price of every machine that has been asked for or still
exists, drained ones and those without a node included. No turn of the loop raises it above a limit.
"""

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import msgspec

from reconciler.control.turn.turn_report import LoopReport
from reconciler.policy.documents import Backoff, Consolidation, Expander, Limit, NodeGroup, PolicySet, ScaleUp, Tier, Toggle
from reconciler.policy.values.label_selector import Selector
from reconciler.simulation.embedded.durations import MachineBehaviour, Shortage
from tests.properties.random_clusters import RandomCluster
from tests.properties.stories import Story, Told

TURNS = 30
MICROS = 1_000_000
MONTH_HOURS = 730
PRICES = ("0.05", "0.10", "0.25", "0.333333", "1.00", "12.5")
TEAMS = ("blue", "green")
ZONE = "topology.kubernetes.io/zone"
TOLD_EVERY = 3_000


class SpendingStory(Story):
    """A story whose groups have prices, and whose limits leave little more than is spent at the start."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"spending {seed}")
        self.seen: Counter[str] = Counter()
        super().__init__(seed)

    def _rules(self, start: RandomCluster) -> PolicySet:
        draw, before = self.draw, start.policy.policy
        sizes = {facts.ref.name: facts.replicas or 0 for facts in start.world.targets}
        consolidates, impatient = draw.random() < 0.5, draw.random() < 0.5
        groups = tuple(self._priced(one, consolidates=consolidates, impatient=impatient) for one in start.policy.groups)
        spent = sum((Decimal(one.price_per_hour or 0) * sizes[one.name] for one in groups), Decimal(0))
        returns = draw.choice((None, 300, 900))
        rules = msgspec.structs.replace(
            before,
            tiers=tuple(Tier(name=tier.name, return_after_seconds=returns) for tier in before.tiers),
            expanders=(Expander.LEAST_COST,) if draw.random() < 0.4 else before.expanders,
            limits=(*before.limits, *(self._limit(f"money-{index}", spent) for index in range(draw.randint(1, 3)))),
        )
        return msgspec.structs.replace(start.policy, policy=rules, groups=groups)

    def _priced(self, group: NodeGroup, *, consolidates: bool, impatient: bool) -> NodeGroup:
        draw = self.draw
        price = draw.choice(PRICES) if draw.random() < 0.95 or consolidates else None
        on = Consolidation(mode=Toggle.ENABLED if consolidates else Toggle.DISABLED, min_saving_percent=draw.choice((1, 15)))
        quick = ScaleUp(
            max_node_provision_time_seconds=120,
            backoff=Backoff(initial_seconds=60, max_seconds=300, reset_seconds=3600),
        )
        return msgspec.structs.replace(
            group,
            price_per_hour=price,
            labels=(("team", draw.choice(TEAMS)),),
            scale_up=quick if impatient else group.scale_up,
            scale_down=msgspec.structs.replace(group.scale_down, consolidation=on),
        )

    def _limit(self, name: str, spent: Decimal) -> Limit:
        """Over all groups, those of a team, or the nodes of a zone; now and then below what is spent already."""
        draw = self.draw
        most = spent * Decimal(draw.choice(("0.8", "1", "1.2", "1.6", "2.5", "4"))) + Decimal(draw.choice(PRICES)) * draw.randint(
            0, 6
        )
        resource, hours = draw.choice((("pricePerHour", 1), ("pricePerMonth", MONTH_HOURS)))
        over = draw.random()
        return Limit(
            name=name,
            groups=Selector(match_labels=(("team", draw.choice(TEAMS)),)) if 0.4 <= over < 0.7 else None,
            nodes=Selector(match_labels=((ZONE, draw.choice("abc")),)) if over >= 0.7 else None,
            max=((resource, int(most * hours * MICROS)),),
        )

    def _behaviours(self) -> dict[str, MachineBehaviour]:
        """In some stories the platform runs short of machines again and again, or one machine after another fails."""
        fate, found = self.draw.random(), {}
        for group in self.policy.groups if fate < 0.4 else ():
            start, shortages = self.book_start - self.draw.choice((0, 600)), []
            for _ in range(5):
                long = self.draw.choice((300, 1200, 4000))
                shortages.append(Shortage(from_seconds=start, until_seconds=start + long))
                start += long + self.draw.choice((600, 3000))
            found[group.target.name] = MachineBehaviour(
                join_seconds=30, fail_first=self.draw.choice((0, 1, 3)), shortages=tuple(shortages)
            )
        return found

    def told(self) -> Told:
        """Turns in which things happen, often changes of prices and limits."""
        while self.turn_count < TURNS:
            luck = self.draw.random()
            if luck < 0.3:
                self.happened.append(f"{self.turn_count}: {self._disturbance()}")
            elif luck < 0.5:
                self._something_happens()
            elif luck < 0.6:
                self.happened.append(f"{self.turn_count}: {self._other_policy()}")
            self.cluster.advance_to(self.cluster.now_seconds + self.draw.choice((5, 10, 30, 60, 60, 300, 700)))
            self.turn_count += 1
            self._decide()
        return Told(self.seed, self.turn_count, tuple(self.broken), tuple(self.happened))

    def _other_policy(self) -> str:
        """Another price of one group, or another bound."""
        draw, rules = self.draw, self.policy
        if draw.random() < 0.5:
            index, price = draw.randrange(len(rules.groups)), draw.choice(PRICES)
            groups = [*rules.groups]
            groups[index] = msgspec.structs.replace(groups[index], price_per_hour=price)
            changed, what = msgspec.structs.replace(rules, groups=tuple(groups)), f"{groups[index].name} costs {price}"
        else:
            limits = [*rules.policy.limits]
            limits[-1] = self._limit(limits[-1].name, Decimal(sum(self._spent(limits[-1]).values())) / MICROS)
            policy = msgspec.structs.replace(rules.policy, limits=tuple(limits))
            changed, what = msgspec.structs.replace(rules, policy=policy), f"the limit is {limits[-1].max}"
        self.policy = msgspec.structs.replace(changed, digest=f"sha256:{what} {self.turn_count}")
        self.cluster.follow(self.policy)
        return what

    def _decide(self) -> LoopReport:
        money = [limit for limit in self.policy.policy.limits if limit.max[0][0] != "nodes"]
        before = [self._spent(limit) for limit in money]
        report = super()._decide()
        assert report.plan is not None, report.unavailable
        self._note(report)
        for limit, first in zip(money, before, strict=True):
            self._judge(limit, first, self._spent(limit))
        return report

    def _judge(self, limit: Limit, first: dict[str, int], last: dict[str, int]) -> None:
        (resource, highest) = limit.max[0]
        hours = MONTH_HOURS if resource == "pricePerMonth" else 1
        spent, had = sum(last.values()) * hours, sum(first.values()) * hours
        grown = sorted(name for name in last if last[name] > first.get(name, 0))
        self.seen["grew"] += bool(grown)
        self.seen["full"] += spent <= highest < spent + hours * min((one for one in map(self._price, last) if one), default=0)
        self.seen["above"] += spent > highest
        if grown and spent > max(highest, had):
            self.broken.append(
                f"Spent {spent} of {limit.name} at {self.turn_count}: {highest} are allowed, it was {had}, {grown} grew"
            )

    def _spent(self, limit: Limit) -> dict[str, int]:
        """Millionths per hour by group that the limit counts."""
        objects = self.cluster.objects
        there = Counter(node.target for node in objects.nodes.values())
        there.update(machine.target for machine in objects.machines.values() if not machine.node)
        spent = {}
        for group in self.policy.groups:
            target = next(ref for ref in objects.targets if ref.name == group.target.name)
            labels = dict(self.cluster.machines.templates[target].labels)
            if limit.groups is not None and not set(limit.groups.match_labels) <= set(group.labels):
                continue
            if limit.nodes is not None and not set(limit.nodes.match_labels) <= set(labels.items()):
                continue
            machines = max(objects.targets[target].replicas or 0, there[target])
            spent[group.name] = machines * self._price(group.name)
        return spent

    def _price(self, name: str) -> int:
        price = next(group.price_per_hour for group in self.policy.groups if group.name == name)
        return int(Decimal(price or 0) * MICROS)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 when more was spent than allowed."""
    parser = argparse.ArgumentParser(prog="spending", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--loops", type=int, default=100_000, help="turns of the loop, in whole stories")
    parser.add_argument("--seed", type=int, default=1, help="the first story")
    parser.add_argument("--story", type=int, help="tell this one, with everything that happened in it")
    options = parser.parse_args(arguments)
    if options.story is not None:
        told = SpendingStory(options.story).told()
        print("\n".join([*told.happened, *(f"BROKEN {what}" for what in told.broken)]))
        return 1 if told.broken else 0
    return _many(options.loops, options.seed)


def _many(loops: int, seed: int) -> int:
    first, turns, broken, began, seen = seed, 0, 0, time.monotonic(), Counter[str]()
    try:
        while turns < loops:
            story = SpendingStory(seed)
            told = story.told()
            seed, turns, broken = seed + 1, turns + told.turns, broken + bool(told.broken)
            seen += story.seen
            if told.broken:
                print(f"story {told.seed}: " + "; ".join(told.broken[:3]), flush=True)
            if turns % TOLD_EVERY == 0:
                print(f"{turns} loops in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    print(f"{turns} loops, stories {first} to {seed - 1}, {broken} spent more than a limit; --seed {seed} goes on")
    print(", ".join(f"{what}: {count}" for what, count in sorted(seen.items())) + " (turns times limits)")
    return 1 if broken else 0


if __name__ == "__main__":
    # Ended by `timeout`, or in the background, where SIGINT is ignored: the count and where to go on are told all the same.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    sys.exit(main())
