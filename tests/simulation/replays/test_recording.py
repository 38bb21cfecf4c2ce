"""Recorded demand: what is written, what is read again, and that a replay of it decides as the recorded loop did."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.cluster.pods.pod import AffinityTerm, Owner, Pod, PodShape, PodTraits
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.workloads.workload import Controller
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.plan import Plan
from reconciler.policy.documents import PolicySet, ScaleDown, Size, Template, Window
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.replays import replay as replays
from reconciler.simulation.replays import source_lines
from reconciler.simulation.replays.backtest import wanted_pods
from reconciler.simulation.replays.curve import read_curve
from reconciler.simulation.replays.policy_world import policy_world
from reconciler.simulation.replays.recording import Recorder, RecordingError, read_recording, recorded_days
from reconciler.simulation.replays.replay import LEAD_SECONDS, ReplayRun
from reconciler.simulation.replays.trace import DemandSource, Trace
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.builders import ClusterBuilder
from tests.policies import node_group, policy
from tests.simulation.replays.mixed_demand import mixed_policy, mixed_trace

DAY = 86_400
NOON = 20_000 * DAY + DAY // 2
EIGHT_CORES = Template(capacity=(("cpu", 8_000), ("memory", 32 << 30), ("pods", 110)))
FOUR_CORES = Template(capacity=(("cpu", 4_000), ("memory", 16 << 30), ("pods", 110)))


def world(counts: dict[str, int], *, kind: str = "ReplicaSet", cpu: int = 500) -> World:
    """Pods by the name of their owner."""
    names = sorted(counts)
    shapes = tuple(
        PodShape(namespace="prod", labels=(("job-name", name),), requests=Resources(cpu_milli=cpu, pods=1)) for name in names
    )
    traits = tuple(PodTraits(namespace="prod", controller=Owner("apps", kind, name, f"uid-{name}")) for name in names)
    empty = ClusterBuilder().world()
    rows = [
        Pod(namespace="prod", name=f"{name}-{number}", shape=at, traits=at)
        for at, name in enumerate(names)
        for number in range(counts[name])
    ]
    return msgspec.structs.replace(empty, pod_shapes=shapes, pod_traits=traits, pods=PodTable(rows))


def recorded(*seen: tuple[int, World]) -> dict[str, bytes]:
    """Day -> its file."""
    recorder, files = Recorder(), dict[str, bytes]()
    for at, one in seen:
        day, lines = recorder.lines(one, at)
        files[day] = files.get(day, b"") + lines
    return files


def wanted(trace: Trace, at: int) -> dict[str, int]:
    """Owner -> pods at an instant."""
    part = trace.between(at, trace.end_seconds)
    first = dict(part.steps[0].changes) if part.steps and part.steps[0].at_seconds == at else {}
    return {
        source.traits.controller.name: first.get(index, 0)
        for index, source in enumerate(trace.sources)
        if source.traits.controller is not None
    }


def test_what_was_seen_is_read_again() -> None:
    """Two days: the second file has everything that is wanted, and one pod less than a week ago is none."""
    seen = ((NOON, world({"web": 3})), (NOON + 30, world({"web": 3, "api": 2})), (NOON + DAY, world({"api": 5})))
    files = recorded(*seen)
    assert sorted(files) == ["2024-10-04", "2024-10-05"]
    trace = read_recording("demand", list(files.items()))
    assert (trace.start_seconds, trace.end_seconds) == (NOON, NOON + DAY)
    assert wanted(trace, NOON) == {"web": 3, "api": 0}
    assert wanted(trace, NOON + 30) == {"web": 3, "api": 2}
    assert wanted(trace, NOON + DAY) == {"web": 0, "api": 5}
    # The second day alone is a recording, too, but has no end yet.
    with pytest.raises(RecordingError, match="fewer than two"):
        read_recording("demand", [("2024-10-05", files["2024-10-05"])])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_a_trace_that_no_recorder_saw_is_written_as_a_recording(steps: list[tuple[int, int, int]]) -> None:
    """Some hours between two steps, over several days: the same demand at each of them, and the same end."""
    at, rows = NOON, []
    for hours, web, api in steps:
        at += hours * 3_600
        rows.append(f"{at},{web},{api}")
    trace = read_curve("curve", "\n".join(("time,pods:web,pods:api", f"{NOON},1,0", *rows)))
    again = read_recording("curve", list(recorded_days(trace)))
    assert (again.start_seconds, again.end_seconds) == (NOON, trace.end_seconds)
    for step in trace.steps:
        seen = wanted(again, step.at_seconds)
        assert {name: seen.get(name, 0) for name in ("web", "api")} == wanted(trace, step.at_seconds)


def test_time_in_which_nobody_looked_is_a_gap() -> None:
    """More than an hour, and three times the usual. Demand that no recorder saw has none, however long it stays the same."""
    every_five, away = [NOON + 300 * at for at in range(10)], NOON + 20_000
    seen = [(at, world({"web": 3})) for at in (*every_five, away, away + 3_600)]
    trace = read_recording("demand", list(recorded(*seen).items()))
    assert trace.gaps == ((every_five[-1], away),)
    assert trace.unobserved_seconds(every_five[-1] + 100, away + 50) == away - every_five[-1] - 100
    rarely = [(NOON + 3 * 3_600 * at, world({"web": 3})) for at in range(4)]
    assert read_recording("demand", list(recorded(*rarely).items())).gaps == ()
    curve = read_curve("curve", f"time,pods\n{NOON},1\n{NOON + 30},2\n{NOON + 60},3\n{NOON + 3 * DAY},1\n{NOON + 3 * DAY + 9},1")
    files = list(recorded_days(curve))
    assert len(files) == 4
    assert read_recording("curve", files).gaps == ()


def test_nothing_is_written_while_nothing_differs() -> None:
    """Until five minutes have passed; an instant that is not later counts for nothing."""
    recorder, same = Recorder(), world({"web": 3})
    assert recorder.lines(same, NOON)[1]
    assert recorder.lines(same, NOON + 299)[1] == b""
    assert recorder.lines(world({"web": 4}), NOON)[1] == b""
    assert recorder.lines(same, NOON + 300)[1] == b'{"at":%d}\n' % (NOON + 300)


def test_a_torn_line_does_not_count_and_the_recording_goes_on() -> None:
    """A second process goes on behind the whole lines, with the numbers of the first."""
    first = recorded((NOON, world({"web": 3, "api": 1})))["2024-10-04"]
    again = Recorder()
    again.resume("2024-10-04", first + b'{"at":17280')
    _, lines = again.lines(world({"web": 3, "api": 4}), NOON + 60)
    assert lines.count(b"\n") == 1
    trace = read_recording("demand", [("2024-10-04.jsonl", first + lines + b'{"so')])
    assert wanted(trace, NOON + 60) == {"web": 3, "api": 4}


def test_jobs_of_one_template_differ_in_a_short_line() -> None:
    """Each Job is known by its name, because its pods come and go together. All of them are there again, label by label."""
    names = [f"import-{number:08d}" for number in range(1000)]
    file = recorded((NOON, world(dict.fromkeys(names, 1), kind="Job")), (NOON + 30, world({names[7]: 1}, kind="Job")))[
        "2024-10-04"
    ]
    assert file.count(b'"source"') == 1
    assert file.count(b'{"like":[0,"import-') == 999
    assert len(file) < 60_000
    trace = read_recording("demand", [("2024-10-04.jsonl", file)])
    assert {dict(source.shape.labels)["job-name"] for source in trace.sources} == set(names)
    assert wanted(trace, NOON + 30) == dict.fromkeys(names, 0) | {names[7]: 1}


def test_a_file_with_too_many_jobs_counts_further_ones_as_pods_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay holds all sources of a recording. Later lines of the same process and of the next one say so, too."""
    monkeypatch.setattr(source_lines, "LARGEST_NAMED_BYTES", 10_000)
    first = recorded((NOON, world({f"job-{number:04d}": 1 for number in range(100)}, kind="Job")))["2024-10-04"]
    names = first.count(b'"like"')
    assert 5 < names < 50
    trace = read_recording("demand", [("d", first + b'{"at":%d}\n' % (NOON + 30))])
    counts = wanted(trace, NOON)
    assert sum(counts.values()) == 100
    assert sorted(counts.values()) == [1] * names + [100 - names]
    again = Recorder()
    again.resume("2024-10-04", first)
    _, lines = again.lines(world({"job-9999": 1}, kind="Job"), NOON + 30)
    assert sum(wanted(read_recording("demand", [("d", first + lines)]), NOON + 30).values()) == 1


def test_a_recording_of_the_first_form_is_read() -> None:
    """It has one name for all Jobs."""
    owner = '{"api_group":"batch","kind":"Job","name":"jobs"}'
    line = f'{{"source":{{"shape":{{"namespace":"a"}},"traits":{{"namespace":"a","controller":{owner}}}}}}}'
    text = f'{{"formatVersion":"1.0"}}\n{line}\n{{"at":5,"pods":[[0,7]]}}\n{{"at":9}}\n'
    assert wanted(read_recording("demand", [("d", text.encode())]), 5) == {"jobs": 7}


def test_a_uid_is_the_name_of_its_owner_in_a_recording() -> None:
    """Wherever it is, so that a constraint on pods of the same Job still says so."""
    text = PodShape(
        namespace="a",
        labels=(("controller-uid", "u-1"), ("other", "u-12")),
        anti_affinity=(AffinityTerm(topology_key="h", selector=LabelSelector((Requirement("controller-uid", "In", ("u-1",)),))),),
    )
    source = DemandSource(shape=text, traits=PodTraits(namespace="a", controller=Owner("batch", "Job", "nightly", "u-1")))
    found = source_lines.plain(source)
    assert found.traits.controller == Owner("batch", "Job", "nightly")
    assert found.shape.labels == (("controller-uid", "nightly"), ("other", "u-12"))
    assert found.shape.anti_affinity[0].selector == LabelSelector((Requirement("controller-uid", "In", ("nightly",)),))


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_pod_of_a_stateful_set_that_comes_again_is_wanted_meanwhile(replicas: int) -> None:
    """While it ends, its name is taken. Whether it comes again follows from the replicas: a set scales down from its end."""
    own = PodTraits(namespace="prod", controller=Owner("apps", "StatefulSet", "db", "u"))
    rows = [
        Pod(namespace="prod", name="db-0", shape=0, traits=0),
        Pod(namespace="prod", name="db-1", shape=0, traits=0, deletion_seconds=NOON + 30),
    ]
    made = msgspec.structs.replace(
        ClusterBuilder().world(),
        pod_shapes=(PodShape(namespace="prod"),),
        pod_traits=(own,),
        pods=PodTable(rows),
        controllers=(Controller(api_group="apps", kind="StatefulSet", namespace="prod", name="db", replicas=replicas),),
    )
    assert sorted(source.pod_name for source in wanted_pods(made)) == ["db-0", "db-1"][:replicas]


def test_a_month_of_a_thousand_pods_is_below_fifty_megabytes() -> None:
    """Looked at every 30 s, ten of fifty workloads change each time, and each is rolled out once an hour."""
    recorder, size = Recorder(), 0
    for look in range(120):
        counts = {f"web-{number}-{look // 60}": 20 + (number % 5 == look % 5) * (1 + look % 3) for number in range(50)}
        size += len(recorder.lines(world(counts), NOON + 30 * look)[1])
    assert size * 24 * 30 < 50_000_000


@pytest.mark.parametrize(
    ("lines", "place", "why"),
    [
        (b"{}\n", "d:1:1", "none"),
        (b'{"formatVersion":"2.0"}\n', "d:1:1", "2.0"),
        (b'{"formatVersion":"1.0"}\nx\n', "d:2:1", "not a line"),
        (b'{"formatVersion":"1.0"}\n{"at":5,"pods":[[0,1]]}\n', "d:2:1", "out of range"),
        (b'{"formatVersion":"1.0"}\n{"at":5}\n{"at":5}\n', "d:3:1", "not after"),
        (b'{"formatVersion":"1.0"}\n{"at":-1e30}\n', "d:2:1", "not a line"),
        (b'{"formatVersion":"1.0"}\n{"at":9999999999999}\n', "d:2:1", "not a line"),
        (b'{"formatVersion":"1.0"}\n{"at":5}\n{"at":40000000}\n', "d:3:1", "more than 400 days"),
        (b'{"formatVersion":"1.0"}\n{"failures":[["a",5,-1]]}\n', "d:2:1", "the seconds of a failure are out of range"),
        (b'{"formatVersion":"1.0"}\n{"failures":[["a",5,1e30]]}\n', "d:2:1", "not a line"),
        (b'{"formatVersion":"1.0"}\n{"prices":[["a","-1"]]}\n', "d:2:1", "invalid amount of money"),
        (b'{"formatVersion":"1.1"}\n{"like":[0,"a","b"]}\n', "d:2:1", "no source before it has the number 0"),
        (b'{"formatVersion":"1.1"}\n{"like":[-1,"a","b"]}\n', "d:2:1", "no source before it"),
        (
            b'{"formatVersion":"1.0"}\n{"source":{"shape":{"namespace":"a","requests":{"cpu_milli":-5}},"traits":{"namespace":"a"}}}\n',
            "d:2:1",
            "less than nothing",
        ),
    ],
)
def test_a_damaged_recording_is_said_with_its_place(lines: bytes, place: str, why: str) -> None:
    """File and line."""
    with pytest.raises(RecordingError, match=why) as caught:
        read_recording("demand", [("d", lines)])
    assert caught.value.place == place


def test_failures_that_touch_are_one_shortage() -> None:
    """Of each target; those of another day are the same ones again."""
    file = b'{"formatVersion":"1.0"}\n{"failures":[["a",100,50],["a",150,20],["a",300,10],["b",120,5]]}\n{"at":400}\n{"at":500}\n'
    trace = read_recording("demand", [("d", file), ("e", file.replace(b"400", b"600").replace(b"500", b"700"))])
    spans = [(name, one.from_seconds, one.until_seconds) for name, one in trace.shortages]
    assert spans == [("a", 100, 170), ("a", 300, 310), ("b", 120, 125)]
    later = trace.starting_at(trace.start_seconds + 7).shortages
    assert [(one.from_seconds, one.until_seconds) for _, one in later] == [(107, 177), (307, 317), (127, 132)]


class Watched:
    """A replay with what a recorder that watches its cluster sees: the decisions, and the files."""

    def __init__(self, rules: PolicySet, trace: Trace, interrupted_every: int = 10**9) -> None:
        """Another recorder goes on after so many looks."""
        self.plans: list[tuple[int, Plan]] = []
        self.files: dict[str, bytes] = {}
        self._recorder, self._looks = Recorder(), 0

        def noted(world: World, policy: PolicySet, memory: Memory, now: int, budget: int) -> tuple[Plan, Memory]:
            plan, after = decide(world, policy, memory, now, budget)
            self.plans.append((now, plan))
            return plan, after

        def advanced(cluster: SimulatedCluster, seconds: int) -> None:
            advance(cluster, seconds)
            self._looks += 1
            if self._looks % interrupted_every == 0:
                self._recorder = Recorder()
                self._recorder.resume(*list(self.files.items())[-1])
            day, lines = self._recorder.lines(cluster.world(), cluster.now_seconds)
            self.files[day] = self.files.get(day, b"") + lines

        advance = SimulatedCluster.advance_to
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(replays, "decide", noted)
            patch.setattr(SimulatedCluster, "advance_to", advanced)
            for _ in ReplayRun(rules, trace, policy_world([rules], trace.start_seconds - LEAD_SECONDS)).turns():
                pass


@settings(deadline=None, max_examples=4)
@given(
    pods=st.lists(st.integers(0, 12), min_size=3, max_size=6),
    minutes=st.integers(3, 20),
    unneeded=st.sampled_from([60, 300, 900]),
)
def test_a_replay_of_what_was_recorded_decides_as_the_recorded_loop(pods: list[int], minutes: int, unneeded: int) -> None:
    """Turn by turn: the same instants, and the same plans."""
    group = node_group("general", template=FOUR_CORES, price_per_hour="1", scale_down=ScaleDown(unneeded_time_seconds=unneeded))
    lines = (f"{NOON + at * 60 * minutes},{count}" for at, count in enumerate(pods))
    trace = read_curve("curve", "\n".join(("# pod: cpu=1 memory=2Gi", "time,pods", *lines)))
    original = Watched(policy(group), trace)
    recording = read_recording("curve", list(original.files.items()))
    again = Watched(policy(group), recording.between(trace.start_seconds, trace.end_seconds))
    assert again.plans == original.plans


def test_a_recorded_week_is_decided_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven days of three workloads, and a window every night: all plans are those of the recorded loop. Both replays look every
    six hours where nothing happens, instead of every ten minutes."""
    monkeypatch.setattr(replays, "_IDLE_SECONDS", 6 * 3_600)
    seed = random.SystemRandom().randrange(2**31)
    print(f"seed {seed}")
    chance = random.Random(seed)
    night = Window(schedule="0 20 * * *", duration_seconds=10 * 3_600, size=Size(min=2))
    group = node_group("general", template=FOUR_CORES, price_per_hour="1", windows=(night,))
    head = ("# pod api: cpu=500m memory=1Gi", "# pod batch: cpu=3 memory=4Gi", "# pod web: cpu=1 memory=2Gi")
    rows = [
        f"{NOON + at * 3_600},{chance.randint(1, 4)},{chance.randint(0, 2)},{chance.randint(0, 6)}"
        for at in sorted(chance.sample(range(7 * 24), 30))
    ]
    text = "\n".join((*head, "time,pods:api,pods:batch,pods:web", f"{NOON - 1},1,1,1", *rows, f"{NOON + 7 * DAY},1,1,1"))
    trace = read_curve("week", text)
    original = Watched(policy(group), trace)
    recording = read_recording("week", list(original.files.items()))
    again = Watched(policy(group), recording.between(trace.start_seconds, trace.end_seconds))
    assert len(original.plans) > 100
    assert again.plans == original.plans


def test_a_replay_of_mixed_demand_decides_as_it_was_recorded() -> None:
    """Jobs, pods without a controller, ReplicaSets, StatefulSets and custom controllers in three namespaces, in any order, over
    midnight, with an interrupted recorder."""
    seed = random.SystemRandom().randrange(2**31)
    for number in range(seed, seed + 6):
        print(f"seed {number}")
        chance = random.Random(number)
        trace, rules = mixed_trace(chance), mixed_policy(chance)
        original = Watched(rules, trace, interrupted_every=chance.randint(3, 20))
        recording = read_recording("mixed", list(original.files.items()))
        again = Watched(rules, recording.between(trace.start_seconds, trace.end_seconds))
        assert again.plans == original.plans
