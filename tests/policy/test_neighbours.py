"""Files that lie beside policies: passed over where nobody's policy can be in them, an error where it could."""

import random
import string
from pathlib import Path

import pytest

from reconciler.policy.neighbours import InForce, UnreadFile
from reconciler.policy.policy_tree import PolicyTree
from reconciler.policy.reading.yaml_text import MAX_FILE_BYTES
from reconciler.policy.tree import read_tree
from tests.policy.texts import NOW, POLICY, codes, group

GROUP = group("a", "  hold: {reason: recovering}\n")
SOPS = """data: ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:YQ==,type:str]
sops:
    mac: ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]
    version: 3.9.0
"""
HIDDEN = """apiVersion: ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:YQ==,type:str]
kind: ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:YQ==,type:str]
spec: {x: 'ENC[AES256_GCM,data:Zm9v,iv:YQ==,tag:YQ==,type:str]'}
"""
NEIGHBOURS: dict[str, bytes] = {
    "kustomization.yaml": b"resources:\n  - prod.yaml\n",
    "values.yaml": b"replicaCount: 2\nimage: {tag: 'v1'}\n",
    "patch.yaml": b"- op: replace\n  path: /spec/replicas\n  value: 5\n",
    "renovate.json": b'{"extends": ["config:base"]}',
    "text.yaml": b"just a sentence\n",
    "secrets.enc.yaml": SOPS.encode(),
    "hidden.yaml": HIDDEN.encode(),
    "vault.yml": b"$ANSIBLE_VAULT;1.1;AES256\n3061626364\n6566\n",
    "git-crypt.yaml": b"\0GITCRYPT\0\x8f\x01\xff",
    "template.yaml": b"{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}\n",
    "inline.yaml": b"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: {{ .Values.n }} }\n",
    "broken.yaml": b"a: [b\n",
    "tags.yaml": b"Resources: {Vpc: {Type: !Ref Kind}}\n",
    "large.yaml": b"# " + b"x" * MAX_FILE_BYTES,
    "large.json": b'{"kind": "List", "items": [' + b" " * MAX_FILE_BYTES + b"]}",
    "snapshot.yaml": b"formatVersion: '1.0'\ncapturedAt: 2026-11-21T00:16:41Z\nkinds: [Node, Pod]\n",
    "latin.yaml": b"name: caf\xe9\n",
    "tabs.yaml": b"a:\n\tb: 1\n",
    "twice.yaml": b"a: &x [1]\nb: *y\n",
    "foreign-group.yaml": b"apiVersion: deckhouse.io/v1\nkind: NodeGroup\nmetadata: {name: w}\nspec: {nodeType: Static}\n",
    "foreign-nodegroup.yaml": b"apiVersion: eks.services.k8s.aws/v1alpha1\nkind: Nodegroup\nspec: {x: 1}\n",
    "patch-without-kind.yaml": b"metadata: {name: web}\nspec: {template: {spec: {containers: []}}}\n",
    "empty.yaml": b"",
    "number.json": b"7",
}
NEAR: dict[str, tuple[bytes, str]] = {
    "no kind": (b"apiVersion: reconciler.dev/v1alpha1\nmetadata: {name: a}\n", "NoKind"),
    "no apiVersion": (b"kind: NodeGroup\nmetadata: {name: a}\n", "NoKind"),
    "a typo of the kind alone": (b"kind: NodeGrup\nmetadata: {name: a}\n", "NoKind"),
    "neither, with our body": (b"metadata: {name: a}\nspec: {policyRef: {name: prod}, size: {min: 1}}\n", "NoKind"),
    "neither, with a policy's body": (b"metadata: {name: a}\nspec: {mode: Observe}\n", "NoKind"),
    "version": (GROUP.replace("v1alpha1", "v1").encode(), "UnknownApiVersion"),
    "group typo": (GROUP.replace("reconciler.dev", "reconcilr.dev").encode(), "UnknownApiVersion"),
    "another ending": (GROUP.replace("reconciler.dev", "reconciler.io").encode(), "UnknownApiVersion"),
    "no group": (GROUP.replace("reconciler.dev/", "").encode(), "UnknownApiVersion"),
    "another group with our body": (GROUP.replace("reconciler.dev", "example.com").encode(), "UnknownApiVersion"),
    "kind typo": (GROUP.replace("kind: NodeGroup", "kind: NodeGroups").encode(), "UnknownKind"),
    "in a list": (b"- apiVersion: reconciler.dev/v1alpha1\n  kind: NodeGroup\n", "NotADocument"),
    "unreadable": (GROUP.replace("hold: {", "hold: {{").encode(), "Syntax"),
    "unreadable, only the kind": (b"kind: NodeGroup\nmetadata: {name: [\n", "Syntax"),
    "unreadable, a typo": (b"apiVersion: reconcilor.dev/v1alpha1\nmetadata: {name: [\n", "Syntax"),
    "template": (b"{{- if .Values.on }}\n" + GROUP.encode() + b"{{- end }}\n", "Syntax"),
    "large": (GROUP.encode() + b"#" * MAX_FILE_BYTES, "FileTooLarge"),
    "Latin-1": (GROUP.replace("recovering", "caf\xe9").encode("latin-1"), "NotUtf8"),
    "UTF-16": (GROUP.encode("utf-16"), "NotUtf8"),
    "encrypted and named": (b"# reconciler.dev\n" + SOPS.encode(), "Encrypted"),
    "a stray part of a policy file": (GROUP.encode() + b"---\nspec: {x: 1}\n", "NoKind"),
}


def _tree(files: dict[str, bytes], **more: object) -> PolicyTree:
    return read_tree({"prod.yaml": POLICY.encode(), **files}, now_seconds=NOW, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_ordinary_neighbour_is_passed_over(name: str) -> None:
    """The policy beside it applies; the file is named, unless there is nothing in it."""
    tree = _tree({f"apps/{name}": NEIGHBOURS[name]})
    assert tree.problems == ()
    assert [entry.policy.name for entry in tree.sets] == ["prod"]
    assert [one.path for one in tree.neighbours] == ([] if name == "empty.yaml" else [f"apps/{name}"])


@pytest.mark.parametrize("case", NEAR)
def test_what_is_nearly_ours_is_an_error(case: str) -> None:
    """Whoever wrote it meant a policy: the tree is not used without it."""
    text, code = NEAR[case]
    tree = _tree({"apps/x.yaml": text})
    assert code in codes(tree)
    assert tree.sets == ()


@pytest.mark.parametrize(
    "name", sorted(set(NEIGHBOURS) - {"empty.yaml", "foreign-group.yaml", "foreign-nodegroup.yaml", "inline.yaml"})
)
def test_a_tree_without_a_policy_says_why(name: str) -> None:
    """Where nothing of ours was read, what could not be read or says no kind is an error."""
    assert {problem.place.path for problem in read_tree({name: NEIGHBOURS[name]}, now_seconds=NOW).problems} == {name}


@pytest.mark.parametrize(
    "damaged",
    [
        "amiVersion: r)conciler.dev/v1alpha1Mkind: NodeGroup\n",
        'apiVersion: re"onciler.dev/v1alpha1\nkindx NodeGroup\n',
        "opiVersion: reconciler.dev/v1alpha1\nkmnd: NodeGroup\n",
        "apiVersion:Zreconciler.dev/v1alpha1Lkind: NodeGroup\n",
    ],
    ids=["a line without its end", "a quote in the group", "both keys", "one key of both"],
)
def test_a_torn_head_hides_no_group(damaged: str) -> None:
    """Neither key says any more what it is."""
    text = GROUP.replace("apiVersion: reconciler.dev/v1alpha1\nkind: NodeGroup\n", damaged)
    assert text != GROUP
    assert not _tree({"a.yaml": text.encode()}).sets


def test_damaged_groups_are_never_passed_over() -> None:
    """Characters of a group at random places become others: it is read as a group, or the tree is an error, or both texts that
    say what it is are gone."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    for case in range(300):
        text = list(GROUP)
        for _ in range(draw.randint(1, 3)):
            text[draw.randrange(len(text))] = draw.choice(string.printable)
        damaged = "".join(text)
        tree = _tree({"a.yaml": damaged.encode()})
        said = "reconciler.dev" in damaged or "\nkind: NodeGroup\n" in damaged
        assert tree.groups or not tree.sets or not said, (seed, case, damaged)


LINK = UnreadFile(path="a.yaml", code="SymbolicLink", message="a symbolic link is not followed", hint="copy it")


def test_a_link_is_passed_over() -> None:
    """What it leads to was never a part of the tree."""
    tree = _tree({}, unread=(LINK,))
    assert (tree.problems, [one.path for one in tree.neighbours]) == ((), ["a.yaml"])
    assert codes(read_tree({}, now_seconds=NOW, unread=(LINK,))) == ["SymbolicLink"]


def test_a_file_that_was_not_read_and_may_be_ours_is_an_error() -> None:
    """Its reader looked through it and found our group, or could not look through it."""
    large = UnreadFile(path="a.yaml", code="FileTooLarge", message="too large", hint="split it", ours=True)
    assert codes(_tree({}, unread=(large,))) == ["FileTooLarge"]


UNREADABLE = (
    "hidden.yaml",
    "secrets.enc.yaml",
    "vault.yml",
    "git-crypt.yaml",
    "broken.yaml",
    "large.yaml",
    "latin.yaml",
    "text.yaml",
)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("path", ["a.yaml", "moved/b.yaml"])
def test_a_hold_is_not_lost_because_its_file_became_unreadable(name: str, path: str) -> None:
    """The group of the policy in force is gone, and a file that nobody can read is new: it may stand in it."""
    before = _tree({"a.yaml": GROUP.encode()})
    in_force = InForce.of(before.sets, before.neighbours)
    tree = _tree({path: NEIGHBOURS[name]}, before=in_force)
    (problem,) = tree.problems
    assert problem.place.path == path
    assert "NodeGroup 'a'" in problem.message
    assert tree.sets == ()


def test_a_hold_is_not_lost_to_a_link() -> None:
    """Whoever replaces a file by a link does not take its group out of the policy."""
    before = _tree({"a.yaml": GROUP.encode()})
    assert codes(_tree({}, unread=(LINK,), before=InForce.of(before.sets, ()))) == ["SymbolicLink"]


def test_a_group_is_removed_beside_what_was_unreadable_before() -> None:
    """A secret that lay there already holds no group that was read until now; a new values file can be read."""
    before = _tree({"a.yaml": GROUP.encode(), "s.yaml": SOPS.encode()})
    in_force = InForce.of(before.sets, before.neighbours)
    tree = _tree({"s.yaml": SOPS.replace("Zm9v", "YmFy").encode(), "values.yaml": b"a: 1\n"}, before=in_force)
    assert (tree.problems, tree.sets[0].groups) == ((), ())


def test_a_group_that_moved_is_still_there() -> None:
    """The old file may become anything."""
    before = _tree({"a.yaml": GROUP.encode()})
    tree = _tree({"a.yaml": SOPS.encode(), "b.yaml": GROUP.encode()}, before=InForce.of(before.sets, ()))
    assert (tree.problems, len(tree.sets[0].groups)) == ((), 1)


def test_neighbours_of_the_example_are_passed_over() -> None:
    """The policies of this repository among what usually lies beside them."""
    policies = Path(__file__).resolve().parents[2] / "policies"
    files = {file.name: file.read_bytes() for file in policies.glob("*.yaml")} | {
        f"x/{name}": text for name, text in NEIGHBOURS.items()
    }
    tree = read_tree(files, now_seconds=NOW)
    assert (tree.problems, tree.policies, tree.groups) == ((), 1, 4)
    assert {one.path for one in tree.neighbours} == {f"x/{name}" for name in NEIGHBOURS} - {"x/empty.yaml"}
