from pathlib import Path

import pytest

from tests.testbed import missing
from tests.testbed.cache import content_key
from tests.testbed.programs import PROGRAMS
from tests.testbed.toolchain import wanted_version


def test_the_go_version_comes_from_the_module(tmp_path: Path) -> None:
    """The go line of a go.mod says which toolchain is needed."""
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.26.3\n")
    assert wanted_version(tmp_path / "go.mod") == (1, 26, 3)


def test_every_module_is_pinned() -> None:
    """Each program's module has a go.sum beside its go.mod."""
    assert [name for name, program in PROGRAMS.items() if not (program.module / "go.sum").read_text()] == []


def test_a_changed_source_has_another_key(tmp_path: Path) -> None:
    """The cache key follows the content of the sources and the flags, not the time of the files."""
    source = tmp_path / "main.go"
    source.write_text("package main")
    before = content_key([source], "flags")
    source.write_text("package main")
    assert content_key([source], "flags") == before
    assert content_key([source], "other flags") != before
    source.write_text("package  main")
    assert content_key([source], "flags") != before


def test_a_missing_component_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without permission a test whose component is missing fails and says NOT RUN."""
    monkeypatch.delenv(missing.ALLOW, raising=False)
    with pytest.raises(pytest.fail.Exception, match=r"NOT RUN \(testbed\): no Go"):
        missing.not_run("testbed", "no Go")


def test_a_missing_component_may_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With permission for exactly this component the test is skipped."""
    monkeypatch.setenv(missing.ALLOW, "differential,testbed")
    with pytest.raises(pytest.skip.Exception, match="no Go"):
        missing.not_run("testbed", "no Go")
