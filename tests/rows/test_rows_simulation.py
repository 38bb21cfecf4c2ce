"""Rows of the topic `simulation`, each a test of its number; and that none is missing.

The curve and the two policies are those of examples/traces: one buys what pods ask for, one keeps a node free in each zone.
"""

import csv
import re
from pathlib import Path

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.policy.documents import PolicySet, Template
from reconciler.policy.tree import read_tree
from reconciler.simulation.replays.curve import read_curve
from reconciler.simulation.replays.replay import replay
from tests.builders import NOW, ClusterBuilder
from tests.policies import node_group, policy

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[1] / "examples" / "traces"
HOURS = 6


def rules(name: str) -> PolicySet:
    """One of the two policies."""
    text = (TRACES / name / "policy.yaml").read_bytes()
    return read_tree({"policy.yaml": text}, now_seconds=0).sets[0]


def test_s083_availability_and_cost_are_both_told() -> None:
    """Neither wins by itself: what spare adds in cost it gives in time with a node and in work that evictions do not lose."""
    text = (TRACES / "pool-28.csv").read_text(encoding="utf-8")
    trace = read_curve("pool-28", text).until(HOURS * 3_600)
    packed, spare = replay([(name, rules(name)) for name in ("packed", "spare")], trace).sides
    assert packed.cost is not None
    assert spare.cost is not None
    assert float(spare.cost) > float(packed.cost)
    assert packed.served_ppm < spare.served_ppm <= 1_000_000
    assert packed.lost_cost is not None
    assert spare.lost_cost is not None
    assert float(packed.lost_cost) > float(spare.lost_cost)
    assert packed.lost_pod_seconds > spare.lost_pod_seconds


def test_s092_time_to_schedule_without_spare_and_with_it() -> None:
    """Every ten minutes a node's worth of pods more: without spare each of them waits for the machine, with it none does."""
    lines = "".join(f"{600 * step},{12 + 7 * step}\n" for step in range(12))
    trace = read_curve("ramp", f"# pod: cpu=2 memory=6Gi\ntime,pods\n{lines}")
    packed, spare = replay([(name, rules(name)) for name in ("packed", "spare")], trace).sides
    without = (packed.wait_p50_seconds, packed.wait_p95_seconds, packed.wait_p99_seconds, packed.wait_max_seconds)
    assert without == (90, 90, 90, 90)
    assert (spare.wait_p50_seconds, spare.wait_p99_seconds, spare.unplaced_pod_seconds) == (0, 0, 0)


def test_s094_spare_lets_pods_spread_over_zones() -> None:
    """Six pods that prefer another zone, where only a has room: all in a, of two thirds that could be elsewhere none is.

    With a node free in each zone they are even. How much this is worth over days depends on what leaves and when as much as on
    where pods go; the score of a whole curve may be told by `simulate`, it is no law.
    """
    assert _spread(room_in="a") == 0
    assert _spread(room_in="abc") == 1_000


def _spread(room_in: str) -> int | None:
    """The score of six pods on three nodes, one a zone, with room in some zones only; nothing may grow."""
    cluster = ClusterBuilder()
    for zone in "abc":
        cluster.group(f"g{zone}", nodes=1, cpu="8", memory="32Gi", labels={ZONE_LABEL: zone})
        if zone not in room_in:
            cluster.pods(f"rest-{zone}", 1, cpu="8", on=[f"g{zone}-1"])
    labels = {zone: Template(labels=((ZONE_LABEL, zone),)) for zone in "abc"}
    fixed = policy(*(node_group(f"g{zone}", min=1, max=1, template=labels[zone]) for zone in "abc"))
    trace = read_curve("six", f"# pod: cpu=1 memory=1Gi spread=zone\ntime,pods\n{NOW + 86_400},6\n")
    return replay([("fixed", fixed)], trace, cluster.world()).sides[0].zone_spread_permille


def test_each_row_of_simulation_and_report_is_covered() -> None:
    """Rows of these two topics: each has a test of its number here or among the rows of decisions, and none here is another's."""
    with (HERE / "rows.csv").open(encoding="utf-8", newline="") as rows:
        topics = {int(row["row"].removeprefix("S")): row["topic"] for row in csv.DictReader(rows)}
    here = _named(Path(__file__))
    everywhere = here.union(*(_named(file) for file in HERE.glob("test_rows_*.py")))
    wanted = {row for row, topic in topics.items() if topic in ("simulation", "report")}
    assert wanted
    assert wanted <= everywhere
    assert {topics[row] for row in here} == {"simulation"}


def _named(file: Path) -> set[int]:
    return {int(number) for number in re.findall(r"^def test_s(\d+)_", file.read_text(encoding="utf-8"), re.MULTILINE)}
