"""Trees and revisions that want something executed, followed, escaped or exhausted: each is a clear problem, or plain data.

Every case could leave a mark: commands that the content names would make the file CANARY, and whatever is printed is
looked through for characters that a terminal acts on and for lines that a workflow runner would obey.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.gitops.conftest import Preview
from tests.gitops.repositories import BASE, POLICY, GitRepo, group

GOOD = POLICY.encode()
TOUCH = "touch {canary}"
_ACTED_ON = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
Make = Callable[[GitRepo, str], object]


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[str]:
    """A path that must not come to be."""
    path = tmp_path / "CANARY"
    yield str(path)
    assert not path.exists(), "something was executed"


def harmless(text: str) -> None:
    """Nothing in an output acts on a terminal, or begins a line as a workflow command."""
    assert _ACTED_ON.search(text) is None, ascii(text)
    assert not [line for line in text.splitlines() if line.startswith("::")], text


def entry(name: bytes, mode: str = "100644", content: bytes = GOOD) -> Make:
    """A tree `policies` with one entry under exactly that name."""
    return lambda repo, _: repo.commit_policies((mode, name, repo.blob(content)))


def text(content: str | bytes) -> Make:
    """A policy file with that content; `{canary}` in it is where a command would leave its mark."""

    def make(repo: GitRepo, canary: str) -> object:
        data = content.replace("{canary}", canary).encode() if isinstance(content, str) else content
        return repo.commit_policies(("100644", b"x.yaml", repo.blob(data)))

    return make


def nested(levels: int) -> Make:
    """A file below so many directories."""

    def make(repo: GitRepo, _: str) -> object:
        tree = repo.tree(("100644", b"x.yaml", repo.blob(GOOD)))
        for _level in range(levels - 1):
            tree = repo.tree(("40000", b"d", tree))
        return repo.commit_policies(("40000", b"d", tree))

    return make


def parent(repo: GitRepo, _: str) -> object:
    """A directory called `..`."""
    return repo.commit_policies(("40000", b"..", repo.tree(("100644", b"x.yaml", repo.blob(GOOD)))))


def git_bomb(repo: GitRepo, _: str) -> object:
    """Ten directories that are one, ten levels deep: 10^10 paths in eleven objects."""
    tree = repo.tree(("100644", b"x.yaml", repo.blob(GOOD)))
    for _level in range(10):
        tree = repo.tree(*(("40000", b"d%d" % number, tree) for number in range(10)))
    return repo.commit_policies(("40000", b"d", tree))


def crowd(repo: GitRepo, _: str) -> object:
    """One file more than are read."""
    blob = repo.blob(GOOD)
    return repo.commit_policies(*(("100644", b"f%05d.yaml" % number, blob) for number in range(10_001)))


def several(*names: bytes) -> Make:
    """The same file under several names."""
    return lambda repo, _: repo.commit_policies(*(("100644", name, repo.blob(GOOD)) for name in names))


def submodule(repo: GitRepo, canary: str) -> object:
    """A submodule whose update is a command and whose address is a program."""
    modules = f'[submodule "m"]\n\tpath = policies/m\n\turl = ext::touch {canary}\n\tupdate = !touch {canary}\n'
    policies = repo.tree(("160000", b"m", "1" * 40), ("100644", b"x.yaml", repo.blob(GOOD)))
    return repo.commit_tree(repo.tree(("100644", b".gitmodules", repo.blob(modules.encode())), ("40000", b"policies", policies)))


def policies_is(mode: str, content: bytes) -> Make:
    """`policies` itself is something else than a directory."""
    return lambda repo, _: repo.commit_tree(repo.tree((mode, b"policies", "1" * 40 if mode == "160000" else repo.blob(content))))


def git_directory(repo: GitRepo, canary: str) -> object:
    """A `.git` below the policies, with a hook in it."""
    hook = repo.tree(("100755", b"post-checkout", repo.blob(f"#!/bin/sh\ntouch {canary}\n".encode())))
    return repo.commit_policies(("40000", b".git", repo.tree(("40000", b"hooks", hook))))


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
DEEP = "a: " + "[" * 2_000 + "]" * 2_000
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 9\n"
REFUSED: dict[str, tuple[Make, str]] = {
    "link to an absolute path": (entry(b"x.yaml", "120000", b"/etc/passwd"), "policies/x.yaml:1:1: error: a symbolic link"),
    "link out of the tree": (entry(b"x.yaml", "120000", b"../../../secret.yaml"), "[SymbolicLink]"),
    "link inside the tree": (entry(b"x.yaml", "120000", b"prod.yaml"), "[SymbolicLink]"),
    "link to a directory": (entry(b"more", "120000", b"/proc/self/root"), "policies/more:1:1: error: a symbolic link"),
    "the root is a link": (policies_is("120000", b"/etc"), "policies:1:1: error: a symbolic link"),
    "submodule": (submodule, "policies/m:1:1: error: a submodule is not fetched"),
    "the root is a submodule": (policies_is("160000", b""), "policies:1:1: error: a submodule"),
    "alias bomb": (text(BOMB), "[AliasBomb]"),
    "deep nesting": (text(DEEP), "[TooDeep]"),
    "large file": (text(b"#" * (100 << 20)), "the file has 104857600 bytes, more than the limit of 1048576, and was not read"),
    "too many files": (crowd, "10001 policy files"),
    "git bomb": (git_bomb, "[TreeTooLarge]"),
    "deep directories": (nested(40), "more than 32 directories deep"),
    "parent directory": (parent, "policies/../x.yaml:1:1: error: the path has"),
    "file that calls itself a directory": (entry(b"x", "40000"), "it is damaged, or missing here"),
    "path that climbs": (entry(b"../../../tmp/x.yaml"), "[UnsafePath]"),
    "absolute path": (entry(b"/etc/cron.d/x.yaml"), "[UnsafePath]"),
    "git directory": (git_directory, "the path goes through .git"),
    "git directory as Windows names it": (several(b"GIT~1", b"x.yaml"), "the path goes through .git"),
    "line break in a path": (entry(b"x\n::error::owned\n.yaml"), "[UnsafePath]"),
    "terminal escape in a path": (entry(b"x\x1b[2J\x1b[31m.yaml"), "[UnsafePath]"),
    "direction override in a path": (entry("lmay\u202e.yaml".encode()), "[UnsafePath]"),
    "path that is no UTF-8": (entry(b"\xff\xfe.yaml"), "[UnsafePath]"),
    "backslashes in a path": (entry(b"..\\..\\x.yaml"), "[UnsafePath]"),
    "long path": (entry(b"x" * 2_000 + b".yaml"), "[PathTooLong]"),
    "names that differ in case": (several(b"PROD.yaml", b"prod.yaml"), "[NameCollision]"),
    "names that differ in composition": (several("e\u0301.yaml".encode(), "\u00e9.yaml".encode()), "[NameCollision]"),
    "one name twice": (several(b"prod.yaml", b"prod.yaml"), "is twice in the tree"),
    "LFS pointer": (text(LFS), "[LfsPointer]"),
    "terminal escapes in a value": (text(POLICY.replace("prod", f'"{ESCAPES}"')), "[ControlCharacter]"),
    "direction override in a value": (text(POLICY.replace("prod", '"a\u202eb"')), "[ControlCharacter]"),
    "escaped escapes in a value": (text(POLICY.replace("prod", '"\\e[2J\\u202e"')), "[BadName]"),
    "HTML in a name": (text(POLICY.replace("prod", '"<img src=x onerror=alert(1)>"')), "[BadName]"),
    "markdown that ends a fence": (text(POLICY.replace("prod", '"```\\n# owned @everyone"')), "[BadName]"),
    "workflow command": (text(POLICY.replace("prod", '"x\\n::set-output name=a::b"')), "[BadName]"),
    "workflow command on a line of its own": (text("::add-mask::x\n" + POLICY), "x.yaml:1"),
    "UTF-16": (text(POLICY.encode("utf-16")), "[NotUtf8]"),
    "Latin-1": (text(POLICY.replace("prod", "pröd").encode("latin-1")), "[NotUtf8]"),
    "NUL bytes": (text(GOOD + b"\0"), "[ControlCharacter]"),
    "Python object tag": (text('a: !!python/object/apply:os.system ["touch {canary}"]\n'), "[UnsupportedTag]"),
    "include tag": (text("a: !include /etc/passwd\n"), "[UnsupportedTag]"),
    "link with a target that is a command": (entry(b"x.yaml", "120000", b"\n::error::owned"), "[SymbolicLink]"),
    "submodule with the name of a file": (
        lambda repo, _: repo.commit_policies(("160000", b"x.yaml", "1" * 40)), "policies/x.yaml:1:1: error: a submodule"
    ),
    "directories that differ in case": (
        lambda repo, _: repo.commit_policies(
            *(("40000", name, repo.tree(("100644", b"x.yaml", repo.blob(GOOD)))) for name in (b"Sub", b"sub"))
        ),
        "[NameCollision]",
    ),
    "zero width space in a path": (entry("pr\u200bod.yaml".encode()), "[UnsafePath]"),
    "carriage return in a path": (entry(b"x\r::error::owned.yaml"), "[UnsafePath]"),
    "C1 escape in a path": (entry("x\u009b2J.yaml".encode()), "[UnsafePath]"),
    "alias that holds itself": (text("a: &a [*a]\n"), "[AliasLoop]"),
    "merge key": (text(POLICY + "  <<: {mode: Observe}\n"), "[MergeKey]"),
    "many documents": (text("apiVersion: v1\nkind: ConfigMap\n---\n" * 1_500), "[TooManyDocuments]"),
    "Python name tag": (text("a: !!python/name:os.system\n"), "[UnsupportedTag]"),
    "UTF-32": (text(POLICY.encode("utf-32")), "[NotUtf8]"),
    "HTML in a key": (text(POLICY + "  <script>alert(1)</script>: x\n"), "[UnknownField]"),
    "one key twice": (text(POLICY + "  mode: Observe\n"), "[DuplicateKey]"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_tree_is_refused(repo: GitRepo, preview: Preview, canary: str, case: str):
    """Exit code 1, a sentence that says what and where, nothing executed, nothing that acts on a reader's terminal."""
    make, told = REFUSED[case]
    make(repo, canary)
    for output in ("text", "markdown"):
        result = preview("--base", "main", "--head", "hostile", "-o", output)
        assert result.code == 1
        assert told in result.out + result.err
        assert result.err.startswith("error: ")
        assert result.err.count("\n") == 1
        assert "unexpected" not in result.err
        harmless(result.out)
        harmless(result.err)


def configure(*settings: tuple[str, str]) -> Make:
    """Configuration of the repository itself, with the canary in it, and an ordinary commit."""

    def make(repo: GitRepo, canary: str) -> object:
        repo.commit_policies(("100644", b"prod.yaml", repo.blob(GOOD)))
        for name, value in settings:
            repo.git("config", name, value.replace("{canary}", canary))
        return None

    return make


def attributes(lines: str, content: bytes = GOOD) -> Make:
    """Attributes in the tree, and filters in the configuration that would be run by a checkout."""

    def make(repo: GitRepo, canary: str) -> object:
        for kind in ("smudge", "clean", "process"):
            repo.git("config", f"filter.evil.{kind}", f"touch {canary}")
        repo.git("config", "diff.evil.textconv", f"touch {canary}")
        attributes_blob = repo.blob(lines.encode())
        (repo.root / ".git" / "info").mkdir()
        (repo.root / ".git" / "info" / "attributes").write_text(lines)
        return repo.commit_policies(("100644", b".gitattributes", attributes_blob), ("100644", b"prod.yaml", repo.blob(content)))

    return make


def hooks(repo: GitRepo, canary: str) -> object:
    """Every hook that git knows, executable."""
    repo.commit_policies(("100644", b"prod.yaml", repo.blob(GOOD)))
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        hook = repo.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    return None


def replaced(repo: GitRepo, _: str) -> object:
    """A replace reference that shows another file than the one that was committed."""
    good, evil = repo.blob(GOOD), repo.blob(GOOD.replace(b"prod", b"evil"))
    commit = repo.commit_policies(("100644", b"prod.yaml", good))
    repo.git("replace", good, evil)
    return commit


DATA: dict[str, Make] = {
    "name like an option": entry(b"--upload-pack=touch x.yaml"),
    "name with shell words": entry(b"$(touch x);`touch y`|&.yaml"),
    "name like pathspec magic": entry(b":(top)*.yaml"),
    "hooks": hooks,
    "configured commands": configure(
        ("core.hooksPath", "/tmp"), ("core.fsmonitor", TOUCH), ("core.pager", TOUCH), ("core.editor", TOUCH),
        ("core.sshCommand", TOUCH), ("core.askPass", TOUCH), ("core.alternateRefsCommand", TOUCH), ("diff.external", TOUCH),
        ("credential.helper", "!" + TOUCH), ("alias.ls-tree", "!" + TOUCH), ("alias.cat-file", "!" + TOUCH),
        ("pager.ls-tree", TOUCH), ("uploadpack.packObjectsHook", TOUCH), ("gpg.program", TOUCH),
    ),
    "filters": attributes("*.yaml filter=evil diff=evil\n"),
    "filters that change text": attributes("*.yaml ident eol=crlf export-subst working-tree-encoding=UTF-16\n"),
    "replace reference": replaced,
    "byte order mark": text(b"\xef\xbb\xbf" + GOOD),
    "hidden link": lambda repo, _: repo.commit_policies(
        ("120000", b".hidden", repo.blob(b"/etc/passwd")), ("100644", b"prod.yaml", repo.blob(GOOD))
    ),
    "executable file": entry(b"prod.yaml", "100755"),
    "code in expressions": text(POLICY.replace("prod", "prod") + "  # ${{ github.token }} {{ 7*7 }} $(touch {canary})\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", DATA)
def test_hostile_tree_is_data(repo: GitRepo, preview: Preview, canary: str, case: str):
    """What looks dangerous and is plain data to us is read as it was committed, and nothing of it is executed."""
    DATA[case](repo, canary)
    result = preview("--base", "main", "--head", "hostile")
    assert (result.code, result.err) == (0, "")
    assert "policy prod" in result.out
    assert result.out.startswith("general, quiet leave the policy: ")
    assert "@@ NodeGroup general, removed, its target keeps its size\n" in result.out
    assert "- NodeGroup quiet: removed" in result.out
    harmless(result.out)


REFS = {
    "option": ("--upload-pack=touch {canary}", "begins with '-'"),
    "short option": ("-n", "begins with '-'"),
    "option that writes": ("--output={canary}", "begins with '-'"),
    "empty": ("", "is empty"),
    "range": ("main..hostile", "is a range"),
    "exclusion": ("^main", "excludes a commit"),
    "path": ("main:policies", "names a file or a search"),
    "search": (":/policies", "names a file or a search"),
    "search behind a commit": ("main^{/policies}", "searches in commit messages"),
    "earlier checkouts": ("@{-1}", "depends on earlier checkouts"),
    "line break": ("main\n--all", "control or invisible"),
    "terminal escape": ("main\x1b[31m", "control or invisible"),
    "direction override": ("ma\u202ein", "control or invisible"),
    "blank": ("main --all", "contains a blank"),
    "pattern": ("refs/heads/*", "contains a blank or one of"),
    "long": ("x" * 300, "longer than 255"),
    "shell words": ("$(touch${IFS}{canary})", "unknown commit"),
    "not there": ("nowhere", "unknown commit 'nowhere'"),
    "climbs out": ("../../../etc/passwd", "is a range"),
    "an id that is not there": ("1" * 40, "unknown commit"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFS)
@pytest.mark.parametrize("option", ["--base", "--head"])
def test_hostile_revision(preview: Preview, canary: str, case: str, option: str):
    """A name that is no single commit is refused before git sees it, or git does not find it."""
    name, told = REFS[case]
    other = ("--head", "main") if option == "--base" else ("--base", "main")
    result = preview(f"{option}={name.replace('{canary}', canary)}", *other)
    assert (result.code, result.out) == (1, "")
    assert told in result.err
    assert result.err.count("\n") == 1
    harmless(result.err)


@pytest.mark.parametrize(("path", "told"), [
    ("../..", "cannot leave the repository"), ("/etc", "is absolute"), ("a/../../b", "cannot leave the repository"),
    ("policies\n", "control or invisible"), ("x/" * 600, "longer than 1024"), ("--all", "no NodeGroupPolicy in 0"),
    (":(top)policies", "no NodeGroupPolicy in 0"), ("*", "no NodeGroupPolicy in 0"), (".git", "no NodeGroupPolicy in 0"),
])  # fmt: skip
def test_hostile_place(preview: Preview, path: str, told: str):
    """--path is a literal place inside the tree."""
    result = preview("--base", "main", f"--path={path}")
    assert (result.code, result.out) == (1, "")
    assert told in result.err
    harmless(result.err)


def test_branch_and_tag_of_one_name(repo: GitRepo, preview: Preview):
    """A tag that shadows a branch would show another commit than the one that is merged: refused, with the way out."""
    repo.git("tag", "main")
    repo.branch("change")
    result = preview("--base", "main")
    assert result.code == 1
    assert "'main' names a branch and a tag. Write refs/heads/NAME" in result.err
    assert preview("--base", "refs/heads/main").code == 0


def test_missing_objects_are_not_fetched(repo: GitRepo, preview: Preview, canary: str):
    """A partial clone whose remote is a program: the object that is not there is said to be missing, nothing is started."""
    blob = repo.blob(GOOD)
    repo.commit_policies(("100644", b"prod.yaml", blob))
    (repo.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.url", f"ext::touch {canary}")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "protocol.ext.allow", "always")
    result = preview("--base", "main", "--head", "hostile")
    assert (result.code, result.out) == (1, "")
    assert "fetch" in result.err
    assert result.err.count("\n") == 1


def test_environment_of_the_caller_is_not_used(
    repo: GitRepo, preview: Preview, canary: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Variables that make git look elsewhere or run something change nothing."""
    repo.branch("change")
    expected = preview("--base", "main")
    for name, value in {
        "GIT_OBJECT_DIRECTORY": str(tmp_path), "GIT_INDEX_FILE": "/nonexistent", "GIT_EXTERNAL_DIFF": f"touch {canary}",
        "GIT_SSH_COMMAND": f"touch {canary}", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": f"touch {canary}", "GIT_TRACE": str(tmp_path / "trace"), "GIT_NAMESPACE": "x",
        "GIT_DIR": "/nonexistent", "GIT_WORK_TREE": "/nonexistent",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert preview("--base", "main") == expected
    assert not (tmp_path / "trace").exists()


def test_repository_inside_the_tree_is_not_taken(repo: GitRepo, preview: Preview, canary: str, monkeypatch: pytest.MonkeyPatch):
    """A directory of the checkout that looks like a bare repository is not read unless it is named itself."""
    inner = GitRepo(repo.root / "policies" / "inner")
    inner.commit(BASE)
    inner.git("config", "core.fsmonitor", f"touch {canary}")
    bare = repo.root / "bare"
    (inner.root / ".git").rename(bare)
    (bare / "sub").mkdir()
    repo.git("config", "core.fsmonitor", f"touch {canary}")
    monkeypatch.chdir(bare / "sub")
    result = preview("--base", "main")
    assert result.code == 1
    assert "is inside the bare repository" in result.err
    assert preview("--base", "main", "--head", "main", "--repo", bare).code == 0


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside.yaml", "nowhere"])
def test_hostile_directory(repo: GitRepo, preview: Preview, tmp_path: Path, target: str):
    """In a rendered tree a link out of it is not followed: it is named, and the policy beside it is read."""
    (tmp_path / "outside.yaml").write_text(POLICY)
    directory = tmp_path / "head"
    directory.mkdir()
    for name, text in BASE.items():
        if name.startswith("policies/"):
            (directory / name.removeprefix("policies/")).write_text(text)
    (directory / "x.yaml").symlink_to(target)
    result = preview("--base", "main", "--head-dir", directory, "--verbose")
    assert result.code == 0
    assert "skipped: x.yaml: a symbolic link that leaves the directory is not followed" in result.err
    (directory / "general.yaml").unlink()
    result = preview("--base", "main", "--head-dir", directory)
    assert result.code == 1
    assert "x.yaml:1:1: error: a symbolic link that leaves the directory is not followed" in result.out


def test_values_of_others_stay_text_in_markdown(repo: GitRepo, preview: Preview):
    """A hold's reason may be any text: it neither ends the fence that it stands in nor starts markdown or HTML."""
    reason = "```</details><script>alert(1)</script> @everyone #1 | ::error::x"
    repo.branch("change")
    repo.commit({"policies/general.yaml": group("general") + f"  hold: {{reason: '{reason}'}}\n"})
    result = preview("--base", "main", "-o", "markdown")
    assert result.code == 0
    fence = ""
    for line in result.out.splitlines():
        opened = re.match("(`{3,})", line)
        if fence:
            fence = "" if line == fence else fence
        elif opened:
            fence = opened[1]
        else:
            assert "<script>" not in re.sub("(`+)(?!`).*?(?<!`)\\1(?!`)", "", line)
    assert "<script>" in result.out
    harmless(result.out)
