"""Which entries of a tree are read, at each bound; names of refs, places and paths; problems as a policy tells them."""

import pytest

from reconciler.gitops.git import tree_listing
from reconciler.gitops.git.fault import FaultCode
from reconciler.gitops.git.remote import Remote, checked_remote, remote_ref
from reconciler.gitops.git.remote_fault import git_words, remote_fault
from reconciler.gitops.git.tree_listing import Entry, TreeProblem, chosen_files, parsed_listing, size_problems
from reconciler.gitops.git.tree_names import RefusedNameError, checked_ref, checked_root, object_id, path_fault
from reconciler.gitops.git.tree_refusals import refusals
from reconciler.policy.place import Place

FILE = "100644"


def chosen(*entries: tuple[str, str], kind: str = "blob") -> tuple[list[str], list[tuple[str, str]]]:
    files, problems = chosen_files([Entry(mode, kind, "1" * 40, path) for mode, path in entries])
    return [file.path for file in files], [(problem.path, problem.code) for problem in problems]


def test_a_listing_is_read() -> None:
    """As `ls-tree -z` prints it: a tab before the path, which may hold any byte but zero."""
    listing = b"100644 blob " + b"1" * 40 + b"\ta b\t.yaml\x00040000 tree " + b"2" * 40 + b"\t\xff\x00"
    assert list(parsed_listing(listing)) == [
        Entry("100644", "blob", "1" * 40, "a b\t.yaml"),
        Entry("040000", "tree", "2" * 40, "\udcff"),
    ]
    assert [entry.is_tree for entry in parsed_listing(listing)] == [False, True]
    with pytest.raises(ValueError, match="values to unpack"):
        list(parsed_listing(b"100644 blob\ta\x00"))


def test_which_files_are_policy() -> None:
    """By their ending in any case, in any mode of a file; hidden ones and all others are not looked at."""
    entries = [(FILE, "a.yaml"), ("100755", "B.YML"), ("100664", "d/c.json"), (FILE, "README.md"), (FILE, ".x.yaml")]
    assert chosen(*entries, ("120000", ".github/link"), ("120000", "d/.h/link.yaml")) == (["a.yaml", "B.YML", "d/c.json"], [])


@pytest.mark.parametrize(("mode", "path", "code"), [
    ("120000", "link", "SymbolicLink"), ("160000", "module", "Submodule"), ("100600", "a.yaml", "NoFile"),
    (FILE, "a//b.yaml", "UnsafePath"), (FILE, "x" * 1020 + ".yaml", "PathTooLong"), (FILE, "d/" * 32 + "a.yaml", "TooDeep"),
])  # fmt: skip
def test_what_makes_a_tree_unusable(mode: str, path: str, code: str) -> None:
    """With what to do; other files are told of all the same."""
    files, problems = chosen_files([Entry(mode, "blob", "1", path), Entry(FILE, "blob", "2", "good.yaml")])
    assert [file.path for file in files] == ["good.yaml"]
    assert [(problem.path, problem.code) for problem in problems] == [(path, code)]
    assert bool(problems[0].hint) == (code != "NoFile")


def test_a_file_must_be_a_blob() -> None:
    """Whatever its mode says."""
    assert chosen((FILE, "a.yaml"), kind="commit") == ([], [("a.yaml", "NoFile")])


def test_names_that_some_systems_take_for_one() -> None:
    """Case, and how accents are composed; the second is told, with the first."""
    entries = [Entry(FILE, "blob", "1", path) for path in ("a.yaml", "A.yaml", "\u00e9.yaml", "e\u0301.yaml", "b.yaml", "b.yaml")]
    _, problems = chosen_files(entries)
    assert [(problem.path, problem.code) for problem in problems] == [
        ("A.yaml", "NameCollision"), ("b.yaml", "NameCollision"), ("e\u0301.yaml", "NameCollision")
    ]  # fmt: skip
    assert problems[0].message == "the name differs from a.yaml only in case or in how accents are composed"
    same = [Entry(FILE, "blob", "1", "".join(["b", ".yaml"])) for _ in range(2)]
    assert chosen_files(same)[1][0].message == "the name is twice in the tree"


def test_so_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000; one more and none is read."""
    assert (tree_listing.MAX_FILES, tree_listing.MAX_TREE_BYTES) == (10_000, 16_777_216)
    monkeypatch.setattr(tree_listing, "MAX_FILES", 3)
    entries = [(FILE, f"{number}.yaml") for number in range(4)]
    assert chosen(*entries[:3]) == (["0.yaml", "1.yaml", "2.yaml"], [])
    assert chosen(*entries) == ([], [("", "TreeTooLarge")])


@pytest.mark.parametrize(("sizes", "problems"), [
    ({"a": 1_048_576}, []), ({"a": 1_048_577}, [("a", "FileTooLarge")]),
    ({str(number): 1_048_576 for number in range(16)}, []),
    ({str(number): 1_048_576 for number in range(16)} | {"x": 1}, [("", "TreeTooLarge")]),
    ({str(number): 1_048_577 for number in range(65)}, [(str(number), "FileTooLarge") for number in range(65)]),
])  # fmt: skip
def test_sizes_at_their_bounds(sizes: dict[str, int], problems: list[tuple[str, str]]) -> None:
    """1 MiB a file and 16 MiB together; that of all is told only where no file is too large by itself."""
    assert [(problem.path, problem.code) for problem in size_problems(sizes)] == problems


@pytest.mark.parametrize(("path", "code"), [
    ("a/b.yaml", ""), ("", "UnsafePath"), ("a//b", "UnsafePath"), ("a/./b", "UnsafePath"), ("../b", "UnsafePath"),
    ("a/.GIT/b", "UnsafePath"), ("Git~1/b", "UnsafePath"), (".gitignore", ""), ("a\nb", "UnsafePath"), ("a\u202eb", "UnsafePath"),
    ("\udcff", "UnsafePath"), ("a\\b", "UnsafePath"), ("x" * 1024, ""), ("x" * 1025, "PathTooLong"),
    ("/".join("d" * 32), ""), ("/".join("d" * 33), "TooDeep"), ("a b", ""),
])  # fmt: skip
def test_paths(path: str, code: str) -> None:
    """What could leave the tree, hide or be taken for something else; 1,024 characters and 32 parts are allowed."""
    assert path_fault(path)[0] == code
    assert bool(path_fault(path)[1]) == bool(code)


@pytest.mark.parametrize("name", ["main", "HEAD~3", "v1^{commit}", "x" * 255, "a/b-c_d.e", "a^2"])
def test_refs_that_mean_one_commit(name: str) -> None:
    """Branches, tags, ids and steps from them."""
    assert checked_ref(name) == name


@pytest.mark.parametrize(("name", "why"), [
    ("", "is empty"), ("x" * 256, "longer than 255"), ("-x", "an option"), ("^main", "excludes a commit"), ("a..b", "a range"),
    ("a:b", "names a file"), ("a^{/fix}", "searches in commit messages"), ("@{-1}", "depends on earlier checkouts"),
    ("a b", "a blank"), ("a?", "a blank"), ("a\u200bb", "invisible"), ("a\x00", "control"),
])  # fmt: skip
def test_refs_that_do_not(name: str, why: str) -> None:
    """Each with its reason, which does not repeat the name."""
    with pytest.raises(RefusedNameError, match=why):
        checked_ref(name)


@pytest.mark.parametrize(("path", "root"), [
    ("", ""), (".", ""), ("/", ""), ("a/b", "a/b"), ("a//b/", "a/b"), ("./a/./b", "a/b"), ("x" * 1024, "x" * 1024),
])  # fmt: skip
def test_places_in_a_tree(path: str, root: str) -> None:
    """Without slashes at their ends."""
    assert checked_root(path) == root


@pytest.mark.parametrize(("path", "why"), [
    ("/a", "is absolute"), ("a/../b", "cannot leave"), ("x" * 1025, "longer than 1024"), ("a\nb", "control"),
])  # fmt: skip
def test_places_that_are_refused(path: str, why: str) -> None:
    """What would lead out of the tree, or hides."""
    with pytest.raises(RefusedNameError, match=why):
        checked_root(path)


@pytest.mark.parametrize(("text", "whole"), [
    ("a" * 40, True), ("0" * 64, True), ("a" * 39, False), ("a" * 41, False), ("A" * 40, False), ("g" * 40, False), ("", False),
])  # fmt: skip
def test_whole_ids(text: str, whole: bool) -> None:
    """Of SHA-1 and SHA-256, in lower case."""
    assert object_id(text) == (text if whole else None)


@pytest.mark.parametrize(("url", "remote"), [
    ("https://h.example:8443/x", ("https", "https://h.example:8443")), ("ssh://git@h/x", ("ssh", "ssh://h")),
    ("ssh://git@[::1]:22/x", ("ssh", "ssh://[::1]:22")), ("git@h:x/y", ("ssh", "ssh://h")), ("h:x", ("ssh", "ssh://h")),
    ("https://h/" + "x" * 2038, ("https", "https://h")),
])  # fmt: skip
def test_addresses_and_where_secrets_go(url: str, remote: tuple[str, str]) -> None:
    """The origin has the port where one is named."""
    assert checked_remote(url) == Remote(url=url, protocol=remote[0], origin=remote[1])


@pytest.mark.parametrize(("url", "why"), [
    ("", "is empty"), ("https://h/" + "x" * 2039, "longer than 2048"), ("-x", "an option"), ("ext::sh", "remote helper"),
    ("https://h/x?token=1", "a query"), ("https://h/x#y", "a fragment"), ("https://h/%20", "percent"),
    ("https://u@h/x", "a user"),
    ("https://:p@h/x", "a password"), ("ssh://u:p@h/x", "a password"), ("ssh://-u@h/x", "invalid user name"),
    ("https:///x", "invalid host name"),
    ("https://h", "has no path"), ("https://h/", "has no path"), ("h:-x", "not a repository address"),
    ("-h:x", "an option"), ("x@-h:y", "not a repository address"), ("nothing", "not a repository address"),
])  # fmt: skip
def test_addresses_that_are_refused(url: str, why: str) -> None:
    """Each with its reason."""
    with pytest.raises(RefusedNameError, match=why):
        checked_remote(url)


def test_protocols_are_allowed_one_by_one() -> None:
    """Also for the short form of ssh."""
    assert checked_remote("file:///srv/x", ("file",)) == Remote(url="file:///srv/x", protocol="file", origin="file://")
    with pytest.raises(RefusedNameError, match="uses ssh://"):
        checked_remote("git@h:x", ("https",))


@pytest.mark.parametrize("name", ["a/.b", "a.lock/b", "a.lock", "a/", "/a", "a//b", "a.", "a~1", "HEAD"])
def test_names_that_are_no_branch(name: str) -> None:
    """What git would not let be one."""
    with pytest.raises(RefusedNameError):
        remote_ref(name)


@pytest.mark.parametrize(("said", "words"), [
    ("fatal: no\nhint: try\nwarning: old\n\nerror: x\n", "fatal: no error: x"), ("", "no reason given"),
    ("hint: a", "no reason given"),
    ("y" * 300, "y" * 300),
])  # fmt: skip
def test_words_of_git(said: str, words: str) -> None:
    """On one line, without hints and warnings."""
    assert git_words(said) == words
    assert len(git_words("y" * 301)) <= 300


@pytest.mark.parametrize(("said", "code", "message"), [
    ("fatal: couldn't find remote ref main", FaultCode.REF_NOT_FOUND, "https://h/x has no main"),
    ("remote: not our ref", FaultCode.REF_NOT_FOUND, "https://h/x has no main"),
    ("fatal: Authentication failed", FaultCode.AUTHENTICATION_FAILED, "https://h/x denies access (git says: fatal: "),
    ("Permission denied (publickey)", FaultCode.AUTHENTICATION_FAILED, "https://h/x denies access"),
    ("fatal: nobody home", FaultCode.UNREACHABLE, "https://h/x cannot be fetched (git says: fatal: nobody home)"),
])  # fmt: skip
def test_why_a_remote_failed(said: str, code: FaultCode, message: str) -> None:
    """By git's own words."""
    fault = remote_fault(said, "https://h/x", "main").fault
    assert fault.code is code
    assert fault.message.startswith(message)
    assert "cannot be pushed" in remote_fault("no", "https://h/x", "main", "pushed").fault.message


def test_problems_of_a_tree_as_those_of_a_policy() -> None:
    """At the first line of the file, from the top of the source, safe to show, in order."""
    tree = [
        TreeProblem(path="b\udcff.yaml", code="UnsafePath", message="m\x1b", hint="h"),
        TreeProblem(path="", code="TreeTooLarge", message="t"),
    ]
    found = refusals(tree, "policies")
    assert [(problem.place, problem.code, problem.hint) for problem in found] == [
        (Place("policies", 1, 1), "TreeTooLarge", ""),
        (Place("policies/b\\xff.yaml", 1, 1), "UnsafePath", "h"),
    ]
    assert "\x1b" not in found[1].message
    assert [str(problem.place.path) for problem in refusals(tree, "a/x.yaml", alone=True)] == ["a/x.yaml"] * 2
    assert refusals([TreeProblem(path="", code="c", message="m")], "")[0].place.path == "."
    long = refusals([TreeProblem(path="x" * 201, code="c", message="m")], "")[0].place.path
    assert len(long) <= 200
    assert refusals([TreeProblem(path="x" * 200, code="c", message="m")], "")[0].place.path == "x" * 200
