"""The tutorial is true: its commands, cut out of the page, run in one shell on a real control plane with Cluster API.

From nothing to Enforce and back."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.testbed import __main__ as testbed
from tests.testbed.__main__ import EXAMPLE, make_example
from tests.testbed.api import Object
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.control_plane import running_control_plane
from tests.testbed.missing import not_run
from tests.testbed.programs import program
from tests.testbed.toolchain import NotAvailableError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorials" / "first-hour.md"
_PART = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
_MARK = "@@@ "
PICTURE, END = "the live page", "the end"
_BESIDE = {
    "Let it watch": (PICTURE, "curl --silent http://127.0.0.1:18080/\n"),
    "And back": (END, "kubectl -n example get machinedeployments -o yaml\nkubectl -n example get machinedeployments\n"),
}
"""What a reader would look at without a command of the page, after the commands of a part: its name and the commands."""


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


def _marked(title: str, commands: str) -> str:
    """A part of the script, whose output begins with its heading, and what is looked at beside it."""
    name, beside = _BESIDE.get(title, ("", ""))
    return f"echo '{_MARK}{title}'\n{commands}" + (f"echo\necho '{_MARK}{name}'\n{beside}" if name else "")


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
    script += "".join(_marked(title, commands) for title, commands in parts().items()).replace("18080", port)
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


class Seen(NamedTuple):
    """What the commands of the page printed, by heading, and one sentence of it as it was matched."""

    told: Mapping[str, str]
    said: re.Match[str]

    def number(self, name: str) -> int:
        """A number word of the sentence."""
        return _COUNTS[self.said[name].lower()]


_COUNTS = {"none": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_PLAY, _LOOK, _MORE, _WATCH, _ACT, _HOLD, _BACK = (
    "A cluster to play with", "Look", "Ask for more", "Let it watch", "Let it act", "Hold", "And back",
)  # fmt: skip
_LAST_PLAN = "Plan: 1 group up (+1 node), 2 adopted."


def _groups(seen: Seen) -> bool:
    """As many machines as it says, and a Ready node for each."""
    nodes = re.findall(r"^general-[ab]-\S+ +Ready ", seen.told[_PLAY], re.M)
    said = {"general-a": seen.number("a"), "general-b": seen.number("b")}
    return (replicas(seen.told[_PLAY]), len(nodes)) == (said, sum(said.values()))


def _prepared(seen: Seen) -> bool:
    """Checks of `doctor`, what it says of objects, and the policy that `init` wrote, which `cat` shows."""
    text = seen.told[_LOOK]
    written = "kind: NodeGroupPolicy" in text and text.count("kind: NodeGroup\n") == len(replicas(seen.told[_PLAY]))
    return bool(re.search(r"^  Pass .*\[Rights\]$", text, re.M)) and "about the objects of the cluster" in text and written


def _by_whom(seen: Seen) -> bool:
    """The comment of `init` and the plan name the writer that the page names."""
    text = seen.told[_LOOK]
    return f"  # adoptFrom: [{seen.said['who']}]\n" in text and text.count(f"adopted from {seen.said['who']}") == 2


def _named(seen: Seen) -> bool:
    """`init` says that a group whose writer is not named is held; with the line the plan adopts."""
    text = seen.told[_LOOK]
    return "Groups of the others are held" in text and "the policy's adoptFrom allows it" in text


def _both_adopted(seen: Seen) -> bool:
    text = seen.told[_LOOK]
    return f"Plan: {seen.said['words']}." in text and text.count(": adopt MachineDeployment example/general-") == 2


def _asked_for(seen: Seen) -> bool:
    """The commands ask for so much."""
    commands = parts()[_MORE]
    return f"--replicas={seen.number('pods')}\n" in commands and f"cpu={seen.number('cores')}\n" in commands


def _same_sizes(seen: Seen) -> bool:
    return replicas(seen.told[_WATCH]) == replicas(seen.told[_PLAY])


def _minutes(seen: Seen) -> bool:
    """As `explain` says what is in force, and instead of what."""
    now, before = f"scaleDown.unneededTime: {seen.said['now']}s (policy.yaml", f"instead of {seen.said['before']}m (built-in)"
    return any(now in line and before in line for line in seen.told[_HOLD].splitlines())


def _got_machines(seen: Seen) -> bool:
    """Each pod is Ready on a machine of its own, and nothing has started the loop again."""
    text = seen.told[_ACT]
    ready = text.count("condition met")
    return ready == sum(replicas(text).values()) == 3 and "reconciler run" not in parts()[_ACT]


def _why_and_who(seen: Seen) -> bool:
    """The reason in the log; events that tell what was taken over, and from whom."""
    text = seen.told[_ACT]
    return all(words in text for words in ('"reason": "PendingPods"', "AdoptDone", "ScaledUp", "taken over from testbed"))


def _stay(seen: Seen) -> bool:
    """A size that is to stay, all of its nodes empty, and the hold as their reason."""
    size = re.search(r"^size: now (\d+), desired \1\b", seen.told[_HOLD], re.M)
    return (
        size is not None
        and f"{size[1]} nodes empty, used 0%" in seen.told[_HOLD]
        and re.search(r"- looking at it\b[^\[]*\[GroupHeld\]", seen.told[_HOLD]) is not None
    )


def _smallest(seen: Seen) -> bool:
    """The sizes in the end are the minimums that `init` wrote."""
    names, least = (
        re.findall(r"^metadata: {name: (general-\w),", seen.told[_LOOK], re.M),
        re.findall(r"size: {min: (\d)", seen.told[_LOOK]),
    )
    return dict(zip(names, map(int, least), strict=True)) == replicas(seen.told[END])


def _stayed(seen: Seen) -> bool:
    """What the last plan of the page saw is there after the loop has ended."""
    return {name: int(size) for name, size in re.findall(r"^ +(general-\w) +(\d+) ", seen.told[_BACK], re.M)} == replicas(
        seen.told[END]
    )


STATED: dict[str, Callable[[Seen], bool]] = {
    r"It prints a line that begins with `export`, or two lines if you have no `kubectl`\.": lambda _: (
        re.findall(r"print\(f.export (\w+)", Path(testbed.__file__).read_text(encoding="utf-8")) == ["KUBECONFIG", "PATH"]
    ),
    r"There is one Cluster in the namespace `example`, with (?P<groups>\w+) groups of machines\.": lambda seen: (
        len(replicas(seen.told[_PLAY])) == seen.number("groups")
    ),
    r"`general-a` has (?P<a>\w+) machines, and `general-b` has (?P<b>\w+)\.": _groups,
    r"The loop keeps its memory in its own namespace, `(?P<where>\w+)`\.": lambda seen: (
        f"namespace {seen.said['where']}" in seen.told[_WATCH]
    ),
    r"`doctor` shows whether the loop can run and what to fix\.": lambda seen: "[Rights]" in seen.told[_LOOK],
    r"`init` writes a first policy from what exists\.": _prepared,
    r"A program named `(?P<who>\w+)` created this cluster and wrote the replicas\.": _by_whom,
    r"The loop leaves a program's replicas alone until the policy names the program\.": _named,
    r"The plan says `(?P<words>[^`]+)`: the policy takes over the replicas of both groups, as its new line allows\.": (
        _both_adopted
    ),
    r"It also says `(?P<words>[^`]+)`, so this is only what the loop would do\.": lambda seen: (
        seen.said["words"] in seen.told[_LOOK]
    ),
    r"Create (?P<pods>\w+) pods that request (?P<cores>\w+) cores each\.": _asked_for,
    r"A machine has (?P<size>\w+):": lambda seen: seen.told[_LOOK].count(f"nodes of {seen.number('size')} cpu") == 2,
    r"So far nothing was written, and you alone set the sizes\.": lambda seen: (
        "owner: adoptable from testbed" in seen.told[_MORE] and _same_sizes(seen)
    ),
    r"It decides and reports:": lambda seen: _LAST_PLAN in seen.told[_WATCH],
    r"Open `[^`]+` in a browser to see the same\.": lambda seen: _LAST_PLAN in seen.told[PICTURE],
    r"The sizes have not changed\.": _same_sizes,
    r"Also let a node leave after (?P<now>\d+) seconds instead of (?P<before>\d+) minutes, so that you need not wait:": _minutes,
    r"The loop follows the folder, and the pods have got their machines\.": _got_machines,
    r"These commands show why, and who wrote the replicas:": _why_and_who,
    r"The machines are empty, and they stay\.": _stay,
    r"The loop then removes the machines that no pod needs, until each group has its minimum size:": _smallest,
    r"From the next iteration on, the loop writes no replicas\.": lambda seen: (
        "mode Observe (nothing is written)" in seen.told[_BACK] and "\nNo changes.\n" in seen.told[_BACK]
    ),
    r"Then stop the loop and remove its annotations:": lambda seen: (
        seen.told[_BACK].count(" annotated\n") == 2 and "reconciler.dev/" not in seen.told[END]
    ),
    r"Sizes stay as they are\.": _stayed,
}
"""A sentence of the page that states an output or what came of the commands -> whether it is true of this run."""

ELSEWHERE = {
    "This works even while the loop is down:": "tests/live/test_commands_hold.py",
    "Ctrl-C in the first terminal removes everything.": "tests/testbed/test_process.py",
    "A test runs every command on this page, in this order and in one shell.": "tests/docs/test_first_hour.py",
}
"""What this run cannot show -> the tests that do."""

ASKS = (
    "This tutorial goes", "It uses a real control plane", "You need no account", "In a checkout,", "The first time it builds",
    "Open a second terminal", "Paste the lines", "Turn the comment", "The plan only shows", "Start the loop in `Observe`.",
    "Change the mode", "Suppose that something", "Now release the holds.", "Set `Observe` again.", "Do the same on your own",
    "How it decides",
)  # fmt: skip
"""Beginnings of sentences that state no output: what the page is about, and what to do."""


def sentences(page: str) -> list[str]:
    """The prose of the page, each sentence in one line, links as their words."""
    prose = re.sub(r"^#.*$", "", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S), flags=re.M)
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
    paragraphs = (" ".join(one.split()) for one in re.split(r"\n\s*\n", prose))
    return [one for paragraph in paragraphs if paragraph for one in re.split(r"(?<=[.])\s+(?=[A-Z`])", paragraph)]


def test_every_sentence_that_states_an_output_is_looked_at() -> None:
    """Each is in the table once, or proved elsewhere, or is one that asks for something; nothing in a table is left over."""
    said = sentences(PAGE.read_text(encoding="utf-8"))
    places = [
        [pattern for pattern in STATED if re.fullmatch(pattern, one)]
        + [one for other in ELSEWHERE if other == one]
        + [start for start in ASKS if one.startswith(start)]
        for one in said
    ]
    assert [one for one, found in zip(said, places, strict=True) if len(found) != 1] == []
    assert sorted(found[0] for found in places) == sorted((*STATED, *ELSEWHERE, *ASKS))
    assert [name for name in ELSEWHERE.values() if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("pattern", STATED)
def test_what_a_sentence_states_is_true(told: dict[str, str], pattern: str) -> None:
    """As the page has it now."""
    (said,) = (match for one in sentences(PAGE.read_text(encoding="utf-8")) if (match := re.fullmatch(pattern, one)))
    assert STATED[pattern](Seen(told, said)), said[0]


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("`general-a` has two machines", "`general-a` has three machines"),
        ("with two groups", "with three groups"),
        ("A program named `testbed`", "A program named `kubectl`"),
        ("says `2 adopted`", "says `No changes`"),
        ("says `mode Observe (nothing is written)`", "says `mode Enforce`"),
        ("pods that request three cores", "pods that request two cores"),
        ("A machine has four:", "A machine has five:"),
        ("after 5 seconds instead of 10 minutes", "after 5 seconds instead of 20 minutes"),
        ("own namespace, `reconciler`", "own namespace, `elsewhere`"),
    ],
)
def test_a_false_sentence_is_found(told: dict[str, str], true: str, false: str) -> None:
    """Another number or word than what was printed."""
    page = PAGE.read_text(encoding="utf-8")
    assert true in " ".join(page.split())
    found = [
        STATED[pattern](Seen(told, said))
        for one in sentences(page)
        if true in one
        for pattern in STATED
        if (said := re.fullmatch(pattern, one.replace(true, false)))
    ]
    assert found == [False]


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
