"""The two builds of a module of kernels. `from reconciler.scheduling.kernels import loops` is whichever is in charge."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from reconciler.scheduling import kernels

_SOURCES = Path(kernels.__file__).parent


def interpreted(name: str) -> ModuleType:
    """The source as the interpreter runs it, beside the one that is in charge."""
    spec = spec_from_file_location(f"interpreted_{name}", _SOURCES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(name: str) -> ModuleType:
    """The extension; without one the module that asks is skipped."""
    reason = "no compiler was there at install time: the kernels run interpreted"
    return pytest.importorskip(f"reconciler.scheduling.kernels.compiled_{name}", reason=reason)
