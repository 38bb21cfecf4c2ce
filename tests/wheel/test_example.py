"""What `reconciler example` writes is what the checkout holds."""

import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from examples.pack import PACKED, TOP
from reconciler.cli.commands.example import command
from reconciler.cli.packaged.example import DEMO, OverwriteError, unpack


def test_the_archive_is_current(tmp_path: Path) -> None:
    """Name by name and byte by byte. When this fails: python examples/pack.py."""
    wanted = {
        path.relative_to(TOP).as_posix(): path.read_bytes() for one in PACKED for path in (TOP / one).rglob("*") if path.is_file()
    }
    found = {name: (tmp_path / name).read_bytes() for name in unpack(tmp_path)}
    assert found == wanted
    assert DEMO in found


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """And nothing is written at all where one file is in the way, unless told to."""
    names = unpack(tmp_path / "once")
    mine = tmp_path / next(name for name in names if name.startswith("policies/"))
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(OverwriteError, match=mine.name):
        unpack(tmp_path)
    assert mine.read_text() == "mine"
    assert not (tmp_path / "examples").exists()
    unpack(tmp_path, force=True)
    assert mine.read_text() != "mine"


def test_the_command_says_what_to_do_next(tmp_path: Path) -> None:
    """And a second time what is in the way."""
    first = CliRunner().invoke(command, [str(tmp_path / "new")])
    assert (first.exit_code, "reconciler plan --cluster examples/quickstart" in first.output) == (0, True)
    second = CliRunner().invoke(command, [str(tmp_path / "new")])
    assert second.exit_code == 1
    assert "--force overwrites it" in second.output


def test_the_example_unpacks_on_python_3_11_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12 has this version, in which archives have no filters."""
    extract = tarfile.TarFile.extractall
    monkeypatch.delattr(tarfile, "data_filter")
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda packed, path: extract(packed, path, filter="fully_trusted"))
    assert all((tmp_path / name).is_file() for name in unpack(tmp_path))
