"""A policy in one file."""

from pathlib import Path

import pytest

from reconciler.gitops.git.fault import FaultCode, SourceError
from reconciler.gitops.sources.file_source import FileSource


def test_the_file_alone_is_read(tmp_path: Path) -> None:
    """Its neighbours are not; another content is another revision."""
    for name in ("policy.yaml", "other.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    source = FileSource(tmp_path / "policy.yaml")
    before = source.fetch(None)
    assert before.files == {"policy.yaml": b"a: 1\n"}
    (tmp_path / "policy.yaml").write_text("a: 2\n")
    assert source.fetch(before.revision).revision != before.revision


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """Told with its name; the last good policy stays in force."""
    with pytest.raises(SourceError) as refused:
        FileSource(tmp_path / "policy.yaml").fetch(None)
    assert refused.value.fault.code is FaultCode.UNREACHABLE
    assert refused.value.fault.message == f"{tmp_path}/policy.yaml: No such file or directory"
