"""Modules that few runs need, and that are imported when the first of their names is asked for.

Importing is most of the time of a short command. A module that rarely needs another one imports it for the type checker and the
check of layers alone. At run time it has this in its place:

    if TYPE_CHECKING:
        import difflib
    else:
        difflib = Later("difflib")
"""

from importlib import import_module


class Later:
    """Has the names of a module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value
