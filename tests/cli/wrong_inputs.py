"""Wrong inputs for all commands, drawn at random from what is right, and the words of Python that no output may have."""

import builtins
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
_NAMES = sorted(
    name
    for name, what in vars(builtins).items()
    if isinstance(what, type) and issubclass(what, BaseException) and name != "Warning"
)
_TYPES = "str|int|float|bool|bytes|dict|list|tuple|set|NoneType|array|object|null"
WORDING = re.compile(
    rf"\b(?:{'|'.join(_NAMES)}|[A-Z][a-zA-Z]*(?:Error|Exception))\b(?=[:(\s,]|$)|Traceback|<class |<[\w.]+ object at|\bNoneType\b"
    rf"|invalid literal|object has no attribute|(?:not enough|too many) values|unhashable|is not subscriptable|is not iterable"
    rf"|index out of range|could not convert|cannot convert|codec can't|unsupported operand|positional argument|\bmsgspec\b"
    rf"|[Ee]xpected `?(?:{_TYPES})\b|\bgot `?(?:{_TYPES})\b|must be (?:str|int|float|bool|dict|list)\b|base 10"
    rf"|Invalid isoformat|unconverted data|Errno|unexpected [A-Z]\w+:|This is a defect"
)
"""A rule, no list of messages: names of exceptions and types of Python, and how its own errors speak."""
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1.5, 2**70, -(2**63), 1e400, "", " ", "x", "-5", "1e999", "NaN", "0x10", "12:30", "1_000", "٣", "²",
    "2026-13-45T99:00:00Z", "2026-02-30T00:00:00Z", "99999999h", "10", "10m", "1h1", "\u202e", "a" * 300, [],
    ["x"], [None], [[]], {}, {"a": "b"}, {"name": None}, {"": {}}, [1, "x", {}], "{", "[", "%s", "{0}", "\x00", "\ud7ff",
)  # fmt: skip


def run(*words: str | Path) -> tuple[int, str]:
    """Exit code and everything that was printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = guarded(cli, [str(word) for word in words])
        out.flush()
    return code, out.buffer.getvalue().decode("utf-8", "replace") + err.getvalue()


def broken(draw: random.Random, value: Any) -> Any:
    """A copy with one to three values that are something else."""
    copy = json.loads(json.dumps(value, default=str))
    for _ in range(draw.randint(1, 3)):
        spots = list(_spots(copy))
        if not spots:
            break
        at, key = draw.choice(spots)
        if draw.random() < 0.15 and isinstance(at, dict):
            at[draw.choice(("", "x", "a/b", "0"))] = at.pop(key)
        elif draw.random() < 0.1:
            del at[key]
        else:
            at[key] = deepcopy(draw.choice(VALUES))
    return copy


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _spots(inner)


def bytes_of(draw: random.Random, documents: list[Any]) -> bytes:
    """As JSON or YAML, and sometimes damaged as a text."""
    if draw.random() < 0.3 and len(documents) == 1:
        text = json.dumps(documents[0], indent=draw.choice((None, 2)))
    else:
        text = yaml.safe_dump_all(documents, allow_unicode=True)
    data = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.25 and data:
        at = draw.randrange(len(data))
        data = draw.choice((
            data[:at], data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :], data[:at] + b"\xff" + data[at:],
            data[:at] + b"\t" + data[at:], data[at:],
        ))  # fmt: skip
    return data


Words = list[str | Path]
Maker = Callable[[random.Random, Path], Words]


def _documents(*paths: Path) -> list[Any]:
    return [one for path in paths for one in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader) if one is not None]


POLICIES = _documents(*sorted((ROOT / "policies").glob("*.yaml")), ROOT / "tests/fixtures/policy/complete.yaml")
LISTS = {path.name: json.loads(path.read_bytes()) for path in sorted(QUICKSTART.glob("*.json"))}
IMPORTS = [_documents(path) for path in sorted((ROOT / "tests/fixtures/imports").glob("*.yaml"))]
SCENARIOS = [_documents(path) for path in sorted((ROOT / "examples/scenarios").glob("*.yaml"))]
AWS = {
    "AutoScalingGroups": [
        {
            "AutoScalingGroupName": "a", "MinSize": 1, "MaxSize": 3, "DesiredCapacity": 2, "Instances": [], "Tags": [],
            "AutoScalingGroupARN": "arn:aws:autoscaling:eu-west-3:1:autoScalingGroup:u:autoScalingGroupName/a",
        }
    ]
}  # fmt: skip


def policy_case(draw: random.Random, room: Path) -> Words:
    file = room / draw.choice(("p.yaml", "p.json", "p.yml"))
    count = draw.randint(1, 3)
    documents = [broken(draw, one) if draw.random() < 0.8 else one for one in draw.sample(POLICIES, count)]
    file.write_bytes(bytes_of(draw, documents))
    other: list[Words] = [
        ["validate", file], ["validate", "-o", draw.choice(("json", "sarif", "github")), file],
        ["validate", "--manifests", file, "policies"],
        ["plan", "--no-settled", "--policy", file, "--cluster", QUICKSTART], ["bounds", "--policy", file],
        ["preview", "--base-dir", ROOT / "policies", "--head-dir", room, "--cluster", QUICKSTART],
    ]  # fmt: skip
    return draw.choice(other)


def snapshot_case(draw: random.Random, room: Path) -> Words:
    name = draw.choice(sorted(LISTS))
    listed = dict(LISTS[name])
    if "items" in listed:
        listed["items"] = listed["items"][:3]
    content = broken(draw, listed if draw.random() < 0.85 else AWS)
    file = room / draw.choice((name, "x.yaml", "x", "snapshot.yaml"))
    if file.name == "snapshot.yaml":
        content = broken(draw, {"formatVersion": "1.0", "capturedAt": "2026-11-21T00:16:41Z", "cluster": "c", "kinds": ["Node"]})
        (room / "nodes.json").write_text(json.dumps(LISTS["nodes.json"]))
    file.write_bytes(bytes_of(draw, [content]))
    words: list[Words] = [
        ["plan", "--no-settled", "--policy", ROOT / "policies", "--cluster", room], ["fit", "--cluster", room],
        ["init", "--cluster", room, "--out", room / "out"], ["drain-report", "--cluster", room], ["doctor", "--cluster", room],
        ["bounds", "--policy", ROOT / "policies", "--cluster", room], ["explain", "group", "spot", "--cluster", room],
    ]  # fmt: skip
    return draw.choice(words)


FLAGS = ("max-nodes-total", "cores-total", "memory-total", "scale-down-unneeded-time", "nodes", "expander", "gpu-total",
         "scale-down-utilization-threshold", "max-node-provision-time", "node-group-auto-discovery", "ok-total-unready-count",
         "max-total-unready-percentage", "scale-down-delay-after-add", "new-pod-scale-up-delay", "balancing-ignore-label",
         "scan-interval", "skip-nodes-with-local-storage", "expendable-pods-priority-cutoff", "cloud-provider")  # fmt: skip


def import_case(draw: random.Random, room: Path) -> Words:
    file = room / "ca.yaml"
    if draw.random() < 0.5:
        flags = [f"--{draw.choice(FLAGS)}={draw.choice(VALUES)}" for _ in range(draw.randint(1, 5))]
        container = {
            "name": "ca",
            "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0",
            "command": ["./cluster-autoscaler", *flags],
        }
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "ca", "namespace": "kube-system"},
                      "spec": {"template": {"spec": {"containers": [container]}}}}  # fmt: skip
        file.write_bytes(yaml.safe_dump(deployment, allow_unicode=True).encode("utf-8", "surrogatepass"))
    else:
        file.write_bytes(bytes_of(draw, [broken(draw, one) for one in draw.choice(IMPORTS)]))
    return ["import", file, *(["--region", str(draw.choice(("eu-west-1", "", "x y")))] if draw.random() < 0.3 else [])]


CURVE = "time,cpu\n2026-11-21T00:00:00Z,4\n2026-11-21T00:05:00Z,6.5\n2026-11-21T00:10:00Z,2\n"


def trace_case(draw: random.Random, room: Path) -> Words:
    file = room / "t.csv"
    text = CURVE
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text))
        text = text[:at] + str(draw.choice(VALUES)) + text[at + draw.randint(0, 6) :]
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return ["simulate", "--trace", file, "--policy", ROOT / "examples/traces/packed", "--until", "10m"]


def scenario_case(draw: random.Random, room: Path) -> Words:
    file = room / "s.yaml"
    file.write_bytes(bytes_of(draw, [broken(draw, broken(draw, one)) for one in draw.choice(SCENARIOS)]))
    return ["run", "--until", "1m", f"--simulate={file}"]


def saved_case(draw: random.Random, room: Path) -> Words:
    file = room / "plan.json"
    plan = {
        "formatVersion": "1.0",
        "digest": "sha256:0",
        "now": "2026-11-21T00:16:41Z",
        "mode": "Observe",
        "groups": [],
        "actions": [],
    }
    file.write_bytes(bytes_of(draw, [broken(draw, plan)]))
    return ["apply", file, "--cluster", QUICKSTART, "--policy", ROOT / "policies", "--simulate"]


OPTIONS: tuple[tuple[str, ...], ...] = (
    ("plan", "--now"), ("plan", "--work-budget"), ("plan", "--name"), ("plan", "-o"), ("plan", "--group"), ("plan", "--node"),
    ("fit", "--now"), ("drain-report", "--thresholds"), ("drain-report", "--now"), ("explain", "pod"), ("explain", "node"),
    ("explain", "group"), ("explain", "value"), ("init", "--name"), ("bounds", "--now"), ("hold", "--until"),
    ("plan", "--cluster"), ("plan", "--policy"), ("preview", "--base"), ("preview", "--until"), ("validate",), ("import",),
)  # fmt: skip


def option_case(draw: random.Random, room: Path) -> Words:
    words = list(draw.choice(OPTIONS))
    value = str(draw.choice([one for one in VALUES if isinstance(one, str | int | float)])).replace("\x00", "0")
    more: dict[str, Words] = {
        "plan": ["--no-settled"], "preview": ["--cluster", QUICKSTART], "init": ["--out", room / "out"],
        "hold": ["spot", "--reason", "x"],
    }  # fmt: skip
    cluster: list[str | Path] = (
        ["--cluster", QUICKSTART] if words[0] in ("plan", "fit", "drain-report", "explain", "init", "bounds") else []
    )
    if words[-1] == "--cluster":
        cluster = []
    return [*words, value, *more.get(words[0], []), *cluster]


CASES: dict[str, Maker] = {
    "policy": policy_case, "snapshot": snapshot_case, "import": import_case, "trace": trace_case, "scenario": scenario_case,
    "saved": saved_case, "option": option_case,
}  # fmt: skip
