"""Puts a mutant in place: into a module as it is loaded, or into the functions of one that is loaded already."""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, ModuleType

from tests.mutants.mutant import ROOT, Mutant


class Loaded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
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


def put_in_place(mutant: Mutant) -> bool:
    """Change this process: every function that runs the changed line runs the mutant from now on. False where what is loaded
    cannot be changed any more, such as a default or a class."""
    if mutant.module not in sys.modules:
        sys.meta_path.insert(0, Loaded(mutant))
        return True
    path = str(ROOT / mutant.file)
    before = compile((ROOT / mutant.file).read_text("utf-8"), path, "exec")
    changed = {_place(old): (old, new) for old, new in _differing(before, compile(mutant.source, path, "exec"))}
    found = 0
    for function in [thing for thing in gc.get_objects() if type(thing) is FunctionType]:
        old, new = changed.get(_place(function.__code__), (None, None))
        if old is None or new is None or function.__code__.co_filename != path or not _same(function.__code__, old):
            continue
        try:
            function.__code__ = new
        except ValueError:  # it closes over other names
            return False
        found += 1
    return found > 0


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _differing(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions and bodies in which the change is, from the outermost to the innermost."""
    inner = [[constant for constant in code.co_consts if isinstance(constant, CodeType)] for code in (before, after)]
    for old, new in zip(*inner, strict=False):
        if not _same(old, new):
            yield old, new
            yield from _differing(old, new)


def _same(one: CodeType, other: CodeType) -> bool:
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    return len(one.co_consts) == len(other.co_consts) and all(
        _same(left, right)
        if isinstance(left, CodeType) and isinstance(right, CodeType)
        else type(left) is type(right) and left == right
        for left, right in zip(one.co_consts, other.co_consts, strict=True)
    )
