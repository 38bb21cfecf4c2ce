"""Demand that other programs kept, from their files to a recording: counted by hand."""

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from reconciler.simulation.replays.recording import read_recording
from reconciler.simulation.replays.trace import Trace
from tests.cli.commands.conftest import Run

ROOT = Path(__file__).resolve().parents[3]
BEGIN = 1_483_315_200  # 2017-01-02T00:00:00Z
NOON = 1_796_126_400  # 2026-12-01T12:00:00Z


def imported(run: Run, folder: Path, *files: Path, told: str = "") -> Trace:
    """The recording that an import wrote."""
    out = folder / "demand"
    words = [word for file in files for word in ("--import", file)]
    assert run("record", *words, "--out", out) == (0, "", told)
    return read_recording("demand", [(day.name, day.read_bytes()) for day in sorted(out.iterdir())])


def wanted(trace: Trace, at: int) -> Counter[tuple[str, int, int]]:
    """Owner, milli CPU and MiB of the pods that are wanted at an instant."""
    pods: Counter[int] = Counter()
    for step in trace.steps:
        if step.at_seconds <= at:
            pods.update({index: count - pods[index] for index, count in step.changes})
    found: Counter[tuple[str, int, int]] = Counter()
    for index, source in enumerate(trace.sources):
        owner = source.traits.controller
        requests = source.shape.requests
        found[owner.name if owner else source.pod_name, requests.cpu_milli, requests.memory_bytes >> 20] += pods[index]
    return +found


def vm(created: int, deleted: int, category: str = "Unknown", cores: str = "2", memory: str = "3.5") -> str:
    return f"vm,subscription,deployment,{created},{deleted},99.5,3.2,40.1,{category},{cores},{memory}"


def vm_table(folder: Path, *rows: str) -> Path:
    file = folder / "vmtable.csv.gz"
    file.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
    return file


def test_machines_of_azure_are_pods_of_their_size(run: Run, tmp_path: Path) -> None:
    """Two equal machines overlap for ten minutes; one is a Job's. One that ends as it begins is told."""
    file = vm_table(
        tmp_path, vm(0, 1200), vm(600, 3600), vm(900, 3600, "Delay-insensitive", "1", "1.75"), vm(300, 300, "Interactive"),
    )  # fmt: skip
    trace = imported(run, tmp_path, file, told="not in the recording: 1 machine that was deleted as it was created\n")
    assert (trace.start_seconds, trace.end_seconds) == (BEGIN, BEGIN + 3600)
    service, batch = ("service-2-3584", 2000, 3584), ("batch-1-1792", 1000, 1792)
    assert wanted(trace, BEGIN) == {service: 1}
    assert wanted(trace, BEGIN + 899) == {service: 2}
    assert wanted(trace, BEGIN + 1199) == {service: 2, batch: 1}
    assert wanted(trace, BEGIN + 1200) == {service: 1, batch: 1}


@pytest.mark.parametrize(
    ("rows", "place", "why"),
    [
        ((vm(0, 300), "a,b"), "2:1", "2 columns, but a VM table has 11"),
        ((vm(600, 300),), "1:32", "deleted at 300, before it was created"),
        ((vm(0, 300, cores=">24"),), "1:", "'>24' is not a number up to 1000"),
        ((vm(0, 300, memory="1e9"),), "1:", "'1e9' is not an amount of memory in GB"),
        ((vm(0, 300, memory="-1"),), "1:", "is not an amount of memory in GB"),
        ((vm(0, 99_999_999_999),), "1:", "is not a number up to"),
        ((), "1:1", "no line with a machine"),
        ((vm(300, 300),), "1:1", "no pod that lived for a second"),
    ],
)
def test_a_damaged_vm_table_is_said_with_its_place(run: Run, tmp_path: Path, rows: tuple[str, ...], place: str, why: str) -> None:
    """File, line and column; nothing is recorded."""
    file = vm_table(tmp_path, *rows)
    code, out, err = run("record", "--import", file, "--out", tmp_path / "demand")
    assert (code, out) == (1, "")
    assert f"{file}:{place}" in err
    assert why in err
    assert not list((tmp_path / "demand").glob("*")) if (tmp_path / "demand").exists() else True


def example(name: str, *words: object) -> str:
    """What a program of the examples prints."""
    command = [sys.executable, ROOT / "examples" / name, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}).stdout


def test_a_made_table_reads_as_one_of_azure(run: Run, tmp_path: Path) -> None:
    """The same seed, the same bytes; all its machines are imported."""
    files = [tmp_path / "one.csv.gz", tmp_path / "two.csv.gz"]
    for file in files:
        example("make_azure.py", file, "--days", 2, "--machines", 50)
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = gzip.decompress(files[0].read_bytes()).decode().splitlines()
    assert len(rows) == 50
    first = min(int(row.split(",")[3]) for row in rows)
    assert imported(run, tmp_path, files[0]).start_seconds == BEGIN + first


def test_the_lower_bound_is_that_of_the_scarcest_resource(run: Run, tmp_path: Path) -> None:
    """By hand. Machines of 2 cores and 3.5 GiB: one for two hours, another one beside it in the second. A node of 4 cores and 14
    GiB costs 1 per hour, so cores cost 0.25 and a GiB 1/14. Cores bound the cost: 3 machine hours times 2 cores times 0.25 is
    1.50. A dearer group does not matter. The first hour alone costs 0.50."""
    imported(run, tmp_path, vm_table(tmp_path, vm(0, 7200), vm(3600, 7200)))
    group = "kind: NodeGroup\nspec: {{pricePerHour: '{}', template: {{capacity: {{cpu: 4, memory: 14Gi}}}}}}\n"
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"{group.format(1)}---\n{group.format(3)}", encoding="utf-8")
    words = "no policy under which no pod waits costs less than {}\n"
    assert example("lower_bound.py", tmp_path / "demand", policy) == words.format("1.50")
    assert example("lower_bound.py", tmp_path / "demand", policy, 1) == words.format("0.50")


OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"


def test_pods_of_openb_have_shares_of_cards(run: Run, tmp_path: Path) -> None:
    """Two cards are 2,000 of a thousandth of a card; a pod without an end is wanted to the end."""
    file = tmp_path / "pods.csv"
    rows = (
        "a,4000,2048,2,1000,,LS,Running,60,3600,60",
        "b,500,512,1,460,T4|P100,BE,Failed,120,600,",
        "c,4000,2048,2,1000,,LS,Pending,300,,",
    )
    file.write_text(OPENB + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    trace = imported(
        run, tmp_path, file, told="not in the recording: 1 pod that accepts some models of cards: here it takes any\n"
    )
    begin = 1_767_225_600  # 2026-01-01T00:00:00Z
    large, small = ("4000-2048-2000", 4000, 2048), ("500-512-460", 500, 512)
    assert wanted(trace, begin + 60) == {large: 1}
    assert wanted(trace, begin + 300) == {large: 2, small: 1}
    assert wanted(trace, begin + 600) == wanted(trace, trace.end_seconds) == {large: 2}
    cards = [source.shape.requests.get("example.com/gpu-milli") for source in trace.sources]
    assert sorted(cards) == [460, 2000]
    file.write_text(f"{OPENB}{rows[0]}\n{rows[1].replace('500', '5e2')}\n", encoding="utf-8")
    assert f"{file}:3:3: '5e2' is not a number" in run("record", "--import", file, "--out", tmp_path / "other")[2]
    file.write_text(f"{OPENB}a,b\n", encoding="utf-8")
    assert f"{file}:2:1: 2 columns" in run("record", "--import", file, "--out", tmp_path / "other")[2]


def series(metric: str, pod: str, values: list[tuple[int, str]], **labels: str) -> dict[str, object]:
    return {
        "metric": {"__name__": metric, "namespace": "shop", "pod": pod, "uid": f"uid-{pod}", **labels},
        "values": [[at, value] for at, value in values],
    }


def response(folder: Path, name: str, *found: dict[str, object]) -> Path:
    file = folder / name
    file.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(found)}}), encoding="utf-8")
    return file


REQUESTS = "kube_pod_container_resource_requests"


def test_range_queries_of_kube_state_metrics(run: Run, tmp_path: Path) -> None:
    """Steps of a minute. A pod of two containers runs for three of them, a Job's finishes after two although it is still there,
    and pods of DaemonSets and of nodes do not count."""
    steps = [NOON + 60 * at for at in range(5)]

    def always(*, until: int = 5, value: str = "1") -> list[tuple[int, str]]:
        return [(at, value) for at in steps[:until]]

    requests = response(
        tmp_path, "requests.json",
        series(REQUESTS, "web-1", always(until=3, value="0.25"), container="app", resource="cpu", unit="core"),
        series(REQUESTS, "web-1", always(until=3, value="0.5"), container="proxy", resource="cpu", unit="core"),
        series(REQUESTS, "web-1", always(until=3, value="1073741824"), container="app", resource="memory", unit="byte"),
        series(REQUESTS, "job-1", always(value="2"), container="app", resource="cpu", unit="core"),
        series(REQUESTS, "job-1", always(value="1"), container="app", resource="nvidia_com_gpu", unit="integer"),
        series(REQUESTS, "log-1", always(value="1"), container="app", resource="cpu", unit="core"),
    )  # fmt: skip
    info = response(
        tmp_path, "info.json",
        series("kube_pod_info", "web-1", always(until=3), created_by_kind="ReplicaSet", created_by_name="web"),
        series("kube_pod_info", "job-1", always(), created_by_kind="Job", created_by_name="job"),
        series("kube_pod_info", "log-1", always(), created_by_kind="DaemonSet", created_by_name="log"),
    )  # fmt: skip
    phases = response(
        tmp_path, "phases.json",
        series("kube_pod_status_phase", "web-1", always(until=3), phase="Running"),
        series("kube_pod_status_phase", "job-1", [(at, "1" if at < steps[2] else "0") for at in steps], phase="Running"),
        series("kube_pod_status_phase", "job-1", [(at, "0" if at < steps[2] else "1") for at in steps], phase="Succeeded"),
        series("kube_pod_status_phase", "log-1", always(), phase="Running"),
    )  # fmt: skip
    trace = imported(run, tmp_path, requests, info, phases)
    web, job = ("web", 750, 1024), ("job", 2000, 0)
    assert wanted(trace, steps[0]) == wanted(trace, steps[1]) == {web: 1, job: 1}
    assert wanted(trace, steps[2]) == {web: 1}
    assert not wanted(trace, steps[3])
    assert trace.end_seconds == steps[4] + 60
    assert [source.shape.requests.get("nvidia.com/gpu") for source in trace.sources if source.shape.requests.extended] == [1]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"status":"error","error":"query timed out"}', "the query failed: query timed out"),
        ('{"status":"success","data":{"resultType":"vector","result":[]}}', "a 'vector', and not a matrix"),
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', f"no series of {REQUESTS}"),
        ('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[]}]}}', "no metric"),
        ('{"status":', "not a response of a range query"),
        (
            '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"kube_pod_info"},"values":[]}]}}',
            "labels",
        ),
    ],
)
def test_a_response_that_is_none_is_said(run: Run, tmp_path: Path, body: str, why: str) -> None:
    """What to query instead is said, too."""
    file = tmp_path / "answer.json"
    file.write_text(body, encoding="utf-8")
    code, _, err = run("record", "--import", file, "--out", tmp_path / "demand")
    assert code == 1
    assert f"{file}:1:1: " in err
    assert why in err


@pytest.mark.parametrize(("value", "resource"), [("NaN", "cpu"), ("-1", "cpu"), ("1e400", "memory"), ("1", "example_com_fpga")])
def test_amounts_that_are_not_understood_are_said(run: Run, tmp_path: Path, value: str, resource: str) -> None:
    """A pod is never taken for smaller than it is."""
    one = series(REQUESTS, "web-1", [(NOON, value), (NOON + 60, value)], container="app", resource=resource)
    code, _, err = run("record", "--import", response(tmp_path, "a.json", one), "--out", tmp_path / "demand")
    assert code == 1
    assert (value if value != "1" else resource) in err


def event(at: int, verb: str, name: str, subresource: str = "", code: int = 201, **objects: object) -> dict[str, object]:
    clock = f"2026-12-01T12:{at // 60:02}:{at % 60:02}.123456Z"
    return {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": f"{at}", "stage": "ResponseComplete",
        "verb": verb, "user": {"username": "u"}, "stageTimestamp": clock, "requestReceivedTimestamp": clock,
        "objectRef": {"resource": "pods", "namespace": "shop", "name": name, "apiVersion": "v1", "subresource": subresource},
        "responseStatus": {"metadata": {}, "code": code}, **objects,
    }  # fmt: skip


def pod(name: str, cpu: str, kind: str, owner: str) -> dict[str, object]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u", "controller": True}
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "ownerReferences": [reference]},
        "spec": {"containers": [container]},
    }  # fmt: skip


def audit_log(folder: Path, *events: dict[str, object]) -> Path:
    file = folder / "audit.log"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in events), encoding="utf-8")
    return file


def test_pods_of_an_audit_log_count_until_they_go(run: Run, tmp_path: Path) -> None:
    """Deleted, evicted or finished; a refused creation and a pod of a DaemonSet never counted. A StatefulSet's comes again."""
    file = audit_log(
        tmp_path,
        event(0, "create", "", responseObject=pod("web-x", "1", "ReplicaSet", "web")),
        event(10, "create", "", responseObject=pod("web-y", "1", "ReplicaSet", "web")),
        event(20, "create", "", code=403, responseObject=pod("web-z", "1", "ReplicaSet", "web")),
        event(30, "create", "db-0", responseObject=pod("db-0", "2", "StatefulSet", "db")),
        event(40, "create", "", responseObject=pod("log-x", "1", "DaemonSet", "log")),
        event(60, "create", "web-x", "eviction"),
        event(61, "delete", "web-x", code=200),
        event(90, "patch", "web-y", "status", code=200, responseObject={"status": {"phase": "Running"}}),
        event(120, "patch", "web-y", "status", code=200, responseObject={"status": {"phase": "Failed"}}),
        event(150, "delete", "db-0", code=200),
        event(180, "create", "db-0", responseObject=pod("db-0", "2", "StatefulSet", "db")),
        event(240, "create", "", responseObject=pod("web-w", "1", "ReplicaSet", "web")),
    )  # fmt: skip
    trace = imported(run, tmp_path, file, told="not in the recording: 1 end of a pod that was created before the log began\n")
    web, db = ("web", 1000, 1024), ("db", 2000, 1024)
    expected = {0: {web: 1}, 10: {web: 2}, 30: {web: 2, db: 1}, 60: {web: 1, db: 1}, 120: {db: 1}, 150: {}, 180: {db: 1}}
    assert {at: dict(wanted(trace, NOON + at)) for at in expected} == expected
    assert [source.pod_name for source in trace.sources if source.pod_name] == ["db-0"]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"responseObject": None}, "its object is not in the log"),
        ({"stageTimestamp": "soon"}, "stageTimestamp"),
        ({"responseObject": {"metadata": {"name": "a"}, "spec": {"containers": "none"}}}, "cannot be read"),
        ({"apiVersion": "v1"}, "not an event of audit.k8s.io"),
        ({"verb": 7}, "not an audit event"),
    ],
)
def test_a_line_of_an_audit_log_that_cannot_be_used_is_said(
    run: Run, tmp_path: Path, broken: dict[str, object], why: str
) -> None:
    """With its number."""
    good = event(0, "create", "", responseObject=pod("web-x", "1", "ReplicaSet", "web"))
    bad = event(5, "create", "", responseObject=pod("web-y", "1", "ReplicaSet", "web")) | broken
    file = audit_log(tmp_path, good, bad)
    code, _, err = run("record", "--import", file, "--out", tmp_path / "demand")
    assert code == 1
    assert f"{file}:" in err
    assert why in err


def workload(kind: str, name: str, replicas: object, cpu: str) -> dict[str, object]:
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    return {"kind": kind, "metadata": {"namespace": "shop", "name": name}, "spec": {"replicas": replicas, "template": template}}


def simkube(folder: Path, *events: dict[str, object], version: int = 3) -> Path:
    file = folder / "trace.sktrace"
    file.write_bytes(msgspec.msgpack.encode({"version": version, "config": {}, "events": events, "index": {("a", "b"): {7: 8}}}))
    return file


def test_workloads_of_simkube_are_their_replicas(run: Run, tmp_path: Path) -> None:
    """A Deployment that grows, changes its template and goes; a StatefulSet's pods have names; a Job is told."""
    file = simkube(
        tmp_path,
        {"ts": NOON, "applied_objs": [workload("Deployment", "web", 2, "1"), workload("StatefulSet", "db", 2, "2")]},
        {"ts": NOON + 60, "applied_objs": [workload("Deployment", "web", 5, "1"), workload("Job", "once", 1, "1")]},
        {"ts": NOON + 120, "applied_objs": [workload("Deployment", "web", 5, "500m")]},
        {"ts": NOON + 180, "deleted_objs": [workload("Deployment", "web", 5, "500m")], "applied_objs": []},
        {"ts": NOON + 240},
    )
    trace = imported(run, tmp_path, file, told="not in the recording: 1 of kind Job\n")
    web, small, db = ("web", 1000, 1024), ("web", 500, 1024), ("db", 2000, 1024)
    expected = {0: {web: 2, db: 2}, 60: {web: 5, db: 2}, 120: {small: 5, db: 2}, 180: {db: 2}, 240: {db: 2}}
    assert {at: dict(wanted(trace, NOON + at)) for at in expected} == expected
    assert sorted(source.pod_name for source in trace.sources if source.pod_name) == ["db-0", "db-1"]
    assert trace.end_seconds == NOON + 241


@pytest.mark.parametrize(
    ("event", "version", "why"),
    [
        ({"ts": NOON}, 1, "version 1 of the form"),
        ({"ts": "soon"}, 3, "not a trace of SimKube"),
        ({"ts": 0}, 3, "event 1: 0 is not an instant"),
        ({"ts": NOON, "applied_objs": [{"kind": "Deployment"}]}, 3, "event 1: an object without kind or name"),
        ({"ts": NOON, "applied_objs": [workload("Deployment", "web", "3", "1")]}, 3, "no number of replicas"),
        ({"ts": NOON, "applied_objs": [workload("Deployment", "web", 10**9, "1")]}, 3, "are too many"),
        ({"ts": NOON, "applied_objs": [workload("Deployment", "web", 1, "much")]}, 3, "cannot be read"),
        ({"ts": NOON}, 3, "no pod that lived for a second"),
    ],
)
def test_a_trace_of_simkube_that_cannot_be_used_is_said(
    run: Run, tmp_path: Path, event: dict[str, object], version: int, why: str
) -> None:
    """With the number of the event."""
    file = simkube(tmp_path, event, version=version)
    code, _, err = run("record", "--import", file, "--out", tmp_path / "demand")
    assert code == 1
    assert f"{file}:1:1: " in err
    assert why in err
    file.write_bytes(file.read_bytes()[:20])
    assert "not a trace of SimKube" in run("record", "--import", file, "--out", tmp_path / "demand")[2]


def test_a_directory_with_a_recording_is_left_alone(run: Run, tmp_path: Path) -> None:
    """An import is whole, and continues nothing."""
    file = vm_table(tmp_path, vm(0, 1200))
    imported(run, tmp_path, file)
    code, _, err = run("record", "--import", file, "--out", tmp_path / "demand")
    assert code == 1
    assert "has a recording already" in err
    file.write_bytes(file.read_bytes()[:30])
    assert "damaged or cut-off gzip data" in run("record", "--import", file, "--out", tmp_path / "other")[2]
    assert "two sources" in run("record", "--import", file, "--cluster", tmp_path, "--out", tmp_path / "other")[2]
