"""What image, action and release install is pinned by hashes, and the locks say what pyproject.toml asks for."""

import base64
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.rendered import kustomized
from tests.security.package_index import PackageIndex, distribution

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / ".ci" / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked(name: str) -> dict[str, list[Requirement]]:
    """The requirements of a lock by name; each stands with its hashes."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (LOCKS / name).read_text()).replace("\\\n", " ")
    found: dict[str, list[Requirement]] = {}
    for line in text.splitlines():
        wanted, *hashes = line.split("--hash=")
        requirement = Requirement(wanted.strip())
        assert hashes, line
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", found.strip()) for found in hashes), line
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def asked(*extras: str) -> list[Requirement]:
    more = PROJECT["project"]["optional-dependencies"]
    return [
        Requirement(text) for text in (*PROJECT["project"]["dependencies"], *(one for extra in extras for one in more[extra]))
    ]


@pytest.mark.parametrize("name", ["action.txt", "image.txt", "build.txt", "release.txt", "publish.txt"])
def test_every_version_is_pinned_by_hash(name: str):
    """`==` and at least one SHA-256; no address of anything."""
    found = locked(name)
    assert found
    for requirement in (one for several in found.values() for one in several):
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement
        assert requirement.url is None
    assert "://" not in (LOCKS / name).read_text()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("action.txt", asked("solver", "pullrequest")),
        ("image.txt", asked("aws", "solver", "pullrequest")),
        ("build.txt", [Requirement(one) for one in PROJECT["build-system"]["requires"]]),
    ],
)
def test_the_lock_holds_what_is_asked_for(name: str, wanted: list[Requirement]):
    """Each dependency, in a version that pyproject.toml allows: after a change there, `make lock`."""
    found = locked(name)
    for requirement in wanted:
        versions = [next(iter(one.specifier)).version for one in found.get(canonicalize_name(requirement.name), [])]
        assert versions, f"{requirement} is in no lock: make lock"
        assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), f"{requirement}: make lock"


def test_everything_that_installs_uses_the_locks():
    """Image and action take hashes, and no command installs without them what the lock does not name."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    action = steps[0]["run"].replace('install() { "$TARGET/bin/python" -I -m pip install', "")
    image = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text()).replace("\\\n", " ").replace("&&", "\n")
    for text, word in ((action, "install "), (image, "pip install ")):
        lines = [line for line in text.splitlines() if word in line]
        assert len(lines) == len(("the locks", "the product"))
        assert ["--require-hashes" in line for line in lines] == [True, False]
        assert "--no-index" in lines[1]
    assert all("pip install" not in line or "--require-hashes" in line for line in _release())


def test_the_release_is_built_by_jobs_with_the_least_rights():
    """What runs code of the repository may only read; what may write or sign runs none of it; actions stand by commit id."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert workflow["permissions"] == {}
    assert rights == {
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"contents": "write"},
        "index": {"contents": "read"},
        "image": {"contents": "read", "packages": "write"},
        "attest-image": {"id-token": "write", "attestations": "write"},
    }
    for name, job in workflow["jobs"].items():
        assert all(re.search("@[0-9a-f]{40}$", step["uses"]) for step in job["steps"] if "uses" in step)
        assert name in ("build", "index", "image") or not any(
            "git " in step.get("run", "") or "python" in step.get("run", "") for step in job["steps"]
        )
    assert [job.get("needs") for job in workflow["jobs"].values()] == [None, "build", "attest", "attest", "attest", "image"]


def test_what_is_pushed_is_attested_by_its_digest(tmp_path: Path):
    """Provenance and bill of materials name the image by what the registry answered, not by its tag: the pushing step, in a shell
    with a docker that answers so, hands on name and digest."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    subjects = [step["with"] for step in jobs["attest-image"]["steps"] if "attest" in step["uses"]]
    assert [one["subject-digest"] for one in subjects] == ["${{ needs.image.outputs.digest }}"] * 2
    assert jobs["image"]["outputs"]["digest"] == "${{ steps.push.outputs.digest }}"
    (tmp_path / "docker").write_text(f"#!/bin/sh\n[ $1 != inspect ] || echo registry.example.org:5000/o/r@sha256:{'a' * 64}\n")
    (tmp_path / "helm").write_text("#!/bin/sh\n")
    for name in ("docker", "helm"):
        (tmp_path / name).chmod(0o755)
    chart = tmp_path / "chart"
    chart.mkdir()
    (chart / "a.tgz").touch()
    words = {"IMAGE": "registry.example.org:5000/o/r:1.0", "REGISTRY": "registry.example.org:5000", "OWNER": "o"}
    secret = {"LOGIN": "l", "PASSWORD": "p", "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "out")}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **words, **secret}
    subprocess.run(["bash", "-ec", jobs["image"]["steps"][-1]["run"]], env=environment, check=True, capture_output=True)
    assert (tmp_path / "out").read_text() == f"name=registry.example.org:5000/o/r\ndigest=sha256:{'a' * 64}\n"


def test_the_registrys_token_reaches_the_pushing_step_alone():
    """What builds the image runs code of the repository, so it knows no password but that for reading."""
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]["image"]
    *before, push = job["steps"]
    assert "PASSWORD" in push["env"]
    assert not any("secrets." in str(step) for step in before)
    assert {word for step in before for word in step.get("env", {})} <= {"TOKEN"}
    assert all("build" not in line.split() and "package" not in line.split() for line in push["run"].splitlines())


def test_registry_and_owner_are_inputs():
    """Nothing is invented: without them neither image nor chart is pushed, and no name of a registry stands in the workflow."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    workflow = yaml.safe_load(text)
    asked = workflow[True]["workflow_dispatch"]["inputs"]
    assert {name for name, one in asked.items() if one["required"]} == {"registry", "owner"}
    assert "inputs.registry != ''" in workflow["jobs"]["image"]["if"]
    assert "ghcr.io/" not in text


def test_wheels_go_to_the_index_that_is_named(tmp_path: Path):
    """And to none without a name. What pushes knows the lock of the repository alone; the token reaches the pushing step, which
    sends every wheel and the source distribution, and nothing else."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    job = yaml.safe_load(text)["jobs"]["index"]
    assert job["if"].endswith("(inputs.index != '' || vars.RELEASE_INDEX != '')")
    assert "pypi" not in text.lower()
    *before, push = job["steps"]
    assert not any("secrets." in str(step) for step in before)
    assert any("checkout --quiet FETCH_HEAD -- .ci/locks/publish.txt" in step.get("run", "") for step in before)
    (tmp_path / "dist").mkdir()
    sent = ("a_b-1.0-py3-none-any.whl", "a_b-1.0-cp311-cp311-any.whl", "a_b-1.0.tar.gz")
    for name in (*sent, "sbom.cdx.json"):
        (tmp_path / "dist" / name).write_bytes(distribution(name))
    with PackageIndex() as index:
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "UV_PUBLISH_URL": index.url,
            "UV_PUBLISH_USERNAME": "__token__", "UV_PUBLISH_PASSWORD": "secret",
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-ec", push["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert sorted(index.names) == sorted(sent)
    assert index.users == {f"Basic {base64.b64encode(b'__token__:secret').decode()}"}


def test_only_a_tag_is_released():
    """A branch that is called like a tag of before reaches no job that writes, signs or has a secret; each of those that write or
    have one waits for the environment, where the owner says who must agree."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    only_tags = "github.ref_type == 'tag' && startsWith(github.ref, 'refs/tags/v')"
    assert jobs["build"]["if"] == only_tags
    for name, job in jobs.items():
        writes = "write" in [job["permissions"].get("contents"), job["permissions"].get("packages")]
        if writes or "secrets." in str(job):
            assert job["environment"] == "release", name
            assert job["if"].partition(" && (")[0] == only_tags, name
    assert {name for name, job in jobs.items() if "environment" in job} == {"publish", "index", "image"}
    for name in ("index", "image"):
        step = next(step for step in jobs[name]["steps"] if step.get("name") == "names")
        for kind, ref, good in (
            ("tag", "refs/tags/v0.1.0", True), ("branch", "refs/heads/v0.1.0", False), ("branch", "refs/tags/v0.1.0", False),
            ("tag", "refs/tags/latest", False),
        ):  # fmt: skip
            environment = {
                "PATH": os.environ["PATH"], "GITHUB_REF_TYPE": kind, "GITHUB_REF": ref, "TAG": ref.rpartition("/")[2],
                "UV_PUBLISH_URL": "https://index", "REGISTRY": "ghcr.io", "OWNER": "o", "GITHUB_ENV": "/dev/null",
            }  # fmt: skip
            done = subprocess.run(["bash", "-ec", step["run"]], env=environment, capture_output=True, check=False)
            assert (done.returncode == 0) == good, (name, kind, ref)


def test_what_the_documents_show_is_pinned():
    """Actions in examples and how-tos stand by a whole commit id, and no checkout leaves its token behind."""
    for path in ("docs/how-to/pull-requests.md", "examples/ci/github.yml", "examples/ci/github-tune.yml"):
        text = (ROOT / path).read_text()
        for used in re.findall(r"\buses: (\S+)", text):
            assert re.search("@([0-9a-f]{40}|COMMIT)$", used), (path, used)
        assert text.count("actions/checkout@") == text.count("persist-credentials: false") > 0


def test_a_tag_of_another_version_builds_nothing():
    """The first step after the checkout, in a shell: wheels bear the version of pyproject.toml, the chart the tag's."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    step = jobs["build"]["steps"][1]
    assert "if" not in step
    for tag, code in ((f"v{PROJECT['project']['version']}", 0), ("v9.9.9", 1), ("v0.1", 1), ("v0.1.0.*", 1)):
        environment = {"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}
        done = subprocess.run(["bash", "-ec", step["run"]], cwd=ROOT, env=environment, capture_output=True, check=False)
        assert done.returncode == code, tag


def test_the_release_builds_by_hashes_and_not_by_constraints():
    """pip takes a constraint with hashes for the wish that everything stands by its hash, and refuses the ranges of
    pyproject.toml: such a build has never come to its end. What builds is installed before, and no build fetches more."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "PIP_CONSTRAINT" not in text
    steps = yaml.safe_load(text)["jobs"]["build"]["steps"]
    wheels = next(step["env"] for step in steps if "CIBW_BUILD" in step.get("env", {}))
    assert wheels["CIBW_BUILD_FRONTEND"].endswith("args: --no-isolation")
    assert "--require-hashes --requirement {project}/.ci/locks/build.txt" in wheels["CIBW_BEFORE_BUILD"]
    (source,) = (step["run"] for step in steps if "--sdist" in step.get("run", ""))
    assert "--no-isolation" in source
    locked = set(re.findall(r"(?m)^([a-z0-9-]+)==", (ROOT / ".ci" / "locks" / "build.txt").read_text()))
    assert {re.split("[<>=]", one)[0].lower() for one in PROJECT["build-system"]["requires"]} <= locked


def test_version_changelog_chart_and_image_agree():
    """One version everywhere, and the changelog has what is not released yet at its top."""
    chart = yaml.safe_load((ROOT / "examples/deploy/chart/Chart.yaml").read_text())
    values = yaml.safe_load((ROOT / "examples/deploy/chart/values.yaml").read_text())
    version = PROJECT["project"]["version"]
    assert {chart["version"], chart["appVersion"], values["image"].rpartition(":")[2]} == {version}
    headings = re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())
    assert headings[0] == "[Unreleased]"
    sections = set(re.findall(r"(?m)^### (.*)$", (ROOT / "CHANGELOG.md").read_text()))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_two_branches_may_add_to_the_changelog(tmp_path: Path):
    """Both lines stay, without a conflict. A merge that keeps both sides repeats neither a section nor an entry."""

    def git(*arguments: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def add(line: str) -> None:
        file = tmp_path / "CHANGELOG.md"
        file.write_text(file.read_text().replace("### Changed\n\n", f"### Changed\n\n- {line}\n", 1))
        git("commit", "--all", "--message", line)

    text = (ROOT / "CHANGELOG.md").read_text()
    for name in (".gitattributes", "CHANGELOG.md"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    git("init", "--initial-branch=main")
    git("add", ".")
    git("commit", "--message", "all")
    git("switch", "--create", "other")
    add("One.")
    git("switch", "main")
    add("Two.")
    git("merge", "other")
    assert {"- One.", "- Two."} <= set((tmp_path / "CHANGELOG.md").read_text().splitlines())
    unreleased = text.split("\n## ")[1]
    for repeatable in (r"(?m)^### .*$", r"(?m)^- .*$"):
        found = re.findall(repeatable, unreleased)
        assert sorted(found) == sorted(set(found))


def _release() -> list[str]:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    return [line for job in jobs.values() for step in job["steps"] for line in step.get("run", "").splitlines()]


def test_argo_cd_may_bring_only_what_belongs_to_an_application():
    """No application in the project `default`; each project names repository, namespace and kinds of its one application."""
    argocd = ROOT / "examples" / "deploy" / "argocd"
    projects = {item["metadata"]["name"]: item["spec"] for item in yaml.safe_load_all((argocd / "projects.yaml").read_text())}
    files = ("policy-from-git.yaml", "policy-as-custom-resources.yaml", "clusters.yaml")
    for item in (item for file in files for item in yaml.safe_load_all((argocd / file).read_text())):
        project = projects[item["spec"]["project"]]
        assert project["sourceRepos"] == [item["spec"]["source"]["repoURL"]]
        assert project["destinations"] == [item["spec"]["destination"]]
        assert "*" not in str(project)
    overlays = ("observe", "observe-custom-resources", "enforce", "enforce-custom-resources")
    brought = (one for name in overlays for one in yaml.safe_load_all(kustomized(f"overlays/{name}")))
    cluster_wide = {(group(one), one["kind"]) for one in brought if "namespace" not in one["metadata"]}
    allowed = {(kind["group"], kind["kind"]) for kind in projects["nodegroup-reconciler"]["clusterResourceWhitelist"]}
    assert cluster_wide <= allowed


def group(item: dict[str, str]) -> str:
    return item["apiVersion"].rpartition("/")[0]
