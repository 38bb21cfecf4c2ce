"""A first policy says where each range comes from."""

import json
from pathlib import Path

from click.testing import CliRunner

from reconciler.cli.commands.init import command as init
from reconciler.cli.commands.validate import command as validate
from reconciler.cluster.snapshots.snapshot import read_snapshot
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.tree import read_tree
from reconciler.rendering.manifests.first_policy import first_policy
from tests.cluster.objects import MAX, MIN, Object, files_of, scalable, world_of

ARN = "arn:aws:autoscaling:eu-central-1:123456789012:autoScalingGroup:0:autoScalingGroupName/web"
ANSWER = {
    "AutoScalingGroups": [
        {"AutoScalingGroupName": "web", "AutoScalingGroupARN": ARN, "MinSize": 0, "MaxSize": 5, "DesiredCapacity": 1}
    ]
}


def test_the_range_of_an_auto_scaling_group_is_its_own() -> None:
    """Every Auto Scaling group has a MinSize and a MaxSize; its tags need not say anything."""
    groups = first_policy(read_snapshot({"groups.json": json.dumps(ANSWER).encode()}), "prod")["groups.yaml"]
    assert (
        "# AutoScalingGroup eu-central-1/web: 1 replica, nothing is known of new nodes except what existing ones show" in groups
    )
    assert "  size: {min: 0, max: 5}  # as its own MinSize and MaxSize say. A size here wins\n" in groups


def _first(*objects: Object) -> dict[str, str]:
    return first_policy(world_of(*objects), "prod")


def _read(files: dict[str, str]) -> PolicyTree:
    return read_tree({name: text.encode() for name, text in files.items()}, now_seconds=0)


FLEET: tuple[tuple[str, dict[str, str], Object, str], ...] = (
    ("turned", {MIN: "5", MAX: "2"}, {}, "2 is below the minimum 5"),
    ("words", {MIN: "few", MAX: "2"}, {}, '"few" is not a whole number of at least 0'),
    ("huge", {MIN: "1", MAX: "999999999"}, {}, "size.max is 999999999, the most is 100000"),
    ("negative", {}, {"replicas": -1}, "size.min is -1, the least is 0"),
    ("unread", {}, {"replicas": None}, "how many replicas were asked for cannot be read"),
    ("Bad Name", {}, {}, "must be lower-case letters"),
)


def test_a_bad_target_is_commented_out_with_its_reason() -> None:
    """Each beside a good one: the good one is in force, and the files are valid as they are, also together."""
    good = scalable(name="good", annotations={MIN: "1", MAX: "4"})
    bad = [scalable(name=name, annotations=given, spec=spec) for name, given, spec, _ in FLEET]
    for target, (_, _, _, why) in zip(bad, FLEET, strict=True):
        files = _first(good, target)
        tree = _read(files)
        assert (tree.problems, [group.name for group in tree.sets[0].groups]) == ((), ["good"])
        said = " ".join(line.removeprefix("# ") for line in files["groups.yaml"].splitlines() if line.startswith("# "))
        assert f"Not in force: {why}" in said or why in said
        assert "Not in force" in said
    whole = _first(good, *bad)
    assert (_read(whole).problems, whole["groups.yaml"].count("# Not in force: ")) == ((), len(FLEET))
    assert _read(_first(*bad)).problems == ()


def test_lines_of_a_commented_group_make_a_group_again() -> None:
    """Whoever has mended the range takes the marks away."""
    files = _first(scalable(name="turned", annotations={MIN: "5", MAX: "2"}))
    lines = files["groups.yaml"].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("# apiVersion"))
    text = "\n".join([*lines[:start], *(line.removeprefix("# ") for line in lines[start:])]) + "\n"
    tree = _read({**files, "groups.yaml": text})
    assert (tree.problems, [group.name for group in tree.sets[0].groups]) == ((), ["turned"])


def test_a_fleet_with_a_bad_target_is_written(tmp_path: Path) -> None:
    """The command ends well and says how many are commented out."""
    (tmp_path / "all.json").write_bytes(
        files_of(scalable(name="good"), scalable(name="turned", annotations={MIN: "5", MAX: "2"}))["all.json"]
    )
    done = CliRunner().invoke(init, ["--cluster", str(tmp_path / "all.json"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "with 1 group" in done.stderr
    assert "1 more are commented out" in done.stderr
    checked = CliRunner().invoke(validate, ["--strict", str(tmp_path / "out")])
    assert (checked.exit_code, checked.stdout) == (0, "2 files, 1 policy, 1 group: no problems\n")
