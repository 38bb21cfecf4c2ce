"""The tutorial is true: its commands, cut out of the page, run in one shell on a real control plane with Cluster API.

From nothing to Enforce and back."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed.__main__ import EXAMPLE, make_example
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import running_control_plane
from tests.testbed.missing import not_run
from tests.testbed.programs import program
from tests.testbed.toolchain import NotAvailableError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "first-hour.md"
_PART = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
_MARK = "@@@ "


def parts() -> dict[str, str]:
    """Heading -> the commands below it."""
    found = {title: "".join(_COMMANDS.findall(body)) for title, body in _PART.findall(PAGE.read_text(encoding="utf-8"))}
    return {title: commands for title, commands in found.items() if commands}


@pytest.fixture(scope="module")
def cluster_api() -> Iterator[ClusterApi]:
    """On a control plane where nobody has been: the page begins with nothing."""
    try:
        with running_control_plane() as plane:
            running = ClusterApi(plane)
            running.start()
            try:
                yield running
            finally:
                running.stop()
    except NotAvailableError as error:
        not_run("testbed", str(error))


@pytest.fixture(scope="module")
def told(cluster_api: ClusterApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Heading -> what its commands printed, after all of them have run."""
    try:
        kubectl = program("kubectl").parent
    except NotAvailableError as error:
        not_run("kubectl", str(error))
    cluster = make_example(cluster_api)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
    script += "\n".join(f"echo '{_MARK}{title}'\n{commands}" for title, commands in parts().items()).replace("18080", port)
    environment = os.environ | {
        "KUBECONFIG": str(cluster_api.plane.kubeconfig), "PATH": f"{Path(sys.executable).parent}:{kubectl}:{os.environ['PATH']}",
        "NO_COLOR": "1",
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("first-hour")
    shell = subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = shell.communicate()
    finally:
        # The loop in the background, where the shell did not come to its end.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    log = (folder / "loop.log").read_text() if (folder / "loop.log").exists() else ""
    assert shell.returncode == 0, f"{output}\n--- loop.log\n{log[-6000:]}"
    said = re.split(f"^{_MARK}(.*)\n", output, flags=re.M)
    yield dict(zip(said[1::2], said[2::2], strict=True))
    cluster.delete()


SAID = {"Look": ("2 adopted", "mode Observe (nothing is written)")}
"""Heading -> what the page says that its commands print, word for word."""


def test_what_the_page_says_of_outputs_is_in_the_table() -> None:
    """Each `The plan says` or `It also says` quotes something, and that is looked for in the output."""
    page = PAGE.read_text(encoding="utf-8")
    for title, body in _PART.findall(page):
        assert re.findall(r"says\s+`([^`]+)`", body) == list(SAID.get(title, ())), title
    assert not re.search(r"plan says\s+[^`\s]", page)


@pytest.mark.parametrize("title", SAID)
def test_the_commands_print_what_the_page_says(told: dict[str, str], title: str) -> None:
    """Each quoted output stands in what the commands of its part printed."""
    for words in SAID[title]:
        assert words in told[title]


def replicas(text: str) -> dict[str, int]:
    """Name -> the column of desired replicas, in what `kubectl get machinedeployments` printed last."""
    head, *lines = text[text.rindex("NAME ") :].splitlines()
    column = head.split().index("DESIRED")
    return {line.split()[0]: int(line.split()[column]) for line in lines if line.startswith("general-")}


def test_nothing_is_written_while_it_observes(told: dict[str, str]) -> None:
    """The plan says what would be done, and the groups keep their sizes."""
    assert replicas(told["Look"] if "DESIRED" in told["Look"] else told["A cluster to play with"]) == {
        "general-a": 2,
        "general-b": 0,
    }
    assert "mode Observe (nothing is written)" in told["Ask for more"]
    assert "Plan: " in told["Ask for more"]
    assert replicas(told["Let it watch"]) == {"general-a": 2, "general-b": 0}


def test_it_acts_when_told_to(told: dict[str, str]) -> None:
    """Three pods of three cores each get three machines of four."""
    assert sum(replicas(told["Let it act"]).values()) == 3
    assert '"code": "Resize"' in told["Let it act"]


def test_a_hold_holds(told: dict[str, str]) -> None:
    """The plan says who asked for it; then both groups come down to their smallest size."""
    assert "looking at it" in told["Hold"]
    assert "condition met" in told["Hold"]
    assert re.search(r"^size: now (\d+), desired \1\b", told["Hold"], re.M), "the machines are empty and stay"


def test_it_ends_with_nothing_of_ours(told: dict[str, str], cluster_api: ClusterApi) -> None:
    """No mark on the targets, the sizes as they were left."""
    assert "mode Observe" in told["And back"]
    found: list[Object] = cluster_api.api.get(f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{EXAMPLE}/machinedeployments")["items"]
    assert {item["metadata"]["name"]: item["spec"]["replicas"] for item in found} == {"general-a": 1, "general-b": 0}
    assert [key for item in found for key in item["metadata"].get("annotations", {}) if key.startswith("reconciler.dev/")] == []
