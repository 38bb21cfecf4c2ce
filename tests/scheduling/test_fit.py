"""`reconciler fit`: which pods are asked about, and how the answer looks."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from reconciler.cli.main import main
from reconciler.cluster.pods.pod import PodPhase
from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.values.kubernetes_version import KubernetesVersion
from reconciler.cluster.world import World
from reconciler.rendering.printers.text.fit import fit_json, fit_text
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.scheduling.fit import Asked, begun, fit, targets_of_nodes
from tests.builders import ClusterBuilder

_POD = {
    "metadata": {"namespace": "shop", "name": "web", "uid": "u1"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
    "status": {"phase": "Pending"},
}
_NODE = {
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
    "spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
}


def _snapshot(tmp_path: Path) -> Path:
    for kind, item in (("Pod", _POD), ("Node", _NODE)):
        document = {"apiVersion": "v1", "kind": f"{kind}List", "items": [item]}
        (tmp_path / f"{kind.lower()}s.json").write_text(json.dumps(document))
    return tmp_path


def test_the_json_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every pod with every node, and the sorted names of the plugins that say no."""
    assert main_exit(["fit", "--cluster", str(_snapshot(tmp_path)), "-o", "json"]) == 0

    assert json.loads(capsys.readouterr().out) == {
        "formatVersion": "1.0",
        "pods": [
            {
                "pod": "shop/web",
                "nodes": [{"node": "n1", "fits": False, "reasons": ["NodeResourcesFit", "TaintToleration"]}],
            }
        ],
    }


def test_the_text_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many fit at all, then a paragraph a kind of pod, with numbers."""
    assert main_exit(["fit", "--cluster", str(_snapshot(tmp_path))]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "1 pending pod, each alone: 0 fit on an existing node, 1 on none",
        "",
        "shop/web fits on 0 of 1 node",
        "  - n1: needs 3 cpu (2 of 2 free) [NodeResourcesFit], and untolerated taint t:NoSchedule",
        "    [TaintToleration]",
    ]


def main_exit(arguments: list[str]) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def _changed(world: World, **fields: object) -> World:
    rows = [msgspec.structs.replace(pod, **fields) if pod.name == "web-1" else pod for pod in world.pods]
    return msgspec.structs.replace(world, pods=PodTable(rows))


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, True),
        ({"gated": True}, True),
        ({"deletion_seconds": 5}, False),
        ({"phase": PodPhase.FAILED}, False),
        ({"unknown_node": "gone"}, False),
        ({"node": 0}, False),
    ],
)
def test_who_is_asked_about(fields: dict[str, object], asked: bool) -> None:
    """Pods without a node that are neither terminating nor finished, gated ones included."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("web", 1)

    assert [item.pod for item in fit(_changed(cluster.world(), **fields))] == (["shop/web-1"] if asked else [])


def _one_free_cpu() -> ClusterBuilder:
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    cluster.pods("first", 1, cpu="1", priority=10)
    cluster.pods("other", 1, cpu="1", priority=0)
    cluster.pods("vip", 1, cpu="1", priority=20)
    return cluster


def _fits(world: World) -> dict[str, bool]:
    return {item.pod: not item.nodes[0].rejections for item in fit(world)}


def _nominate(world: World, name: str, **fields: object) -> World:
    rows = [msgspec.structs.replace(pod, nominated=0, **fields) if pod.name == name else pod for pod in world.pods]
    return msgspec.structs.replace(world, pods=PodTable(rows))


def test_a_promised_place_is_kept_from_lower_priorities() -> None:
    """The node is promised to `first`: `other` does not fit, `vip` comes before it, and it does not block itself."""
    world = _nominate(_one_free_cpu().world(), "first-1")

    assert _fits(world) == {"shop/first-1": True, "shop/other-1": False, "shop/vip-1": True}


@pytest.mark.parametrize(("version", "fits"), [((1, 36, 9), True), ((1, 37, 0), False)])
def test_promises_of_gated_pods_count_since_1_37(version: KubernetesVersion, fits: bool) -> None:
    """Before, a nomination counts once the pod can be scheduled."""
    world = _nominate(_one_free_cpu().world(scheduler_version=version), "first-1", gated=True)

    assert _fits(world)["shop/other-1"] is fits


@pytest.mark.parametrize(
    "render", [lambda fits: b"".join(fit_json(fits)).decode(), lambda fits: "\n".join(fit_text(fits, EVERYTHING, 0))]
)
def test_equal_pods_get_equal_answers(render: Callable[[object], str]) -> None:
    """Answers of pods with other shapes in between are not mixed up."""
    cluster = ClusterBuilder()
    cluster.node("n", cpu="1")
    for number in range(20):
        cluster.pods(f"p{number:02d}", 1, cpu="2" if number % 2 else "1")

    text = render(fit(cluster.world()))

    assert text.count("NodeResourcesFit") == 10


def test_plugins_are_the_same_with_and_without_messages() -> None:
    """The short way to the names gives what the long one does, promised places included."""
    world = _nominate(_one_free_cpu().world(), "first-1")

    names = [
        [[said.plugin for said in node.rejections] for item in fit(world, messages=messages) for node in item.nodes]
        for messages in (True, False)
    ]
    assert names[0] == names[1] == [[], ["NodeResourcesFit"], []]


def test_nothing_pending() -> None:
    """An empty answer is said, not silent."""
    assert list(fit_text(fit(ClusterBuilder().world()), Fold(), 80)) == ["No pod is pending."]


def test_equal_pods_are_told_once() -> None:
    """Thirty pods of one owner are one paragraph, the eleven owners beyond the tenth and eleventh a number."""
    cluster = ClusterBuilder()
    for number in range(20):
        cluster.node(f"n{number:02d}", cpu="1" if number % 2 else "2")
    for owner in range(13):
        cluster.pods(f"app{owner:02d}", 30, cpu="4")

    lines = list(fit_text(fit(cluster.world()), Fold(), 100))

    assert lines[0] == "390 pending pods, each alone: 0 fit on an existing node, 390 on none"
    assert lines[2] == "shop/app00-* (30 pods) fit on 0 of 20 nodes"
    assert lines[3] == "  - 20 nodes (n00, n01, n02 and 17 more): needs 4 cpu (1..2 of 1..2 free) [NodeResourcesFit]"
    assert lines[-1] == "and 90 pods more: `--wide` lists all, `reconciler fit NAMESPACE/NAME` tells one"
    assert len(lines) == 1 + 10 * 3 + 2


def test_only_what_is_asked_about() -> None:
    """Pods by name with or without their namespace, namespaces and nodes, with the patterns of a shell."""
    cluster = ClusterBuilder()
    cluster.node("n1", cpu="1")
    cluster.node("n2", cpu="8")
    cluster.pods("web", 2, cpu="4")
    cluster.pods("job", 1, cpu="4", namespace="batch")
    world = cluster.world()

    def pods(asked: Asked) -> list[str]:
        return [item.pod for item in fit(world, asked=asked)]

    assert pods(Asked(pods=("web-*",))) == ["shop/web-1", "shop/web-2"]
    assert pods(Asked(pods=("shop/web-1",))) == ["shop/web-1"]
    assert pods(Asked(pods=("batch/web-1",))) == []
    assert pods(Asked(pods=("other", "shop/web-2"))) == ["shop/web-2"]
    assert pods(Asked(pods=("web-*",), namespaces=("batch",))) == []
    assert pods(Asked(namespaces=("batch",))) == ["batch/job-1"]
    assert pods(Asked(namespaces=("other", "bat*"))) == ["batch/job-1"]
    for messages in (True, False):
        found = [item.nodes for item in fit(world, messages=messages, asked=Asked(nodes=("n2",)))]
        assert [(node.node, node.rejections) for nodes in found for node in nodes] == [("n2", ())] * 3


def test_only_nodes_of_groups() -> None:
    """By the name of the target that a node's machine belongs to; a machine without a node, or of no target, counts for none."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=2, replicas=3)
    cluster.node("alone")
    cluster.pods("web", 1)
    coming = cluster.target("other", 1)
    cluster.machine("other-1", coming)
    world = cluster.world()
    unowned = msgspec.structs.replace(world.machines[0], name="stray", node="alone", target=None)
    world = msgspec.structs.replace(world, machines=(*world.machines, unowned))

    assert targets_of_nodes(world) == {"general-1": "general", "general-2": "general"}
    (found,) = fit(world, asked=Asked(groups=("gen*",)))
    assert [node.node for node in found.nodes] == ["general-1", "general-2"]
    (found,) = fit(world, asked=Asked(groups=("general",), nodes=("*-2", "alone")))
    assert [node.node for node in found.nodes] == ["general-2"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("shop/web-1", ["shop/web-1"]),
        ("web-1", ["shop/web-1"]),
        ("shop/web", [f"shop/web-{number}" for number in (1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]),
        ("web-1*", ["shop/web-1", "shop/web-10", "shop/web-11"]),
        ("shop/", [*(f"shop/web-{number}" for number in (1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)), "shop/zoo-1"]),
        ("run", []),
        ("other/web", []),
        ("", []),
    ],
)
def test_beginnings_of_names_as_explain_takes_them(asked: str, found: list[str]):
    """A whole name stands for that pod alone, even if others begin so; a pattern for what it matches."""
    cluster = ClusterBuilder()
    cluster.node("n")
    cluster.pods("web", 11)
    cluster.pods("zoo", 1)
    cluster.pods("run", 1, on="n")
    world = cluster.world()
    assert sorted(one.pod for one in fit(world, asked=begun(world, Asked(pods=(asked,))))) == found


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (
            ["nobody"],
            1,
            "error: no pending pod begins with nobody. For a pod that has a node, use `reconciler explain pod NAME`\n",
        ),
        (["--namespace", "none"], 1, "error: no pod is pending in namespace none. "),
        (["a", "--namespace", "none"], 1, "error: no pending pod begins with a in namespace none. "),
        ([], 0, ""),
    ],
)
def test_the_exit_code_says_whether_there_is_an_answer(
    words: list[str], code: int, told: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Without one stdout is empty, and stderr says what to ask. That nothing is pending answers who asks for nothing special."""
    for kind, items in (("Pod", []), ("Node", [_NODE])):
        document = {"apiVersion": "v1", "kind": f"{kind}List", "items": items}
        (tmp_path / f"{kind.lower()}s.json").write_text(json.dumps(document))
    assert main_exit(["fit", "--cluster", str(tmp_path), "-o", form, *words]) == code
    captured = capsys.readouterr()
    assert captured.err.startswith(told)
    assert bool(captured.out) is (code == 0)
