"""A platform is named in its folder alone: no file elsewhere knows one of its kinds, API groups or keys, or imports from it."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import reconciler
from reconciler.cluster.platform_reading import objects_of, readings
from reconciler.policy.balancing import presets
from reconciler.policy.platform.autoscaler_flags import platform_flags
from reconciler.policy.platform.policy_keys import platform_keys

ROOT = Path(reconciler.__file__).parent

# Words of the product's own vocabulary: every platform of machines has some, and a cluster is what all of this is about.
VOCABULARY = {"Machine", "Cluster"}
# Their keys in flags and policies are English words or parts of other names; they count where they are the whole of a text.
ALONE = {keys.provider for keys in platform_keys()} | {cloud for one in platform_flags() for cloud in one.clouds}

ALLOWED: Mapping[str, str] = {
    "cluster/targets/owner_evidence.py": "the domain of another project's keys, by which it marks targets of whatever platform",
    "decisions/ownership/owner.py": "the topology of a Cluster is a kind of owner, of which plans, lints and evidence speak",
    "policy/documents/group_fields.py": "the sentence of a setting for pools",
    "importers/karpenter.py": "Karpenter calls a kind of its own as a platform calls its pools; the API group differs",
}


def names() -> set[str]:
    """Kinds, as they are and as they are called here, API groups, keys of clouds' lists, kinds that tell an autoscaler or make
    its targets, presets of balancing."""
    kinds = [kind for reading in readings() for kind in reading.kinds]
    found = {name for kind in kinds for name in (kind.kind, kind.known_as, kind.group)}
    found |= {reading.group for reading in readings()}
    found |= {kind.envelope.list_key for kind in kinds if kind.envelope is not None}
    found |= {kind for one in platform_flags() for kind in one.objects}
    found |= {name for one in platform_flags() for kind in one.fragments for name in kind}
    return found - VOCABULARY - {""}


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """All texts of a module but those that document it."""
    documenting = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(body := getattr(node, "body", None), list)
        for statement in body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting:
            yield node


def named_in(source: str, known: Iterable[str]) -> list[str]:
    """Each place in a module that names a platform: line and what it names."""
    either = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    word = re.compile(rf"(?<![\w-])({either})(?![\w-])")
    if not re.search(rf"{either}|platforms|{'|'.join(ALONE)}", source):
        return []
    tree = ast.parse(source)
    found = [f"{node.lineno}: {match[1]}" for node in texts(tree) if (match := word.search(str(node.value)))]
    found += [f"{node.lineno}: {node.value}" for node in texts(tree) if node.value in ALONE]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and re.match(r"reconciler\.platforms\.(?!registered$)", node.module or ""):
            found.append(f"{node.lineno}: {node.module}")
    return found


def outside() -> Iterator[tuple[str, list[str]]]:
    known = names()
    for path in sorted(ROOT.rglob("*.py")):
        if not path.is_relative_to(ROOT / "platforms"):
            yield path.relative_to(ROOT).as_posix(), named_in(path.read_text(), known)


def test_no_file_outside_its_folder_names_a_platform() -> None:
    """But for those with a reason, and none of those stands here in vain."""
    found = {path: places for path, places in outside() if places}
    assert {path: places for path, places in found.items() if path not in ALLOWED} == {}
    assert set(found) == set(ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        'x = "MachineAutoscaler"',
        'x = f"{y} MachineDeployment "',
        'x = "node.cluster.x-k8s.io/uninitialized"',
        'x = {"aws": 1}',
        'x = kind == "AutoScalingGroups"',
        "from reconciler.platforms.clusterapi.facts.view import CAPI_GROUP",
    ],
)
def test_each_way_of_naming_one_is_found(line: str) -> None:
    """A kind, a group inside a longer name, a key, a cloud's list, an import."""
    assert len(named_in(f'"""MachineSet: documentation may."""\n{line}\n', names())) == 1


def test_what_they_bring_is_there() -> None:
    """The names come from the platforms themselves; a platform that brings none would be found nowhere."""
    assert {"MachineSet.machine.openshift.io", "MachineAutoscaler", "autoscaling.openshift.io", "AutoScalingGroup"} <= names()
    assert {"aws", "clusterAPI", "openshift", "crusoe"} <= ALONE
    assert list(presets()) == ["Alibaba", "AWS", "Azure", "GCP", "IBM"]


def test_each_kind_that_is_named_is_read() -> None:
    """The names are data apart from the code that reads the objects."""
    for reading in readings():
        assert {kind.known_as for kind in reading.kinds} == set(objects_of(reading.name).kinds)
