"""A pytest plugin: the module of a mutant is loaded from its changed text, and only quick tests are run."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import msgspec
import pytest

from tests.mutants.mutant import ROOT, VARIABLE, Mutant

# What starts a control plane, a built program or a browser: those tests are not quick.
_SLOW_FIXTURES = frozenset({"control_plane", "oracle", "validator", "browser", "cluster_api", "testbed"})


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module and runs the changed text in its place."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `MetaPathFinder`."""
        del path, target
        if fullname != self._mutant.module:
            return None
        file = ROOT / self._mutant.file
        places = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=places)

    def exec_module(self, module: ModuleType) -> None:
        """See `Loader`."""
        exec(compile(self._mutant.source, str(ROOT / self._mutant.file), "exec"), module.__dict__)


def pytest_configure() -> None:
    """Before any test module is imported."""
    text = os.environ.get(VARIABLE)
    if text:
        sys.meta_path.insert(0, _Changed(msgspec.json.decode(text, type=Mutant)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick."""
    quick = [item for item in items if not _SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ()))]
    config.hook.pytest_deselected(items=[item for item in items if item not in quick])
    items[:] = quick
