"""What is decided from files needs neither the AWS client nor credentials; what needs the client says how to get it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.platforms.aws.writing.calls import AUTO_SCALING, AwsError
from reconciler.platforms.aws.writing.client import BotoAws
from tests.aws.documents import REGION

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "eks"
_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("boto3", "botocore"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from reconciler.cli.main import cli
from reconciler.cli.outputs.failure import guarded
sys.exit(guarded(cli, sys.argv[1:]))
"""
_SDK = ("boto3", "botocore", "reconciler.platforms.aws")


def without(tmp_path: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command in a process that has no client, no credentials and no home."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "--policy", EXAMPLE / "policies", "--cluster", EXAMPLE / "cluster", "-o", "json"),
        ("explain", "group", "spot", "--policy", EXAMPLE / "policies", "--cluster", EXAMPLE / "cluster"),
        ("doctor", "--policy", EXAMPLE / "policies", "--cluster", EXAMPLE / "cluster", "-o", "json"),
        ("preview", "--base-dir", EXAMPLE / "policies", "--head-dir", EXAMPLE / "policies", "--cluster", EXAMPLE / "cluster"),
        ("validate", EXAMPLE / "policies"),
    ],
    ids=lambda words: words[0],
)
def test_files_need_no_client(tmp_path: Path, words: tuple[object, ...]) -> None:
    """Groups, launch templates and activities as the commands of AWS print them. Policy alone says that nobody asked AWS."""
    done = without(tmp_path, *words)
    told = [line.partition(": ")[2].partition(": ")[0] for line in done.stderr.splitlines()]
    assert (done.returncode, told) == (0, ["TargetsNotRead"] if words[0] == "validate" else [])
    if words[0] == "plan":
        plan = json.loads(done.stdout)
        assert plan["summary"] == "Plan: 1 group up (+2 nodes), 1 request cancelled, 1 held."


def test_a_first_policy_from_files_needs_no_client(tmp_path: Path) -> None:
    """`init` on the same files names their Auto Scaling groups."""
    done = without(tmp_path, "init", "--cluster", EXAMPLE / "cluster", "--out", tmp_path / "first")
    assert (done.returncode, "autoScalingGroup: " in (tmp_path / "first" / "groups.yaml").read_text()) == (0, True)


def test_who_asks_without_a_client_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra, in words that can be typed."""
    for name in ("botocore", "boto3"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(AwsError, match=r"pip install 'nodegroup-reconciler\[aws\]'"):
        BotoAws(REGION).call(AUTO_SCALING, "DescribeAutoScalingGroups")


def test_help_loads_nothing_of_it() -> None:
    """Every command answers for help without the client or the platform."""
    program = (
        "import sys; from reconciler.cli.outputs.failure import guarded; from reconciler.cli.main import cli\n"
        "codes = {guarded(cli, [name, '--help']) for name in cli.list_commands(None)}\n"
        f"print('LOADED', [name for name in sys.modules if name.startswith({_SDK!r})], codes)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "LOADED [] {0}" in done.stdout
