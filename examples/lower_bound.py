"""What demand costs at least, whatever the policy decides, if no pod may wait.

    python examples/lower_bound.py DEMAND POLICY [HOURS]

DEMAND is a recording, of which the first HOURS count. POLICY is a file whose groups have prices and templates.

The proof: at any instant, let all nodes together cost P per hour, and let pods request D of a resource. A node of group g costs
p(g) and offers c(g) of it. So P is at least D times the smallest p(g)/c(g): no node sells the resource for less. This holds for
every resource, so the largest of these amounts bounds P. The sum over time bounds the cost. Whole nodes and the shapes of pods
only add to it.
"""

import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import yaml

from reconciler.cluster.values.quantity import nanos, vector
from reconciler.simulation.replays.recording import read_recording
from reconciler.simulation.replays.trace import Trace


def cheapest(policy: Path) -> dict[str, Fraction]:
    """Resource -> what a unit of it costs per hour where it is cheapest."""
    found: dict[str, Fraction] = {}
    for document in yaml.safe_load_all(policy.read_text(encoding="utf-8")):
        if document["kind"] == "NodeGroup":
            price = Fraction(Decimal(document["spec"]["pricePerHour"]))
            capacity = {name: str(amount) for name, amount in document["spec"]["template"]["capacity"].items()}
            for resource, amount in vector(nanos(capacity)).resources.items():
                found[resource] = min(found.get(resource, price / amount), price / amount)
    return found


def spans(trace: Trace) -> Iterator[tuple[int, dict[str, int]]]:
    """Seconds, and what pods request meanwhile."""
    wanted = [0] * len(trace.sources)
    asked: dict[str, int] = {}
    ends = [*(step.at_seconds for step in trace.steps[1:]), trace.end_seconds]
    for step, end in zip(trace.steps, ends, strict=True):
        for index, pods in step.changes:
            for resource, amount in trace.sources[index].shape.requests.items():
                asked[resource] = asked.get(resource, 0) + (pods - wanted[index]) * amount
            wanted[index] = pods
        yield end - step.at_seconds, asked


def main(demand: str, policy: str, hours: str = "") -> None:
    """Print the bound."""
    prices = cheapest(Path(policy))
    files = sorted(Path(demand).glob("*.jsonl"))
    trace = read_recording(demand, [(file.name, file.read_bytes()) for file in files])
    if hours:
        trace = trace.until(int(hours) * 3600)
    cost = sum(seconds * max(amount * prices.get(name, 0) for name, amount in asked.items()) for seconds, asked in spans(trace))
    print(f"no policy under which no pod waits costs less than {float(cost / 3600):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
