"""The report of a day of the simulator, and a replay of that day: the same figures, apart from the step between two decisions."""

import random

import pytest

from reconciler.control.live.week_record import WeekRecorder, week_in
from reconciler.control.simulated_run import SimulatedRun
from reconciler.plan.waiting_times import falls_on_never, kept_seconds
from reconciler.plan.week import span
from reconciler.policy.documents import ScaleDown, Template
from reconciler.simulation.replays.policy_world import policy_world
from reconciler.simulation.replays.recording import Recorder, read_recording
from reconciler.simulation.replays.replay import LEAD_SECONDS, ReplayRun
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.simulation.scenarios.start_world import start_world
from tests.control.live.test_telling import Parts
from tests.policies import node_group, policy

HOUR = 3_600
HOURS = 10
JOIN_SECONDS = 120
FOUR_CORES = Template(capacity=(("cpu", 4_000), ("memory", 16 << 30), ("pods", 110)))
SCENARIO = """\
apiVersion: simulation.reconciler.dev/v1alpha1
kind: Scenario
metadata: {{name: day}}
spec:
  start:
    groups: [{{name: general, nodes: 3, cpu: "4", memory: 16Gi}}]
    workloads: [{{name: shop/web, replicas: 3, cpu: "3", memory: 2Gi}}]
  until: {hours}h
  machines: [{{group: "*", joinAfter: {join}s}}]
  events:
{events}
"""


def test_a_report_and_a_replay_of_the_same_day_have_the_same_figures() -> None:
    """A pod fills a node. The report samples decisions, at most one interval after what happened. So each change of a pod or node
    may be off by that much, and so may each end of the window, with all nodes."""
    seed = random.SystemRandom().randrange(2**31)
    print(f"seed {seed}")
    chance = random.Random(seed)
    events = "\n".join(
        f"    - {{at: {minutes}m, scale: {{workload: shop/web, replicas: {chance.randint(1, 8)}}}}}"
        for minutes in sorted(chance.sample(range(61, (HOURS - 1) * 60 - 10), 12))
    )
    text = read_scenario("day", SCENARIO.format(hours=HOURS, join=JOIN_SECONDS, events=events).encode())
    group = node_group("general", template=FOUR_CORES, price_per_hour="0.36", scale_down=ScaleDown(unneeded_time_seconds=300))
    rules = policy(group)
    run = SimulatedRun(text, start_world(text.scenario.spec.start), rules, {})
    parts, recorder, files = Parts(), Recorder(), dict[str, bytes]()
    week_recorder = WeekRecorder(parts)
    for turn in run.turns():
        week_recorder.turned(turn.report, [])
        assert turn.report.decided is not None
        day, lines = recorder.lines(turn.report.decided.world, turn.at_seconds, turn.report.decided.memory.lead_times)
        files[day] = files.get(day, b"") + lines
    week_recorder.flush()
    week = week_in(parts)
    assert week is not None
    begin, end = run.start_seconds + HOUR, run.start_seconds + (HOURS - 1) * HOUR
    reported = span(week, begin, end)
    trace = read_recording("day", list(files.items())).between(begin, end)
    replay = ReplayRun(rules, trace, policy_world([rules], begin - LEAD_SECONDS))
    for _ in replay.turns():
        pass
    figures = replay.figures()
    pods = figures.pods_placed + figures.pods_never_placed
    changes = figures.grown_nodes + figures.removed_nodes
    assert abs(reported.node_seconds - figures.node_seconds) <= run.interval_seconds * (changes + 2 * figures.peak_nodes)
    assert abs(reported.unplaced_pod_seconds - figures.unplaced_pod_seconds) <= run.interval_seconds * 2 * pods
    assert reported.decided_seconds == pytest.approx(end - begin, abs=60)
    placed, never = figures.pods_placed, figures.pods_never_placed
    assert (reported.pods_placed, reported.pods_never_placed) == (placed, never)
    for name, percent in (("wait_p50_seconds", 50), ("wait_p95_seconds", 95), ("wait_max_seconds", 100)):
        exact, told = getattr(figures, name), getattr(reported, name)
        assert falls_on_never(percent, placed, never) or exact <= told <= kept_seconds(exact + run.interval_seconds), name
    # 0.36 an hour is 100 millionths a second.
    assert reported.cost_micros == pytest.approx(100 * reported.node_seconds, abs=1_000)
    assert float(figures.cost) == pytest.approx(figures.node_seconds / 10_000, abs=0.006)
